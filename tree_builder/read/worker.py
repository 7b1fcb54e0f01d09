"""A reading process: asked over a pipe, one file after another, until the pipe closes. It limits itself."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import os
import resource
import signal
import stat
import sys
import time
from pathlib import Path
from typing import Any

from tree_builder.errors import UnreadableDocument
from tree_builder.model import DocumentStatus, ReadDocument
from tree_builder.paths import open_below, relative_bytes
from tree_builder.read.wire import Broken, facts_of, receive, send

_PR_SET_PDEATHSIG = 1
_SPARE_S = 5  # the process ends itself so much after its parent should have ended it


def main() -> None:
    """Serve until the parent closes the pipe. Arguments: parent's pid, address space in MB."""
    parent, memory_mb = int(sys.argv[1]), int(sys.argv[2])
    _die_with(parent)
    _limit(memory_mb)
    requests, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):  # libraries which print must not print into the answers
        os.dup2(null, fd)
    _load()
    send(answers, {"ready": True})
    while (frame := receive(requests)) is not None:
        signal.alarm(int(frame.facts["timeout_s"]) + _SPARE_S)
        facts, text = _answer(frame.facts, memory_mb)
        facts["rss_mb"] = _rss_mb()
        try:
            send(answers, facts, text)
        except Broken as error:
            send(answers, {"status": DocumentStatus.TOO_LARGE, "reason": f"its text is {error}"})
        except BrokenPipeError:
            return
        signal.alarm(0)


def _load() -> None:
    """Import what reading needs, so that the time of the first file is its own."""
    from tree_builder.cut import cut
    from tree_builder.read.document import read_bytes

    _ = cut, read_bytes
    gc.freeze()
    gc.set_threshold(100_000)  # a document is very many small tuples without cycles


def _die_with(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _limit(memory_mb: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # elsewhere the limit is refused or without effect
        wanted, (_, hard) = memory_mb << 20, resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY or wanted <= hard:
            resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))


def _rss_mb() -> float:
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _answer(ask: dict[str, Any], memory_mb: int) -> tuple[dict[str, Any], str]:
    doc_path = ask["doc_path"]
    try:
        if ask["verb"] == "hash":
            return {"status": DocumentStatus.BUILT, "content_hash": _hash(ask).hex()}, ""
        document, text = _document(ask)
        return facts_of(document), text
    except MemoryError:
        status, reason = DocumentStatus.CRASHED, f"needs more than read_memory_mb = {memory_mb}"
    except UnreadableDocument as error:
        status, reason = error.status, error.message
    except RecursionError:
        status, reason = DocumentStatus.MALFORMED, "nested too deeply"
    except Exception as error:  # noqa: BLE001 - whatever a parser throws at a bad file, the run goes on
        status, reason = DocumentStatus.MALFORMED, f"{type(error).__name__}: {error}"[:300]
    return facts_of(ReadDocument(doc_path, status, reason)), ""


def _document(ask: dict[str, Any]) -> tuple[ReadDocument, str]:
    from tree_builder.cut import cut
    from tree_builder.read.document import read_bytes

    began = time.perf_counter()
    doc_path = ask["doc_path"]
    data, mtime_ns = _bytes(ask)
    digest = hashlib.sha256(data).digest()
    try:
        read = read_bytes(data, doc_path)
    except UnreadableDocument as error:
        spent = time.perf_counter() - began
        return ReadDocument(doc_path, error.status, error.message, digest, len(data), mtime_ns, read_s=spent), ""
    read_s = time.perf_counter() - began
    chunks = cut(read.text, read.page_starts, size=ask["size"], overlap=ask["overlap"], method=ask["method"])
    document = ReadDocument(
        doc_path=doc_path,
        status=DocumentStatus.BUILT,
        content_hash=digest,
        size_bytes=len(data),
        mtime_ns=mtime_ns,
        chunks=tuple(chunks),
        n_pages=len(read.page_starts),
        n_chars=len(read.text),
        title=read.title,
        language=read.language,
        outline=read.outline,
        warnings=read.warnings,
        read_s=read_s,
        cut_s=time.perf_counter() - began - read_s,
    )
    return document, read.text


def _bytes(ask: dict[str, Any]) -> tuple[bytes, int]:
    """Read the file once, whole. A file which changes meanwhile is read again, once."""
    for _ in range(2):
        fd = _open(ask)
        try:
            before = os.fstat(fd)
            _check(before, ask)
            with os.fdopen(fd, "rb", closefd=False) as file:
                data = file.read()
            after = os.fstat(fd)
        finally:
            os.close(fd)
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(data) == after.st_size:
            return data, after.st_mtime_ns
    raise UnreadableDocument("it is being written to; the next run reads it", status=DocumentStatus.VANISHED)


def _open(ask: dict[str, Any]) -> int:
    # O_NONBLOCK: what was a file when scanned may be a pipe by now, and opening that would wait for a writer
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if ask["follow_symlinks"] else os.O_NOFOLLOW)
    try:
        root = os.open(os.fsencode(ask["folder"]), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return open_below(root, relative_bytes(ask["doc_path"]), flags)
        finally:
            os.close(root)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnreadableDocument("it went away before it was read", status=DocumentStatus.VANISHED) from error
    except OSError as error:
        raise UnreadableDocument(f"cannot be opened: {error.strerror}", status=DocumentStatus.DENIED) from error


def _check(info: os.stat_result, ask: dict[str, Any]) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise UnreadableDocument("no longer a regular file", status=DocumentStatus.VANISHED)
    if info.st_size > ask["max_file_mb"] * 1_000_000:
        raise UnreadableDocument(
            f"{info.st_size / 1e6:.0f} MB, more than max_file_mb = {ask['max_file_mb']}",
            status=DocumentStatus.TOO_LARGE,
        )


def _hash(ask: dict[str, Any]) -> bytes:
    fd = _open(ask)
    with os.fdopen(fd, "rb") as file:
        _check(os.fstat(fd), ask)
        return hashlib.file_digest(file, "sha256").digest()
