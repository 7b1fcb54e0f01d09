"""Running headers, footers and page numbers: found by what repeats at the same place of the pages, and dropped.

A line goes when the evidence of the whole document is against it: its text, digits aside, stands at the same height of many
pages; or it carries a number which counts with the pages. A line which merely looks like a header stays.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tree_builder.read.lines import Line, Page

_FEWEST_PAGES = 3
_DEEPEST = 4  # rows at the top, and at the bottom, which may be running
_LONGEST = 240  # characters; what runs is short
_LEAST_LEFT = 0.25  # of the text
_SAME_Y = 4.0  # points
_PREFIX = 10  # characters
_NUMBER = re.compile(
    r"^(?:page\s+)?[-\u2013\u2014\[(\s]*(\d{1,4}|[ivxlc]{1,7})[-\u2013\u2014\])\s]*(?:(?:of|/)\s*\d{1,4})?$",
    re.IGNORECASE,
)
_FIRST = re.compile(r"^(\d{1,4}|[ivxlc]{1,7})(?=\s)")
_LAST = re.compile(r"(?<=\s)(?:[A-Z]-?)?(\d{1,4}|[ivxlc]{1,7})$")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


class _Row(NamedTuple):
    """All that stands at one height, at the edge of a page."""

    page: int
    y: float
    lines: tuple[int, ...]  # their places in the page's lines
    key: str  # its text, numbers taken out
    numbers: tuple[int, ...]  # which may be that of the page


def drop_running_lines(pages: Sequence[Page]) -> None:
    """Take running headers, footers and page numbers out of the pages; nothing, if that were nearly all of their text."""
    before = [page.lines for page in pages]
    _drop_all(pages)
    if _letters(page.lines for page in pages) < _LEAST_LEFT * _letters(before):
        for page, lines in zip(pages, before, strict=True):
            page.lines = lines


def _letters(pages: Iterable[Sequence[Line]]) -> int:
    return sum(len(line.text) for lines in pages for line in lines)


def _drop_all(pages: Sequence[Page]) -> None:
    if len(pages) >= 2:
        for top in (True, False):
            for _ in range(_DEEPEST):
                running = _running(
                    [row for index, page in enumerate(pages) if (row := _edge_row(index, page, top))], len(pages)
                )
                if not running:
                    break
                for row in running:
                    _drop(pages[row.page], row.lines)
    _drop_counting_lines(pages)
    for index, page in enumerate(pages):
        for top in (True, False):
            row = _edge_row(index, page, top)
            if (
                row
                and len(row.lines) == 1
                and not row.key
                and index + 1 in row.numbers
                and _stands_apart(page.lines, row.lines[0])
            ):
                _drop(page, row.lines)  # nothing but the page's own number, though too few pages to compare


def _edge_row(index: int, page: Page, top: bool) -> _Row | None:
    lines = page.lines
    if not lines:
        return None
    y = max(line.y for line in lines) if top else min(line.y_end for line in lines)
    places = tuple(place for place, line in enumerate(lines) if abs(line.y - y) < 3)
    text = " ".join(lines[place].text for place in sorted(places, key=lambda place: lines[place].x0))
    if not places or len(text) > _LONGEST:
        return None
    found = [_value(match) for pattern in (_NUMBER, _FIRST, _LAST) if (match := pattern.search(text))]
    return _Row(index, y, places, _key(text), tuple(value for value in found if value))


def _key(text: str) -> str:
    bare = _LAST.sub("", _FIRST.sub("", _NUMBER.sub("", text)))
    return re.sub(r"\d+", "#", bare).casefold().strip()


def _value(match: re.Match[str]) -> int | None:
    text = match[1].lower()
    if text.isdigit():
        return int(text)
    total = 0
    for letter, after in zip(text, text[1:] + " ", strict=True):
        value = _ROMAN[letter]
        total += -value if _ROMAN.get(after, 0) > value else value
    return total


def _running(rows: Sequence[_Row], n_pages: int) -> list[_Row]:
    """Choose the rows which run.

    Either the same text at the same height on many pages; or a number which counts with the pages, at a height where
    that happens often. Headers which change from chapter to chapter are many texts at one height: each has to repeat.
    """
    repeated = _repeated(rows)
    counting = _counting(rows)
    heights = Counter(round(row.y / _SAME_Y) for row in rows if row in repeated or row in counting)
    enough = max(min(_FEWEST_PAGES, n_pages), n_pages * 0.3)
    return [
        row
        for row in rows
        if (row in repeated and (repeated[row] >= n_pages / 2 or _near(heights, row.y) >= enough))
        or (row in counting and _near(heights, row.y) >= min(enough, counting[row] + 1))
    ]


def _near(heights: Counter[int], y: float) -> int:
    band = round(y / _SAME_Y)
    return heights[band - 1] + heights[band] + heights[band + 1]


def _repeated(rows: Sequence[_Row]) -> dict[_Row, int]:
    """Give the rows whose text stands on at least 3 pages (or on both of 2) at the same height.

    Each comes with the number of those pages, 0 where only its first characters do.
    """
    enough = min(_FEWEST_PAGES, len(rows))
    found: dict[_Row, int] = {}
    for length in (_PREFIX, None):  # headers often start with the chapter and go on with the section
        places: defaultdict[str, list[_Row]] = defaultdict(list)
        for row in rows:
            if len(row.key) >= (length or 1):
                places[row.key[:length]].append(row)
        for same in places.values():
            for row in same:
                count = sum(abs(row.y - other.y) < _SAME_Y for other in same[:200])
                if count >= enough:
                    found[row] = count if length is None else 0
                elif (
                    length is None and len(same) >= max(_FEWEST_PAGES, len(rows) / 2) and any(map(str.isalpha, row.key))
                ):
                    found[row] = len(same)  # the last line of most pages, wherever their text ends
    return found


def _counting(rows: Sequence[_Row]) -> dict[_Row, int]:
    """Give the rows with a number which is that of the page plus a constant which at least 3 neighbouring pages share."""
    shares: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        for number in row.numbers:
            shares[number - row.page].append(row.page)
    good = {offset for offset, on in shares.items() if len(on) >= _FEWEST_PAGES and max(on) - min(on) <= 4 * len(on)}
    return {
        row: max(len(shares[number - row.page]) for number in row.numbers if number - row.page in good)
        for row in rows
        if any(number - row.page in good for number in row.numbers)
    }


def _drop(page: Page, places: Iterable[int]) -> None:
    """Take lines out; the ones after them may go on with what was before."""
    gone = set(places)
    kept: list[Line] = []
    jump = False
    for place, line in enumerate(page.lines):
        if place in gone:
            jump = True
            continue
        kept.append(line._replace(jump=True) if jump and kept else line)
        jump = False
    page.lines = kept


def _drop_counting_lines(pages: Sequence[Page]) -> None:
    """Drop page numbers of an earlier edition which stand inside pages: bare numbers, apart from the text, which count up."""
    found: list[tuple[int, int, int]] = []
    for index, page in enumerate(pages):
        for place, line in enumerate(page.lines):
            if (
                len(line.text) <= 16
                and (match := _NUMBER.match(line.text))
                and match[1].isdigit()
                and _stands_apart(page.lines, place)
            ):
                found.append((index, place, int(match[1])))
    runs: list[list[tuple[int, int, int]]] = []
    for item in found:
        if runs and item[2] == runs[-1][-1][2] + 1:
            runs[-1].append(item)
        else:
            runs.append([item])
    gone: defaultdict[int, list[int]] = defaultdict(list)
    for run in runs:
        if len(run) >= _FEWEST_PAGES:
            for index, place, _ in run:
                gone[index].append(place)
    for index, places in gone.items():
        _drop(pages[index], places)


def _stands_apart(lines: Sequence[Line], place: int) -> bool:
    line = lines[place]
    above = lines[place - 1].y_end - line.y if place else 1e6
    below = line.y - lines[place + 1].y if place + 1 < len(lines) else 1e6
    return min(abs(above), abs(below)) > 1.6 * line.size
