"""Levels: each reads the groups of the one below as its items, and starts while that one still grows.

A group is formed from what is found from its first item on. So groups can be formed from any position, by several chains
at once; where a chain arrives at an item at which another already began a group, the two are the same from there on.
The tree is what is reached from the first item: `walk` follows it, confirms its groups, and discards those it passes by.
"""

from __future__ import annotations

import asyncio
import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import AsyncIterator, Callable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tree_builder.errors import LevelDidNotShrink
from tree_builder.grow.boundaries import Ask, Boundaries
from tree_builder.grow.budget import Account
from tree_builder.grow.groups import Formation, node_over
from tree_builder.grow.items import END, Item, Items
from tree_builder.grow.plan import Plan
from tree_builder.grow.runs import Run
from tree_builder.grow.tops import Top
from tree_builder.model import Tree

if TYPE_CHECKING:
    from tree_builder.grow.chains import Chain


@dataclass(slots=True)
class Ground:
    """What the levels of one growth share.

    on_news: called when an extent became known or the tree moved on. on_failure: called when a group of the tree failed.
    context: that in which the growth began. Its tasks run in copies of it, also those which another growth's end sets off: what
    they ask is on this one's account.
    """

    plan: Plan
    account: Account
    top: Top | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    context: Context = field(default_factory=copy_context)
    on_news: Callable[[], None] = lambda: None
    on_failure: Callable[[BaseException], None] = lambda _: None


class Level:
    """The groups of one level, by the position at which each begins. To the level above they are its items.

    settled: positions before it are decided: the tree's groups up to there are known. likely: starts of groups which the tree uses or
    very likely uses, as another ended before them, ascending.
    """

    def __init__(self, below: Items, number: int, ground: Ground) -> None:
        self.below = below
        self.number = number
        self.above: Level | None = None
        self.settled = 0
        self.likely: list[int] = []
        self._ground = ground
        self._boundaries: Boundaries = ground.plan.boundaries()
        self._origin = 0
        self._runs: dict[int, Run] = {}
        self._open: list[int] = []  # starts of groups which are neither confirmed nor discarded
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

    def there(self, position: int) -> Item | None:
        run = self._runs.get(position)
        return run.item.result() if run is not None and run.item.done() and not run.failed else None

    async def walk(self) -> AsyncIterator[Run]:
        """Give the tree's groups in order, each as soon as its extent is known."""
        first = await self.below.at(0)
        position = self._origin = END if first is None else first.start
        n_groups = n_items = 0
        while position != END:
            run = self._confirmed(position)
            following = await asyncio.shield(run.next)
            self.settled = sys.maxsize if following == END else following
            self._pass_by(position, following)
            self._ground.account.merged += run.n_items - 1
            n_groups += 1
            n_items += run.n_items
            position = following
            yield run
            self._ground.on_news()
        if n_groups >= n_items > 1:
            raise LevelDidNotShrink(f"a level of {n_items} items became {n_groups}", items=n_items, groups=n_groups)

    def has(self, position: int) -> bool:
        """Say whether a group was begun there."""
        return position in self._runs

    def progress(self, position: int) -> int:
        """Give the item which the group begun at `position` asks about while its extent is not known; else `position`."""
        run = self._runs.get(position)
        return position if run is None or run.next.done() else run.upto

    def reach(self, position: int) -> None:
        """Note that a group ended before `position`."""
        run = self._runs.get(position)
        if run is not None and not run.reached:
            run.reach()
            insort(self.likely, position)

    def speculate(self, position: int, chain: Chain) -> Run:
        """Begin a group which the tree may use."""
        insort(self._open, position)
        return self._begin(position, chain)

    def drop_all(self) -> None:
        """Discard all groups which are not confirmed."""
        for position in list(self._open):
            self._drop(position)

    def _confirmed(self, position: int) -> Run:
        run = self._runs.get(position)
        if run is not None and run.failed:  # as a guess; now that the tree needs it, it is asked for in earnest
            self._drop(position)
            run = None
        elif run is not None:
            self._open.pop(bisect_left(self._open, position))
        if run is None:
            run = self._begin(position, None)
        self._ground.plan.desk.confirm(run)
        self.reach(position)
        return run

    def _begin(self, position: int, chain: Chain | None) -> Run:
        run = self._runs[position] = Run(position, self.number, self._ground.account, chain)
        if (awaited := self._awaited.pop(position, None)) is not None and not awaited.done():
            awaited.set_result(run)
        run.task = asyncio.create_task(self._form(run), context=self._ground.context.copy())
        self._ground.tasks.add(run.task)
        run.task.add_done_callback(self._ground.tasks.discard)
        return run

    def _drop(self, position: int) -> None:
        """Discard a group which is not confirmed."""
        self._open.pop(bisect_left(self._open, position))
        run = self._runs.pop(position)
        if run.reached:
            self.likely.pop(bisect_left(self.likely, position))
        run.discard()

    def _pass_by(self, position: int, following: int) -> None:
        """Discard, here and above, the groups begun inside one which the tree uses."""
        first = bisect_right(self._open, position)
        last = len(self._open) if following == END else bisect_left(self._open, following)
        for start in self._open[first:last]:
            self._drop(start)
        if self.above is not None:
            self.above._pass_by(position, following)  # noqa: SLF001

    async def _form(self, run: Run) -> None:
        try:
            ask = self._ground.plan.asking(run)
            formation = await self._boundaries.form(run.start, self.below, ask, self._ground.plan.limits)
            run.n_items = len(formation.group)
            run.next.set_result(formation.next)
            self._ground.on_news()
            await asyncio.shield(run.wanted)
            tree = await self._node(formation, ask, whole=run.start == self._origin and formation.next == END)
            run.item.set_result(Item(tree, run.start, formation.next, self._ground.plan.size(tree)))
        except Exception as error:  # noqa: BLE001  raised again where the group is awaited
            run.fail(error)
            if run.confirmed:
                self._ground.on_failure(error)

    async def _node(self, formation: Formation, ask: Ask, *, whole: bool) -> Tree:
        group = formation.group
        if len(group) == 1:
            return group[0].tree
        covered = group if self._ground.plan.scope == "group" else group[:2]
        known = formation.probe if len(covered) == 2 else None
        summary = known or await ask.summarize(covered)
        trees = [item.tree for item in group]
        top = self._ground.top
        if top is None or not whole:
            return node_over(trees, summary, decisions=formation.decisions)
        return node_over(
            trees,
            summary,
            node_type=top.node_type,
            decisions=formation.decisions,
            doc_path=top.doc_path,
            dir_path=top.dir_path,
        )
