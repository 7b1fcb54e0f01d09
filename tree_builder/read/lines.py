"""Lines of a page with their places, from pdfium's text page. Coordinates are points, y upwards, the page upright."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tree_builder.read import calls
from tree_builder.read.rules import find_grid
from tree_builder.read.text import HYPHEN, clean, needs_cleaning


class Line(NamedTuple):
    """A line of text. y: of its baseline. size: height of its first character's font.

    y_end: baseline of its last character; another one where a word broken by a hyphen made two lines into one.
    jump: the line before it was dropped as running, or is of another column: a paragraph may go on across.
    row: the line is a row of a table, to be kept as it is.
    """

    text: str
    x0: float
    x1: float
    y: float
    size: float
    y_end: float
    jump: bool = False
    row: bool = False


@dataclass(slots=True)
class Page:
    """The lines of a page in the order in which pdfium gives them, which is that of reading in nearly every file."""

    lines: list[Line] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0
    grid: tuple[float, ...] | None = None  # of `find_grid`


def read_lines(page: Any) -> Page:
    """Read the lines of a pypdfium2 page."""
    width, height = page.get_size()
    handle = calls.address(page.raw)
    text_page = calls.load_text(handle)
    try:
        count = calls.count_chars(text_page)
        if count <= 0:
            return Page([], width, height)
        buffer = (ctypes.c_ushort * (count + 1))()
        written = calls.get_text(text_page, 0, count, buffer)
        text = bytes(memoryview(buffer)[: max(0, written - 1)]).decode("utf-16-le", errors="replace")
        lines = _lines(text_page, text, count)
    finally:
        calls.close_text(text_page)
    if turned := calls.get_rotation(handle):
        return Page([_upright(line, turned, width, height) for line in lines], width, height)
    return Page(lines, width, height, find_grid(handle))


def _lines(text_page: int, text: str, count: int) -> list[Line]:
    lines = []
    x, y, box = ctypes.c_double(), ctypes.c_double(), calls.Rect()
    px, py, pbox = ctypes.byref(x), ctypes.byref(y), ctypes.byref(box)
    at = 0
    same_index = len(text) == count  # otherwise some characters have no text, or two units of UTF-16
    odd = needs_cleaning(text)
    for piece in text.split("\r\n"):
        bare = _tidy(piece) if odd or "  " in piece else piece.strip()
        if bare:
            first, last = at + len(piece) - len(piece.lstrip()), at + len(piece.rstrip()) - 1
            if not same_index:
                first, last = calls.char_index(text_page, first), calls.char_index(text_page, last)
            calls.char_origin(text_page, first, px, py)
            calls.char_box(text_page, first, pbox)
            size = box.top - box.bottom
            calls.char_box(text_page, last, pbox)
            x0, y0 = x.value, y.value
            if HYPHEN in bare:
                calls.char_origin(text_page, last, px, py)
            lines.append(Line(bare, x0, box.right, y0, size, y.value))
        at += len(piece) + 2
    return lines


def _tidy(piece: str) -> str:
    return " ".join(clean(piece).split())


def _upright(line: Line, quarter_turns: int, width: float, height: float) -> Line:
    """Turn a line of a page which is shown turned clockwise, so that its lines run to the right. width, height: as shown."""
    if quarter_turns == 1:
        return line._replace(x0=line.y, x1=line.y + (line.x1 - line.x0), y=height - line.x0, y_end=height - line.x0)
    if quarter_turns == 2:
        return line._replace(x0=width - line.x0, x1=width - line.x1, y=height - line.y, y_end=height - line.y_end)
    return line._replace(x0=width - line.y, x1=width - line.y + (line.x1 - line.x0), y=line.x0, y_end=line.x0)
