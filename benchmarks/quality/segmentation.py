"""A document with gold boundaries on its chunks, and how near a segmentation comes to them. Plain functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from nltk.metrics import pk, windowdiff

from tree_builder.model import Chunk

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Prepared:
    """A document cut and embedded as the program does it, with its gold on chunk boundaries."""

    name: str
    text: str
    chunks: tuple[Chunk, ...]
    vectors: Vectors  # (n_chunks, dim) unit length
    gold_starts: tuple[int, ...]  # characters

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where each chunk's own text begins, its overlap left out."""
        return np.array([chunk.char_start + chunk.overlap for chunk in self.chunks])

    def nearest(self, places: Sequence[int]) -> list[int]:
        """Give the chunks whose start is nearest to each place, without the first chunk; the earlier one where two are as near."""
        found = {int(np.abs(self.starts - place).argmin()) for place in places}
        return sorted(found - {0})

    @cached_property
    def gold(self) -> list[int]:
        return self.nearest(self.gold_starts)


@dataclass(frozen=True, slots=True)
class Score:
    pk: float
    window_diff: float
    items: float  # a group, on average


def marks(n: int, starts: Sequence[int]) -> str:
    """Write a segmentation of n items as the metrics want it: one sign a gap between neighbours, 1 for a boundary."""
    chosen = set(starts)
    return "".join("1" if i in chosen else "0" for i in range(1, n))


def window(n: int, gold: Sequence[int]) -> int:
    """Half the gold's mean segment, as Beeferman, Berger and Lafferty (1999) set it, at least 2 and inside the document."""
    return min(max(2, round(n / (2 * (len(gold) + 1)))), n - 1)


def score(document: Prepared, starts: Sequence[int]) -> Score:
    n = len(document.chunks)
    k = window(n, document.gold)
    gold, found = marks(n, document.gold), marks(n, starts)
    return Score(pk(gold, found, k), windowdiff(gold, found, k), n / (len(starts) + 1))
