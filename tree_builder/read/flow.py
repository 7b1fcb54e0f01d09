"""Lines to paragraphs, pages to one text."""

from __future__ import annotations

from tree_builder.read.lines import Page
from tree_builder.read.text import hyphenated_words, join_hyphens


def flow(pages: list[Page]) -> tuple[str, list[int]]:
    """Join pages to a text; give with it the offset at which each page starts."""
    raw = ["\n".join(line.text for line in page.lines) for page in pages]
    known = hyphenated_words("\n".join(raw))
    starts, parts, at = [], [], 0
    for text in raw:
        starts.append(at)
        text = join_hyphens(text, known) + "\n\n"
        parts.append(text)
        at += len(text)
    return "".join(parts), starts
