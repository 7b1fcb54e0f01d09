"""Speculation: chains which start where groups probably begin, ahead of the tree's own chain.

Nothing here can change a tree: a chain only forms groups early.
"""

from __future__ import annotations

import asyncio
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextvars import Context
from dataclasses import dataclass

from tree_builder.grow.budget import Account
from tree_builder.grow.budgeting import Budgeting
from tree_builder.grow.differences import Differences
from tree_builder.grow.items import END, Feed
from tree_builder.grow.levels import Level
from tree_builder.grow.purses import Purse

OVERRUN = 2
"""Groups which a chain still forms after it has passed by the start of the next one without meeting it."""


@dataclass(slots=True, eq=False)
class Chain:
    """Groups formed one after another from a guessed start.

    position: how far it has come. following: where the next chain of its level started. planned: calls it is expected to
    make, calls: those it made.
    """

    start: int
    position: int
    planned: float
    purse: Purse
    following: int | None = None
    calls: int = 0
    alive: bool = True


class Speculation:
    """The chains of one growth. enabled: whether there may be any."""

    def __init__(
        self,
        budgeting: Budgeting,
        account: Account,
        feed: Feed,
        differences: Differences,
        *,
        context: Context,
        is_document: bool,
    ) -> None:
        self.account = account
        self._context = context
        self.is_document = is_document
        self.enabled = False
        self.tasks: set[asyncio.Task[None]] = set()
        self._budgeting = budgeting
        self._feed = feed
        self._differences = differences
        self._levels: list[Level] = []
        self._chains: list[list[Chain]] = []  # by level, unresolved ones, by start
        self._news = True

    @property
    def is_settled(self) -> bool:
        """Whether the tree's groups of base items are all known."""
        return bool(self._levels) and self._levels[0].settled == sys.maxsize

    def add(self, level: Level) -> None:
        self._levels.append(level)
        self._chains.append([])
        if self.enabled:
            asyncio.get_running_loop().call_soon(self.news)

    def news(self) -> None:
        """Look at what is resolved, and whether more chains can start."""
        for level, chains in zip(self._levels, self._chains, strict=True):
            while chains and chains[0].start < level.settled:
                self._decided(chains.pop(0))
        self._news = True
        self._budgeting.news()
        self._budgeting.desk.let_in()

    def end(self) -> None:
        """Count what is still undecided as lost."""
        for chains in self._chains:
            for chain in chains:
                self._decided(chain)
        for level in self._levels:
            level.drop_all()

    def _decided(self, chain: Chain) -> None:
        chain.purse.undecided -= 1
        chain.purse.decided += 1

    def consider(self) -> None:
        """Start as many chains as there are slots, budget and places for."""
        while self.enabled and self._news and self._budgeting.has_room:
            self._news = self._start_one()

    def _start_one(self) -> bool:
        for level in reversed(self._levels):
            above = level.number > 0 or not self.is_document
            if not self._budgeting.affords(above=above, is_document=self.is_document):
                continue
            places, spacing = self._places(level)
            if not self._has_calls_for(max(2.0, spacing * self.account.rate)):
                continue
            found = self._gap(level, places, spacing)
            if found is not None:
                purses = self._budgeting.purses
                purse = purses.above if above else purses.base
                self._launch(level, found[1], Chain(found[0], found[0], spacing * self.account.rate, purse))
                return True
        return False

    def _places(self, level: Level) -> tuple[Sequence[int], int]:
        """Give where groups of a level may begin, ascending, and how many of these places lie between two chains."""
        if level.number == 0:
            places: Sequence[int] = range(self._feed.seen)
            if self.is_document:
                return places, self._budgeting.spacing(self.account)
            complete = self._feed.closed
        else:
            places = self._levels[level.number - 1].likely
            complete = self._levels[level.number - 1].settled == sys.maxsize
        ahead = len(places) - bisect_right(places, level.settled)
        return places, self._budgeting.spacing_above(ahead, complete=complete)

    def _has_calls_for(self, planned: float) -> bool:
        """Say whether a chain could make its calls, those which others are still to make set aside."""
        reserved = sum(max(0.0, c.planned - c.calls) for chains in self._chains for c in chains if c.alive)
        return self.account.allows_speculative_call(int(planned + reserved))

    def _gap(self, level: Level, places: Sequence[int], spacing: int) -> tuple[int, int] | None:
        """Find the first place far from what other chains do: its position, and the index of the new chain among them."""
        chains = self._chains[level.number]
        reached = level.settled
        for at in range(len(chains) + 1):
            ends = chains[at].start if at < len(chains) else None
            first = bisect_right(places, reached)
            last = len(places) if ends is None else bisect_left(places, ends)
            room = last - first
            if room > spacing if ends is None else room >= 2 * spacing:
                between = places[first + spacing // 2 : min(last, first + spacing * 3 // 2 + 1)]
                free = [p for p in between if not level.has(p) and (level.number or self._feed.known(p) is not None)]
                if free:
                    return max(free, key=self._differences.at), at
            if at < len(chains):
                reached = max(reached, chains[at].position)
        return None

    def _launch(self, level: Level, at: int, chain: Chain) -> None:
        chains = self._chains[level.number]
        chain.following = chains[at].start if at < len(chains) else None
        if at > 0:
            chains[at - 1].following = chain.start
        chains.insert(at, chain)
        chain.purse.undecided += 1
        self._budgeting.alive += 1
        task = asyncio.create_task(self._chase(level, chain), context=self._context.copy())
        self.tasks.add(task)
        task.add_done_callback(lambda task: self._done(task, chain))

    def _done(self, task: asyncio.Task[None], chain: Chain) -> None:
        self.tasks.discard(task)
        self._budgeting.alive -= 1
        chain.alive = False
        self._news = True

    async def _chase(self, level: Level, chain: Chain) -> None:
        """Form group after group until the chain meets another, has gone far enough, or is given up."""
        position, overrun = chain.start, 0
        while level.settled <= position and not level.has(position) and overrun <= OVERRUN:
            run = level.speculate(position, chain)
            if position != chain.start:
                level.reach(position)
            try:
                position = await asyncio.shield(run.next)
            except Exception:  # noqa: BLE001  discarded, or it failed: it is asked for again where the tree needs it
                return
            if position == END:
                chain.position = self._feed.seen
                return
            chain.position = position
            if chain.following is not None and position > chain.following:
                overrun += 1
        level.reach(position)
