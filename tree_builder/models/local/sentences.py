"""Text to sentences, each with what speaks against quoting it alone. Plain functions, no I/O; runs inside a worker."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from nupunkt import sent_spans

from tree_builder.models.local.faults import (
    SMALL_NAME,
    SPACELESS,
    TELLS,
    TERMINAL,
    Fault,
    faults,
    is_personal,
)

WRAPPED_WIDTH = 100
"""A text none of whose lines is longer has hard line breaks; others have a paragraph a line, as the readers give them."""

HEADING_CHARS = 60
"""A longer paragraph which ends in a small letter was broken off, by the end of a page or a figure; what follows goes on with it."""

_BREAK = re.compile(r"\n[ \t\u3000]*\n\s*|\n")
_CJK_END = re.compile(r"[。！？｡][」』”’）】〉》\"']*")
_STARTER = r"(?:The|This|These|Each|All|Any|In|If|No|Upon|For|A|An|As|It|Subject|To|We|You|Either|Except|Where|When|There) (?![A-Z]{2})"
_MARKER = re.compile(
    r"[•▪►➢✓][ \t\u00a0]*"  # of some manuals, no blank follows
    r"|(?:[·■□◦●○*–—-]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-z]|[ivxIVX]{1,5})[.)]|\(?[A-Z]\)|(?:\d{1,3}\.)+\d{1,3}|§\s?\d+|Q:|A:)[ \t\u00a0]+"
    rf"|[A-Z]\.\s+(?={_STARTER})|\d{{1,3}}\s+(?={_STARTER})"
    r"|(?:Section|Article|Clause|SECTION|ARTICLE) [\dIVX]+(?:\.\d+)*[.:]?\s+(?=[^\W\d_a-z])"
    r"|\((?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})\)[ \t]*"
)
_LISTED = re.compile(r"[•▪►➢✓]|[·■□◦●○*–—-]\s|\(?[a-z][.)]\s|\(?[ivx]{1,5}[.)]\s|\d{1,3} (?=[^\W\d_a-z])")
_FOOTNOTE = re.compile(
    r"\d{1,2} (?=[A-Z][a-z’']+ )(?!(?:January|February|March|April|May|June|July|August|September|October|November|December)\b)"
)
_RUN_IN_HEADING = re.compile(r"[A-Z][A-Z0-9 ,/&'’()-]{2,70}[:.—–-]\s+(?=[A-Z][a-z]|[A-Z] [a-z])")
_RUN_IN_WORD = re.compile(
    r"(?:Description|Synopsis|Parameters|Purpose|Usage|Example|Summary|Overview|Note|Returns) (?=(?:This|These|The|Use|If|When|Specifies|Sets|A|An) )"
)
"""A heading of reference pages which ran into its sentence when the page was read."""
_RUN_IN_CAPITALS = re.compile(rf"(?:[A-Z]{{3,}}[A-Z;,/&]*\s+)+(?={_STARTER})")
_MONTHS = r"Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Januar|Februar|März|April|Juni|Juli|August|September|Oktober|November|Dezember"
_OTHER_END = re.compile(r"[؟۔।॥။።։](?=\s)")
_NO_END = re.compile(
    r"\b(?:z\. ?B|d\. ?h|u\. ?a|i\. ?d\. ?R|bzw|ca|vgl|inkl|ggf|sog|evtl|p\. ?ex|cf|env|vs)\.$", re.IGNORECASE
)
_NUMBER_NEXT = re.compile(r"\b(?:Nr|Abs|Art|Bd|No|Nos|Sec|Fig)\.$")
_ORDINAL = re.compile(r"\b\d{1,2}\.$")
_MONTH_NEXT = re.compile(rf"(?:{_MONTHS})\b")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it stands in the text, but for white space, which is single spaces.

    paragraph, place: which paragraph of the text, and which sentence of it. whole: False when its beginning may be missing.
    """

    text: str
    paragraph: int
    place: int
    faults: Fault


def sentences(text: str, *, begins_whole: bool = True, wraps: bool = True) -> Iterator[Sentence]:
    """Split a text, as far as it is asked. List markers and run-in headings are left off; pieces without a letter or digit are dropped.

    begins_whole: False when the text begins in the middle of a sentence, so that the first piece is half of one. wraps: False where every
    line is a paragraph, as in an extract; else texts of short lines are taken for wrapped ones.
    """
    broken = not begins_whole
    for number, paragraph in enumerate(_paragraphs(text, wraps=wraps)):
        for place, piece in enumerate(_pieces(paragraph)):
            half = broken and place == 0
            clean = _without_marker(piece)
            if any(c.isalnum() for c in clean):
                yield Sentence(clean, number, place, faults(clean) | _as_placed(piece, half=half))
        broken = len(paragraph) > HEADING_CHARS and paragraph[-1].islower()


def _as_placed(piece: str, *, half: bool) -> Fault:
    listed = Fault.LISTED if _LISTED.match(piece) else Fault.NONE
    if _FOOTNOTE.match(piece) and not _MARKER.match(piece):
        listed |= Fault.DANGLING  # what it notes stands elsewhere
    return listed | Fault.HALF if half else listed


def opens(sentence: Sentence) -> bool:
    """Say whether a sentence may open an extract: without faults, and not about who wrote, printed or published the text."""
    return not sentence.faults & ~(Fault.LONG | Fault.DETAIL) and not is_personal(sentence.text)


def tells_of_the_whole(sentence: Sentence) -> bool:
    """Say whether a sentence tells what its text is, as "This manual describes ..." or "X is a ..."."""
    return bool(TELLS.search(sentence.text[:160]))


def ends_whole(text: str) -> bool:
    """Say whether a text ends where a sentence or a paragraph does."""
    return text.endswith("\n") or bool(TERMINAL.search(text.rstrip()))


def _paragraphs(text: str, *, wraps: bool) -> Iterator[str]:
    lines = _BREAK.split(text)
    wrapped = wraps and len(lines) > 3 and max(len(line) for line in lines) <= WRAPPED_WIDTH
    if not wrapped:
        yield from (joined for line in lines if (joined := " ".join(line.split())))
        return
    breaks = [m.group() for m in _BREAK.finditer(text)] + ["\n\n"]
    current: list[str] = []
    for line, after in zip(lines, breaks, strict=True):
        if current and _MARKER.match(line.strip()):
            yield " ".join(" ".join(current).split())
            current = []
        current.append(line)
        if after.count("\n") > 1 or len(line.strip()) < WRAPPED_WIDTH // 3:
            yield " ".join(" ".join(current).split())
            current = []
    if current:
        yield " ".join(" ".join(current).split())


def _pieces(paragraph: str) -> list[str]:
    if not paragraph:
        return []
    if len(_CJK_END.findall(paragraph)) and len(SPACELESS.findall(paragraph)) * 3 > len(paragraph):
        ends = [m.end() for m in _CJK_END.finditer(paragraph)]
        cuts = sorted({0, *ends, len(paragraph)})
    else:
        ends = [m.end() for m in _OTHER_END.finditer(paragraph)]
        cuts = sorted({0, *ends, *(end for _, end in sent_spans(paragraph)), len(paragraph)})
    spans: list[tuple[int, int]] = []
    for start, end in itertools.pairwise(cuts):
        piece = paragraph[start:end].strip()
        if spans and piece and _belongs_to(paragraph[slice(*spans[-1])].strip(), piece):
            spans[-1] = (spans[-1][0], end)
        elif piece:
            spans.append((start, end))
    return [paragraph[start:end].strip() for start, end in spans]


def _belongs_to(before: str, piece: str) -> bool:
    """Say whether a cut after `before` was none: an abbreviation, an ordinal, or a small letter after it."""
    if piece[0] in "{,;":
        return True
    if piece[0].islower() and not SMALL_NAME.match(piece):
        return before[-1] in ".:;,)" or before[-1].isalnum()
    if _ORDINAL.search(before) and _MONTH_NEXT.match(piece):
        return True
    if piece[0].isdigit() and _NUMBER_NEXT.search(before):
        return True
    return bool(_NO_END.search(before))


def _without_marker(piece: str) -> str:
    """Leave off list markers, also several, and a heading which runs into its sentence. What is left is verbatim."""
    while (marker := _MARKER.match(piece)) and marker.end() < len(piece):
        piece = piece[marker.end() :].lstrip()
    if footnote := _FOOTNOTE.match(piece):
        piece = piece[footnote.end() :]
    heading = _RUN_IN_HEADING.match(piece) or _RUN_IN_CAPITALS.match(piece) or _RUN_IN_WORD.match(piece)
    return piece[heading.end() :] if heading else piece
