"""One file's bytes to its text, whatever the format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePosixPath

from tree_builder.errors import UnreadableDocument
from tree_builder.model import DocumentStatus, ReadText
from tree_builder.read.language import find_language
from tree_builder.read.pdf import read_pdf
from tree_builder.read.plain import read_plain

MAX_CHARS = 64_000_000


def read_bytes(data: bytes, name: str) -> ReadText:
    """Read a document's text. `name` tells the format, and the title where the file itself has none.

    Raises:
        UnreadableDocument: with `status` (empty, encrypted, malformed, too_large, unsupported) and the reason as message.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if not data:
        raise UnreadableDocument("the file has no bytes", status=DocumentStatus.EMPTY, doc_path=name)
    if suffix == ".pdf":
        read = read_pdf(data, name)
    elif suffix in (".txt", ".md"):
        read = read_plain(data, name, markdown=suffix == ".md")
    else:
        raise UnreadableDocument(
            f"{suffix or 'no suffix'}: not a format which can be read", status=DocumentStatus.UNSUPPORTED, doc_path=name
        )
    _refuse(read.text, name)
    return replace(read, language=find_language(read.text))


def read_file(path: Path) -> ReadText:
    """Read a document's text from a file, in this very process; see `read_bytes`."""
    return read_bytes(path.read_bytes(), path.name)


def _refuse(text: str, name: str) -> None:
    if len(text) > MAX_CHARS:
        raise UnreadableDocument(
            f"{len(text)} characters of text, more than {MAX_CHARS}", status=DocumentStatus.TOO_LARGE, doc_path=name
        )
    if not any(map(str.isalnum, text)):
        raise UnreadableDocument("no text", status=DocumentStatus.EMPTY, doc_path=name)
