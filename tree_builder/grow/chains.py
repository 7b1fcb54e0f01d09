"""Speculation: chains which start where groups probably begin, ahead of the tree's own chain.

Nothing here can change a tree: a chain only forms groups early.
"""

from __future__ import annotations

import asyncio
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import NamedTuple

from tree_builder.grow.budget import Account
from tree_builder.grow.budgeting import LONG, Budgeting
from tree_builder.grow.differences import Differences
from tree_builder.grow.items import END, Feed
from tree_builder.grow.levels import Level
from tree_builder.grow.purses import Purse

OVERRUN = 2
"""Groups which a chain still forms after it has passed by the start of the next one without meeting it."""
ABOVE_TAKES = 1.5
"""What an item above the chunks takes, beside a chunk: groups are smaller there, so that there are more summaries."""
ROOM, AROUND = 1.6, 0.6
"""In distances of chains: the least room which is halved by one more, and how far from its middle that one may start."""
NEXT = 4
"""Groups which are begun at once, near the end, at the next places of a level."""


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


class Room(NamedTuple):
    """Places of a level which no chain has come to yet: their number, the range of their indexes, the chains before them."""

    size: int
    first: int
    last: int
    at: int


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

    @property
    def is_settled(self) -> bool:
        """Whether the tree's groups of base items are all known."""
        return bool(self._levels) and self._levels[0].settled == sys.maxsize

    def add(self, level: Level) -> None:
        self._levels.append(level)
        self._chains.append([])
        asyncio.get_running_loop().call_soon(self.news)

    def news(self) -> None:
        """Look at what is resolved, how much is left, and whether more chains can start."""
        for level, chains in zip(self._levels, self._chains, strict=True):
            while chains and chains[0].start < level.settled:
                self._decided(chains.pop(0))
        self._measure()
        self._budgeting.news(self)
        self._budgeting.desk.let_in()

    def end(self) -> None:
        """Count what is still undecided as lost."""
        self.enabled = False
        for chains in self._chains:
            for chain in chains:
                self._decided(chain)
        for level in self._levels:
            level.drop_all()

    def _decided(self, chain: Chain) -> None:
        chain.purse.undecided -= 1
        chain.purse.decided += 1

    def start_one(self) -> bool:
        """Start one more chain if there are a place and calls for it."""
        for level in reversed(self._levels):
            above = level.number > 0 or not self.is_document
            if not self._budgeting.affords(above=above, is_document=self.is_document):
                continue
            places = self._places(level)
            spacing = self._spacing(level, places)
            found = self._next(level, places) if above and self._budgeting.is_ending else None
            planned = 2.0 if found is not None else max(2.0, spacing * self.account.rate)
            if not self._has_calls_for(planned):
                continue
            found = found or self._gap(level, places, spacing)
            if found is not None:
                purses = self._budgeting.purses
                self._launch(
                    level, found[1], Chain(found[0], found[0], planned, purses.above if above else purses.base)
                )
                return True
        return False

    def _measure(self) -> None:
        """Tell how urgent this tree is: a document by the longest ways its chains still have to go, level by level."""
        if self.is_document:
            self.account.urgency = sum(
                (ABOVE_TAKES if level.number else 1.0)
                * max(room.size for room in self._rooms(level, self._places(level)))
                for level in self._levels
            )

    def _places(self, level: Level) -> Sequence[int]:
        """Give where groups of a level may begin, ascending."""
        return self._levels[level.number - 1].likely if level.number else range(self._feed.seen)

    def _spacing(self, level: Level, places: Sequence[int]) -> int:
        """Give how many places lie between two chains."""
        if level.number == 0 and self.is_document:
            return self._budgeting.spacing(self.account)
        complete = self._levels[level.number - 1].settled == sys.maxsize if level.number else self._feed.closed
        ahead = len(places) - bisect_right(places, level.settled)
        return self._budgeting.spacing_above(ahead, complete=complete)

    def _rooms(self, level: Level, places: Sequence[int]) -> Iterator[Room]:
        """Give the room in front of the tree's own chain, and of each of the others."""
        chains = self._chains[level.number]
        position = level.settled
        for at in range(len(chains) + 1):
            reached = level.progress(position)
            first = bisect_right(places, reached)
            last = bisect_left(places, chains[at].start) if at < len(chains) else len(places)
            age = reached - position if level.number == 0 else 0
            likely_end = first + age if age >= LONG else first  # a long group goes on about as long as it did so far
            yield Room(last - first, likely_end, last, at)
            if at < len(chains):
                position = max(position, chains[at].position)

    def _next(self, level: Level, places: Sequence[int]) -> tuple[int, int] | None:
        """Find one of the next places where both items of a probe are there: its position, and the index of the new chain."""
        first = bisect_right(places, level.settled)
        for position in places[first : first + NEXT]:
            item = None if level.has(position) else level.below.there(position)
            if item is not None and item.next != END and level.below.there(item.next) is not None:
                return position, bisect_left(self._chains[level.number], position, key=lambda chain: chain.start)
        return None

    def _has_calls_for(self, planned: float) -> bool:
        """Say whether a chain could make its calls, those which others are still to make set aside."""
        reserved = sum(max(0.0, c.planned - c.calls) for chains in self._chains for c in chains if c.alive)
        return self.account.allows_speculative_call(int(planned + reserved))

    def _gap(self, level: Level, places: Sequence[int], spacing: int) -> tuple[int, int] | None:
        """Find a place far from what other chains do: its position, and the index of the new chain among them."""
        rooms = self._rooms(level, places)
        if level.number == 0 and self.is_document and self._budgeting.many:
            widest = max(rooms)  # halved: so few chains bring the end of a document nearest
            middle, reach = (widest.first + widest.last) // 2, max(2, int(AROUND * spacing))
            wide = widest.last - widest.first >= ROOM * spacing
            return self._start(level, places, widest, middle - reach, middle + reach) if wide else None
        for room in rooms:
            is_last = room.at == len(self._chains[level.number])
            if room.size > spacing if is_last else room.size >= 2 * spacing:
                begin = room.first + spacing // 2
                if (found := self._start(level, places, room, begin, begin + spacing)) is not None:
                    return found
        return None

    def _start(self, level: Level, places: Sequence[int], room: Room, first: int, last: int) -> tuple[int, int] | None:
        """Find the best place of a room, its index from first to last: where what follows differs most."""
        between = places[max(room.first, first) : min(room.last, last + 1)]
        free = [p for p in between if not level.has(p) and (level.number or self._feed.known(p) is not None)]
        return (max(free, key=self._differences.at), room.at) if free else None

    def _launch(self, level: Level, at: int, chain: Chain) -> None:
        chains = self._chains[level.number]
        chain.following = chains[at].start if at < len(chains) else None
        if at > 0:
            chains[at - 1].following = chain.start
        chains.insert(at, chain)
        chain.purse.undecided += 1
        self._budgeting.alive += 1
        self._measure()
        task = asyncio.create_task(self._chase(level, chain), context=self._context.copy())
        self.tasks.add(task)
        task.add_done_callback(lambda task: self._done(task, chain))

    def _done(self, task: asyncio.Task[None], chain: Chain) -> None:
        self.tasks.discard(task)
        self._budgeting.alive -= 1
        chain.alive = False
        self._budgeting.news(self)

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
