"""The seams: what growing and the nightly job ask of models and of the store. Providers implement them; one edge wires them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tree_builder.model import Answer, Request, Summary, Tree, Usage

    Matrix = npt.NDArray[np.float32]


class Priority(IntEnum):
    """Who goes first when slots are short: calls which the tree waits for, before calls it may never use."""

    CRITICAL = 0
    SPECULATIVE = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one boundary question.

    boundary: True when the item starts a new topic. word: yes, no or undecided (undecided counts as no boundary).
    score: probability of a boundary, where the model tells.
    """

    boundary: bool
    word: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class WindowVerdict:
    """The answer about a window of items: `first` is the index of the first which starts a new topic, None when none does."""

    first: int | None
    word: str
    score: float | None = None


class Embedder(Protocol):
    """Texts to vectors. Vectors come in the order of the texts: (n, dimensions) float32, unit length, none zero or NaN."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    async def embed(self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL) -> Matrix: ...


class LanguageModel(Protocol):
    """What growing asks of a language model, or of what stands in for one. Answers come from the memo where it has them.

    Each method raises BadModelOutput (after asking again), ProviderUnavailable, ProviderRejected or BudgetExceeded.
    """

    @property
    def name(self) -> str: ...

    def size(self, item: Tree) -> int:
        """Size of an item in a prompt, in the model's own unit (tokens, or characters)."""
        ...

    @property
    def prompt_size(self) -> int:
        """How many units of `size` one prompt holds, answer and instructions set aside."""
        ...

    async def summarize(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> Summary:
        """Summarize consecutive items together. One item alone which does not fit a prompt is summarized by parts."""
        ...

    async def changes_topic(self, summary: str, item: Tree, *, priority: Priority = Priority.CRITICAL) -> Verdict:
        """Say whether the item would change the summary: whether a new topic starts."""
        ...

    async def first_new_topic(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> WindowVerdict:
        """Name the first of the numbered items, from the third on, which starts a new topic, or none."""
        ...


class Memo(Protocol):
    """Kept answers, by the key of the whole request (law 4). Failures are never kept."""

    async def find(self, key: bytes) -> Answer | None: ...

    async def keep(self, request: Request, answer: Answer) -> Answer:
        """Keep the answer and return the kept one: the first that was kept under this key wins. Durable on return."""
        ...


class VectorStore(Protocol):
    """Kept vectors, by text, of one embedding model."""

    async def find_vectors(self, text_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, npt.NDArray[np.float32]]: ...
    async def keep_vectors(self, texts: Mapping[uuid.UUID, str], vectors: Matrix, usage: Usage) -> None:
        """Keep one vector a text, rows in the mapping's order. Durable on return; a text already kept stays as it is."""
        ...


class Ledger(Protocol):
    """What a run has spent so far; one a run. Asked before every call, told after it."""

    def before_call(self, kind: str) -> None:
        """Raise BudgetExceeded when no further call may start."""
        ...

    def record(self, kind: str, usage: Usage, *, from_memo: bool = False) -> None: ...
    def count(self, what: str, n: int = 1) -> None:
        """Count an event which is no call of its own: repairs, undecided, shortened, retries."""
        ...
