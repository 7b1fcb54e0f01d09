"""Lines of a page with their places, from pdfium's text page. Coordinates are points, y upwards, the page upright."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pypdfium2.raw as raw
from pypdfium2_raw import bindings

from tree_builder.read.text import clean


class Line(NamedTuple):
    """A line of text. y: of its baseline. size: height of its first character's font."""

    text: str
    x0: float
    x1: float
    y: float
    size: float


@dataclass(slots=True)
class Page:
    lines: list[Line]
    width: float
    height: float
    ruled: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


# Without releasing the interpreter's lock a call takes half the time, and a line needs three.
_LIB = ctypes.PyDLL(None, handle=bindings._libs["pdfium"]._handle) if hasattr(bindings, "_libs") else None


def read_lines(page: Any) -> Page:
    width, height = page.get_size()
    text_page = raw.FPDFText_LoadPage(page.raw)
    try:
        count = raw.FPDFText_CountChars(text_page)
        if count <= 0:
            return Page([], width, height)
        buffer = ctypes.create_string_buffer(2 * count + 2)
        written = raw.FPDFText_GetText(text_page, 0, count, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
        text = buffer.raw[: 2 * max(0, written - 1)].decode("utf-16-le", errors="replace")
        return Page(_lines(text_page, text, count), width, height)
    finally:
        raw.FPDFText_ClosePage(text_page)


def _lines(text_page: Any, text: str, count: int) -> list[Line]:
    lines = []
    x, y, box = ctypes.c_double(), ctypes.c_double(), raw.FS_RECTF()
    px, py, pbox = ctypes.byref(x), ctypes.byref(y), ctypes.byref(box)
    origin, loose = raw.FPDFText_GetCharOrigin, raw.FPDFText_GetLooseCharBox
    at = 0
    exact = len(text) == count
    for piece in text.split("\r\n"):
        length = len(piece)
        if piece and not piece.isspace():
            first, last = at, at + length - 1
            if not exact:
                first = raw.FPDFText_GetCharIndexFromTextIndex(text_page, first)
                last = raw.FPDFText_GetCharIndexFromTextIndex(text_page, last)
            origin(text_page, first, px, py)
            loose(text_page, first, pbox)
            size = box.top - box.bottom
            loose(text_page, last, pbox)
            lines.append(Line(clean(piece), x.value, box.right, y.value, size))
        at += length + 2
    return lines
