"""A file's own outline (bookmarks), and where in the text its headings are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from tree_builder.model import OutlineEntry
from tree_builder.read.text import clean

_MOST = 5000  # entries; outlines which loop would go on for ever
_DEEPEST = 12


class Bookmark(NamedTuple):
    title: str
    depth: int
    page: int  # 0-based


def read_outline(document: Any) -> list[Bookmark]:
    """Give the bookmarks which lead to a page, in order. Loops end."""
    found: list[Bookmark] = []
    for bookmark in document.get_toc(max_depth=_DEEPEST):
        destination = bookmark.get_dest()
        page = destination.get_index() if destination else None
        title = " ".join(clean(bookmark.get_title()).split())
        if page is not None and title:
            found.append(Bookmark(title[:300], bookmark.level + 1, page))
        if len(found) >= _MOST:
            break
    return found


def locate(bookmarks: Sequence[Bookmark], text: str, page_starts: Sequence[int]) -> tuple[OutlineEntry, ...]:
    """Find each heading on its page; one which is not found there starts with the page."""
    entries = []
    for title, depth, page in bookmarks:
        if page >= len(page_starts):
            continue
        start = page_starts[page]
        end = page_starts[page + 1] if page + 1 < len(page_starts) else len(text)
        pattern = r"\s+".join(map(re.escape, title.split()))
        match = re.search(pattern, text[start:end], re.IGNORECASE)
        entries.append(OutlineEntry(title, depth, page + 1, start + match.start() if match else start))
    return tuple(entries)
