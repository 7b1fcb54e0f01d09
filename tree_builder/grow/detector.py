"""The boundary detector which asks no model: where topics change, from the vectors and words of a level's items.

It weighs what speaks for a boundary before each item into a probability (`detector_evidence`), then forms the groups which are wrong
about the fewest pairs of items (`detector_groups`). Both look at a bounded neighbourhood, so an edit changes groups near it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tree_builder.grow.detector_evidence import AHEAD, NAMES, evidence, neighbourhood
from tree_builder.grow.detector_groups import RATE_AHEAD, gains, next_start
from tree_builder.grow.detector_headings import KINDS
from tree_builder.grow.detector_segments import REACH
from tree_builder.model import Decision, NodeType

if TYPE_CHECKING:
    import numpy.typing as npt

    from tree_builder.model import Tree
    from tree_builder.protocols import Matrix

DETECTOR_VERSION = 3
"""Raised whenever the same items would be grouped differently."""
MOST_ITEMS = 64
"""Chunks of a group, at most, which about fill a prompt: without any sign of a new topic one starts at the best place before.

With 48 of them meetings, and sentences as items, are .01 and .04 further from their gold (Pk), and lectures .01 nearer."""
MOST_NODES = 16
"""Summaries or tops of a group, at most: each stands for much text already."""
LOOKAHEAD = 2 * MOST_ITEMS + RATE_AHEAD + 3 * AHEAD + REACH
"""What is decided about an item depends on no item further ahead than this."""

_WEIGHTS = {
    "vector_distance": 1.4,
    "word_distance": 4.6,
    "division": 1.1,
    "lone_heading": 2.0,
    "single_heading": 1.2,
    "numbered_heading": 8.5,
}
_BIAS = -5.65
"""Logistic regression on texts with known boundaries: meetings, lectures, manuals, chapters of a textbook, texts put together from pieces;
each kind weighs as much as another. Half of each kind was left out to judge by. The meetings and manuals which the quality report measures
were not among them. Lone headings alone weigh more than the .47 found so: few of those texts have chapters without numbers, and a handbook
with nothing else to tell them by became one group."""
_RATE, _RATE_WEIGHT = 0.08, 4.0  # boundaries an item which are taken for granted, and how many items that is worth
_SURE, _SURE_RATE, _SURE_WEIGHT = 0.9, 0.02, 32.0
"""Headings count half where the neighbourhood, and as many items more as the third, have boundaries above the first at the rate of the second."""
_NODES_BIAS = 0.8
"""Added above the chunks: there topics are shorter, counted in items. Fits the chapters of manuals."""
_DIGITS = 6  # of a probability; the rest may differ between machines


@dataclass(frozen=True, slots=True)
class Boundary:
    """Whether a new group starts with item `at`, how probable a new topic there is, and what speaks most for it."""

    at: int
    boundary: bool
    score: float
    reason: str


class Detector:
    """Find the boundaries of one level: of chunks, or of nodes, which are summaries or the tops in a directory.

    Guarantees: groups have at least two items, at most MOST_ITEMS chunks or MOST_NODES nodes. The same input gives the same output on
    every machine. `boundaries` of the first m items agrees with that of all of them on every item before m - `lookahead`; after a
    change, groups are the same again soon behind it. No model is asked. Cost: about 0.3 ms an item, and 100 bytes of memory an item.
    """

    lookahead = LOOKAHEAD

    def boundaries(
        self, texts: Sequence[str], vectors: Matrix, overlaps: Sequence[int] | None = None, *, chunks: bool = True
    ) -> list[Boundary]:
        """Decide about every item but the first, in order.

        vectors: (n, dim), unit length. overlaps: characters at the start of each text which repeat the one before; they are not
        looked at, since they make neighbours look alike. chunks: whether the items are chunks.
        """
        if len(texts) < 2:
            return []
        own = texts if overlaps is None else [text[overlap:] for text, overlap in zip(texts, overlaps, strict=True)]
        figures = evidence(own, vectors)
        probabilities = probabilities_of(figures, chunks=chunks)
        starts = set(group_starts(probabilities, MOST_ITEMS if chunks else MOST_NODES))
        return [
            Boundary(at, at in starts, float(probabilities[at]), _reason(figures[at])) for at in range(1, len(texts))
        ]


def probabilities_of(figures: npt.NDArray[np.float64], *, chunks: bool) -> npt.NDArray[np.float64]:
    """Give the probability of a boundary before each item from the evidence for it: (n,)."""
    total = np.full(len(figures), _BIAS if chunks else _BIAS + _NODES_BIAS)
    columns = dict(zip(NAMES, figures.T, strict=True))
    for name in NAMES[:-KINDS]:  # in this order on every machine
        total += _WEIGHTS[name] * columns[name]
    total += _log_odds_nearby(_sigmoid(total))
    share = _headings_share(_sigmoid(total))
    for name in NAMES[-KINDS:]:
        total += share * _WEIGHTS[name] * columns[name]
    return _sigmoid(total)


def _sigmoid(log_odds: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    probabilities: npt.NDArray[np.float64] = np.round(1 / (1 + np.exp(-log_odds)), _DIGITS)
    return probabilities


def _log_odds_nearby(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Give by how much more or less likely than usual boundaries are in the neighbourhood of each item, in log odds.

    One step of Saerens, Latinne and Decaestecker ("Adjusting the outputs of a classifier to new a priori probabilities", Neural
    Computation 14, 2002).
    """
    steps, gaps = _sums_nearby(np.rint(probabilities * 10**_DIGITS))
    rate = (steps / 10**_DIGITS + _RATE * _RATE_WEIGHT) / (gaps + _RATE_WEIGHT)
    log_odds: npt.NDArray[np.float64] = np.log(rate / (1 - rate)) - np.log(_RATE / (1 - _RATE))
    return log_odds


def _headings_share(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Give how much headings count at each item: little where texts which have nothing in common stand side by side.

    There a heading divides one of the texts, not them. probabilities: of a boundary, headings aside.
    """
    sure, gaps = _sums_nearby((probabilities > _SURE).astype(np.float64))
    share: npt.NDArray[np.float64] = 1 / (1 + (sure / (gaps + _SURE_WEIGHT) / _SURE_RATE) ** 4)
    return share


def _sums_nearby(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Sum whole numbers, the first item's aside, over the neighbourhood of each item, and count them."""
    low, high = neighbourhood(len(values))
    low = np.maximum(low, 1)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return sums[high] - sums[low], (high - low).astype(np.float64)


def group_starts(probabilities: npt.NDArray[np.float64], most: int) -> list[int]:
    """Give where the groups after the first begin, none of more than `most` items."""
    gain = gains(probabilities, most)
    starts: list[int] = []
    start = next_start(0, gain, horizon=2 * most)
    while start is not None:
        starts.append(start)
        start = next_start(start, gain, horizon=2 * most)
    return starts


def _reason(figures: npt.NDArray[np.float64]) -> str:
    named = dict(zip(NAMES, figures, strict=True))
    heading = any(named[name] > 0 for name in NAMES if name.endswith("heading"))
    words = f"words {1 - named['word_distance']:.2f} and vectors {1 - named['vector_distance']:.2f} alike"
    return f"{words}, a heading" if heading else words


def detect(items: Sequence[Tree], vectors: Matrix) -> list[Decision]:
    """Give the boundaries of a level as decisions, one an item but the first; see `Detector.boundaries`.

    vectors: of the items' contents, in their order: (n, dim), unit length.
    """
    found = Detector().boundaries(
        [item.content for item in items],
        vectors,
        [item.overlap for item in items],
        chunks=all(item.node_type is NodeType.CHUNK for item in items),
    )
    return [Decision(b.at, b.boundary, "embedding", "yes" if b.boundary else "no", b.score, b.reason) for b in found]
