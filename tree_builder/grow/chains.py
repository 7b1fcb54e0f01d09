"""Speculation: chains which start where groups probably begin, ahead of the tree's own chain.

Nothing here can change a tree: a chain only forms groups early. It decides what that may cost, and where it helps most.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tree_builder.grow.budget import Account
from tree_builder.grow.desk import Desk
from tree_builder.grow.differences import Differences
from tree_builder.grow.items import END, Feed
from tree_builder.grow.levels import Level

MANY_SHARE = 0.02
"""Extra calls allowed, as a share of all, where documents grow side by side and slots are seldom idle."""
PRIOR_CHAINS, PRIOR_WASTE = 4, 4.0
"""What a chain is taken to waste before chains have shown it: a wrong start costs a probe and the questions up to a boundary."""
LEAST_SPACING = 8
"""Items between two chains, at least: the more there are to choose from, the better the guess."""
GUESSED_SHARE = 0.7
"""Of what may be wasted, the part which chains of the lowest level are planned to waste."""
CAUTION = 0.85
"""The part of what may be wasted which is planned for, as chains may waste more than those before."""
OVERRUN = 2
"""Groups which a chain still forms after it has passed by the start of the next one without meeting it."""


@dataclass(slots=True)
class Chain:
    """Groups formed one after another from a guessed start.

    position: how far it has come. following: where the next chain of its level started. planned: calls it is expected to
    make, calls: those it made.
    """

    start: int
    position: int
    planned: float
    following: int | None = None
    calls: int = 0
    alive: bool = True


class Budgeting:
    """What speculation may cost, over all trees of a run.

    One document alone may spend the share which the settings allow of its own calls; where documents grow side by side, all
    of them together a small share of all calls, and those with most left to do come first.

    many: whether several documents are known to come.
    """

    def __init__(self, desk: Desk, share: float, *, many: bool = False) -> None:
        self.desk = desk
        self.share = share
        self.many = many
        self.growths: list[Speculation] = []
        self.alive = 0
        self._resolved = 0
        self._used = self._wasted = 0  # of growths which have ended
        desk.on_idle = self.offer

    @property
    def waste_a_chain(self) -> float:
        wasted = self._wasted + sum(g.account.wasted for g in self.growths)
        return (PRIOR_CHAINS * PRIOR_WASTE + wasted) / (PRIOR_CHAINS + self._resolved)

    def join(self, growth: Speculation) -> None:
        if growth.is_document and any(g.is_document for g in self.growths):
            self.many = True
        self.growths.append(growth)

    def leave(self, growth: Speculation) -> None:
        self.growths.remove(growth)
        self.resolve(growth.unresolved)
        growth.account.waste(growth.account.pending)
        self._used += growth.account.used
        self._wasted += growth.account.wasted

    def resolve(self, chains: int) -> None:
        self._resolved += chains

    def affords(self, account: Account) -> bool:
        """Say whether one more chain may be started for a growth."""
        if self.many:
            expected = self._used + sum(g.account.expected for g in self.growths)
            wasted = self._wasted + sum(g.account.wasted for g in self.growths)
            share = min(self.share, MANY_SHARE)
        else:
            expected, wasted, share = account.expected, account.wasted, self.share
        unresolved = sum(g.unresolved for g in self.growths)
        return wasted + (unresolved + 1) * self.waste_a_chain <= CAUTION * share * expected

    def spacing(self, account: Account) -> int:
        """Give the number of base items between two chains at which the budget lasts."""
        if self.many:
            spacing = sum(g.account.remaining for g in self.growths) / self.desk.slots
        else:
            spacing = self.waste_a_chain / (GUESSED_SHARE * self.share * account.rate)
        return max(LEAST_SPACING, int(spacing))

    @property
    def has_room(self) -> bool:
        return self.alive < self.desk.idle + self.desk.speculative

    def offer(self) -> None:
        """Let those use idle slots who have most left to do."""
        for growth in sorted(self.growths, key=lambda g: -g.account.remaining):
            growth.consider()


class Speculation:
    """The chains of one growth."""

    def __init__(
        self, budgeting: Budgeting, account: Account, feed: Feed, differences: Differences, *, is_document: bool
    ) -> None:
        self.account = account
        self.is_document = is_document
        self.tasks: set[asyncio.Task[None]] = set()
        self._budgeting = budgeting
        self._feed = feed
        self._differences = differences
        self._levels: list[Level] = []
        self._chains: list[list[Chain]] = []  # by level, unresolved ones, by start
        self._news = True

    @property
    def unresolved(self) -> int:
        return sum(map(len, self._chains))

    def add(self, level: Level) -> None:
        self._levels.append(level)
        self._chains.append([])

    def news(self) -> None:
        """Look at what is resolved, and whether more chains can start."""
        for level, chains in zip(self._levels, self._chains, strict=True):
            while chains and chains[0].start < level.settled:
                chains.pop(0)
                self._budgeting.resolve(1)
        self._news = True
        self._budgeting.desk.let_in()

    def consider(self) -> None:
        """Start as many chains as there are slots, budget and places for."""
        while self._news and self._budgeting.has_room:
            if not self._budgeting.affords(self.account) or not self._start_one():
                self._news = False

    def _start_one(self) -> bool:
        for level in reversed(self._levels):
            if level.number == 0:
                spacing = self._budgeting.spacing(self.account)
                found = self._gap(level, range(self._feed.seen - 1), spacing)
            else:
                spacing = LEAST_SPACING
                found = self._gap(level, self._levels[level.number - 1].reached, spacing)
            if found is not None and self._has_calls_for(spacing * self.account.rate):
                self._launch(level, *found, planned=spacing * self.account.rate)
                return True
        return False

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
            if room >= (spacing + 2 if ends is None else 2 * spacing):
                between = places[first + spacing // 2 : min(last, first + spacing * 3 // 2 + 1)]
                free = [p for p in between if not level.has(p) and (level.number or self._feed.known(p) is not None)]
                if free:
                    return max(free, key=self._differences.at), at
            if at < len(chains):
                reached = max(reached, chains[at].position)
        return None

    def _launch(self, level: Level, start: int, at: int, *, planned: float) -> None:
        chains = self._chains[level.number]
        chain = Chain(start, start, planned, following=chains[at].start if at < len(chains) else None)
        if at > 0:
            chains[at - 1].following = start
        chains.insert(at, chain)
        self._budgeting.alive += 1
        task = asyncio.create_task(self._chase(level, chain))
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
