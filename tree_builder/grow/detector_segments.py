"""How probable a boundary is before an item, given all the ways to divide what lies around it into segments.

A division is as good as its segments, and a segment as the mean closeness of its items times their number: the criterion of Fragkou,
Petridis and Kehagias ("A dynamic programming algorithm for linear text segmentation", Journal of Intelligent Information Systems 23,
2004), with their exponent r at 1. Where they take the best division of the whole text, here all divisions of a window count, each by
the exponential of its score (a semi-Markov field: Sarawagi and Cohen, NIPS 17, 2004). So it is known how sure a boundary is, and an item
further away than REACH has no say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Figures = npt.NDArray[np.float64]

REACH = 16
"""Items on each side of a gap whose divisions are weighed. More gain nothing (log loss), and cost their square."""
LONGEST = 2 * REACH
"""Items of a segment: a window may be one."""
_WORDS, _VECTORS = 2.41, 3.56  # what closeness counts
_TIE = 1.2  # what an item more costs a segment, as much as closeness of .2 to each other adds
_PRICE = 3.64  # of a segment. The four fit texts with known boundaries best (log loss), each kind of text weighing as much as another
_STEPS = 1024.0
_NEVER = -1e9
_MOST = 12.0
_STRIP = 64


def products_by_lag(rows: Figures, lags: int) -> Figures:
    """Multiply each row with itself and those up to `lags` - 1 after it: (lags, n), zero where there is none. rows: whole numbers."""
    products = np.zeros((lags, len(rows)))
    for start in range(0, len(rows), _STRIP):
        block = rows[start : start + _STRIP] @ rows[start : start + _STRIP + lags - 1].T
        for lag in range(min(lags, block.shape[1])):
            diagonal = block.diagonal(lag)
            products[lag, start : start + len(diagonal)] = diagonal
    return products


def division_logits(words: Figures, vectors: Figures) -> Figures:
    """Give the log odds of a boundary before each item: (n,), at most _MOST either way.

    words, vectors: `products_by_lag` of the items' rows, for LONGEST lags.
    """
    n = words.shape[1]
    best = _log_sums(_scores(_WORDS * _cosines(words) + _VECTORS * _cosines(vectors)))
    at = np.arange(n)
    low, high = np.maximum(0, at - REACH), np.minimum(n, at + REACH)
    log_p = best[at - low, low] + best[high - at, at] - best[high - low, low]
    log_p = np.minimum(log_p, -1e-9)
    log_odds: Figures = np.clip(log_p - np.log(-np.expm1(log_p)), -_MOST, _MOST)
    return log_odds


def _cosines(products: Figures) -> Figures:
    """Give the cosine of items i and i + lag at [lag, i]; an item without words, or like all around it, counts neither for nor against."""
    lengths = np.sqrt(products[0])
    ahead = np.zeros_like(products)
    for lag in range(min(products.shape)):
        ahead[lag, : len(lengths) - lag] = lengths[lag:]
    both = lengths * ahead
    cosines: Figures = np.where(both > 0, products / np.where(both > 0, both, 1.0), _TIE / (_WORDS + _VECTORS))
    return cosines


def _scores(closeness: Figures) -> Figures:
    """Score each segment by its length and its first item: (LONGEST + 1, n), _NEVER where it does not fit.

    closeness: of item i and item i + lag, at [lag, i].
    """
    n = closeness.shape[1]
    steps = np.rint(_STEPS * closeness)  # whole numbers add up alike in any order
    pairs = np.zeros((LONGEST + 1, n + 1))  # sums over the pairs within a segment
    scores = np.full((LONGEST + 1, n), _NEVER)
    for length in range(1, min(LONGEST, n) + 1):
        if length > 1:
            inner = pairs[length - 2, 1:] if length > 2 else 0.0
            pairs[length, :-1] = pairs[length - 1, :-1] + pairs[length - 1, 1:] - inner + steps[length - 1]
        fits = slice(0, n - length + 1)
        density = 2 * pairs[length, fits] / (_STEPS * length)
        scores[length, fits] = density - _TIE * (length - 1) - _PRICE - np.log(length)
    return scores


def _log_sums(scores: Figures) -> Figures:
    """Give the logarithm of the sum over all divisions of `length` items from each item on: (LONGEST + 1, n)."""
    n = scores.shape[1]
    by_end = np.full((LONGEST + 1, n + LONGEST), _NEVER)
    for length in range(1, LONGEST + 1):
        by_end[length, length : length + n] = scores[length]
    sums = np.full((LONGEST + 1, n), _NEVER)
    sums[0] = 0
    for length in range(1, LONGEST + 1):
        ways = sums[length - 1 :: -1] + by_end[1 : length + 1, length : length + n]
        most = ways.max(axis=0)
        sums[length] = np.maximum(_NEVER, most + np.log(np.exp(ways - most).sum(axis=0)))
    return sums
