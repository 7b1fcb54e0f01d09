"""Where to cut: candidates at ends of sentences and paragraphs, and the choice among them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from zlib import crc32

_END = re.compile(
    r"\n{2,}"
    r"|\n"
    r"|[.!?\u2026][\"'\u201d\u2019\u00bb)\]]*[ \t]+(?=[\"'\u201c\u2018\u00ab(\[]?[^\W_a-z])"
    r"|[\u3002\uff01\uff1f][\u300d\u300f\u201d]*"
)
_CONTEXT = 24  # characters on each side of a place which decide how good it is


def sentence_cuts(text: str, size: int, overlap: int) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and repeated characters of each chunk, in order."""
    places, ranks = _candidates(text)
    most = size - overlap
    least = max(1, most // 3)
    start, n, i = 0, len(text), 0
    repeated_from = 0
    while start < n:
        if n - start <= most:
            end = n
        else:
            while i < len(places) and places[i] < start + least:
                i += 1
            j, best, end = i, -1, 0
            while j < len(places) and places[j] <= start + most:
                if ranks[j] > best:
                    best, end = ranks[j], places[j]
                j += 1
            if not end:
                end = start + most
        yield repeated_from, end, start - repeated_from
        repeated_from = _overlap_start(text, end, overlap)
        start = end


def _overlap_start(text: str, end: int, overlap: int) -> int:
    space = text.find(" ", end - overlap, end)
    return space + 1 if 0 <= space < end - 1 else end - overlap


def _candidates(text: str) -> tuple[list[int], list[int]]:
    places: list[int] = []
    ranks: list[int] = []
    for match in _END.finditer(text):
        end = match.end()
        around = text[max(0, end - _CONTEXT) : end + _CONTEXT].encode(errors="replace")
        weight = 3 if match[0].startswith("\n\n") else 2 if match[0] == "\n" else 1
        places.append(end)
        ranks.append((weight << 32) + crc32(around))
    return places, ranks
