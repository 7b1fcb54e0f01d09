"""Texts to counts of words, without a dictionary, a stemmer or a list of stop words: any language, any domain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

COLUMNS = 2048
"""Words share columns by their hash. With some 100 words an item, chance meetings are few, and alike for all pairs."""
TF_STEPS = 16
_STEM_CHARS = 6  # what most inflections leave alone
_WORD = re.compile(r"[^\W\d_]{2,}")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_MOST_KEPT = 50_000
_TF = np.array([0.0, *(float(round(TF_STEPS * (1 + log(count)))) for count in range(1, 65))])


class _Columns(dict[str, tuple[int, ...]]):
    """The columns of each word seen so far. Forgets all when it has grown too large."""

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _MOST_KEPT:
            self.clear()
        if word[0] >= "\u0e00" and _UNSPACED.search(word):
            columns = tuple(_column(word[i : i + 2]) for i in range(len(word) - 1))
        else:
            columns = (_column(word[:_STEM_CHARS]),)
        self[word] = columns
        return columns


def _column(word: str) -> int:
    return crc32(word.encode("utf-8", "replace")) % COLUMNS


def word_counts(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """Count words by column: (n, COLUMNS), each 1 + ln(occurrences) in whole steps of 1 / TF_STEPS, 0 where there is none."""
    columns_of = _Columns()
    counts = np.zeros((len(texts), COLUMNS), dtype=np.int64)
    for row, text in enumerate(texts):
        columns = [column for word in _WORD.findall(text.lower()) for column in columns_of[word]]
        if columns:
            counts[row] = np.bincount(columns, minlength=COLUMNS)
    return _TF[np.minimum(counts, len(_TF) - 1)]
