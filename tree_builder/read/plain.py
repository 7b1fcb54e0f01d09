"""Plain text and Markdown."""

from __future__ import annotations

from pathlib import PurePosixPath

from tree_builder.model import ReadText
from tree_builder.read.text import clean


def read_plain(data: bytes, name: str, *, markdown: bool) -> ReadText:
    text = clean(data.decode("utf-8-sig", errors="replace"))
    return ReadText(text, (0,), (), PurePosixPath(name).stem, None, ())
