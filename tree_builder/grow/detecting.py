"""The boundaries of a level from its vectors, as the strategy `embedding` asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tree_builder.model import Decision

if TYPE_CHECKING:
    from tree_builder.protocols import Matrix


def detect_boundaries(texts: Sequence[str], vectors: Matrix) -> list[Decision]:  # noqa: ARG001
    """Begin a group where an item is less like the one before it than most items are.

    vectors: (n, dim), unit length. Returns a decision an item but the first, in order; score: 1 - cosine to the item before.
    """
    if len(vectors) < 2:
        return []
    distance = 1.0 - np.einsum("ij,ij->i", vectors[1:], vectors[:-1])
    threshold = float(np.mean(distance) + 0.5 * np.std(distance))
    return [
        Decision(at, bool(score > threshold), "embedding", "yes" if score > threshold else "no", float(score))
        for at, score in enumerate(distance, 1)
    ]
