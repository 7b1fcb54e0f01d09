"""Running headers, footers and page numbers: found by what repeats at the same place of the pages, and dropped.

A line goes when the evidence of the whole document is against it: its text, digits aside, stands at the same height of many
pages; or it carries a number which counts with the pages. A line which merely looks like a header stays, and so does one
whose like is found in the middle of pages too: a list of like entries fills its pages to their edges.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from tree_builder.read.lines import Line, Page

_FEWEST_PAGES = 3
_DEEPEST = 4  # rows at the top, and at the bottom, which may be running
_LONGEST = 240  # characters; what runs is short
_LEAST_LEFT = 0.25  # of the text
_SAME_Y = 4.0  # points
_PREFIX = 10  # characters
_INSIDE = (0.25, 0.4, 0.6, 0.75)  # where, from edge to edge, lines are looked at which cannot be running
_NUMBER = re.compile(
    r"^(?:page\s+)?[-\u2013\u2014\[(\s]*(\d{1,4}|[ivxlc]{1,7})[-\u2013\u2014\])\s]*(?:(?:of|/)\s*\d{1,4})?$",
    re.IGNORECASE,
)
_FIRST = re.compile(r"^(\d{1,4}|[ivxlc]{1,7})(?=\s)")
_LAST = re.compile(r"(?<=\s)(?:[A-Z]-?)?(\d{1,4}|[ivxlc]{1,7})$")
_LONGEST_LAST = 12  # characters which `_LAST` looks at, at most
_DIGITS = re.compile(r"\d+")
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
    return sum([len(line.text) for lines in pages for line in lines])


def _drop_all(pages: Sequence[Page]) -> None:
    if len(pages) >= 2:
        for top in (True, False):
            _drop_at_edge(pages, top=top)
    _drop_counting_lines(pages)
    if len(pages) < _FEWEST_PAGES:
        _drop_own_numbers(pages)


def _drop_at_edge(pages: Sequence[Page], *, top: bool) -> None:
    """Drop the running rows at the top of the pages, or at their bottom, from the outside to the inside."""
    orders = [_order(page.lines, top=top) for page in pages]
    inside: Counter[str] | None = None
    done = [0] * len(pages)  # lines of each order which run
    for _ in range(_DEEPEST):
        rows = [
            row
            for index, page in enumerate(pages)
            if done[index] < len(orders[index]) and (row := _row(index, page.lines, orders[index][done[index] :]))
        ]
        running = _running(rows, len(pages))
        if running:
            inside = inside or _keys_inside(pages, orders)
            edge = Counter(row.key[:_PREFIX] for row in rows)
            running = [row for row in running if not _is_usual(row.key[:_PREFIX], edge, inside)]
        if not running:
            break
        for row in running:
            done[row.page] += len(row.lines)
    for page, order, count in zip(pages, orders, done, strict=True):
        if count:
            _drop(page, order[:count])


def _order(lines: Sequence[Line], *, top: bool) -> list[int]:
    """Give the places of the lines nearest to the top, or to the bottom, nearest first."""
    heights = [-line.y for line in lines] if top else [line.y_end for line in lines]
    return sorted(range(len(lines)), key=heights.__getitem__)


def _keys_inside(pages: Sequence[Page], orders: Sequence[Sequence[int]]) -> Counter[str]:
    """Count the beginnings of some rows of each page which are far from its edges."""
    found: Counter[str] = Counter()
    for index, (page, order) in enumerate(zip(pages, orders, strict=True)):
        for share in _INSIDE if len(order) > 2 * _DEEPEST else ():
            at = int(share * len(order))
            while at and abs(page.lines[order[at - 1]].y - page.lines[order[at]].y) < 3:
                at -= 1
            if row := _row(index, page.lines, order[at:]):
                found[row.key[:_PREFIX]] += 1
    return found


def _row(index: int, lines: Sequence[Line], order: Sequence[int]) -> _Row | None:
    y = lines[order[0]].y
    places = tuple(takewhile(lambda place: abs(lines[place].y - y) < 3, order))
    text = lines[order[0]].text
    if len(places) > 1:
        text = " ".join(lines[place].text for place in sorted(places, key=lambda place: lines[place].x0))
    if len(text) > _LONGEST:
        return None
    alone, first = _NUMBER.match(text), _FIRST.match(text)
    last = _LAST.search(text, len(text) - _LONGEST_LAST)
    key = "" if alone else _key(text[first.end() if first else 0 : last.start() if last else None])
    found = [_value(match) for match in (alone, first, last) if match]
    return _Row(index, y, places, key, tuple(value for value in found if value))


def _is_usual(beginning: str, edge: Counter[str], inside: Counter[str]) -> bool:
    """Say whether rows which begin so are about as frequent in the middle of pages as at their edge."""
    return any(map(str.isalpha, beginning)) and inside[beginning] >= max(1, edge[beginning] / 2)


def _drop_own_numbers(pages: Sequence[Page]) -> None:
    """Drop what is nothing but the page's own number, where too few pages can be compared."""
    for index, page in enumerate(pages):
        for top in (True, False):
            order = _order(page.lines, top=top)
            row = _row(index, page.lines, order) if order else None
            if (
                row
                and len(row.lines) == 1
                and not row.key
                and index + 1 in row.numbers
                and _stands_apart(page.lines, row.lines[0])
            ):
                _drop(page, row.lines)


def _key(text: str) -> str:
    return _DIGITS.sub("#", text).casefold().strip()


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
    heights = Counter(round(row.y / _SAME_Y) for row in rows if row.page in repeated or row.page in counting)
    enough = max(min(_FEWEST_PAGES, n_pages), n_pages * 0.3)
    return [
        row
        for row in rows
        if (row.page in repeated and (repeated[row.page] >= n_pages / 2 or _near(heights, row.y) >= enough))
        or (row.page in counting and _near(heights, row.y) >= min(enough, counting[row.page] + 1))
    ]


def _near(heights: Counter[int], y: float) -> int:
    band = round(y / _SAME_Y)
    return heights[band - 1] + heights[band] + heights[band + 1]


def _repeated(rows: Sequence[_Row]) -> dict[int, int]:
    """Give the pages whose row stands on at least 3 pages (or on both of 2) at the same height.

    Each comes with the number of those pages, 0 where only the row's first characters are the same.
    """
    enough = min(_FEWEST_PAGES, len(rows))
    found: dict[int, int] = {}
    for length in (_PREFIX, None):  # headers often start with the chapter and go on with the section
        places: defaultdict[str, list[_Row]] = defaultdict(list)
        for row in rows:
            if len(row.key) >= (length or 1):
                places[row.key[:length]].append(row)
        for key, same in places.items():
            ys = sorted(row.y for row in same)
            last_everywhere = len(same) >= max(_FEWEST_PAGES, len(rows) / 2) and any(map(str.isalpha, key))
            for row in same:
                count = bisect_left(ys, row.y + _SAME_Y) - bisect_left(ys, row.y - _SAME_Y)
                if count >= enough:
                    found[row.page] = count if length is None else 0
                elif length is None and last_everywhere:
                    found[row.page] = len(same)  # the last line of most pages, wherever their text ends
    return found


def _counting(rows: Sequence[_Row]) -> dict[int, int]:
    """Give the pages whose row has a number which is the page's plus a constant which at least 3 neighbouring pages share."""
    shares: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        for number in row.numbers:
            shares[number - row.page].append(row.page)
    good = {
        offset: len(on) for offset, on in shares.items() if len(on) >= _FEWEST_PAGES and on[-1] - on[0] <= 4 * len(on)
    }
    found: dict[int, int] = {}
    for row in rows:
        counts = [good[number - row.page] for number in row.numbers if number - row.page in good]
        if counts:
            found[row.page] = max(counts)
    return found


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
