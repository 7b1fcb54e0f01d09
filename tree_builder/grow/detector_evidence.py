"""What speaks for a boundary between two neighbouring items: distance of vectors and of words on both sides, and headings.

Each figure depends on items near it alone. All sums are over whole numbers, so they come out the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

import numpy as np

from tree_builder.grow.detector_headings import KINDS, headings_at
from tree_builder.grow.detector_words import word_counts

if TYPE_CHECKING:
    import numpy.typing as npt

    Figures = npt.NDArray[np.float64]

BACK, AHEAD = 64, 32
"""Items before and after an item against which its words and its vector are judged."""
SIDE = 4
"""Items on each side of a gap which are compared, at most."""
NAMES = (
    "vector_distance",  # 1 - cosine of the two items at the gap
    "word_distance_2",  # 1 - cosine of the words of two items on each side
    "word_distance_4",
    "vector_contrast",  # how much closer items on the same side are to each other than to those beyond the gap
    "word_contrast",
    "lone_heading",
    "single_heading",
    "numbered_heading",
)
_GRID = 4096.0  # steps of a vector's coordinate
_IDF_STEPS = 32
_BLOCK = 512  # items worked on at once: bounds memory


def evidence(texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> Figures:
    """Give the evidence for a boundary before each item: (n, len(NAMES)); the first row is zero.

    texts: each item's own text, without what it repeats of the one before. vectors: (n, dim), unit length.
    A row depends on the BACK + SIDE items before its item and the AHEAD + SIDE after.
    """
    n = len(texts)
    out = np.zeros((n, len(NAMES)))
    for start in range(0, n, _BLOCK):
        end = min(n, start + _BLOCK)
        low, high = max(0, start - BACK - SIDE), min(n, end + AHEAD + SIDE)
        centred = _Products.of(_centred(vectors[low:high]))
        weighted = _Products.of(_weighted(word_counts(texts[low:high])))
        rows = slice(start - low, end - low)
        columns = [
            1 - _closeness(centred, 1),
            1 - _closeness(weighted, 2),
            1 - _closeness(weighted, SIDE),
            _contrast(centred),
            _contrast(weighted),
        ]
        out[start:end, : len(columns)] = np.stack(columns, axis=1)[rows]
    out[:, -KINDS:] = headings_at(texts)
    out[0] = 0
    return out


def _neighbourhood(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    at = np.arange(n)
    return np.maximum(0, at - BACK), np.minimum(n, at + AHEAD + 1)


def _sums(rows: Figures) -> Figures:
    return np.vstack([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])


def _centred(vectors: npt.NDArray[np.float32]) -> Figures:
    """Take from each vector what its neighbourhood has in common, in whole steps. One item more than there are keeps a little of it."""
    steps = np.rint(vectors.astype(np.float64) * _GRID)
    low, high = _neighbourhood(len(steps))
    sums = _sums(steps)
    centred: Figures = np.rint(steps - (sums[high] - sums[low]) / (high - low + 1)[:, None])
    return centred


def _weighted(counts: Figures) -> Figures:
    """Weigh words by how rare they are in the neighbourhood, in whole steps."""
    low, high = _neighbourhood(len(counts))
    sums = _sums((counts > 0).astype(np.float64))
    weighted: Figures = (
        counts * _rarity(BACK + AHEAD + 1)[(high - low)[:, None], (sums[high] - sums[low]).astype(np.int64)]
    )
    return weighted


@lru_cache(maxsize=1)
def _rarity(most: int) -> Figures:
    """Tabulate ln((m + 1) / (df + 1/2)) by the size m of a neighbourhood and the number df of its items with the word."""
    table = np.zeros((most + 1, most + 1))
    for m in range(most + 1):
        for df in range(m + 1):
            table[m, df] = round(_IDF_STEPS * max(0.0, log((m + 1) / (df + 0.5))))
    return table


class _Products:
    """Products of the rows with those up to 2 * SIDE - 1 after them, and sums of them over the items on both sides of each gap."""

    def __init__(self, by_lag: Sequence[Figures]) -> None:
        self.n = len(by_lag[0])
        self._by_lag = by_lag

    @classmethod
    def of(cls, rows: Figures) -> _Products:
        n = len(rows)
        return cls([np.einsum("ij,ij->i", rows[: n - lag], rows[lag:]) for lag in range(min(2 * SIDE, n))])

    def of_directions(self) -> _Products:
        """Give the products of the rows brought to unit length; an empty row has none with any."""
        lengths = np.sqrt(self._by_lag[0])
        lengths[lengths == 0] = 1
        return _Products([p / (lengths[: self.n - lag] * lengths[lag:]) for lag, p in enumerate(self._by_lag)])

    def _sum(self, places: Iterable[tuple[int, int]]) -> Figures:
        """Sum, for each item i, the products of rows i + offset and i + offset + lag which are there."""
        total = np.zeros(self.n)
        for lag, offset in places:
            if lag < len(self._by_lag):
                products = self._by_lag[lag]
                low, high = max(0, -offset), min(self.n, len(products) - offset)
                if low < high:
                    total[low:high] += products[low + offset : high + offset]
        return total

    def across(self, side: int) -> Figures:
        return self._sum((p + q, -p) for p in range(1, side + 1) for q in range(side))

    def within(self, side: int, first: int) -> Figures:
        """Sum over the pairs, each once, of `side` items of which the first is `first` after the gap's item."""
        return self._sum((lag, first + offset) for lag in range(1, side) for offset in range(side - lag))

    def squares(self, side: int, first: int) -> Figures:
        return self._sum((0, first + offset) for offset in range(side))


def _closeness(products: _Products, side: int) -> Figures:
    """Give the cosine between the sums of `side` rows on both sides of each gap: (n,)."""
    left = products.squares(side, -side) + 2 * products.within(side, -side)
    right = products.squares(side, 0) + 2 * products.within(side, 0)
    length = np.sqrt(np.maximum(left, 0)) * np.sqrt(np.maximum(right, 0))
    closeness: Figures = products.across(side) / np.where(length == 0, 1.0, length)
    return closeness


def _contrast(products: _Products) -> Figures:
    """Give mean cosine of the pairs on the same side of each gap less that of the pairs across it, SIDE items a side: (n,)."""
    directions = products.of_directions()
    at = np.arange(directions.n)
    left, right = np.minimum(SIDE, at), np.minimum(SIDE, directions.n - at)
    across = directions.across(SIDE) / np.maximum(1, left * right)
    pairs = (left * (left - 1) + right * (right - 1)) // 2
    within = (directions.within(SIDE, -SIDE) + directions.within(SIDE, 0)) / np.maximum(1, pairs)
    return np.where(pairs == 0, 0.0, within - across)
