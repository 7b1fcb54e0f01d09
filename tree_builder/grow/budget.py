"""The bound on calls (law 7), checked while a tree grows."""

from __future__ import annotations

from collections.abc import Callable

from tree_builder.errors import LevelDidNotShrink


class Budget:
    """At most two calls an item, for grouping and summarizing on all levels together.

    A group of g items takes g - 1 items off the tree's front. It costs 2 calls when g is 2 (probe, closing question), and
    g + 1 when g is more (probe, g - 1 questions, final summary), so never more than 2 (g - 1). Over all levels N items
    become one, which makes at most 2 (N - 1). Repairs and the parts of a single huge item are not counted.

    seen: how many base items have come so far.
    """

    def __init__(self, seen: Callable[[], int]) -> None:
        self._seen = seen
        self.used = 0

    def spend(self) -> None:
        """Count a call.

        Raises:
            LevelDidNotShrink: the bound is reached, which only a fault in growing itself can bring about.
        """
        self.used += 1
        if self.used > 2 * self._seen():
            raise LevelDidNotShrink(
                f"growing {self._seen()} items took more than {2 * self._seen()} model calls; please report this",
                items=self._seen(),
                calls=self.used,
            )
