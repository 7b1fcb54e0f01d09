"""One growth: level upon level until one node is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterable
from typing import Any

from tree_builder.errors import BuildError
from tree_builder.grow.budget import Account
from tree_builder.grow.budgeting import Budgeting
from tree_builder.grow.chains import Speculation
from tree_builder.grow.differences import Differences
from tree_builder.grow.items import END, Arriving, Feed, Items
from tree_builder.grow.levels import Ground, Level
from tree_builder.grow.plan import Plan
from tree_builder.grow.runs import Run
from tree_builder.grow.tops import Top, promote
from tree_builder.model import NodeType, Tree

LEAST_TO_SPECULATE = 12
"""Growths of fewer base items than this are over before a guess pays."""


class Growth:
    """Grows one tree. All its tasks end with it. ahead: whether questions may be asked which the tree may not need."""

    def __init__(self, plan: Plan, budgeting: Budgeting, top: Top | None = None, *, ahead: bool = True) -> None:
        self._feed = Feed(plan.size)
        self._plan = plan
        self._budgeting = budgeting
        self._top = top
        self._account = Account(lambda: self._feed.seen, budgeting.tally, ahead=ahead)
        self._ground = Ground(plan, self._account, top)
        self._differences = Differences(self._feed)
        is_document = top is not None and top.node_type is NodeType.DOC_TOP
        self._account.allowance = lambda: budgeting.allowance(self._account, is_document=is_document)
        self._speculation = Speculation(
            budgeting,
            self._account,
            self._feed,
            self._differences,
            context=self._ground.context,
            is_document=is_document,
        )
        self._result: asyncio.Future[Tree] = asyncio.get_running_loop().create_future()

    async def tree(self, source: AsyncIterable[Arriving] | Iterable[Tree]) -> Tree:
        """Grow all levels and give the last node, or the lone item promoted.

        Raises:
            BuildError: there are no items at all.
        """
        self._ground.on_failure = self._fail
        try:
            self._open(source)
            self._spawn(self._climb(self._feed, 0))
            return await self._result
        finally:
            await self._end()

    async def level(self, source: AsyncIterable[Arriving] | Iterable[Tree]) -> AsyncIterator[Tree]:
        """Grow one level and give its nodes in order, each as soon as it is there."""
        runs: asyncio.Queue[Run | None] = asyncio.Queue()

        async def walk() -> None:
            try:
                async for run in self._level(self._feed, 0).walk():
                    runs.put_nowait(run)
            finally:
                runs.put_nowait(None)

        try:
            self._open(source)
            walking = asyncio.create_task(walk())
            self._ground.tasks.add(walking)
            while (run := await runs.get()) is not None:
                yield (await asyncio.shield(run.item)).tree
            await walking
        finally:
            await self._end()

    async def _climb(self, below: Items, number: int) -> None:
        level = self._level(below, number)
        count = 0
        async for run in level.walk():
            count += 1
            if count == 1 and run.next.result() == END:
                self._spawn(self._finish(run))
            elif count == 1:
                self._spawn(self._climb(level, number + 1))
        if count == 0:
            raise BuildError("there is nothing to grow a tree from; a document needs a chunk, a directory an item")

    def _level(self, below: Items, number: int) -> Level:
        level = Level(below, number, self._ground)
        if isinstance(below, Level):
            below.above = level
        self._speculation.add(level)
        return level

    async def _finish(self, run: Run) -> None:
        tree = (await asyncio.shield(run.item)).tree
        if run.n_items == 1 and self._top is not None:
            tree = promote(tree, self._top)
        if not self._result.done():
            self._result.set_result(tree)

    def _open(self, source: AsyncIterable[Arriving] | Iterable[Tree]) -> None:
        self._budgeting.join(self._speculation)
        self._ground.on_news = self._speculation.news
        if isinstance(source, AsyncIterable):
            self._spawn(self._feed.take(source))
        else:
            self._feed.fill(source)
            if self._feed.seen < LEAST_TO_SPECULATE:
                return
        if self._account.ahead and self._budgeting.share > 0 and self._plan.asks_for_boundaries:
            self._speculation.enabled = True
            self._feed.on_arrival = self._speculation.news
            if self._feed.closed:
                self._spawn(self._compare())

    async def _compare(self) -> None:
        """Learn from the vectors where items differ. They are wanted anyway; an error shows where they are stored."""
        trees = [self._feed.known(p) for p in range(self._feed.seen)]
        try:
            vectors = await self._plan.embedder.embed([tree.content for tree in trees if tree is not None])
        except Exception:  # noqa: BLE001
            return
        self._differences.learn(vectors)
        self._speculation.news()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guarded(work), context=self._ground.context.copy())
        self._ground.tasks.add(task)
        task.add_done_callback(self._ground.tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001  raised by whoever awaits the tree
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if not self._result.done():
            self._result.set_exception(error)

    async def _end(self) -> None:
        self._speculation.end()
        self._budgeting.leave(self._speculation)
        tasks = [*self._ground.tasks, *self._speculation.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
