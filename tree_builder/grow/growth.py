"""One growth: level upon level until one node is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable
from typing import Any

from tree_builder.errors import BuildError
from tree_builder.grow.budget import Budget
from tree_builder.grow.items import END, Arriving, Feed, Items
from tree_builder.grow.levels import Level, Run
from tree_builder.grow.plan import Plan
from tree_builder.grow.tops import Top, promote
from tree_builder.model import Tree


class Growth:
    """Grows one tree. All its tasks end with it."""

    def __init__(self, feed: Feed, plan: Callable[[Budget], Plan]) -> None:
        self.feed = feed
        self.budget = Budget(lambda: feed.seen)
        self._plan = plan(self.budget)
        self._tasks: set[asyncio.Task[None]] = set()
        self._top: asyncio.Future[Tree] = asyncio.get_running_loop().create_future()

    async def tree(self, source: AsyncIterable[Arriving] | Iterable[Tree], top: Top) -> Tree:
        """Grow all levels and give the last node, or the lone item promoted.

        Raises:
            BuildError: there are no items at all.
        """
        try:
            self._open(source)
            self._spawn(self._climb(self.feed, top))
            return await self._top
        finally:
            await self._end()

    async def level(self, source: AsyncIterable[Arriving] | Iterable[Tree]) -> AsyncIterator[Tree]:
        """Grow one level and give its nodes in order, each as soon as it is there."""
        try:
            self._open(source)
            runs: asyncio.Queue[Run | None] = asyncio.Queue()
            walking = asyncio.create_task(self._walk_into(runs))
            self._tasks.add(walking)
            while (run := await runs.get()) is not None:
                yield (await asyncio.shield(run.item)).tree
            await walking
        finally:
            await self._end()

    async def _walk_into(self, runs: asyncio.Queue[Run | None]) -> None:
        try:
            async for run in Level(self.feed, self._plan, self._tasks, top=None).walk():
                runs.put_nowait(run)
        finally:
            runs.put_nowait(None)

    async def _climb(self, below: Items, top: Top) -> None:
        level = Level(below, self._plan, self._tasks, top=top)
        count = 0
        async for run in level.walk():
            count += 1
            if run.next.result() == END and count == 1:
                self._spawn(self._finish(run, top))
                continue
            if count == 1:
                self._spawn(self._climb(level, top))
            self._spawn(self._watch(run))
        if count == 0:
            raise BuildError("there is nothing to grow a tree from; a document needs a chunk, a directory an item")

    async def _finish(self, run: Run, top: Top) -> None:
        tree = (await asyncio.shield(run.item)).tree
        if run.n_items == 1:
            tree = promote(tree, top)
        if not self._top.done():
            self._top.set_result(tree)

    async def _watch(self, run: Run) -> None:
        """Let a group which fails end the growth at once."""
        await asyncio.shield(run.item)

    def _open(self, source: AsyncIterable[Arriving] | Iterable[Tree]) -> None:
        if isinstance(source, AsyncIterable):
            self._spawn(self.feed.take(source))
        else:
            self.feed.fill(source)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001  raised by whoever awaits the tree
            if not self._top.done():
                self._top.set_exception(error)

    async def _end(self) -> None:
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
