"""The boundary detector which asks no model: where topics change, from the vectors and words of a level's items.

It weighs what speaks for a boundary before each item into a probability (`detector_evidence`), then forms the groups which are wrong
about the fewest pairs of items (`detector_groups`). Both look at a bounded neighbourhood, so an edit changes groups near it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tree_builder.grow.detector_evidence import AHEAD, NAMES, SIDE, evidence
from tree_builder.grow.detector_groups import RATE_AHEAD, gains, next_start
from tree_builder.model import Decision

if TYPE_CHECKING:
    import numpy.typing as npt

    from tree_builder.protocols import Matrix

DETECTOR_VERSION = 1
"""Raised whenever the same items would be grouped differently."""
MOST_ITEMS = 48
"""Items of a group, at most: without any sign of a new topic one starts at the best place before. A prompt's size may close it sooner."""
_HORIZON = 2 * MOST_ITEMS
LOOKAHEAD = _HORIZON + RATE_AHEAD + AHEAD + SIDE
"""What is decided about an item depends on no item further ahead than this."""

_WEIGHTS = {
    "vector_distance": 3.6,
    "word_distance_2": 4.4,
    "word_distance_4": 2.5,
    "vector_contrast": 4.9,
    "word_contrast": 7.2,
    "lone_heading": 1.0,
    "single_heading": 1.9,
    "numbered_heading": 7.2,
}
_BIAS = -11.9
"""Logistic regression on texts with known boundaries: meetings, lectures, manuals, chapters of a textbook, texts put together from
pieces; each kind weighs as much as another. Chosen by leaving one kind out at a time; the texts the quality report measures were not among them."""
_DIGITS = 6  # of a probability; the rest may differ between machines


@dataclass(frozen=True, slots=True)
class Boundary:
    """Whether a new group starts with item `at`, how probable a new topic there is, and what speaks most for it."""

    at: int
    boundary: bool
    score: float
    reason: str


class Detector:
    """Find the boundaries of one level: of chunks, of summaries, or of the tops in a directory.

    Guarantees: groups have at least two items and at most MOST_ITEMS. The same input gives the same output on every machine.
    `boundaries` of the first m items agrees with that of all of them on every item before m - `lookahead`; after a change,
    groups are the same again soon behind it. No model is asked. Cost: about 0.4 ms an item, memory bounded but for 100 bytes an item.
    """

    lookahead = LOOKAHEAD

    def boundaries(
        self, texts: Sequence[str], vectors: Matrix, overlaps: Sequence[int] | None = None
    ) -> list[Boundary]:
        """Decide about every item but the first, in order.

        vectors: (n, dim), unit length. overlaps: characters at the start of each text which repeat the one before; they are not
        looked at, since they make neighbours look alike.
        """
        if len(texts) < 2:
            return []
        own = texts if overlaps is None else [text[overlap:] for text, overlap in zip(texts, overlaps, strict=True)]
        figures = evidence(own, vectors)
        probabilities = probabilities_of(figures)
        starts = set(group_starts(probabilities))
        return [
            Boundary(at, at in starts, float(probabilities[at]), _reason(figures[at])) for at in range(1, len(texts))
        ]


def probabilities_of(figures: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Give the probability of a boundary before each item from the evidence for it: (n,)."""
    weights = [_WEIGHTS[name] for name in NAMES]
    total = np.full(len(figures), _BIAS)
    for column, weight in enumerate(weights):  # in this order on every machine
        total += weight * figures[:, column]
    probabilities: npt.NDArray[np.float64] = np.round(1 / (1 + np.exp(-total)), _DIGITS)
    return probabilities


def group_starts(probabilities: npt.NDArray[np.float64]) -> list[int]:
    """Give where the groups after the first begin."""
    gain = gains(probabilities, MOST_ITEMS)
    starts: list[int] = []
    start: int | None = 0
    while start is not None:
        start = next_start(start, gain, horizon=_HORIZON)
        if start is not None:
            starts.append(start)
    return starts


def _reason(figures: npt.NDArray[np.float64]) -> str:
    named = dict(zip(NAMES, figures, strict=True))
    heading = any(named[name] > 0 for name in NAMES if name.endswith("heading"))
    words = f"words {1 - named['word_distance_2']:.2f} and vectors {1 - named['vector_distance']:.2f} alike"
    return f"{words}, a heading" if heading else words


def detect(texts: Sequence[str], vectors: Matrix, overlaps: Sequence[int] | None = None) -> list[Decision]:
    """Give the boundaries of a level as decisions; see `Detector.boundaries`."""
    return [
        Decision(found.at, found.boundary, "embedding", "yes" if found.boundary else "no", found.score, found.reason)
        for found in Detector().boundaries(texts, vectors, overlaps)
    ]
