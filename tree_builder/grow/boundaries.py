"""How a boundary is found: `each`, `window` or `embedding`, behind one protocol.

A strategy forms the group which begins at a position from what it finds from there on, never from what lies in front. So
the same items give the same groups wherever they stand, and groups may be formed from several positions at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from tree_builder.grow.groups import Formation, Limits, formed
from tree_builder.grow.items import END, Item, Items
from tree_builder.model import Decision, Summary, Tree
from tree_builder.protocols import Embedder, Verdict, WindowVerdict

if TYPE_CHECKING:
    from tree_builder.protocols import Matrix

Detect = Callable[[Sequence[Tree], "Matrix"], Sequence[Decision]]
"""The items of a level and their vectors to decisions, each about the item whose index is `at`."""


class Early(Protocol):
    """A question which was asked before it is known whether it is needed."""

    async def take(self) -> Verdict | None:
        """Give the answer, which is needed; None where it has to be asked for again."""
        ...

    def drop(self) -> None:
        """Note that it is not needed."""
        ...


class Ask(Protocol):
    """What a strategy may ask a language model."""

    async def summarize(self, items: Sequence[Item]) -> Summary: ...
    async def changes_topic(self, summary: Summary, item: Item) -> Verdict: ...
    def changes_topic_early(self, summary: Summary, item: Item) -> Early | None: ...
    async def first_new_topic(self, items: Sequence[Item]) -> WindowVerdict: ...


class Boundaries(Protocol):
    """One way to find boundaries, for one level."""

    async def form(self, start: int, items: Items, ask: Ask, limits: Limits) -> Formation:
        """Form the group which begins at `start`. It has one item only where nothing follows."""
        ...


AHEAD = 3
"""Questions asked before their turn, at most: the further ahead, the more likely the group ends before."""


class Each:
    """Ask about every item whether it would change the probe, the summary of the group's first two items.

    What is asked about an item does not depend on those before it, so while slots are idle the next ones are asked about too.
    """

    async def form(self, start: int, items: Items, ask: Ask, limits: Limits) -> Formation:
        group = await _first_two(start, items)
        if len(group) < 2:
            return formed(group, None, ())
        probe = await ask.summarize(group)
        decisions: list[Decision] = []
        early: dict[int, Early] = {}
        try:
            while True:
                upcoming = await items.at(group[-1].next)
                closing = limits.closing(group, upcoming)
                if closing is not None or upcoming is None:
                    decisions += [closing] if closing else []
                    break
                _look_ahead(early, probe, upcoming, items, ask)
                asked = early.pop(upcoming.start, None)
                known = await asked.take() if asked else None
                verdict = known or await ask.changes_topic(probe, upcoming)
                decisions.append(Decision(len(group), verdict.boundary, "each", verdict.word, verdict.score))
                if verdict.boundary:
                    break
                group.append(upcoming)
        finally:
            for question in early.values():
                question.drop()
        return formed(group, upcoming, decisions, probe)


def _look_ahead(early: dict[int, Early], probe: Summary, upcoming: Item, items: Items, ask: Ask) -> None:
    """Ask about the items behind the upcoming one, as far as they are there and slots are idle."""
    item = upcoming
    for _ in range(AHEAD):
        following = items.there(item.next)
        if following is None:
            break
        if following.start not in early:
            question = ask.changes_topic_early(probe, following)
            if question is None:
                break
            early[following.start] = question
        item = following


class Window:
    """Show a run of items and ask for the first which starts a new topic.

    The first window begins with the group's first item. Where none of its items starts a new topic all of them join, and the
    next window begins with the group's last two, which the question takes as known to belong together.
    """

    def __init__(self, size: int) -> None:
        self._size = size

    async def form(self, start: int, items: Items, ask: Ask, limits: Limits) -> Formation:
        group = await _first_two(start, items)
        if len(group) < 2:
            return formed(group, None, ())
        decisions: list[Decision] = []
        while True:
            context = group[-2:]
            fresh, upcoming, closing = await self._fresh(group, items, limits)
            if not fresh:
                decisions += [closing] if closing else []
                return formed(group, upcoming, decisions)
            verdict = await ask.first_new_topic([*context, *fresh])
            joining = len(fresh) if verdict.first is None else verdict.first - len(context)
            if not 0 <= joining <= len(fresh):  # an index outside the window is no answer
                joining, verdict = len(fresh), WindowVerdict(None, "undecided")
            asked = f"items {len(group)} to {len(group) + len(fresh) - 1}"
            group += fresh[:joining]
            if joining < len(fresh):
                decisions.append(Decision(len(group), True, "window", verdict.word, verdict.score, asked))
                return formed(group, fresh[joining], decisions)
            decisions.append(Decision(len(group) - 1, False, "window", verdict.word, verdict.score, asked))

    async def _fresh(
        self, group: Sequence[Item], items: Items, limits: Limits
    ) -> tuple[list[Item], Item | None, Decision | None]:
        """Gather the items not yet asked about which a window holds, the one after them, and why it stopped early."""
        fresh: list[Item] = []
        upcoming = await items.at(group[-1].next)
        while True:
            closing = limits.closing([*group, *fresh], upcoming)
            if closing is not None or upcoming is None or len(fresh) == self._size - 2:
                return fresh, upcoming, closing
            fresh.append(upcoming)
            upcoming = await items.at(upcoming.next)


class Embedding:
    """Compare the vectors of a whole level; no language model is asked. One object serves one level, from its first group on."""

    def __init__(self, embedder: Embedder, detect: Detect) -> None:
        self._embedder = embedder
        self._detect = detect
        self._found: Mapping[int, Decision] | None = None

    async def form(self, start: int, items: Items, ask: Ask, limits: Limits) -> Formation:  # noqa: ARG002
        if self._found is None:
            self._found = await self._decide(start, items)
        group = await _first_two(start, items)
        if len(group) < 2:
            return formed(group, None, ())
        decisions: list[Decision] = []
        while True:
            upcoming = await items.at(group[-1].next)
            closing = limits.closing(group, upcoming)
            if closing is not None or upcoming is None:
                decisions += [closing] if closing else []
                return formed(group, upcoming, decisions)
            seen = self._found.get(upcoming.start, _NO_BOUNDARY)
            decisions.append(Decision(len(group), seen.boundary, "embedding", seen.verdict, seen.score, seen.reason))
            if seen.boundary:
                return formed(group, upcoming, decisions)
            group.append(upcoming)

    async def _decide(self, start: int, items: Items) -> Mapping[int, Decision]:
        """Wait for the whole level, then give the decisions by the positions of the items they are about."""
        level: list[Item] = []
        position = start
        while position != END and (item := await items.at(position)) is not None:
            level.append(item)
            position = item.next
        if len(level) < 3:
            return {}
        trees = [item.tree for item in level]
        vectors = await self._embedder.embed([tree.content for tree in trees])
        decisions = await asyncio.to_thread(self._detect, trees, vectors)
        return {level[d.at].start: d for d in decisions}


_NO_BOUNDARY = Decision(0, boundary=False, method="embedding", verdict="no")


async def _first_two(start: int, items: Items) -> list[Item]:
    group: list[Item] = []
    position = start
    while len(group) < 2 and (item := await items.at(position)) is not None:
        group.append(item)
        position = item.next
    return group
