"""Frames between the parent and a worker: two lengths, a JSON head, and raw bytes after it.

JSON and raw bytes instead of pickle: what a worker reads can then never run code, and vectors cross without conversion.
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

HEADER = struct.Struct("<II")  # length of the head, length of the body


def pack(head: dict[str, Any], body: bytes = b"") -> bytes:
    """Give one frame. Lone surrogates survive: the head is JSON in ASCII."""
    encoded = json.dumps(head).encode("ascii")
    return HEADER.pack(len(encoded), len(body)) + encoded + body


def read(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """Read one frame, or None at the end of the stream."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    head_size, body_size = HEADER.unpack(header)
    head = stream.read(head_size)
    body = stream.read(body_size)
    if len(head) < head_size or len(body) < body_size:
        return None
    return head_of(head), body


def head_of(encoded: bytes) -> dict[str, Any]:
    """Read the head of a frame."""
    head: dict[str, Any] = json.loads(encoded)
    return head
