"""All divisions of a neighbourhood: what they say about a boundary, against counting them one by one."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import exp, log

import numpy as np
import pytest

from tree_builder.grow.detector_segments import (
    _PRICE,
    _TIE,
    _VECTORS,
    _WORDS,
    LONGEST,
    REACH,
    division_logits,
    products_by_lag,
)


def rows(n: int, seed: int, *, topics: int = 3) -> np.ndarray:
    """Make rows of whole numbers which change their direction a few times."""
    draw = np.random.default_rng(seed)
    centres = draw.integers(-20, 21, (topics, 12))
    return np.rint(np.repeat(centres, -(-n // topics), axis=0)[:n] + draw.normal(0, 8, (n, 12)))


def logits(words: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return division_logits(products_by_lag(words, LONGEST), products_by_lag(vectors, LONGEST))


def one_by_one(words: np.ndarray, vectors: np.ndarray, at: int) -> float:
    """Give the log odds of a boundary before item `at` from every division there is."""
    n = len(words)

    def unit(a: np.ndarray) -> np.ndarray:
        return a / np.linalg.norm(a, axis=1, keepdims=True)

    closeness = _WORDS * unit(words) @ unit(words).T + _VECTORS * unit(vectors) @ unit(vectors).T

    def score(a: int, b: int) -> float:
        pairs = sum(closeness[i, j] for i in range(a, b) for j in range(i + 1, b))
        return 2 * pairs / (b - a) - _TIE * (b - a - 1) - _PRICE - log(b - a)

    totals = [0.0, 0.0]
    for count in range(n):
        for cuts in combinations(range(1, n), count):
            totals[at in cuts] += exp(sum(score(a, b) for a, b in pairwise([0, *cuts, n])))
    return log(totals[1] / totals[0])


@pytest.mark.parametrize("n", [2, 3, 7])
def test_it_is_what_counting_all_divisions_gives(n: int) -> None:
    """Inside one window the log odds are those of all divisions with and without the boundary."""
    words, vectors = rows(n, 1), rows(n, 2)
    expected = [one_by_one(words, vectors, at) for at in range(1, n)]
    assert logits(words, vectors)[1:] == pytest.approx(expected, abs=0.02)


def test_a_change_of_topic_stands_out() -> None:
    """Of all gaps, those between the three topics are likeliest to be boundaries, and no other is likely."""
    found = logits(rows(30, 3), rows(30, 4))[1:]
    assert [at for at, log_odds in enumerate(found, start=1) if log_odds > 0] == [10, 20]


def test_items_beyond_its_reach_have_no_say() -> None:
    """Items further from a gap than REACH change nothing, to the last bit."""
    words, vectors = rows(90, 5, topics=9), rows(90, 6, topics=9)
    other = words.copy()
    other[:20] = rows(20, 7)
    far = slice(20 + REACH, None)
    assert (logits(other, vectors)[far] == logits(words, vectors)[far]).all()


def test_what_says_nothing_counts_neither_way() -> None:
    """Rows of zeros, as of texts without words, are neither near nor far: no gap is made likely by them."""
    nothing = np.zeros((40, 12))
    assert (logits(nothing, nothing)[1:] < 0).all()


def test_products_are_those_of_the_rows() -> None:
    """Each row is multiplied with itself and those after it, across the strips in which this is done; zero where there is none."""
    some = rows(150, 8)
    products = products_by_lag(some, 5)
    whole = some @ some.T
    assert all((products[lag, : 150 - lag] == whole.diagonal(lag)).all() for lag in range(5))
    assert products[4, -4:].tolist() == [0] * 4
