"""Ruled tables: found among pdfium's edges as pdfplumber finds them on its own page, within bounds, never at the text's cost."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import pdfplumber
import pypdfium2 as pdfium
import pytest

from tree_builder.read import calls, read_bytes, tables
from tree_builder.read.edges import drawn_edges

from .support import SENTENCES, Pages, made, raw_pdf

ROWS = [["Name", "Depth", "Remark"], ["Outer bank", "4 m", "moves"], ["Inner bank", "2 m", "stays"]]
READ = "Name | Depth | Remark\nOuter bank | 4 m | moves\nInner bank | 2 m | stays"


@contextmanager
def first_page(data: bytes) -> Iterator[int]:
    document = pdfium.PdfDocument(data)
    page = calls.load_page(calls.address(document.raw), 0)
    try:
        yield page
    finally:
        calls.close_page(page)
        document.close()


def boxes_here(data: bytes) -> list[list[tuple[float, ...]]]:
    """Give the cells of each table, found without pdfminer."""
    with first_page(data) as page:
        found = tables.find_tables(drawn_edges(page), ())
    return [sorted(tuple(round(at, 1) for at in cell) for row in table.rows for cell in row) for table in found]


def boxes_by_pdfplumber(data: bytes) -> list[list[tuple[float, ...]]]:
    with pdfplumber.open(io.BytesIO(data)) as document:
        page = document.pages[0]
        top = page.height
        return [
            sorted(
                (round(x0, 1), round(top - y1, 1), round(x1, 1), round(top - y0, 1)) for x0, y0, x1, y1 in table.cells
            )
            for table in page.find_tables()
        ]


def cells(*, step: float = 30, drawn: str = "re", rows: int = 3, columns: int = 3) -> bytes:
    """Draw a table's cells, each with its text, at (100, 600) and below; `drawn` says by which operators."""
    content = b""
    for row in range(rows):
        for column in range(columns):
            x, y = 100 + 3 * step * column, 600 - step * row
            w, h = 3 * step, step
            text = ROWS[row][column] if row < len(ROWS) and column < len(ROWS[0]) else ""
            outline = {
                "re": f"{x} {y} {w} {h} re S",
                "lines": f"{x} {y} m {x + w} {y} l S {x} {y + h} m {x + w} {y + h} l S {x} {y} m {x} {y + h} l S "
                f"{x + w} {y} m {x + w} {y + h} l S",
                "filled": f"{x} {y} {w} 0.6 re f {x} {y + h} {w} 0.6 re f {x} {y} 0.6 {h} re f {x + w} {y} 0.6 {h} re f",
                "closed": f"{x} {y} m {x + w} {y} l {x + w} {y + h} l {x} {y + h} l h S",
                "scaled": f"q 0.5 0 0 2 10 -20 cm {2 * (x - 10)} {(y + 20) / 2} {2 * w} {h / 2} re S Q",
                "turned": f"q 0 1 -1 0 0 0 cm {y} {-x - w} {h} {w} re S Q",
            }[drawn]
            content += f"{outline} BT /F1 9 Tf 1 0 0 1 {x + 4} {y + 10} Tm ({text}) Tj ET\n".encode()
    return raw_pdf(content)


@pytest.mark.parametrize("drawn", ["re", "lines", "filled", "closed", "scaled", "turned"])
def test_cells_are_those_which_pdfplumber_finds(drawn: str) -> None:
    """However a table is drawn, pdfium's edges lead to the very cells which pdfplumber's own page has."""
    data = cells(drawn=drawn)
    assert boxes_here(data) == boxes_by_pdfplumber(data) != []
    assert read_bytes(data, "a.pdf").text == READ


def test_tables_of_a_writer_are_those_which_pdfplumber_finds() -> None:
    """Tables as a PDF library sets them, several on a page, have the cells which pdfplumber finds."""

    def write(pdf: Pages) -> None:
        for rows in (ROWS, ROWS[:2], [row[:2] for row in ROWS]):
            with pdf.table(rows):
                pass
            pdf.ln(9)
            pdf.paragraph(SENTENCES[0])

    data = made(write)
    assert boxes_here(data) == boxes_by_pdfplumber(data)
    assert len(boxes_here(data)) == 3


def test_no_character_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are read without pdfminer, which would read the whole page again."""

    def fail(*args: object) -> None:
        raise AssertionError("pdfminer was asked")

    monkeypatch.setattr("pdfminer.pdfinterp.PDFPageInterpreter.process_page", fail)
    monkeypatch.setattr("pdfplumber.pdf.PDF.open", fail)
    assert read_bytes(cells(), "a.pdf").text == READ


def test_a_page_whose_origin_is_elsewhere() -> None:
    """A table is found on a page whose box does not begin at 0."""
    moved = cells().replace(b"[0 0 612 792]", b"[9 9 621 801]")
    assert read_bytes(moved, "a.pdf").text == READ


def test_lines_in_a_form_count() -> None:
    """Lines which are drawn in a form, moved and scaled by its place, are where they are seen."""
    grid = b"".join(b"0 %d m 90 %d l S %d 0 m %d 30 l S\n" % (10 * n, 10 * n, 30 * n, 30 * n) for n in range(4))
    entries = b"/Resources << /XObject << /X0 6 0 R >> >> "
    form = b"6 0 obj\n<< /Type /XObject /Subtype /Form /BBox [0 0 99 99] /Matrix [1 0 0 1 5 0] /Length %d >>\nstream\n%s\nendstream\nendobj\n"
    data = raw_pdf(b"q 3 0 0 3 85 540 cm /X0 Do Q", page_entries=entries)
    data = data.replace(b"/Resources << /Font << /F1 5 0 R >> >> ", b"")
    data = data[: data.rindex(b"xref\n0")] + form % (len(grid), grid) + b"trailer << /Size 7 /Root 1 0 R >>\n%%EOF"
    with first_page(data) as page:
        edges = drawn_edges(page)
    assert {edge["x0"] for edge in edges if edge["orientation"] == "v"} == {100, 190, 280, 370}
    assert {-edge["top"] for edge in edges if edge["orientation"] == "h"} == {540, 570, 600, 630}


def test_curves_and_slanting_lines_are_no_edges() -> None:
    """Of a rounded frame the straight sides count; a curve between two points above each other is none, nor is a diagonal."""
    content = b"110 600 m 200 600 l 230 610 230 640 200 650 c 110 650 l S 100 500 m 300 400 l S"
    with first_page(raw_pdf(content)) as page:
        edges = drawn_edges(page)
    assert [(edge["orientation"], edge["x0"], edge["x1"], edge["top"]) for edge in edges] == [
        ("h", 110, 200, -600),
        ("h", 110, 200, -650),
    ]


def test_a_page_of_very_many_crossings_is_left_as_it_is() -> None:
    """Drawings which would take hours to search cost a warning; the text is read."""
    net = b"".join(b"0 %d m 600 %d l S %d 0 m %d 780 l S\n" % (8 * n, 8 * n, 15 * n, 15 * n) for n in range(40))
    net += b"".join(b"%d 0 m %d 780 l S\n" % (4 * n, 4 * n) for n in range(150))
    read = read_bytes(raw_pdf(net + b"BT /F1 9 Tf 40 700 Td (Twenty letters and more of text) Tj ET"), "a.pdf")
    assert read.text == "Twenty letters and more of text"
    assert read.warnings == ("pages whose tables were not looked for: 1",)


def test_a_failing_search_costs_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search for tables stumbles, the page's lines stay, and a warning names the page."""

    def fail(*args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(tables, "find_tables", fail)
    read = read_bytes(cells(), "a.pdf")
    assert " ".join(read.text.split()) == " ".join(" ".join(row) for row in ROWS)
    assert read.warnings == ("pages whose tables were not looked for: 1",)
