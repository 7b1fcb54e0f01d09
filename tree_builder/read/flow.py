"""Lines to paragraphs, pages to one text. Decisions are taken from places alone: no model, no dictionary."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tree_builder.read.lines import Line, Page
from tree_builder.read.text import AND, HYPHEN, hyphen_between, hyphenated_words, join_hyphens, tame_leaders

_ITEM = re.compile(
    r"(?:[\u2022\u25e6\u25aa\u2023\u2219\u00b7\u25cb\u25cf\u25a0\u25a1\u2013\u2014*\u27a2\u2713-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{2,5})[.)]) "
)
_ENDS = re.compile(r"[.!?:;\u2026\u3002\uff01\uff1f][\"'\u201d\u2019\u00bb)\]]*\d{0,3}$")
_STOPS = frozenset(".!?:;\u2026\u3002\uff01\uff1f")
_CLOSING = frozenset("\"'\u201d\u2019\u00bb)]")
_BULLETS = frozenset("\u2022\u25e6\u25aa\u2023\u2219\u25cb\u25cf\u25a0\u25a1\u27a2\u2713")

_WIDE = 0.85  # of the height a character; text which is wider has gaps in it
_SAMPLE = 40  # pages which tell the usual distance between lines
SPACE, LINE, PARAGRAPH = " ", "\n", "\n\n"
GLUED, BROKEN = "", HYPHEN  # a hyphen which stays, without a space; one which broke a word


def flow(pages: Sequence[Page]) -> tuple[str, list[int]]:
    """Join pages to one text; give with it the offset at which each page starts."""
    known = _known_hyphens(pages)
    usual = _pitch([line for page in pages[:_SAMPLE] for line in page.lines])
    parts: list[str] = []
    starts: list[int] = []
    at, before, edge = 0, None, 0.0
    for page in pages:
        text, last_edge = _page_text(page.lines, usual)
        text = tame_leaders(join_hyphens(text, known))
        if text and before is not None:
            joint = _across(before, page.lines[0], edge)
            if joint == BROKEN:
                parts[-1], at = parts[-1][:-1], at - 1
                joint = hyphen_between(parts[-1], text, known)
            parts.append(joint)
            at += len(joint)
        starts.append(at)
        if text:
            parts.append(text)
            at += len(text)
            before, edge = page.lines[-1], last_edge
    return "".join(parts), starts


def _known_hyphens(pages: Sequence[Page]) -> frozenset[tuple[str, str]]:
    if not any(HYPHEN in line.text for page in pages for line in page.lines):
        return frozenset()
    return hyphenated_words("\n".join(line.text for page in pages for line in page.lines))


def _pitch(lines: Sequence[Line]) -> float:
    """Give the distance between baselines which is met most; 12 points where there is none."""
    gaps = Counter([round(2 * (above.y_end - below.y)) for above, below in pairwise(lines)])
    likely = [(count + gaps.get(gap + 1, 0) * 0.5, -gap) for gap, count in gaps.items() if 8 < gap < 120]
    return -max(likely)[1] / 2 if likely else 12.0


def _page_text(lines: Sequence[Line], usual: float) -> tuple[str, float]:
    """Join the lines of a page; give with the text the right edge of the last line's column."""
    if not lines:
        return "", 0.0
    pitch = _pitch(lines) if len(lines) >= 12 else usual
    tight = 1.1 * pitch + 0.3
    edges = _edges(lines, pitch)
    before = lines[0]
    parts = [before.text]
    for line, edge in zip(lines[1:], edges, strict=False):
        text, x0, x1, y, size = line[:5]
        plain = (  # most lines by far: they go on with a full line above
            text[0].islower()
            and 0.45 * size < before.y_end - y < tight
            and edge - before.x1 <= size
            and abs(size - before.size) < 0.1 * size
            and before.text[-1] not in {HYPHEN, "-"}
            and text[1:2] not in {")", "."}
            and x1 - x0 < _WIDE * size * len(text)
            and abs(x0 - before.x0) < 60
            and not (line.jump or line.row or before.row or before.text[-1].isdigit())
        )
        joint = SPACE if plain else _joint(before, line, edge, pitch)
        if joint == BROKEN:
            parts[-1] = parts[-1].rstrip("-" + HYPHEN)
        parts.append(joint)
        parts.append(text)
        before = line
    return "".join(parts), edges[-1]


def _edges(lines: Sequence[Line], pitch: float) -> list[float]:
    """Give for each line the right edge of its column: where several lines end, else the furthest end of its run."""
    counts = Counter([round(line.x1 / 3) for line in lines])
    left, right = min([line.x0 for line in lines]), max([line.x1 for line in lines])
    enough = max(4, len(lines) // 12)
    shared = sorted(
        3.0 * end + 1.5
        for end, count in counts.items()
        if count + counts.get(end - 1, 0) + counts.get(end + 1, 0) >= enough and 3 * end - left > 0.35 * (right - left)
    )
    edges: list[float] = []
    run: list[Line] = []
    for line in lines:
        if run and (line.jump or line.y > run[-1].y_end + pitch / 2):
            edges += _edges_of_run(run, shared)
            run = []
        run.append(line)
    return edges + _edges_of_run(run, shared)


def _edges_of_run(run: Sequence[Line], shared: Sequence[float]) -> list[float]:
    ends = [line.x1 for line in run]
    among = [*shared, max(ends)]
    return [among[bisect_left(shared, end - 3)] for end in ends]


def _joint(before: Line, line: Line, edge: float, pitch: float) -> str:
    """Say what belongs between two lines."""
    if before.row or line.row:
        return LINE if before.row and line.row else PARAGRAPH
    gap = before.y_end - line.y
    if line.jump or gap < -pitch / 2:
        return _across(before, line, edge)
    small, large = sorted((before.size, line.size))
    if abs(gap) < 0.45 * large:
        return SPACE
    if small < 0.8 * large and gap < 0.75 * pitch:
        return SPACE  # an index or exponent, set a little higher or lower
    if small < 0.88 * large and abs(len(before.text) - len(line.text)) > 0 and not _same_flow(before, line, edge):
        return PARAGRAPH  # a heading, or what follows one
    if large > 1.25 * pitch and gap < 1.5 * large and small > 0.97 * large:
        return SPACE if not _has_ended(before.text) else PARAGRAPH  # a heading of several lines
    short = _next_word_fits(before, line, edge)
    if gap > 1.35 * pitch:
        return SPACE if gap < 1.8 * pitch and not short and _goes_on(before, line) else PARAGRAPH
    if gap > 1.1 * pitch + 0.3 and (short or _has_ended(before.text)):
        return PARAGRAPH
    if line.text[0] in _BULLETS or _is_row(before) or _is_row(line):
        return LINE
    ended = _has_ended(before.text)
    if short:
        return PARAGRAPH if ended and line.x0 - before.x0 > 0.8 * line.size else LINE
    if _ITEM.match(line.text) and (ended or abs(line.x0 - before.x0) > 2):
        return LINE
    if ended and line.x0 - before.x0 > 0.8 * line.size and not _ITEM.match(before.text):
        return PARAGRAPH
    if before.text[-1] == "-" and _is_compound(before.text, line.text):
        return GLUED
    return BROKEN if before.text[-1] == HYPHEN else SPACE


def _has_ended(text: str) -> bool:
    """Whether a sentence ends with the line. Most lines end with a letter, which tells at once."""
    last = text[-1]
    return last in _STOPS or ((last in _CLOSING or last.isdecimal()) and _ENDS.search(text) is not None)


def _is_compound(before: str, after: str) -> bool:
    """Whether a hyphen at the end of a line is part of a word, as in 32-bit, and none which waits, as in pre- and post-war."""
    return before[-2:-1].isalnum() and after[0].isalnum() and after.partition(" ")[0].lower() not in AND


def _across(before: Line, line: Line, edge: float) -> str:
    """Say what belongs between the last line of a page or column and the first of the next."""
    if before.row or line.row or _next_word_fits(before, line, edge):
        return PARAGRAPH
    if not _goes_on(before, line):
        return SPACE if _is_full(before, line, edge) else PARAGRAPH
    hyphen = before.text[-1] == HYPHEN or (before.text[-1] == "-" and before.text[-2:-1].isalpha())
    return BROKEN if hyphen and line.text[0].islower() else SPACE


def _is_full(before: Line, line: Line, edge: float) -> bool:
    """Whether a line after a sentence's end is one of running text, as the line before, which its paragraph's end seldom fills."""
    return (
        _has_ended(before.text)
        and before.text[-1] not in ":;"
        and not _ITEM.match(line.text)
        and abs(before.size - line.size) < 0.05 * before.size
        and before.x1 > edge - before.size
        and line.x1 - line.x0 > 0.85 * (edge - before.x0)
        and not line.text.isupper()
    )


def _goes_on(before: Line, line: Line) -> bool:
    if _has_ended(before.text) or _ITEM.match(line.text) or abs(before.size - line.size) > 0.12 * before.size:
        return False
    return line.text[0].islower() or before.text[-1] in ",-" or (line.text[0].isalnum() and before.text[-1].islower())


def _same_flow(before: Line, line: Line, edge: float) -> bool:
    """Whether a line of another size goes on with the sentence: a line which starts with a word in another font."""
    small, large = sorted((before.size, line.size))
    return small > 0.75 * large and line.text[0].islower() and not _next_word_fits(before, line, edge)


def _next_word_fits(before: Line, line: Line, edge: float) -> bool:
    """Whether the first word of a line had room at the end of the one before: then the line was ended on purpose."""
    room = edge - before.x1
    if room <= before.size:
        return False
    each = (line.x1 - line.x0) / max(len(line.text), 1)
    return (
        room > 1.1 * each * (line.text.find(" ") % 1000 + 1) + 0.4 * before.size
        if " " in line.text
        else room > (line.x1 - line.x0) * 1.1
    )


def _is_row(line: Line) -> bool:
    """Whether a line is one of a table of contents, or set with wide gaps."""
    text = line.text
    return (text[-1].isdigit() and (". . ." in text or "...." in text)) or (
        len(text) > 3 and line.x1 - line.x0 > _WIDE * line.size * len(text)
    )
