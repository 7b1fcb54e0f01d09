"""Which pages have ruled tables: told from the bounds of what is drawn, since looking for cells takes longer than reading."""

from __future__ import annotations

import ctypes
from collections import defaultdict
from itertools import repeat
from typing import NamedTuple

from tree_builder.read import calls

_THIN = 3.0  # points
_COLUMN, _ROW = 14.0, 8.0  # points between lines, at least; frames around code have lines which are nearer
_FEW = 30  # objects
_MOST_DRAWINGS = 3000  # a page with more is a figure


class _Line(NamedTuple):
    at: float  # x of an upright line, y of a level one
    begin: float
    end: float


def find_grid(page: int) -> tuple[float, ...] | None:
    """Tell whether lines on the page cross to make at least two columns and two rows. page: its address.

    None when they do not; else the places of upright lines to be imagined, where a table has no line at its sides.
    """
    count = calls.count_objects(page)
    if count > _FEW and calls.OBJECT_PATH not in map(
        calls.object_type, map(calls.get_object, repeat(page), range(0, count, 7))
    ):
        return None  # a table is many drawings; looking at every seventh object is enough to tell pages of text
    objects = list(map(calls.get_object, repeat(page), range(count)))
    paths = [
        found for found, kind in zip(objects, map(calls.object_type, objects), strict=True) if kind == calls.OBJECT_PATH
    ]
    if not 1 <= len(paths) <= _MOST_DRAWINGS:
        return None
    if len(paths) < 3:
        return (
            () if any(12 <= calls.count_segments(path) <= _MOST_DRAWINGS for path in paths) else None
        )  # drawn at once
    upright, level = _lines(paths)
    if not (_has_parallel(upright, _COLUMN) and _has_parallel(level, _ROW)):
        return None
    return _open_sides(upright, level)


def _open_sides(upright: list[_Line], level: list[_Line]) -> tuple[float, ...]:
    heights: defaultdict[int, set[int]] = defaultdict(set)
    for line in level:
        for end in (line.begin, line.end):
            heights[round(end)].add(round(line.at))
    drawn = {round(line.at) for line in upright}
    return tuple(
        float(x)
        for x, at in sorted(heights.items())
        if len(at) >= 3 and all(abs(x - other) >= _COLUMN for other in drawn)
    )


def _lines(paths: list[int]) -> tuple[list[_Line], list[_Line]]:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    bounds = tuple(map(ctypes.byref, (left, bottom, right, top)))
    upright: list[_Line] = []
    level: list[_Line] = []
    for path in paths:
        if not calls.object_bounds(path, *bounds):
            continue
        x0, y0, x1, y1 = left.value, bottom.value, right.value, top.value
        if x1 - x0 < _THIN < y1 - y0:
            upright.append(_Line((x0 + x1) / 2, y0, y1))
        elif y1 - y0 < _THIN < x1 - x0:
            level.append(_Line((y0 + y1) / 2, x0, x1))
        elif x1 - x0 > _THIN:
            upright += (_Line(x0, y0, y1), _Line(x1, y0, y1))
            level += (_Line(y0, x0, x1), _Line(y1, x0, x1))
    return upright, level


def _has_parallel(lines: list[_Line], apart_by: float) -> bool:
    """Whether three lines at different places run side by side; a frame around code has two."""
    for probe in lines[:400]:
        middle = (probe.begin + probe.end) / 2
        beside = sorted(line.at for line in lines if line.begin - 1 <= middle <= line.end + 1)
        apart = 0
        last = float("-inf")
        for at in beside:
            if at - last > apart_by:
                apart += 1
                last = at
        if apart >= 3:
            return True
    return False
