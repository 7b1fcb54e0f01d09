"""One document's way through a run: read, cut, embedded, grown, staged; or copied from where its bytes have a tree already."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from tree_builder.errors import BudgetExceeded, BuildError, ProviderError, ProviderRejected
from tree_builder.grow import Grower
from tree_builder.job import logcontext
from tree_builder.job.place import Placed, as_item, place_document, replace_place
from tree_builder.job.plan import Copy, Reading, recorded_mtime
from tree_builder.job.progress import Progress
from tree_builder.job.report import Problem, Report
from tree_builder.model import DocumentStatus, KnownDocument, NodeType, ReadDocument, SourceFile, Tree
from tree_builder.models import suspicious
from tree_builder.protocols import Embedder
from tree_builder.read import ReadPool
from tree_builder.store.memo import PlaceUses, uses_of_place
from tree_builder.store.staging import Staging

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Outcome:
    """How a file ended: what to note of it, and its top where it has a tree."""

    document: KnownDocument
    top: Tree | None
    changed: bool  # whether its directory has to grow again


@dataclass(slots=True)
class DocumentWork:
    """What all documents of a run share."""

    corpus: str
    folder: Path
    recipe: bytes
    known: dict[str, KnownDocument]
    pool: ReadPool
    embedder: Embedder
    grower: Grower
    staging: Staging
    uses: PlaceUses
    report: Report
    progress: Progress
    slots: asyncio.Semaphore
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    async def read(self, reading: Reading) -> dict[str, Outcome]:
        """Read and grow one set of bytes, and stage its tree at every path which holds them.

        Raises:
            ProviderRejected, StoreError: which stop the run.
        """
        async with self.slots:
            logcontext.doc_path.set(reading.files[0].doc_path)  # for this task and those it starts
            read_at = time.time_ns()
            document = await self.pool.read(self.folder, reading.files[0])
            self.report.took("read", document.read_s)
            self.report.took("cut", document.cut_s)
            same, others = _with_these_bytes(reading, document)
            outcomes = await self._grown(document, same, read_at)
        for file in same:
            self.progress.done(file.size_bytes)
        for file in others:
            outcomes |= await self.read(replace(reading, files=(file,), content_hash=None))
        return outcomes

    async def copy(self, copy: Copy) -> Outcome:
        """Stage the tree which the same bytes have at another path."""
        async with self.slots:
            nodes = await self.staging.document_nodes(copy.source.doc_path)
            path = copy.file.doc_path
            placed = replace_place(nodes, corpus=self.corpus, source=copy.source.doc_path, target=path)
            await self._stage(path, placed, copy.source.language)
            await self.uses.copy(f"doc:{copy.source.doc_path}", f"doc:{path}")
        self.report.documents["moved" if copy.moved else self._kind(path)] += 1
        self.progress.done(copy.file.size_bytes)
        document = replace(
            copy.source,
            doc_path=path,
            status=DocumentStatus.BUILT,
            reason="",
            stale=False,
            size_bytes=copy.file.size_bytes,
            mtime_ns=recorded_mtime(copy.file.mtime_ns, time.time_ns()),
            content_hash=copy.content_hash,
            title=_stem(path) if copy.source.title == _stem(copy.source.doc_path) else copy.source.title,
        )
        return Outcome(document, placed.top, changed=True)

    async def _grown(self, document: ReadDocument, files: Sequence[SourceFile], read_at: int) -> dict[str, Outcome]:
        if document.status is not DocumentStatus.BUILT:
            return {f.doc_path: await self._kept(f, document, document.status, document.reason) for f in files}
        try:
            tree, keys = await self._grow(document)
        except ProviderRejected:
            raise
        except BudgetExceeded as error:
            return {f.doc_path: await self._kept(f, document, DocumentStatus.DEFERRED, str(error)) for f in files}
        except (ProviderError, BuildError) as error:
            log.warning("%s: %s", document.doc_path, error)
            return {f.doc_path: await self._kept(f, document, DocumentStatus.FAILED, str(error)) for f in files}
        self._look_for_injection(document)
        outcomes = {}
        for file in files:
            placed = place_document(tree, corpus=self.corpus, doc_path=file.doc_path)
            self.report.count_flags(placed.nodes)
            await self._stage(file.doc_path, placed, document.language)
            await self.uses.keep(f"doc:{file.doc_path}", keys)
            self.report.documents[self._kind(file.doc_path)] += 1
            outcomes[file.doc_path] = Outcome(self._known(document, file, read_at), placed.top, changed=True)
        return outcomes

    async def _grow(self, document: ReadDocument) -> tuple[Tree, set[bytes]]:
        leaves = [
            Tree(
                node_type=NodeType.CHUNK,
                content=chunk.content,
                level=0,
                char_start=chunk.char_start,
                char_end=chunk.char_end,
                page_start=chunk.page_start,
                page_end=chunk.page_end,
                overlap=chunk.overlap,
            )
            for chunk in document.chunks
        ]
        with uses_of_place() as keys:
            embedding = asyncio.create_task(self._embed([leaf.content for leaf in leaves]))
            try:
                ahead = not await self._is_mostly_known(document)
                with self.report.timed("grow"):
                    tree = await self.grower.grow_document(leaves, ahead=ahead)
                await embedding
            finally:
                embedding.cancel()
            await self._embed(_summaries(tree))
        return tree, keys

    async def _is_mostly_known(self, document: ReadDocument) -> bool:
        """Say whether most chunks stand in last night's tree, whose answers are kept: guessing would only add to the bill."""
        before = self.known.get(document.doc_path)
        if before is None or not before.has_tree or before.recipe != self.recipe:
            return False
        nodes = await self.staging.document_nodes(document.doc_path)
        known = {node.content for node in nodes if node.node_type is NodeType.CHUNK}
        return 2 * sum(chunk.content in known for chunk in document.chunks) > len(document.chunks)

    async def _embed(self, texts: list[str]) -> None:
        with self.report.timed("embed"):
            await self.embedder.embed(texts)

    async def embed_early(self, tree: Tree) -> None:
        """Embed a directory's summaries while others grow: all at once, in the end, they would take memory with the corpus.

        Vectors which cannot be had now are asked for again before publishing, where their want stops the run.
        """
        with contextlib.suppress(ProviderError):
            await self._embed(_summaries(tree))

    async def _stage(self, doc_path: str, placed: Placed, language: str | None) -> None:
        before = self.known.get(doc_path)
        with self.report.timed("publish"):
            await self.staging.replace_document(
                doc_path, placed.nodes, language=language, fresh=before is None or not before.has_tree
            )

    async def _kept(self, file: SourceFile, document: ReadDocument, status: DocumentStatus, reason: str) -> Outcome:
        """Note an end without a new tree. Last night's tree, if any, stays, and is stale."""
        before = self.known.get(file.doc_path)
        if status is DocumentStatus.EMPTY or (status is DocumentStatus.VANISHED and before is None):
            before_tree = False
        else:
            before_tree = before is not None and before.has_tree
        self.report.add_problem(Problem(file.doc_path, status, reason, stale=before_tree))
        if before is not None and before_tree:
            self.report.documents["stale"] += 1
            known = replace(
                before, status=status, reason=reason, stale=True, size_bytes=file.size_bytes, mtime_ns=0,
                content_hash=document.content_hash or before.content_hash,
            )  # fmt: skip
            nodes = await self.staging.document_nodes(file.doc_path)
            top = next((as_item(n) for n in nodes if n.node_type is NodeType.DOC_TOP), None)
            return Outcome(known, top, changed=False)
        known = KnownDocument(
            doc_path=file.doc_path,
            status=status,
            reason=reason,
            stale=False,
            size_bytes=file.size_bytes,
            mtime_ns=file.mtime_ns if document.content_hash else 0,
            content_hash=document.content_hash or None,
            grown_hash=None,
            recipe=self.recipe,
            title=document.title or _stem(file.doc_path),
            n_pages=document.n_pages,
            warnings=document.warnings,
        )
        return Outcome(known, None, changed=before is not None and before.has_tree)

    def _known(self, document: ReadDocument, file: SourceFile, read_at: int) -> KnownDocument:
        first = file.doc_path == document.doc_path
        own_title = document.title if first or document.title != _stem(document.doc_path) else _stem(file.doc_path)
        return KnownDocument(
            doc_path=file.doc_path,
            status=DocumentStatus.BUILT,
            reason="",
            stale=False,
            size_bytes=document.size_bytes if first else file.size_bytes,
            mtime_ns=recorded_mtime(document.mtime_ns if first else file.mtime_ns, read_at),
            content_hash=document.content_hash,
            grown_hash=document.content_hash,
            recipe=self.recipe,
            title=own_title or _stem(file.doc_path),
            language=document.language,
            n_pages=document.n_pages,
            n_chars=document.n_chars,
            n_chunks=len(document.chunks),
            outline=document.outline,
            warnings=document.warnings,
        )

    def _kind(self, doc_path: str) -> str:
        before = self.known.get(doc_path)
        return "changed" if before is not None else "added"

    def _look_for_injection(self, document: ReadDocument) -> None:
        for chunk in document.chunks:
            reasons = suspicious(chunk.content)
            if reasons:
                place = {"doc_path": document.doc_path, "page": chunk.page_start, "reasons": list(reasons)}
                self.report.suspicious.append(place)
                return


def _with_these_bytes(reading: Reading, document: ReadDocument) -> tuple[list[SourceFile], list[SourceFile]]:
    """Split the files into those which hold what was read, and the rest when the first changed since it was hashed."""
    if len(reading.files) == 1 or not document.content_hash or document.content_hash == reading.content_hash:
        return list(reading.files), []
    return [reading.files[0]], list(reading.files[1:])


def _summaries(tree: Tree) -> list[str]:
    texts: list[str] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node.node_type is not NodeType.CHUNK:
            texts.append(node.content)
            waiting.extend(child for child in node.children if child.node_id is None)
    return texts


def _stem(doc_path: str) -> str:
    return PurePosixPath(doc_path).stem
