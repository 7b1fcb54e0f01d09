"""The bound on calls (law 7) and what speculation may add to it, counted while a tree grows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tree_builder.errors import LevelDidNotShrink

LOST_BEFORE, DECIDED_BEFORE = 6, 20
"""How many speculative calls are taken to have been lost, of how many, before any have shown it."""
TYPICAL_CALLS = 1.2
"""Calls a merge, until a tree has shown its own rate. It lies between 1, one huge group, and 2, pairs only."""


@dataclass(slots=True)
class Tally:
    """Speculative calls of all trees of a run: those of which it is not known yet whether they are used, those used, and those lost."""

    pending: int = 0
    won: int = 0
    lost: int = 0

    @property
    def loss(self) -> float:
        """The share which is lost, as far as it has shown."""
        return (LOST_BEFORE + self.lost) / (DECIDED_BEFORE + self.won + self.lost)


class Account:
    """The calls of one growth.

    N items cost at most 2 (N - 1) calls for grouping and summarizing on all levels together: a group of g items takes g - 1
    items off the tree's front ("merges"), and costs 2 calls when g is 2 (probe, closing question), g + 1 when g is more (probe,
    g - 1 questions, final summary), so never more than 2 (g - 1). Repairs and the parts of a single huge item are not counted.

    Speculative calls are pending until it is known whether the tree uses them. Were all of them lost, and each merge still
    to come as dear as can be, the total must still not pass 2 (N - 1) and the allowance: `allows_speculative_call` sees to that.

    seen: how many base items have come so far. ahead: whether any may be lost. allowance: how many.
    urgency: how many questions the tree still takes, one after another, about: the tree with most goes first.
    """

    def __init__(self, seen: Callable[[], int], tally: Tally | None = None, *, ahead: bool = True) -> None:
        self._tally = tally or Tally()
        self._seen = seen
        self.ahead = ahead
        self.allowance: Callable[[], float] = lambda: 0.0
        self.used = 0
        self.pending = 0
        self.wasted = 0
        self.merged = 0
        self.urgency = math.inf

    @property
    def items(self) -> int:
        return self._seen()

    @property
    def remaining(self) -> int:
        """Merges still to come."""
        return max(0, self._seen() - 1 - self.merged)

    @property
    def expected(self) -> float:
        """Calls which the tree will have used, at the rate seen so far."""
        return self.used + self.rate * self.remaining

    @property
    def rate(self) -> float:
        """Calls a merge, as far as the tree has shown."""
        return self.used / self.merged if self.merged >= 20 else TYPICAL_CALLS

    def spend(self) -> None:
        """Count a call which the tree uses.

        Raises:
            LevelDidNotShrink: the bound is passed, which only a fault in growing itself can bring about.
        """
        self._use(1)

    def speculate(self) -> None:
        """Count a call which the tree may use."""
        self.pending += 1
        self._tally.pending += 1

    def confirm(self, calls: int) -> None:
        """Count pending calls as used."""
        self.pending -= calls
        self._tally.pending -= calls
        self._tally.won += calls
        self._use(calls)

    def waste(self, calls: int) -> None:
        """Count pending calls as lost."""
        self.pending -= calls
        self._tally.pending -= calls
        self._tally.lost += calls
        self.wasted += calls

    def withdraw(self, calls: int) -> None:
        """Forget pending calls which were never made."""
        self.pending -= calls
        self._tally.pending -= calls

    def allows_speculative_call(self, calls: int = 1) -> bool:
        """Say whether so many more calls would break no bound if all were lost."""
        return self.ahead and self.used + self.pending + self.wasted + calls <= self.allowance() + 2 * self.merged

    def _use(self, calls: int) -> None:
        self.used += calls
        items = self._seen()
        if self.used > 2 * items:
            raise LevelDidNotShrink(
                f"growing {items} items took more than {2 * items} model calls; please report this",
                items=items,
                calls=self.used,
            )
