"""Ruled tables: pdfplumber finds the cells among pdfium's edges, pdfium gives their text, and rows take the place of their lines."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tree_builder.read import calls
from tree_builder.read.edges import Edge, drawn_edges
from tree_builder.read.lines import Line, Page
from tree_builder.read.text import clean

_CELL = " | "
_MOST_WORK, _MOST_WORK_A_PAGE = 300_000_000, 25_000_000  # of `_work`; about 30 s and 2.5 s, 63 x 63 lines on one page
_SAME_TEXT = 0.85  # of the letters of the lines which a table replaces must be in its cells

_Box = tuple[float, float, float, float]  # left, bottom, right, top


class _Table(NamedTuple):
    """A table in the page's own coordinates. rows: their cells."""

    left: float
    bottom: float
    right: float
    top: float
    rows: list[list[_Box]]


@dataclass(frozen=True, slots=True)
class _Ruled:
    """What pdfplumber asks of a page to find the tables on it. bbox: left, top, right, bottom."""

    edges: Sequence[Edge]
    bbox: tuple[float, float, float, float]


class TableSearch:
    """Looks for the tables of one document, up to an amount of work: hostile drawings would make it take hours."""

    def __init__(self) -> None:
        self._work_left = _MOST_WORK

    def set_tables(self, page: int, text_page: int, read: Page) -> bool:
        """Replace, on a page with a `grid`, the lines inside tables by one line for each row.

        page, text_page: their addresses. False where it was not done for the sake of time, or failed; then the lines stay.
        """
        sides = read.grid or ()
        edges = drawn_edges(page)
        work = _work(edges, sides)
        if work > min(self._work_left, _MOST_WORK_A_PAGE):
            return False
        self._work_left -= work
        before = read.lines
        try:
            for table in find_tables(edges, sides):
                _set_table(text_page, read, table)
        except Exception:  # noqa: BLE001 - the text has been read, and whatever happens to its tables, it stays
            read.lines = before
            return False
        return True


def _work(edges: Sequence[Edge], sides: Sequence[float]) -> int:
    """Estimate what finding the cells takes, in units of about 0.1 us: each crossing is looked at beside each other one."""
    columns = len({round(edge["x0"] / 3) for edge in edges if edge["orientation"] == "v"}) + len(sides)
    rows = len({round(edge["top"] / 3) for edge in edges if edge["orientation"] == "h"})
    return (columns * rows) ** 2 + 400 * len(edges)


def _set_table(text_page: int, read: Page, table: _Table) -> None:
    cells = [[_text(text_page, cell) for cell in row] for row in table.rows]
    if any(map(_holds_rows, cells)) or any(_overlap(row, table) for row in table.rows):
        return
    rows = [[" ".join(cell.split()) for cell in row] for row in cells]
    inside = [place for place, line in enumerate(read.lines) if _is_inside(line, table)]
    if inside and _is_worth(rows, [read.lines[place].text for place in inside]):
        _replace(read, inside, rows)


def find_tables(edges: Sequence[Edge], sides: Sequence[float]) -> list[_Table]:
    """Find the tables which edges make. edges: of `drawn_edges`. sides: x of upright lines to be imagined.

    pdfplumber's own page would give the same edges, but not without reading every character of the page again, in Python.
    """
    from pdfplumber.table import TableFinder  # 0.1 s, needed by few files

    if not edges:
        return []
    bbox = (
        min(edge["x0"] for edge in edges),
        min(edge["top"] for edge in edges),
        max(edge["x1"] for edge in edges),
        max(edge["bottom"] for edge in edges),
    )
    page: Any = _Ruled(edges, bbox)
    return [
        _Table(*_box(table.bbox), [[_box(cell) for cell in row.cells if cell] for row in table.rows])
        for table in TableFinder(page, {"explicit_vertical_lines": list(sides)}).tables
    ]


def _box(bbox: tuple[float, float, float, float]) -> _Box:
    left, top, right, bottom = bbox
    return left, -bottom, right, -top


def _text(text_page: int, cell: _Box) -> str:
    left, bottom, right, top = cell
    count = calls.bounded_text(text_page, left, top, right, bottom, None, 0)
    if count <= 0:
        return ""
    buffer = array("H", bytes(2 * (count + 1)))
    calls.bounded_text(text_page, left, top, right, bottom, buffer.buffer_info()[0], count)
    return clean(buffer[:count].tobytes().decode("utf-16-le", errors="replace"))


def _overlap(row: Sequence[_Box], table: _Table) -> bool:
    return sum(cell[2] - cell[0] for cell in row) > 1.05 * (table.right - table.left)


def _holds_rows(cells: Sequence[str]) -> bool:
    """Whether a row of cells holds several rows of text which no line parts: as many lines in each cell, or all in one cell."""
    lines = [cell.strip().count("\n") + 1 for cell in cells if cell.strip()]
    return len(lines) > 0 and max(lines) >= 4 and (len(lines) == 1 or sorted(lines)[-2] == max(lines))


def _is_inside(line: Line, table: _Table) -> bool:
    middle = line.y + line.size / 4
    return (
        table.bottom <= middle <= table.top and table.left - 2 <= line.x0 <= table.right and line.x1 <= table.right + 6
    )


def _is_worth(rows: Sequence[Sequence[str]], replaced: Sequence[str]) -> bool:
    """Whether this is a table, and no text is lost or repeated by taking it for one."""
    columns = max(map(len, rows), default=0)
    filled = [cell for row in rows for cell in row if cell]
    if (
        len(rows) < 2
        or columns < 2
        or len(filled) < 0.4 * sum(map(len, rows))
        or sum(len([c for c in row if c]) >= 2 for row in rows) < 2
    ):
        return False
    letters, before = (sum(map(str.isalnum, "".join(texts))) for texts in (filled, replaced))
    return _SAME_TEXT * before <= letters <= before / _SAME_TEXT


def _replace(target: Page, inside: Sequence[int], rows: Sequence[Sequence[str]]) -> None:
    first, last = target.lines[inside[0]], target.lines[inside[-1]]
    made = [
        Line(
            _CELL.join(cell or "\u2013" for cell in row), first.x0, first.x1, first.y, first.size, last.y_end, row=True
        )
        for row in rows
        if any(row)
    ]
    gone = set(inside)
    kept = [line for place, line in enumerate(target.lines) if place not in gone]
    target.lines = [*kept[: inside[0]], *made, *kept[inside[0] :]]
