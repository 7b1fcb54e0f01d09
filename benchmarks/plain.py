"""The plain way to grow a tree, one question after another: what ours is measured against, and how long it must take.

While it grows it keeps two clocks which no run can beat: `in_order`, where each group still waits for the one before it but all
else happens at once, and `free`, where every group starts as soon as its items are there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from tree_builder.model import NodeType, Tree
from tree_builder.protocols import LanguageModel

Contents = tuple[str, tuple["Contents", ...]]


@dataclass(frozen=True, slots=True)
class Timed:
    """A node, and when it is ready on either clock, in seconds."""

    contents: Contents
    tree: Tree
    in_order_s: float = 0.0
    free_s: float = 0.0


@dataclass(slots=True)
class Plain:
    """Grows with `model`, awaiting each answer. latency_s: what a call takes, by its answer.

    calls, total_s: how many there were, and their latencies added up.
    """

    model: LanguageModel
    latency_s: Callable[[str], float]
    window: int = 0
    calls: int = 0
    total_s: float = 0.0
    free_s: float = field(default=0.0)

    def _took(self, answer: str) -> float:
        self.calls += 1
        took_s = self.latency_s(answer)
        self.total_s += took_s
        return took_s

    async def tree(self, items: Sequence[Timed]) -> Timed:
        level = list(items)
        if len(level) == 1:
            only = level[0]
            return Timed((only.tree.content, (only.contents,)), only.tree, only.in_order_s, only.free_s)
        while len(level) > 1:
            level = await self._level(level)
        return level[0]

    async def _level(self, items: list[Timed]) -> list[Timed]:
        out, i, chain_s = [], 0, 0.0
        while i < len(items) - 1:
            node, chain_s, n = await (self._window if self.window else self._each)(items, i, chain_s)
            out.append(node)
            i += n
        return out + items[i:]

    async def _each(self, items: list[Timed], i: int, chain_s: float) -> tuple[Timed, float, int]:
        covered = items[i : i + 2]
        probe = await self.model.summarize([c.tree for c in covered])
        took_s = self._took(probe.content)
        order_s = max(chain_s, *(c.in_order_s for c in covered)) + took_s
        free_s = max(c.free_s for c in covered) + took_s
        probe_order_s, probe_free_s = order_s, free_s
        for item in items[i + 2 :]:
            verdict = await self.model.changes_topic(probe.content, item.tree)
            took_s = self._took("YES" if verdict.boundary else "NO")
            order_s = max(order_s, item.in_order_s) + took_s
            free_s = max(free_s, item.free_s) + took_s
            if verdict.boundary:
                break
            covered.append(item)
        if len(covered) == 2:
            return _node(covered, probe.content, probe_order_s, probe_free_s), order_s, 2
        return await self._close(covered, order_s, free_s), order_s, len(covered)

    async def _window(self, items: list[Timed], i: int, chain_s: float) -> tuple[Timed, float, int]:
        covered = items[i : i + 2]
        order_s, free_s = max(chain_s, *(c.in_order_s for c in covered)), max(c.free_s for c in covered)
        while fresh := items[i + len(covered) : i + len(covered) + self.window - 2]:
            verdict = await self.model.first_new_topic([c.tree for c in covered[-2:] + fresh])
            took_s = self._took('{"first_new_topic": 0}')
            order_s = max(order_s, *(c.in_order_s for c in fresh)) + took_s
            free_s = max(free_s, *(c.free_s for c in fresh)) + took_s
            covered += fresh if verdict.first is None else fresh[: verdict.first - 2]
            if verdict.first is not None:
                break
        return await self._close(covered, order_s, free_s), order_s, len(covered)

    async def _close(self, covered: Sequence[Timed], order_s: float, free_s: float) -> Timed:
        summary = await self.model.summarize([c.tree for c in covered])
        took_s = self._took(summary.content)
        return _node(covered, summary.content, order_s + took_s, free_s + took_s)


def _node(covered: Sequence[Timed], content: str, in_order_s: float, free_s: float) -> Timed:
    tree = Tree(NodeType.SUMMARY, content, level=1)
    return Timed((content, tuple(c.contents for c in covered)), tree, in_order_s, free_s)


def timed(trees: Sequence[Tree]) -> list[Timed]:
    return [Timed((tree.content, ()), tree) for tree in trees]


def contents(tree: Tree) -> Contents:
    """Give a tree's contents, to compare."""
    return (tree.content, tuple(contents(child) for child in tree.children))


Grow = Callable[[], Awaitable[Tree]]
