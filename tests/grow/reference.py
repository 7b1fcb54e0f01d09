"""The plain algorithm, one question after another, as the requirement writes it down. No speed, no streams, no levels at once.

It shares nothing with `tree_builder.grow`: nodes are tuples of its own, so that a fault there cannot hide here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Question = tuple[str, ...]


@dataclass(frozen=True)
class Node:
    content: str
    children: tuple[Node, ...] = ()
    closed_by: str = ""  # how the group ended: yes, end, full


@dataclass
class Answers:
    """An oracle, and every question which it was asked, in order."""

    summary: Callable[[Sequence[str]], str]
    changes: Callable[[str, str], bool]
    asked: list[Question] = field(default_factory=list)

    def summarize(self, items: Sequence[Node]) -> str:
        texts = [item.content for item in items]
        self.asked.append(("summarize", *texts))
        return self.summary(texts)

    def would_change(self, summary: str, item: Node) -> bool:
        self.asked.append(("each", summary, item.content))
        return self.changes(summary, item.content)

    def first_new(self, items: Sequence[Node]) -> int | None:
        texts = [item.content for item in items]
        self.asked.append(("window", *texts))
        return next((at for at in range(2, len(texts)) if self.changes(self.summary(texts[:at]), texts[at])), None)


@dataclass(frozen=True)
class Rules:
    scope: str = "pair"
    method: str = "each"
    prompt_size: int = 10**9
    max_items: int | None = None
    window: int = 10

    def full(self, covered: Sequence[Node], item: Node) -> bool:
        if self.max_items is not None and len(covered) >= self.max_items:
            return True
        size = sum(len(n.content) for n in covered) + len(item.content)
        return self.scope == "group" and size > self.prompt_size


def build_level(items: list[Node], answers: Answers, rules: Rules) -> list[Node]:
    """One pass over a level."""
    results = []
    i = 0
    while i < len(items):
        if i == len(items) - 1:
            results.append(items[i])
            break
        extend = _extend_each if rules.method == "each" else _extend_window
        probe, covered, closed_by = extend(items, i, answers, rules)
        i += len(covered)
        if rules.scope == "group" and len(covered) > 2:
            summary = answers.summarize(covered)
        else:
            summary = probe or answers.summarize(covered[:2])
        results.append(Node(summary, tuple(covered), closed_by))
    return results


def _extend_each(items: list[Node], i: int, answers: Answers, rules: Rules) -> tuple[str, list[Node], str]:
    probe = answers.summarize(items[i : i + 2])
    covered = items[i : i + 2]
    for item in items[i + 2 :]:
        if rules.full(covered, item):
            return probe, covered, "full"
        if answers.would_change(probe, item):
            return probe, covered, "yes"
        covered.append(item)
    return probe, covered, "end"


def _extend_window(items: list[Node], i: int, answers: Answers, rules: Rules) -> tuple[str, list[Node], str]:
    covered = items[i : i + 2]
    while True:
        fresh: list[Node] = []
        while len(fresh) < rules.window - 2 and i + len(covered) + len(fresh) < len(items):
            item = items[i + len(covered) + len(fresh)]
            if rules.full(covered + fresh, item):
                break
            fresh.append(item)
        if not fresh:
            return "", covered, "end" if i + len(covered) == len(items) else "full"
        first = answers.first_new(covered[-2:] + fresh)
        if first is not None:
            return "", covered + fresh[: first - 2], "yes"
        covered = covered + fresh


def build_tree(contents: Sequence[str], answers: Answers, rules: Rules) -> Node:
    """Level upon level until one node is left; a lone item gets a top of its own."""
    level = [Node(content) for content in contents]
    if len(level) == 1:
        return Node(level[0].content, (level[0],), "end")
    while len(level) > 1:
        level = build_level(level, answers, rules)
    return level[0]
