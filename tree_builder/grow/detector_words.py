"""Texts to counts of words, without a dictionary, a stemmer or a list of stop words: any language, any domain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
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
_TF = [0.0, *(float(round(TF_STEPS * (1 + log(count)))) for count in range(1, 65))]


def word_counts(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """Count words by column: (n, COLUMNS), each 1 + ln(occurrences) in whole steps of 1 / TF_STEPS, 0 where there is none."""
    counts = np.zeros((len(texts), COLUMNS))
    for row, text in enumerate(texts):
        for column, count in Counter(_columns(text)).items():
            counts[row, column] = _TF[min(count, 64)]
    return counts


def _columns(text: str) -> list[int]:
    out = []
    for word in _WORD.findall(text.lower()):
        if word[0] >= "\u0e00" and _UNSPACED.search(word):
            out += [_column(word[i : i + 2]) for i in range(len(word) - 1)]
        else:
            out.append(_column(word[:_STEM_CHARS]))
    return out


@lru_cache(maxsize=1 << 17)
def _column(word: str) -> int:
    return crc32(word.encode("utf-8", "replace")) % COLUMNS
