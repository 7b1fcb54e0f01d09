"""From the probability of a boundary before each item to groups: those which put the fewest pairs of items wrongly together or apart.

The measure is the expected Pk of Beeferman, Berger and Lafferty ("Statistical models for text segmentation", Machine Learning
34, 1999): of the pairs of items k apart, the share about which a segmentation is wrong. Taking the boundaries as independent, the
best segmentation is found by dynamic programming, since what a boundary adds depends on the one before it alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Figures = npt.NDArray[np.float64]

LEAST_ITEMS = 2
RATE_BACK, RATE_AHEAD = 32, 16
"""Items before and after an item over which the rate of boundaries is estimated."""
_RATE, _RATE_WEIGHT = 0.1, 16.0  # what is taken for granted about the rate, and how many items that is worth
_SPANS = (2, 10)  # least and most distance of the pairs
_STEPS = 10_000  # of a gain: whole numbers add up alike on every machine


def gains(probabilities: Figures) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give, for the pairs of items which begin before item s, what a boundary inside gains, and the first item beyond them.

    probabilities: (n,), of a boundary before each item; the first is not looked at.
    """
    n = len(probabilities)
    spans = _spans(probabilities)
    ends = np.minimum(n, np.arange(n) + spans)
    none_before = np.concatenate([[0.0], np.cumsum(np.log1p(-np.minimum(probabilities, 0.999)))])
    apart = 1 - np.exp(none_before[ends] - none_before[:n])
    return np.rint(_STEPS * (2 * apart - 1)).astype(np.int64), ends


def _spans(probabilities: Figures) -> npt.NDArray[np.int64]:
    """Half the mean length of a topic, as the probabilities nearby tell."""
    n = len(probabilities)
    at = np.arange(n)
    low, high = np.maximum(1, at - RATE_BACK), np.minimum(n, at + RATE_AHEAD + 1)
    sums = np.concatenate([[0.0], np.cumsum(probabilities)])
    rate = (sums[high] - sums[low] + _RATE * _RATE_WEIGHT) / (high - low + _RATE_WEIGHT)
    return np.clip(np.rint(0.5 / rate), *_SPANS).astype(np.int64)


def next_start(
    start: int, gain: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], *, most: int, horizon: int
) -> int | None:
    """Give where the group after the one which begins at `start` begins, None where the level ends before.

    Depends on what lies within `horizon` items after `start` alone. Groups have LEAST_ITEMS to `most` items.
    """
    n = len(gain)
    last = min(n, start + horizon)
    level_ends = last == n
    size = last - start
    if level_ends and size < 2 * LEAST_ITEMS:
        return None
    best = np.full(size + 1, np.iinfo(np.int64).min // 2)
    first = np.zeros(size + 1, dtype=np.int64)  # where the second group begins on the best way to here
    best[0] = 0
    widest = _SPANS[1]
    for j in range(LEAST_ITEMS, size):
        pairs = np.arange(max(start + 1, start + j - widest + 1), start + j + 1)
        covering = np.where(ends[pairs] > start + j, gain[pairs], 0)
        by_first_pair = np.concatenate([np.cumsum(covering[::-1])[::-1], [0]])
        i = np.arange(max(0, j - most), j - LEAST_ITEMS + 1)
        value = best[i] + by_first_pair[np.maximum(start + i + 1 - pairs[0], 0)]
        chosen = int(value.argmax())
        best[j], before = value[chosen], int(i[chosen])
        first[j] = first[before] or j
    return _chosen(start, best, first, level_ends=level_ends, most=most)


def _chosen(
    start: int, best: npt.NDArray[np.int64], first: npt.NDArray[np.int64], *, level_ends: bool, most: int
) -> int | None:
    """Choose the best way whose last group may still be open; where the level ends it has its least size."""
    size = len(best) - 1
    at = np.arange(max(0, size - most), size - LEAST_ITEMS + 1 if level_ends else size)
    at = at[(at == 0) | (at >= LEAST_ITEMS)]
    chosen = int(at[best[at].argmax()])
    return start + int(first[chosen]) if chosen else None
