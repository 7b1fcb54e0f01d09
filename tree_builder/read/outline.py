"""A file's own outline (bookmarks), and where in the text its headings are."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

from tree_builder.model import OutlineEntry
from tree_builder.read import calls
from tree_builder.read.text import clean

_MOST = 5000  # bookmarks; outlines which loop would go on for ever
_DEEPEST = 12
_LONGEST = 4096  # bytes of a title


class Bookmark(NamedTuple):
    title: str
    depth: int
    page: int  # 0-based


def read_outline(document: Any) -> list[Bookmark]:
    """Give the bookmarks which lead to a page, in order. Loops end."""
    handle = calls.address(document.raw)
    found: list[Bookmark] = []
    seen: set[int] = set()
    waiting = [(calls.first_bookmark(handle, None), 1)]
    while waiting and len(seen) < _MOST:
        bookmark, depth = waiting.pop()
        if not bookmark or bookmark in seen:
            continue
        seen.add(bookmark)
        waiting.append((calls.next_bookmark(handle, bookmark), depth))
        if depth < _DEEPEST:
            waiting.append((calls.first_bookmark(handle, bookmark), depth + 1))
        target = calls.bookmark_target(handle, bookmark)
        page = calls.target_page(handle, target) if target else -1
        title = _title(bookmark)
        if page >= 0 and title:
            found.append(Bookmark(title[:300], depth, page))
    return found


def _title(bookmark: int) -> str:
    size = min(calls.bookmark_title(bookmark, None, 0), _LONGEST)
    buffer = ctypes.create_string_buffer(size)
    calls.bookmark_title(bookmark, buffer, size)
    return " ".join(clean(buffer.raw.decode("utf-16-le", errors="replace")).split())


def locate(bookmarks: Sequence[Bookmark], text: str, page_starts: Sequence[int]) -> tuple[OutlineEntry, ...]:
    """Find each heading on its page; one which is not found there starts with the page."""
    entries = []
    lower: dict[int, str] = {}  # pages in small letters, without ends of lines
    for title, depth, page in bookmarks:
        if page >= len(page_starts):
            continue
        start = page_starts[page]
        end = page_starts[page + 1] if page + 1 < len(page_starts) else len(text)
        at = _find(title, text, start, end)
        if at < 0:
            if page not in lower:
                lower[page] = text[start:end].lower().replace("\n", " ")
            # Letters which change their number in another case would move the place; such pages get their start.
            at = start + max(0, lower[page].find(title.lower()) if len(lower[page]) == end - start else 0)
        entries.append(OutlineEntry(title, depth, page + 1, at))
    return tuple(entries)


def _find(title: str, text: str, start: int, end: int) -> int:
    """Find a title between two places: at the start of a line if it is there, else anywhere; -1 where it is not."""
    if text.startswith(title, start):
        return start
    at = text.find("\n" + title, start, end)
    return at + 1 if at >= 0 else text.find(title, start, end)
