"""Headings, as a reader of plain text knows them: by their numbers, or as short lines which stand alone before a paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

LONE, SINGLE, NUMBERED = 0, 1, 2
"""Kinds by how sure they are: `Scope of work`, `4 Scope of work`, `4.2 Scope of work` or `Article 4`."""
KINDS = 3
_MOST_CHARS = 120
_LEADERS = re.compile(r"(?:\. ?){4,}|…|\s\d+$|\s[ivxlc]+$")  # a table of contents, a running header
_SECTION = re.compile(r"(?:\d{1,3}(?:\.\d{1,3}){1,5}\.?|[A-Z]\.\d{1,3}(?:\.\d{1,3}){0,4}\.?)\s+[^\W\d_]")
_NAMED = re.compile(
    r"(?:chapter|section|part|article|appendix|annex|schedule|exhibit|kapitel|abschnitt|teil|anhang|artikel|chapitre|partie|annexe"
    r"|capítulo|sección|parte|anexo|capitolo|sezione|hoofdstuk|bijlage)\s+(?:\d|[ivxlc]+\b|[a-z]\b)",
    re.IGNORECASE,
)
_ONE_NUMBER = re.compile(r"(?:\d{1,3}|[IVXL]{1,6}|[A-Z])[.)]?\s+(?=[^\W\d_])")
_MARKDOWN = re.compile(r"#{1,6} \S")


def heading_kind(line: str, *, alone: bool, following_chars: int) -> int | None:
    """Say which kind of heading a line is, None where it is none.

    alone: blank lines, or an end of the text, on both sides. following_chars: length of the paragraph after it.
    """
    line = line.strip()
    if not 3 <= len(line) <= _MOST_CHARS or _LEADERS.search(line):
        return None
    words = line.split()
    letters = sum(map(str.isalpha, line))
    if len(words) > 18 or line[-1] in ",;-–" or letters < 0.55 * (len(line) - len(words) + 1):
        return None
    if line[0] == "#":
        return NUMBERED if alone and _MARKDOWN.match(line) else None
    if _SECTION.match(line) or (_NAMED.match(line) and (line[-1] != "." or len(words) <= 8)):
        return NUMBERED
    return _lone_kind(line, words, following_chars) if alone else None


def _lone_kind(line: str, words: Sequence[str], following_chars: int) -> int | None:
    match = _ONE_NUMBER.match(line)
    if match and line[-1] != "." and line[match.end()].isupper():
        return SINGLE
    short = len(words) <= 12 and len(line) <= 80
    if short and line[0].isupper() and line[-1] not in ".:?!" and following_chars > max(60, len(line)):
        return LONE
    return None


def headings_at(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """Weigh the headings near each start of a text: (n, KINDS), in steps of 1/16.

    A heading counts for the start it is nearest to, its own text's or the next one's: 1 at it, falling to 0.5 half a text away.
    """
    found = np.zeros((len(texts) + 1, KINDS))
    blank_before = True
    for i, text in enumerate(texts):
        following = texts[i + 1].lstrip().partition("\n\n")[0] if i + 1 < len(texts) else ""
        for place, kind in _headings(text, following, blank_before=blank_before):
            at, weight = (i, 1 - place) if place < 0.5 else (i + 1, place)
            found[at, kind] = max(found[at, kind], round(16 * weight) / 16)
        blank_before = text.endswith(("\n\n", "\f"))
    return found[:-1]


def _headings(text: str, following: str, *, blank_before: bool) -> Iterator[tuple[float, int]]:
    """Yield place, as a share of the text, and kind of each heading."""
    lines = text.split("\n")
    place = 0
    for number, line in enumerate(lines):
        if not line.strip():
            blank_before = True
        else:
            if len(line) <= _MOST_CHARS + 2:
                last = number + 1 == len(lines)
                alone = blank_before and (last or not lines[number + 1].strip())
                after = "\n".join(lines[number + 1 : number + 6]).lstrip("\n").partition("\n\n")[0]
                kind = heading_kind(line, alone=alone, following_chars=len(after if after.strip() else following))
                if kind is not None:
                    yield place / len(text), kind
            blank_before = False
        place += len(line) + 1
