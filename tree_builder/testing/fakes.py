"""Fakes of the seams in protocols.py: deterministic, counting their calls, able to fail on the n-th."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tree_builder.errors import BadModelOutput
from tree_builder.model import Answer, Request, Summary, Tree, Usage
from tree_builder.protocols import Priority, Verdict, WindowVerdict
from tree_builder.testing import oracle

Matrix = npt.NDArray[np.float32]
BoundaryOracle = Callable[[str, str], bool]
SummaryOracle = Callable[[Sequence[str]], str]


class _Failing:
    """Counts calls, waits where asked, and raises on chosen ones."""

    def __init__(
        self,
        fail_on: Iterable[int] = (),
        error: Callable[[], Exception] = lambda: BadModelOutput("the fake was told to fail"),
        shuffle: random.Random | None = None,
    ) -> None:
        self.calls: Counter[str] = Counter()
        self.priorities: Counter[Priority] = Counter()
        self.in_flight = 0
        self.max_in_flight = 0
        self._fail_on = frozenset(fail_on)
        self._error = error
        self._shuffle = shuffle

    @property
    def total(self) -> int:
        return sum(self.calls.values())

    async def _call(self, kind: str, priority: Priority) -> None:
        self.calls[kind] += 1
        self.priorities[priority] += 1
        number = self.total
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            for _ in range(self._shuffle.randrange(6) if self._shuffle else 1):
                await asyncio.sleep(0)
        finally:
            self.in_flight -= 1
        if number in self._fail_on:
            raise self._error()


class FakeEmbedder(_Failing):
    """Vectors of hashed words: texts which share words are near.

    fail_on: numbers of the calls, from 1, which raise `error()`. shuffle: answers arrive in an order drawn from it.
    """

    def __init__(
        self,
        dimensions: int = 64,
        name: str = "fake-embedder",
        *,
        fail_on: Iterable[int] = (),
        error: Callable[[], Exception] = lambda: BadModelOutput("the fake was told to fail"),
        shuffle: random.Random | None = None,
    ) -> None:
        super().__init__(fail_on, error, shuffle)
        self.name = name
        self.dimensions = dimensions
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL) -> Matrix:
        """Embed the texts: (n, dimensions) float32, unit length."""
        self.texts += texts
        await self._call("embed", priority)
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.stack([oracle.vector(text, self.dimensions) for text in texts])


class FakeLanguageModel(_Failing):
    """A language model which answers by oracle functions of the texts it is shown.

    boundary: (summary, item content) to True for a new topic. summarize: contents to a summary.
    memo: answers asked before are given again uncounted, as the real one does; switch off to count every question.
    """

    def __init__(
        self,
        boundary: BoundaryOracle = oracle.changes_topic,
        summarize: SummaryOracle = lambda texts: oracle.summarize(texts, 200),
        *,
        name: str = "fake-model",
        prompt_size: int = 100_000,
        memo: bool = True,
        fail_on: Iterable[int] = (),
        error: Callable[[], Exception] = lambda: BadModelOutput("the fake was told to fail"),
        shuffle: random.Random | None = None,
    ) -> None:
        super().__init__(fail_on, error, shuffle)
        self.name = name
        self.prompt_size = prompt_size
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._boundary = boundary
        self._summarize = summarize
        self._memo = memo
        self._seen: dict[tuple[str, tuple[str, ...]], asyncio.Future[None]] = {}

    def size(self, item: Tree) -> int:
        return len(item.content)

    async def summarize(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> Summary:
        texts = tuple(item.content for item in items)
        await self._ask("summarize", texts, priority)
        return Summary(self._summarize(texts))

    async def changes_topic(self, summary: str, item: Tree, *, priority: Priority = Priority.CRITICAL) -> Verdict:
        await self._ask("boundary", (summary, item.content), priority)
        boundary = self._boundary(summary, item.content)
        return Verdict(boundary, "yes" if boundary else "no", 1.0 if boundary else 0.0)

    async def first_new_topic(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> WindowVerdict:
        texts = tuple(item.content for item in items)
        await self._ask("boundary", texts, priority)
        for at in range(2, len(texts)):
            if self._boundary(self._summarize(texts[:at]), texts[at]):
                return WindowVerdict(at, "yes")
        return WindowVerdict(None, "no")

    async def _ask(self, kind: str, texts: tuple[str, ...], priority: Priority) -> None:
        question = (kind, texts)
        self.asked.append(question)
        if not self._memo:
            await self._call(kind, priority)
            return
        kept = self._seen.get(question)
        if kept is None:
            kept = self._seen[question] = asyncio.ensure_future(self._call(kind, priority))
        try:
            await asyncio.shield(kept)
        except Exception:
            self._seen.pop(question, None)  # failures are never kept
            raise


class MemoryMemo:
    """A memo in memory. `finds` and `hits` count; `answers` may be looked at."""

    def __init__(self) -> None:
        self.answers: dict[bytes, Answer] = {}
        self.requests: dict[bytes, Request] = {}
        self.finds = 0
        self.hits = 0

    async def find(self, key: bytes) -> Answer | None:
        self.finds += 1
        kept = self.answers.get(key)
        if kept is None:
            return None
        self.hits += 1
        return replace(kept, from_memo=True)

    async def keep(self, request: Request, answer: Answer) -> Answer:
        self.requests.setdefault(request.key, request)
        return self.answers.setdefault(request.key, answer)


class MemoryVectors:
    """A vector store in memory."""

    def __init__(self) -> None:
        self.vectors: dict[uuid.UUID, npt.NDArray[np.float32]] = {}
        self.texts: dict[uuid.UUID, str] = {}
        self.usage = Usage()

    async def find_vectors(self, text_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, npt.NDArray[np.float32]]:
        return {key: self.vectors[key] for key in text_ids if key in self.vectors}

    async def keep_vectors(self, texts: Mapping[uuid.UUID, str], vectors: Matrix, usage: Usage) -> None:
        self.usage += usage
        for (key, text), row in zip(texts.items(), vectors, strict=True):
            self.texts.setdefault(key, text)
            self.vectors.setdefault(key, row)


class NullLedger:
    """A ledger without limits which only adds up."""

    def __init__(self) -> None:
        self.usage: dict[str, Usage] = {}
        self.memo_hits: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()

    def before_call(self, kind: str) -> None:
        """Let every call through."""

    def record(self, kind: str, usage: Usage, *, from_memo: bool = False) -> None:
        if from_memo:
            self.memo_hits[kind] += 1
        else:
            self.usage[kind] = self.usage.get(kind, Usage()) + usage

    def count(self, what: str, n: int = 1) -> None:
        self.counts[what] += n
