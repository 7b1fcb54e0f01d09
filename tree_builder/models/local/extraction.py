"""An extract: the sentences of some texts which say most, verbatim and in order. Pure functions; runs inside a worker."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from nupunkt import sent_tokenize

WORD = re.compile(r"\w+")


def extract(texts: Sequence[str], overlaps: Sequence[int], *, chars: int) -> str:
    """Give about `chars` characters of sentences from consecutive texts; `overlaps` are the characters each repeats of the one before."""
    joined = "".join(
        text[overlap:] if i else text for i, (text, overlap) in enumerate(zip(texts, overlaps, strict=True))
    )
    sentences = [str(s).strip() for s in sent_tokenize(joined)]
    sentences = [s for s in sentences if s]
    counts = Counter(w.lower() for s in sentences for w in set(WORD.findall(s)) if len(w) > 3)
    scores = [
        round(sum(counts[w.lower()] for w in set(WORD.findall(s))) / (5 + len(WORD.findall(s))), 4) for s in sentences
    ]
    chosen: list[int] = []
    used = 0
    for i in sorted(range(len(sentences)), key=lambda i: (-scores[i], i)):
        if used + len(sentences[i]) <= chars:
            chosen.append(i)
            used += len(sentences[i]) + 1
    text = " ".join(sentences[i] for i in sorted(chosen)) or joined[:chars].strip()
    return text or joined or "-"
