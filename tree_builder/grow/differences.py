"""How much a level's items differ from those before them: where it is worth to guess that a group begins."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tree_builder.grow.items import Feed

if TYPE_CHECKING:
    from tree_builder.protocols import Matrix

_WORD = re.compile(r"[^\W\d_]{3,}")
REACH = 2
"""Items on either side of a place which are compared."""


class Differences:
    """Differences at the base items of a growth: by the words they share, by their vectors once these are known."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._by_words: dict[int, float] = {}
        self._by_vectors: list[float] | None = None

    def learn(self, vectors: Matrix) -> None:
        """Take the vectors of the first base items, (n, dim)."""
        self._by_vectors = by_vectors(vectors)

    def at(self, position: int) -> float:
        """Give the difference between the items around `position`: 0 alike, 1 nothing in common."""
        if self._by_vectors is not None and position < len(self._by_vectors):
            return self._by_vectors[position]
        known = self._by_words.get(position)
        if known is None:
            known = self._by_words[position] = self._words_around(position)
        return known

    def _words_around(self, position: int) -> float:
        before = self._words(range(position - REACH, position))
        after = self._words(range(position, position + REACH))
        if not before or not after:
            return 0.0
        return 1.0 - len(before & after) / min(len(before), len(after))

    def _words(self, positions: range) -> set[str]:
        trees = [self._feed.known(p) for p in positions if p >= 0]
        return {word for tree in trees if tree is not None for word in words_of(tree.content)}


def by_vectors(vectors: Matrix) -> list[float]:
    """Give, for each row, 1 - cosine of the means of the rows before it and from it on; 0 for the first."""
    n = len(vectors)
    sums = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0, dtype=np.float64)])
    at = np.arange(1, n)
    before = sums[at] - sums[np.maximum(at - REACH, 0)]
    after = sums[np.minimum(at + REACH, n)] - sums[at]
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    cosine = np.einsum("ij,ij->i", before, after) / np.maximum(norms, 1e-12)
    return [0.0, *(1.0 - cosine).tolist()]


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))
