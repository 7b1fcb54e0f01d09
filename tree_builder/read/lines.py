"""Lines of a page with their places, from pdfium's text page. Coordinates are points, y upwards, the page upright."""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass, field
from itertools import repeat
from operator import sub
from typing import NamedTuple

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


_Turned = tuple[int, float, float]  # quarter turns clockwise, width and height as shown


def read_lines(page: int, text_page: int) -> Page:
    """Read the lines of a page. page, text_page: its address, and that of its text."""
    width, height = calls.page_width(page), calls.page_height(page)
    count = calls.count_chars(text_page)
    if count <= 0:
        return Page([], width, height)
    buffer = array("H", bytes(2 * (count + 1)))  # an array of ctypes would be a new type for each length, kept for good
    written = calls.get_text(text_page, 0, count, buffer.buffer_info()[0])
    text = buffer[: max(0, written - 1)].tobytes().decode("utf-16-le", errors="replace")
    turns = calls.get_rotation(page)
    lines = _lines(text_page, text, count, (turns, width, height))
    return Page(lines, width, height, None if turns or not lines else find_grid(page))


def _lines(text_page: int, text: str, count: int, turned: _Turned) -> list[Line]:
    pieces = text.split("\r\n")
    bare = _cleaned(text, pieces)
    firsts: list[int] = []
    lasts: list[int] = []
    at = 0
    for piece, tidy in zip(pieces, bare, strict=True):
        if tidy:
            begin, end = at, at + len(piece) - 1
            if piece != tidy:
                begin += len(piece) - len(piece.lstrip())
                end -= len(piece) - len(piece.rstrip())
            firsts.append(begin)
            lasts.append(end)
        at += len(piece) + 2
    if len(text) != count:  # some characters have no text, or two units of UTF-16
        firsts = list(map(calls.char_index, repeat(text_page), firsts))
        lasts = list(map(calls.char_index, repeat(text_page), lasts))
    return _placed(text_page, [tidy for tidy in bare if tidy], firsts, lasts, turned)


def _placed(text_page: int, texts: list[str], firsts: list[int], lasts: list[int], turned: _Turned) -> list[Line]:
    """Ask for the places of all lines in loops which run in C; one by one the asking takes longer than the answering."""
    n = len(texts)
    places, boxes = array("d", bytes(16 * n)), array("f", bytes(32 * n))
    at_places, at_boxes = places.buffer_info()[0], boxes.buffer_info()[0]
    page = repeat(text_page)
    _run(
        map(
            calls.char_origin,
            page,
            firsts,
            range(at_places, at_places + 16 * n, 16),
            range(at_places + 8, at_places + 16 * n + 8, 16),
        )
    )
    _run(map(calls.char_box, page, firsts, range(at_boxes, at_boxes + 32 * n, 32)))
    _run(map(calls.char_box, page, lasts, range(at_boxes + 16, at_boxes + 32 * n + 16, 32)))
    ends = places[1::2]
    for index in [index for index, text in enumerate(texts) if HYPHEN in text]:
        end = array("d", (0.0, 0.0))
        address = end.buffer_info()[0]
        calls.char_origin(text_page, lasts[index], address, address + 8)
        ends[index] = end[1]
    return _upright(texts, (places[0::2], places[1::2], ends), boxes, turned)


_run = deque[int](maxlen=0).extend  # the quickest way to use up an iterator


def _cleaned(text: str, pieces: list[str]) -> list[str]:
    """Clean the lines of a page, all at once where cleaning leaves the ends of lines alone."""
    if needs_cleaning(text):
        text = clean("\n".join(pieces))
        at_once = text.split("\n")
        pieces = at_once if len(at_once) == len(pieces) else [clean(piece) for piece in pieces]
    if "  " in text:
        return [" ".join(piece.split()) for piece in pieces]
    return [piece.strip() for piece in pieces]


def _upright(
    texts: list[str], origins: tuple[array[float], array[float], array[float]], boxes: array[float], turned: _Turned
) -> list[Line]:
    """Make lines, as they are on the page as it is shown.

    origins: x and y of the first characters, y of the last. boxes: left, top, right, bottom of the first character of each
    line, and of the last.
    """
    xs, ys, y_ends = origins
    turns, width, height = turned
    if turns == 0:
        return list(map(Line, texts, xs, boxes[6::8], ys, map(sub, boxes[1::8], boxes[3::8]), y_ends))
    if turns == 2:
        return [
            Line(text, width - x, width - left, height - y, top - bottom, height - y_end)
            for text, x, y, y_end, top, bottom, left in zip(
                texts, xs, ys, y_ends, boxes[1::8], boxes[3::8], boxes[4::8], strict=True
            )
        ]
    sizes = map(sub, boxes[2::8], boxes[0::8])
    if turns == 1:
        return [
            Line(text, y, top, height - x, size, height - x)
            for text, x, y, size, top in zip(texts, xs, ys, sizes, boxes[5::8], strict=True)
        ]
    return [
        Line(text, width - y, width - bottom, x, size, x)
        for text, x, y, size, bottom in zip(texts, xs, ys, sizes, boxes[7::8], strict=True)
    ]
