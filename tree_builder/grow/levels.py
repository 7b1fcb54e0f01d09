"""Levels: each reads the groups of the one below as its items, and starts while that one still grows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from tree_builder.errors import LevelDidNotShrink
from tree_builder.grow.boundaries import Ask, Boundaries
from tree_builder.grow.groups import Formation, node_over
from tree_builder.grow.items import END, Item, Items
from tree_builder.grow.plan import Plan
from tree_builder.grow.tops import Top
from tree_builder.model import Summary, Tree


class Run:
    """One group in the making. Its extent is known before its node: the chain goes on while the summary is written."""

    def __init__(self, start: int) -> None:
        loop = asyncio.get_running_loop()
        self.start = start
        self.next: asyncio.Future[int] = loop.create_future()
        self.item: asyncio.Future[Item] = loop.create_future()
        self.n_items = 0

    def fail(self, error: BaseException) -> None:
        for future in (self.next, self.item):
            if not future.done():
                future.set_exception(error)
                future.exception()  # it is raised where it is awaited, if at all


class Level:
    """The groups of one level, by the position at which each begins. To the level above they are its items."""

    def __init__(self, below: Items, plan: Plan, tasks: set[asyncio.Task[None]], *, top: Top | None) -> None:
        self._below = below
        self._plan = plan
        self._tasks = tasks
        self._top = top
        self._boundaries: Boundaries = plan.boundaries()
        self._runs: dict[int, Run] = {}
        self._awaited: dict[int, asyncio.Future[Run]] = {}

    async def at(self, position: int) -> Item | None:
        if position == END:
            return None
        run = self._runs.get(position)
        if run is None:
            awaited = self._awaited.get(position)
            if awaited is None:
                awaited = self._awaited[position] = asyncio.get_running_loop().create_future()
            run = await asyncio.shield(awaited)
        return await asyncio.shield(run.item)

    async def walk(self) -> AsyncIterator[Run]:
        """Give the level's groups in order, each as soon as its extent is known."""
        first = await self._below.at(0)
        position = END if first is None else first.start
        origin = position
        n_groups = n_items = 0
        while position != END:
            run = self._start(position, origin=origin)
            position = await asyncio.shield(run.next)
            n_groups += 1
            n_items += run.n_items
            yield run
        if n_groups >= n_items > 1:
            raise LevelDidNotShrink(f"a level of {n_items} items became {n_groups}", items=n_items, groups=n_groups)

    def _start(self, position: int, *, origin: int) -> Run:
        run = self._runs.get(position)
        if run is None:
            run = self._runs[position] = Run(position)
            if (awaited := self._awaited.pop(position, None)) is not None and not awaited.done():
                awaited.set_result(run)
            task = asyncio.create_task(self._form(run, origin=origin))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return run

    async def _form(self, run: Run, *, origin: int) -> None:
        try:
            ask = self._plan.asking()
            formation = await self._boundaries.form(run.start, self._below, ask, self._plan.limits)
            run.n_items = len(formation.group)
            run.next.set_result(formation.next)
            whole = run.start == origin and formation.next == END
            tree = await self._node(formation, ask, whole=whole)
            run.item.set_result(Item(tree, run.start, formation.next, self._plan.size(tree)))
        except Exception as error:  # noqa: BLE001  raised again where the group is awaited
            run.fail(error)

    async def _node(self, formation: Formation, ask: Ask, *, whole: bool) -> Tree:
        group = formation.group
        if len(group) == 1:
            return group[0].tree
        covered = group if self._plan.scope == "group" else group[:2]
        known = formation.probe if len(covered) == 2 else None
        summary: Summary = known or await ask.summarize(covered)
        trees = [item.tree for item in group]
        if self._top is None or not whole:
            return node_over(trees, summary, decisions=formation.decisions)
        return node_over(
            trees,
            summary,
            node_type=self._top.node_type,
            decisions=formation.decisions,
            doc_path=self._top.doc_path,
            dir_path=self._top.dir_path,
        )
