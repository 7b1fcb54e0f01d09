"""Between file names, which are bytes, and `doc_path`, which is text. Both ways, without loss, and for any depth."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

_ESCAPED = re.compile(r"%(25|[89A-F][0-9A-F])")
_LONGEST = 3000  # bytes of path handed to the kernel at once; its own limit (PATH_MAX) is 4096


def encode_name(name: str) -> str:
    """Turn one file name, as `os` gives it, into text.

    A name of UTF-8 stays as it is. In any other each odd byte becomes `%XX` and `%` becomes `%25`; so does a name of UTF-8
    which could be mistaken for one of those.
    """
    if name.isascii() and "%" not in name:
        return name
    raw = os.fsencode(name)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return raw.replace(b"%", b"%25").decode(errors="surrogateescape").translate(_ODD_BYTES)
    return text.replace("%", "%25") if _ESCAPED.search(text) else text


_ODD_BYTES = {0xDC00 + byte: f"%{byte:02X}" for byte in range(0x80, 0x100)}


def decode_name(text: str) -> bytes:
    """Turn the text of `encode_name` back into the file name's bytes."""
    if "%" not in text or not _ESCAPED.search(text):
        return text.encode()
    return _ESCAPED.sub(lambda match: chr(0xDC00 + int(match[1], 16)) if match[1] != "25" else "%", text).encode(
        errors="surrogateescape"
    )


def relative_bytes(doc_path: str) -> bytes:
    """Give a document's path below the corpus folder as the file system has it."""
    return b"/".join(decode_name(part) for part in doc_path.split("/"))


def source_path(folder: Path, doc_path: str) -> Path:
    """Give the file of a document; names which are not UTF-8 are in it the way `os` writes them."""
    return folder / os.fsdecode(relative_bytes(doc_path))


def open_below(root_fd: int, relative: bytes, flags: int) -> int:
    """Open a path below an open directory, however long the path is. The caller closes the descriptor.

    Raises:
        OSError: as `os.open`.
    """
    if len(relative) <= _LONGEST:
        return os.open(relative, flags | os.O_CLOEXEC, dir_fd=root_fd)
    with contextlib.ExitStack() as opened:
        here = root_fd
        parts = relative.split(b"/")
        while sum(map(len, parts)) + len(parts) > _LONGEST:
            step: list[bytes] = []
            while parts[1:] and sum(map(len, step)) + len(step) + len(parts[0]) <= _LONGEST:
                step.append(parts.pop(0))
            here = os.open(b"/".join(step), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=here)
            opened.callback(os.close, here)
        return os.open(b"/".join(parts), flags | os.O_CLOEXEC, dir_fd=here)
