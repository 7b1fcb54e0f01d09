"""What can be told about a summary without trusting the model which wrote it. Plain functions."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from nltk.metrics import pk

from benchmarks.quality.segmentation import marks, window

KEY_TERMS = 5
"""Words of an item by which it is recognized."""
SURVIVING = 2
"""An item survives in a summary which has so many of them."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_SPACELESS = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_STEM = 6


def stems(text: str) -> list[str]:
    """Give the longer words of a text, cut to what inflection leaves alone; of scripts without spaces pairs of characters."""
    found = []
    for word in _WORD.findall(text.lower()):
        found += [word[i : i + 2] for i in range(len(word) - 1)] if _SPACELESS.search(word) else [word[:_STEM]]
    return found


class Spread:
    """In how many passages of a text each word occurs."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._of = Counter(stem for passage in passages for stem in set(stems(passage)))
        self._n = len(passages)

    def key_terms(self, item: str) -> list[str]:
        """Give the words which set an item apart: often in it, seldom in the passages (TF-IDF), so none which all of these have.

        Earlier ones come first where equal. An item without such words, as a short one, has none.
        """
        counts = Counter(stems(item))
        weight = {s: (1 + math.log(c)) * math.log(self._n / max(1, self._of[s])) for s, c in counts.items()}
        return sorted((s for s in counts if weight[s] > 0), key=lambda s: -weight[s])[:KEY_TERMS]


def survives(terms: Sequence[str], summary: str) -> bool:
    """Say whether an item is recognized in a summary: by SURVIVING of its key terms, or by all where it has fewer."""
    there = set(stems(summary))
    return sum(term in there for term in terms) >= min(SURVIVING, len(terms))


def agreement(n: int, first: Sequence[int], second: Sequence[int]) -> tuple[float, float, float]:
    """Compare two segmentations of n items: F1 of their boundaries at the same item, at most one item away, and Pk of the second."""
    k = window(n, first)
    return _f1(first, second, 0), _f1(first, second, 1), float(pk(marks(n, first), marks(n, second), k))


def _f1(first: Sequence[int], second: Sequence[int], slack: int) -> float:
    if not first and not second:
        return 1.0
    matched = sum(any(abs(a - b) <= slack for b in second) for a in first)
    back = sum(any(abs(a - b) <= slack for a in first) for b in second)
    return (matched + back) / (len(first) + len(second))
