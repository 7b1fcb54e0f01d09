"""Ruled tables: pdfplumber finds the cells, pdfium gives their text, and rows take the place of the lines they are made of."""

from __future__ import annotations

import ctypes
import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pypdfium2 as pdfium

from tree_builder.read import calls
from tree_builder.read.lines import Line, Page
from tree_builder.read.text import clean

_MOST_PAGES = 400  # with tables, in one document; each takes about a tenth of a second
_CELL = " | "
_SAME_TEXT = 0.85  # of the letters of the lines which a table replaces must be in its cells

logging.getLogger("pdfminer").setLevel(logging.ERROR)


class _Table(NamedTuple):
    """A table in the page's own coordinates. rows: cells as (left, bottom, right, top)."""

    left: float
    bottom: float
    right: float
    top: float
    rows: list[list[tuple[float, float, float, float]]]


def set_tables(document: Any, pages: Sequence[Page], warnings: list[str]) -> None:
    """Replace, on pages with a `grid`, the lines inside tables by one line for each row."""
    ruled = [index for index, page in enumerate(pages) if page.grid is not None and page.lines]
    if not ruled:
        return
    if len(ruled) > _MOST_PAGES:
        warnings.append(f"tables were looked for on the first {_MOST_PAGES} of {len(ruled)} pages with ruled lines")
    handle = calls.address(document.raw)
    try:
        for index, tables in _find(document, {index: pages[index].grid or () for index in ruled[:_MOST_PAGES]}):
            _place(handle, index, pages[index], tables)
    except Exception as error:  # noqa: BLE001 - pdfminer raises whatever a bad file makes it stumble over
        warnings.append(f"tables could not be looked for: {type(error).__name__}")


def _find(document: Any, sides: Mapping[int, Sequence[float]]) -> Iterator[tuple[int, list[_Table]]]:
    import pdfplumber  # 0.3 s, needed by few files

    with pdfplumber.open(io.BytesIO(_alone(document, list(sides)))) as plumber:
        for index, page in zip(sides, plumber.pages, strict=True):
            height = page.mediabox[3]
            found = [
                _Table(
                    table.bbox[0], height - table.bbox[3], table.bbox[2], height - table.bbox[1], _rows(table, height)
                )
                for table in page.find_tables({"explicit_vertical_lines": list(sides[index])})
            ]
            page.close()
            yield index, found


def _alone(document: Any, indices: list[int]) -> bytes:
    """Give a file of these pages alone: pdfplumber would read the structure of the whole one first."""
    target = io.BytesIO()
    copy = pdfium.PdfDocument.new()
    try:
        copy.import_pages(document, indices)
        copy.save(target)
    finally:
        copy.close()
    return target.getvalue()


def _rows(table: Any, height: float) -> list[list[tuple[float, float, float, float]]]:
    return [
        [(cell[0], height - cell[3], cell[2], height - cell[1]) for cell in row.cells if cell] for row in table.rows
    ]


def _place(document: int, index: int, target: Page, tables: Sequence[_Table]) -> None:
    page = calls.load_page(document, index)
    text_page = calls.load_text(page)
    try:
        for table in tables:
            cells = [[_text(text_page, cell) for cell in row] for row in table.rows]
            if any(map(_holds_rows, cells)) or any(_overlap(row, table) for row in table.rows):
                continue
            rows = [[" ".join(cell.split()) for cell in row] for row in cells]
            inside = [place for place, line in enumerate(target.lines) if _is_inside(line, table)]
            if inside and _is_worth(rows, [target.lines[place].text for place in inside]):
                _replace(target, inside, rows)
    finally:
        calls.close_text(text_page)
        calls.close_page(page)


def _text(text_page: int, cell: tuple[float, float, float, float]) -> str:
    left, bottom, right, top = cell
    count = calls.bounded_text(text_page, left, top, right, bottom, None, 0)
    if count <= 0:
        return ""
    buffer = (ctypes.c_ushort * (count + 1))()
    calls.bounded_text(text_page, left, top, right, bottom, buffer, count)
    return clean(bytes(buffer)[: 2 * count].decode("utf-16-le", errors="replace"))


def _overlap(row: Sequence[tuple[float, float, float, float]], table: _Table) -> bool:
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
