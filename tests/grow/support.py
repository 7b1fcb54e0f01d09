"""What the tests of growing share: oracles of every kind, a model which answers by them, and the comparison of trees."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Sequence

import numpy as np

from tree_builder.model import NodeType, Summary, Tree
from tree_builder.protocols import Priority, Verdict, WindowVerdict

from . import reference

Pause = Callable[[str], Awaitable[None]]


def digest(*texts: str) -> int:
    return int.from_bytes(hashlib.blake2b("\0".join(texts).encode(), digest_size=8).digest())


def short_summary(texts: Sequence[str]) -> str:
    """A summary which depends on all its texts and keeps the topic of the first: `topic:hash`."""
    return f"{texts[0].split(':')[0]}:{digest(*texts):016x}"


def oracle(kind: str, rng: random.Random) -> Callable[[str, str], bool]:
    """An oracle for boundaries: a pure function of the question, as the kept answers of a model are."""
    seed, rate = str(rng.random()), rng.choice([0.1, 0.25, 0.5, 0.8])
    known: dict[str, Callable[[str, str], bool]] = {
        "yes": lambda _s, _i: True,
        "no": lambda _s, _i: False,
        "random": lambda s, i: digest(seed, s, i) % 1000 < rate * 1000,
        "item": lambda _s, i: digest(seed, i) % 1000 < rate * 1000,
        "alternating": lambda _s, i: bool(digest(i) & 1),
        "topic": lambda s, i: s.split(":")[0] != i.split(":")[0],
        "mixed": lambda s, i: (
            s.split(":")[0] != i.split(":")[0] if digest(seed, i) % 4 else digest(seed, s, i) % 2 == 0
        ),
    }
    return known[kind]


KINDS = ("yes", "no", "random", "item", "alternating", "topic", "mixed")


def contents(n: int, rng: random.Random) -> list[str]:
    """Texts of random topics, in runs."""
    out: list[str] = []
    topic = 0
    for at in range(n):
        if rng.random() < 0.25:
            topic = rng.randrange(1000)
        out.append(f"t{topic}:{at} {'w' * rng.randrange(40)}")
    return out


def chunks(texts: Sequence[str]) -> list[Tree]:
    out, at = [], 0
    for text in texts:
        page = at // 100 + 1
        out.append(
            Tree(
                NodeType.CHUNK,
                text,
                level=0,
                char_start=at,
                char_end=at + len(text),
                page_start=page,
                page_end=page,
                doc_path="a/b.pdf",
                dir_path="a",
            )
        )
        at += len(text)
    return out


class Model:
    """A language model which answers by an oracle, after a pause of its own for each call. Counts what it is asked."""

    name = "oracle"

    def __init__(
        self,
        changes: Callable[[str, str], bool],
        summary: Callable[[Sequence[str]], str] = short_summary,
        *,
        prompt_size: int = 10**9,
        pause: Pause | None = None,
    ) -> None:
        self._changes, self._summary, self._pause = changes, summary, pause
        self.prompt_size = prompt_size
        self.asked: list[reference.Question] = []
        self.priorities: list[Priority] = []
        self.in_flight = self.max_in_flight = 0

    def size(self, item: Tree) -> int:
        return len(item.content)

    async def summarize(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> Summary:
        texts = [item.content for item in items]
        await self._call(("summarize", *texts), priority)
        return Summary(self._summary(texts))

    async def changes_topic(self, summary: str, item: Tree, *, priority: Priority = Priority.CRITICAL) -> Verdict:
        await self._call(("each", summary, item.content), priority)
        yes = self._changes(summary, item.content)
        return Verdict(yes, "yes" if yes else "no")

    async def first_new_topic(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> WindowVerdict:
        texts = [item.content for item in items]
        await self._call(("window", *texts), priority)
        first = next((at for at in range(2, len(texts)) if self._changes(self._summary(texts[:at]), texts[at])), None)
        return WindowVerdict(first, "no" if first is None else "yes")

    async def _call(self, question: reference.Question, priority: Priority) -> None:
        self.asked.append(question)
        self.priorities.append(priority)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            await (self._pause(question[0]) if self._pause else asyncio.sleep(0))
        finally:
            self.in_flight -= 1


class Vectors:
    """An embedder: the topic of a text decides its direction, the rest of it a little."""

    name = "vectors"
    dimensions = 16

    def __init__(self, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s

    async def embed(self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL):
        await asyncio.sleep(self.delay_s)
        rows = [self._vector(text.split(":")[0]) + 0.2 * self._vector(text) for text in texts]
        rows = [row / np.linalg.norm(row) for row in rows]
        return np.stack(rows).astype(np.float32)

    def _vector(self, text: str):
        raw = hashlib.blake2b(text.encode(), digest_size=16).digest()
        row = np.frombuffer(raw, dtype=np.uint8).astype(np.float32) - 127.5
        return row / np.linalg.norm(row)


def plain(tree: Tree) -> reference.Node:
    """A tree as a node of the reference, so that the two can be compared."""
    closing = tree.decisions[-1].verdict if tree.decisions else ""
    return reference.Node(tree.content, tuple(plain(child) for child in tree.children), closing)


def leaves(tree: Tree) -> list[Tree]:
    if tree.node_type is NodeType.CHUNK:
        return [tree]
    return [leaf for child in tree.children for leaf in leaves(child)]
