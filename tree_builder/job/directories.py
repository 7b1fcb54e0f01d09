"""The tree above the documents: each directory grows as its items arrive, up to the root."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from tree_builder.grow import Grower
from tree_builder.job.documents import DocumentWork, Outcome
from tree_builder.job.fallback import FLAG
from tree_builder.job.place import Directory, ancestors_of, directories_of, place_directory
from tree_builder.job.plan import Copy, Plan, Reading
from tree_builder.job.report import Problem
from tree_builder.model import ROOT_PATH, DocumentStatus, KnownDocument, NodeType, Tree
from tree_builder.store.memo import uses_of_place
from tree_builder.store.staging import Link


class TreeWork:
    """Grows what the plan names, and every directory which that may change, once, bottom up."""

    def __init__(
        self, corpus: str, documents: DocumentWork, grower: Grower, plan: Plan, known: dict[str, KnownDocument]
    ) -> None:
        self._corpus, self._work, self._grower, self._plan, self._known = corpus, documents, grower, plan, known
        self._tasks: dict[str, asyncio.Task[dict[str, Outcome]]] = {}
        self._above: dict[str, asyncio.Task[Tree | None]] = {}
        self._hidden = self._hidden_outcomes()
        self._mostly_new = self._directories_mostly_new()

    async def grow(self, unfinished: Iterable[str]) -> list[Outcome]:
        """Grow and stage everything; gives how each file of the plan ended.

        unfinished: directories whose last summary was a stand-in.

        Raises:
            ProviderRejected, StoreError: nothing can be published.
        """
        directories = directories_of(self._paths_with_tree())
        dirty = self._dirty(unfinished) & directories.keys()
        try:
            async with asyncio.TaskGroup() as group:
                self._start_documents(group)
                for path in sorted(dirty, key=lambda p: -len(ancestors_of(p))):
                    self._above[path] = group.create_task(self._directory(directories[path], group))
        except BaseExceptionGroup as errors:
            raise first_of(errors) from errors
        await self._end_what_is_gone(directories)
        outcomes = [o for task in self._tasks.values() for o in task.result().values()]
        return list({o.document.doc_path: o for o in [*outcomes, *self._hidden]}.values())

    def _start_documents(self, group: asyncio.TaskGroup) -> None:
        """Start what was put off last time first, then the largest, so that no long one is left for the end."""
        progress = self._work.progress
        for copy in self._plan.copies:
            progress.expect(copy.file.size_bytes)
            self._tasks[copy.file.doc_path] = group.create_task(self._copy_of(copy))
        for reading in sorted(self._plan.readings, key=self._turn):
            task = group.create_task(self._work.read(reading))
            for file in reading.files:
                progress.expect(file.size_bytes)
                self._tasks[file.doc_path] = task

    async def _copy_of(self, copy: Copy) -> dict[str, Outcome]:
        outcome = await self._work.copy(copy)
        return {outcome.document.doc_path: outcome}

    def _turn(self, reading: Reading) -> tuple[bool, int, str]:
        paths = [file.doc_path for file in reading.files]
        put_off = any(p in self._known and self._known[p].status is DocumentStatus.DEFERRED for p in paths)
        return (not put_off, -reading.size_bytes, paths[0])

    def _paths_with_tree(self) -> set[str]:
        """Give the documents which may have a tree in the end."""
        paths = {d.doc_path for d in (*self._plan.unchanged, *self._plan.touched) if d.has_tree}
        paths |= {o.document.doc_path for o in self._hidden if o.document.has_tree}
        paths |= {copy.file.doc_path for copy in self._plan.copies}
        return paths | {file.doc_path for reading in self._plan.readings for file in reading.files}

    def _directories_mostly_new(self) -> set[str]:
        """Give the directories most of whose documents are read in this run, so that few answers about them are kept."""
        read = {file.doc_path for reading in self._plan.readings for file in reading.files}
        new = Counter(above for path in read for above in ancestors_of(path))
        all_below = Counter(above for path in self._paths_with_tree() for above in ancestors_of(path))
        return {path for path, count in new.items() if 2 * count > all_below[path]}

    def _dirty(self, unfinished: Iterable[str]) -> set[str]:
        touched = [file.doc_path for reading in self._plan.readings for file in reading.files]
        touched += [copy.file.doc_path for copy in self._plan.copies]
        touched += [d.doc_path for d in self._plan.gone if d.has_tree]
        dirty = {above for path in touched for above in ancestors_of(path)}
        for path in unfinished:
            dirty |= {path, *ancestors_of(path)}
        return dirty

    async def _directory(self, directory: Directory, group: asyncio.TaskGroup) -> Tree | None:
        items = await self._items(directory)
        if not await _any_there(items):
            return None
        top = NodeType.ROOT if directory.dir_path == ROOT_PATH else NodeType.DIR_TOP
        with uses_of_place() as keys:
            tree = await self._grower.grow_directory(
                _streamed(items), top=top, dir_path=directory.dir_path, ahead=directory.dir_path in self._mostly_new
            )
        group.create_task(self._work.embed_early(tree))
        placed = place_directory(tree, corpus=self._corpus, dir_path=directory.dir_path)
        report = self._work.report
        report.count_flags(placed.nodes)
        with report.timed("publish"):
            links = [Link(*link) for link in placed.links]
            await self._work.staging.replace_directory(directory.dir_path, placed.nodes, links)
            await self._work.uses.keep(f"dir:{directory.dir_path}", keys)
        if any(flag.startswith(FLAG) for node in placed.nodes for flag in node.flags):
            report.warnings.append(
                f"directory {directory.dir_path}: extracts stand in for a summary; the next run tries again"
            )
        return placed.top

    async def _items(self, directory: Directory) -> list[asyncio.Future[Tree | None]]:
        """Give the tops which the directory covers, in path order; those which still grow are yet to come."""
        published = await self._published_tops(directory)
        items: list[asyncio.Future[Tree | None]] = []
        for path, is_directory in directory.items:
            if is_directory and path in self._above:
                items.append(self._above[path])
            elif is_directory:
                items.append(asyncio.ensure_future(self._work.staging.directory_top(path)))
            elif path in self._tasks:
                items.append(asyncio.ensure_future(_top_of(self._tasks[path], path)))
            else:
                items.append(_there(published.get(path)))
        return items

    async def _published_tops(self, directory: Directory) -> dict[str, Tree]:
        if all(path in self._tasks for path in directory.documents):
            return {}
        tops = await self._work.staging.document_tops(directory.dir_path)
        return {top.doc_path: top for top in tops if top.doc_path is not None}

    async def _end_what_is_gone(self, directories: dict[str, Directory]) -> None:
        gone = [d.doc_path for d in self._plan.gone if d.has_tree]
        for task in self._tasks.values():
            gone += [o.document.doc_path for o in task.result().values() if o.top is None and o.changed]
        before = directories_of(d.doc_path for d in self._known.values() if d.has_tree)
        empty = {path for path, task in self._above.items() if task.result() is None}
        ended = [path for path in before if path not in directories or path in empty]
        if gone or ended:
            await self._work.staging.end(gone, ended)

    def _hidden_outcomes(self) -> list[Outcome]:
        """Files which cannot be seen tonight keep last night's tree, stale."""
        outcomes: list[Outcome] = []
        report = self._work.report
        reasons = {f.doc_path: f for f in self._plan.refused}
        for file in self._plan.refused:
            before = self._known.get(file.doc_path)
            status = file.status or DocumentStatus.DENIED
            report.add_problem(Problem(file.doc_path, status, file.reason, stale=bool(before and before.has_tree)))
            outcomes.append(_refused(file.doc_path, status, file.reason, file.size_bytes, before))
        for document in self._plan.hidden:
            above = next((reasons[a] for a in ancestors_of(document.doc_path) if a in reasons), None)
            reason = above.reason if above else "its directory cannot be read"
            report.add_problem(Problem(document.doc_path, DocumentStatus.DENIED, reason, stale=document.has_tree))
            outcomes.append(_refused(document.doc_path, DocumentStatus.DENIED, reason, document.size_bytes, document))
        report.documents["stale"] += sum(o.document.stale for o in outcomes)
        return outcomes


def _refused(
    doc_path: str, status: DocumentStatus, reason: str, size_bytes: int, before: KnownDocument | None
) -> Outcome:
    if before is not None:
        known = replace(before, status=status, reason=reason, stale=before.has_tree, mtime_ns=0)
    else:
        known = KnownDocument(
            doc_path=doc_path,
            status=status,
            reason=reason,
            stale=False,
            size_bytes=size_bytes,
            mtime_ns=0,
            content_hash=None,
            grown_hash=None,
            recipe=None,
            title=PurePosixPath(doc_path).stem,
        )
    return Outcome(known, None, changed=False)


async def _top_of(task: asyncio.Task[dict[str, Outcome]], doc_path: str) -> Tree | None:
    return (await asyncio.shield(task))[doc_path].top


def _there(top: Tree | None) -> asyncio.Future[Tree | None]:
    future: asyncio.Future[Tree | None] = asyncio.get_running_loop().create_future()
    future.set_result(top)
    return future


async def _any_there(items: Sequence[asyncio.Future[Tree | None]]) -> bool:
    """Wait until one item is there, or all are known to be none."""
    waiting = set(items)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if any(future.result() is not None for future in done):
            return True
    return False


async def _streamed(items: Sequence[asyncio.Future[Tree | None]]) -> AsyncIterator[Awaitable[Tree | None]]:
    for item in items:
        yield asyncio.shield(item)


def first_of(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Give the first error of a group which says what went wrong."""
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            return first_of(error)
        if not isinstance(error, asyncio.CancelledError):
            return error
    return errors.exceptions[0]
