"""Where the words of a query stand in a text. Which words are the same in another form is PostgreSQL's to say. No I/O."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from tree_builder.query.results import Span

_WORD = re.compile(r"\w+(?:['’]\w+)*")
MAX_WORD = 60


def distinct_words(texts: Iterable[str]) -> set[str]:
    """List the words of some texts, in lower case."""
    return {
        match.group().lower()
        for text in texts
        for match in _WORD.finditer(text)
        if match.end() - match.start() <= MAX_WORD
    }


def spans(text: str, found: Collection[str]) -> tuple[Span, ...]:
    """Give the ranges of characters in which a found word (in lower case) stands, in order."""
    return tuple(match.span() for match in _WORD.finditer(text) if match.group().lower() in found)
