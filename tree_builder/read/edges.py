"""Level and upright lines drawn on a page, from pdfium's path objects: what rules a table, in the form pdfplumber looks for."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import islice
from math import isfinite
from typing import Any

from tree_builder.read import calls

_SLANT = 0.05  # points by which a line may be off the level, for what rounding does to coordinates
_SHORTEST = 1.0  # points; pdfplumber takes none which is shorter
_MOST = 20_000  # straight parts of drawings; more are no table
_DEEPEST = 8  # forms within forms

_Point = tuple[float, float]
_Matrix = tuple[float, float, float, float, float, float]
Edge = dict[str, Any]  # what pdfplumber calls an object
_SAME: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def drawn_edges(page: int) -> list[Edge]:
    """Give the edges of all drawings of a page, forms (drawings which are shared or set in) included. page: its address.

    As in pdfplumber, a rectangle has four edges, and it is not asked what of them can be seen. Of curves only the straight parts count.
    `top` and `bottom` count downwards from the page's origin: they are y with the other sign.
    """
    sides = (side for path, matrix in _paths(page) for side in _sides(path, matrix))
    edges = (_edge(*side) for side in islice(sides, _MOST))
    return [edge for edge in edges if edge is not None]


def _edge(begin: _Point, end: _Point) -> Edge | None:
    (x0, x1), (y0, y1) = sorted((begin[0], end[0])), sorted((begin[1], end[1]))
    width, height = x1 - x0, y1 - y0
    if not isfinite(width + height) or max(width, height) < _SHORTEST or min(width, height) > _SLANT:
        return None
    x0, y0, x1, y1 = (round(at, 3) for at in (x0, y0, x1, y1))
    if width > height:
        y1 = y0
    else:
        x1 = x0
    return {
        "object_type": "line",
        "orientation": "h" if width > height else "v",
        "x0": x0,
        "x1": x1,
        "top": -y1,
        "bottom": -y0,
        "width": x1 - x0,
        "height": y1 - y0,
    }


def _paths(page: int) -> Iterator[tuple[int, _Matrix]]:
    """Yield each path of a page, with the matrix which takes its points to the page's coordinates."""
    waiting: list[tuple[int, _Matrix, int]] = []
    for place in range(calls.count_objects(page)):
        waiting.append((calls.get_object(page, place), _SAME, 0))
        while waiting:
            found, outer, depth = waiting.pop()
            kind = calls.object_type(found)
            if kind == calls.OBJECT_PATH:
                yield found, _product(_matrix_of(found), outer)
            elif kind == calls.OBJECT_FORM and depth < _DEEPEST:
                matrix = _product(_matrix_of(found), outer)
                inner = range(calls.count_form_objects(found))
                waiting += [(calls.get_form_object(found, at), matrix, depth + 1) for at in reversed(inner)]


def _sides(path: int, matrix: _Matrix) -> Iterator[tuple[_Point, _Point]]:
    """Yield the ends of each straight part of a path."""
    a, b, c, d, e, f = matrix
    x, y = ctypes.c_float(), ctypes.c_float()
    at_x, at_y = ctypes.byref(x), ctypes.byref(y)
    start = here = (0.0, 0.0)
    for place in range(calls.count_segments(path)):
        segment = calls.get_segment(path, place)
        calls.segment_point(segment, at_x, at_y)
        before, here = here, (a * x.value + c * y.value + e, b * x.value + d * y.value + f)
        kind = calls.segment_type(segment)
        if kind == calls.SEGMENT_MOVE:
            start = here
        elif kind == calls.SEGMENT_LINE:
            yield before, here
        if calls.segment_closes(segment):
            yield here, start
            here = start


def _matrix_of(found: int) -> _Matrix:
    """Give a drawing's own matrix. Raises nothing: without one it is drawn as it is."""
    matrix = (ctypes.c_float * 6)()
    return tuple(matrix) if calls.object_matrix(found, matrix) else _SAME


def _product(inner: _Matrix, outer: _Matrix) -> _Matrix:
    a, b, c, d, e, f = outer
    return (
        inner[0] * a + inner[1] * c,
        inner[0] * b + inner[1] * d,
        inner[2] * a + inner[3] * c,
        inner[2] * b + inner[3] * d,
        inner[4] * a + inner[5] * c + e,
        inner[4] * b + inner[5] * d + f,
    )
