"""Chunks from text: the two ways of cutting, and what they share."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from tree_builder.cut.places import sentence_cuts
from tree_builder.errors import ConfigError
from tree_builder.model import Chunk

VERSION = 1
"""Raised whenever the same text would be cut differently."""


def cut(text: str, page_starts: Sequence[int], *, size: int, overlap: int, method: str = "sentence") -> list[Chunk]:
    """Cut a text into chunks of at most `size` characters, of which the first repeat the end of the one before.

    `fixed`: windows of exactly `size` characters, each starting `size - overlap` after the one before; the last is shorter.
    `sentence`: the new part of each chunk starts at the end of a sentence or paragraph, chosen by the text around it alone,
    so that after an edit the cuts fall back into step; about `overlap` characters are repeated, from the start of a sentence or word.

    Guarantees: content == text[char_start:char_end]; the contents, each without its first `overlap` characters, join to the text.
    Text of white space alone gives no chunk.

    Raises:
        ConfigError: `overlap` is not below `size`, or there is no such method.
    """
    if not 0 <= overlap < size:
        raise ConfigError(f"overlap = {overlap} must be at least 0 and below size = {size}", name="chunk_overlap")
    if not text or text.isspace():
        return []
    if method == "fixed":
        spans: Iterable[tuple[int, int, int]] = _fixed(len(text), size, overlap)
    elif method == "sentence":
        spans = sentence_cuts(text, size, overlap)
    else:
        raise ConfigError(f"cut = {method!r}: it must be sentence or fixed", name="cut")
    return [
        Chunk(
            text[start:end],
            start,
            end,
            max(1, bisect_right(page_starts, start)),
            max(1, bisect_right(page_starts, end - 1)),
            repeated,
        )
        for start, end, repeated in spans
    ]


def _fixed(length: int, size: int, overlap: int) -> Iterable[tuple[int, int, int]]:
    """Yield start, end and repeated characters of each window. A last window which would only repeat is left out."""
    step = size - overlap
    for start in range(0, max(length - overlap, 1), step):
        yield start, min(start + size, length), overlap if start else 0
