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
    Gains = npt.NDArray[np.int64]

LEAST_ITEMS = 2
RATE_BACK, RATE_AHEAD = 32, 16
"""Items before and after an item over which the rate of boundaries is estimated."""
_RATE, _RATE_WEIGHT = 0.1, 16.0  # what is taken for granted about the rate, and how many items that is worth
_SPANS = (2, 10)  # least and most distance of the pairs
_PRICE = 0.1  # of a pair put apart: a group more is a summary more, so a boundary must be worth something
_STEPS = 10_000  # of a gain: whole numbers add up alike on every machine


def gains(probabilities: Figures, most: int) -> Gains:
    """Give what each boundary adds to the pairs rightly together or apart, by how far before it the one before is.

    probabilities: (n,), of a boundary before each item; the first is not looked at. Returns (n, most + 1): column most - d for a
    distance of d items.
    """
    n = len(probabilities)
    ends = np.minimum(n, np.arange(n) + _spans(probabilities))
    none_before = np.concatenate([[0.0], np.cumsum(np.log1p(-np.minimum(probabilities, 0.999)))])
    apart = 1 - np.exp(none_before[ends] - none_before[:n])
    gain = np.rint(_STEPS * (2 * apart - 1 - _PRICE)).astype(np.int64)
    # The pairs which begin d items before j's boundary count for it when they reach beyond it and do not span the one before.
    by_distance = np.zeros((n, _SPANS[1] + 1), dtype=np.int64)
    for d in range(1, _SPANS[1] + 1):
        begins = np.arange(d - 1, n) - (d - 1)
        by_distance[d - 1 :, d] = np.where(ends[begins] > np.arange(d - 1, n), gain[begins], 0)
    sums: Gains = np.cumsum(by_distance, axis=1)[:, np.minimum(np.arange(most, -1, -1), _SPANS[1])]
    return sums


def _spans(probabilities: Figures) -> Gains:
    """Half the mean length of a topic, as the probabilities nearby tell."""
    n = len(probabilities)
    at = np.arange(n)
    low, high = np.minimum(np.maximum(1, at - RATE_BACK), n), np.minimum(n, at + RATE_AHEAD + 1)
    sums = np.concatenate([[0.0], np.cumsum(probabilities)])
    rate = (sums[high] - sums[low] + _RATE * _RATE_WEIGHT) / (high - low + _RATE_WEIGHT)
    spans: Gains = np.clip(np.rint(0.5 / rate), *_SPANS).astype(np.int64)
    return spans


def next_start(start: int, gain: Gains, *, horizon: int) -> int | None:
    """Give where the group after the one which begins at `start` begins, None where the level ends before.

    Depends on what lies within `horizon` items after `start` alone. Groups have LEAST_ITEMS items and at most as `gain` was made for.
    """
    n, most = len(gain), gain.shape[1] - 1
    size = min(n - start, horizon)
    level_ends = start + size == n
    best = np.full(size + 1, np.iinfo(np.int64).min // 2)
    first = [0] * (size + 1)  # where the second group begins on the best way to here
    best[0] = 0
    for j in range(LEAST_ITEMS, size):
        low = max(0, j - most)
        value = best[low : j - LEAST_ITEMS + 1] + gain[start + j, most - j + low : most - LEAST_ITEMS + 1]
        chosen = int(value.argmax())
        best[j] = value[chosen]
        first[j] = first[low + chosen] or j
    # The last group may still be open, but where the level ends it must have its least size.
    low = max(0, size - most)
    last = best[low : max(low + 1, size - LEAST_ITEMS + 1 if level_ends else size)]
    chosen = low + int(last.argmax())
    return start + first[chosen] if chosen else None
