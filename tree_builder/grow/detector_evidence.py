"""What speaks for a boundary between two neighbouring items: distance of vectors and of words, segments around them, and headings.

Each figure depends on items near it alone. All sums are over whole numbers, so they come out the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

import numpy as np

from tree_builder.grow.detector_headings import KINDS, headings_at
from tree_builder.grow.detector_segments import LONGEST, REACH, division_logits, products_by_lag
from tree_builder.grow.detector_words import word_counts

if TYPE_CHECKING:
    import numpy.typing as npt

    Figures = npt.NDArray[np.float64]

BACK, AHEAD = 64, 32
"""Items before and after an item against which its words and its vector are judged."""
NAMES = (
    "vector_distance",  # 1 - cosine of the two items at the gap
    "word_distance",  # 1 - cosine of the words of two items on each side
    "division",  # log odds of a boundary among all divisions of the items around it
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
    A row depends on the BACK + REACH items before its item and the AHEAD + REACH after.
    """
    n = len(texts)
    out = np.zeros((n, len(NAMES)))
    for start in range(0, n, _BLOCK):
        end = min(n, start + _BLOCK)
        low, high = max(0, start - BACK - REACH), min(n, end + AHEAD + REACH)
        centred = products_by_lag(_centred(vectors[low:high]), LONGEST)
        weighted = products_by_lag(_weighted(word_counts(texts[low:high])), LONGEST)
        columns = [_distance(centred, 1), _distance(weighted, 2), division_logits(weighted, centred)]
        out[start:end, : len(columns)] = np.stack(columns, axis=1)[start - low : end - low]
    out[:, -KINDS:] = headings_at(texts)
    out[0] = 0
    return out


def neighbourhood(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give where the neighbourhood of each of n items begins and where it ends."""
    at = np.arange(n)
    return np.maximum(0, at - BACK), np.minimum(n, at + AHEAD + 1)


def _sums(rows: Figures) -> Figures:
    return np.vstack([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])


def _centred(vectors: npt.NDArray[np.float32]) -> Figures:
    """Take from each vector what its neighbourhood has in common, in whole steps. One item more than there are keeps a little of it."""
    steps = np.rint(vectors.astype(np.float64) * _GRID)
    low, high = neighbourhood(len(steps))
    sums = _sums(steps)
    centred: Figures = np.rint(steps - (sums[high] - sums[low]) / (high - low + 1)[:, None])
    return centred


def _weighted(counts: Figures) -> Figures:
    """Weigh words by how rare they are in the neighbourhood, in whole steps."""
    low, high = neighbourhood(len(counts))
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


def _distance(products: Figures, side: int) -> Figures:
    """Give 1 - cosine between the sums of `side` rows on both sides of each gap: (n,). products: as `products_by_lag` gives them."""
    n = products.shape[1]

    def summed(places: Iterable[tuple[int, int]]) -> Figures:
        """Sum, for each item i, the products of rows i + offset and i + offset + lag which are there."""
        total = np.zeros(n)
        for lag, offset in places:
            low, high = max(0, -offset), min(n, n - offset)
            total[low:high] += products[lag, low + offset : high + offset]
        return total

    def square(first: int) -> Figures:
        within = summed((lag, first + offset) for lag in range(1, side) for offset in range(side - lag))
        return summed((0, first + offset) for offset in range(side)) + 2 * within

    across = summed((p + q, -p) for p in range(1, side + 1) for q in range(side))
    length = np.sqrt(np.maximum(square(-side), 0)) * np.sqrt(np.maximum(square(0), 0))
    distance: Figures = 1 - across / np.where(length == 0, 1.0, length)
    return distance
