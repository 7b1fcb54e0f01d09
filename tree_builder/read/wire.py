"""What crosses the pipe between the program and a reading process: JSON and text.

A process which a hostile file has taken over can thus send wrong data but no code. Sizes are bounded.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from typing import Any, NamedTuple

from tree_builder.model import Chunk, DocumentStatus, OutlineEntry, ReadDocument

MOST_FACTS = 32_000_000  # bytes of JSON
MOST_TEXT = 256_000_000  # bytes of UTF-8
_HEAD = struct.Struct("<II")


class Frame(NamedTuple):
    facts: dict[str, Any]
    text: str = ""


class Broken(Exception):
    """The other side ended, sent nonsense, or (`late`) did not answer in time."""

    def __init__(self, why: str, *, late: bool = False) -> None:
        super().__init__(why)
        self.late = late


def send(fd: int, facts: dict[str, Any], text: str = "") -> None:
    body = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    content = text.encode(errors="replace")
    if len(body) > MOST_FACTS or len(content) > MOST_TEXT:
        raise Broken("more than the pipe may carry")
    view = memoryview(_HEAD.pack(len(body), len(content)) + body + content)
    while view:
        view = view[os.write(fd, view) :]


def receive(fd: int, deadline: float | None = None) -> Frame | None:
    """Read one frame; None when the other side closed the pipe before one began.

    deadline: on `time.monotonic`'s clock.

    Raises:
        Broken: the frame is cut off, too large, or late.
    """
    head = _exactly(fd, _HEAD.size, deadline)
    if head is None:
        return None
    n_facts, n_text = _HEAD.unpack(head)
    if n_facts > MOST_FACTS or n_text > MOST_TEXT:
        raise Broken("more than the pipe may carry")
    body, content = _exactly(fd, n_facts, deadline), _exactly(fd, n_text, deadline)
    if body is None or content is None:
        raise Broken("the pipe closed within an answer")
    try:
        facts = json.loads(body)
        return Frame(facts, content.decode())
    except ValueError as error:
        raise Broken("an answer which is no answer") from error


def _exactly(fd: int, count: int, deadline: float | None) -> bytes | None:
    """Read that many bytes; None when the pipe closes before the first of them."""
    parts: list[bytes] = []
    missing = count
    while missing:
        if deadline is not None:
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise Broken("no answer in time", late=True)
        part = os.read(fd, min(missing, 1 << 20))
        if not part:
            if parts:
                raise Broken("the pipe closed within an answer")
            return None
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def facts_of(document: ReadDocument) -> dict[str, Any]:
    """Give a document as JSON-serializable values; its chunks as places in its text, which travels beside them."""
    return {
        "status": document.status,
        "reason": document.reason,
        "content_hash": document.content_hash.hex(),
        "size_bytes": document.size_bytes,
        "mtime_ns": document.mtime_ns,
        "chunks": [(c.char_start, c.char_end, c.page_start, c.page_end, c.overlap) for c in document.chunks],
        "n_pages": document.n_pages,
        "n_chars": document.n_chars,
        "title": document.title,
        "language": document.language,
        "outline": [(e.title, e.depth, e.page, e.char_start) for e in document.outline],
        "warnings": document.warnings,
        "read_s": document.read_s,
        "cut_s": document.cut_s,
    }


def document_of(doc_path: str, facts: dict[str, Any], text: str) -> ReadDocument:
    """Make the document of `facts_of` again.

    Raises:
        Broken: the facts are not what `facts_of` gives.
    """
    try:
        return ReadDocument(
            doc_path=doc_path,
            status=DocumentStatus(facts["status"]),
            reason=str(facts["reason"]),
            content_hash=bytes.fromhex(facts["content_hash"]),
            size_bytes=int(facts["size_bytes"]),
            mtime_ns=int(facts["mtime_ns"]),
            chunks=tuple(
                Chunk(text[start:end], start, end, first, last, overlap)
                for start, end, first, last, overlap in facts["chunks"]
            ),
            n_pages=int(facts["n_pages"]),
            n_chars=int(facts["n_chars"]),
            title=facts["title"],
            language=facts["language"],
            outline=tuple(OutlineEntry(*entry) for entry in facts["outline"]),
            warnings=tuple(map(str, facts["warnings"])),
            read_s=float(facts["read_s"]),
            cut_s=float(facts["cut_s"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Broken("an answer which is no document") from error
