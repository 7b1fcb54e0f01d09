"""The reading processes: spawned, limited, reused, replaced when one dies. The event loop only waits for them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

from tree_builder.errors import UnreadableDocument
from tree_builder.model import DocumentStatus, ReadDocument, SourceFile
from tree_builder.read.wire import Broken, Frame, document_of, receive, send
from tree_builder.settings import Settings

_START_S = 60.0
_FILES_A_PROCESS = 500
_RSS_MB_A_PROCESS = 300.0  # pdfium and the allocator give back little of what one large file took
_LIBRARY = str(Path(__file__).parents[2])
_START = f"import sys; sys.path.append({_LIBRARY!r}); from tree_builder.read.worker import main; main()"


class ReadPool:
    """Processes which read and cut files; an async context manager.

    `read` never raises for a bad file. Files are read side by side, `settings.read_workers` at once (default: one a core);
    processes start when first needed and end with the block, with this program, or with `kill -9` of it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._count = settings.read_workers or os.cpu_count() or 1
        self._idle: asyncio.LifoQueue[_Process] = asyncio.LifoQueue()  # the last used first: fewer get started
        self._all = [_Process(settings.read_memory_mb) for _ in range(self._count)]
        self._threads = ThreadPoolExecutor(self._count, "read")

    async def __aenter__(self) -> Self:
        for process in self._all:
            self._idle.put_nowait(process)
        return self

    async def __aexit__(self, *exc: object) -> None:
        for process in self._all:
            process.abandon()
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def read(self, folder: Path, source: SourceFile) -> ReadDocument:
        """Read and cut one file. Its end is the result's `status`, with a reason where it is not `built`."""
        if source.status is not None:
            return ReadDocument(source.doc_path, source.status, source.reason, b"", source.size_bytes, source.mtime_ns)
        try:
            frame = await self._ask("read", folder, source)
            return document_of(source.doc_path, frame.facts, frame.text)
        except UnreadableDocument as error:
            return ReadDocument(source.doc_path, error.status, error.message, b"", source.size_bytes, source.mtime_ns)
        except Broken as error:
            return ReadDocument(
                source.doc_path, DocumentStatus.CRASHED, str(error), b"", source.size_bytes, source.mtime_ns
            )

    async def hash(self, folder: Path, source: SourceFile) -> bytes:
        """Give the sha256 of a file's bytes.

        Raises:
            UnreadableDocument: with `status` and `doc_path`.
        """
        frame = await self._ask("hash", folder, source)
        if frame.facts["status"] != DocumentStatus.BUILT:
            raise UnreadableDocument(
                frame.facts["reason"], status=DocumentStatus(frame.facts["status"]), doc_path=source.doc_path
            )
        return bytes.fromhex(frame.facts["content_hash"])

    async def _ask(self, verb: str, folder: Path, source: SourceFile) -> Frame:
        settings = self._settings
        ask = {
            "verb": verb,
            "folder": str(folder),
            "doc_path": source.doc_path,
            "size": settings.chunk_size,
            "overlap": settings.chunk_overlap,
            "method": settings.cut,
            "timeout_s": settings.read_timeout_s,
            "max_file_mb": settings.max_file_mb,
            "follow_symlinks": settings.follow_symlinks,
        }
        process = await self._idle.get()
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, process.ask, ask, settings.read_timeout_s
            )
        except asyncio.CancelledError:
            process.abandon()  # the thread which waits for its answer ends with it
            self._all.remove(process)
            process = _Process(settings.read_memory_mb)
            self._all.append(process)
            raise
        finally:
            self._idle.put_nowait(process)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    if process.stdin is None or process.stdout is None:
        raise Broken("the reading process has no pipes")
    return process.stdin.fileno(), process.stdout.fileno()


class _Process:
    """One place in the pool, with a process in it most of the time. Used by one thread at a time; `kill` by any."""

    def __init__(self, memory_mb: int) -> None:
        self._memory_mb = memory_mb
        self._process: subprocess.Popen[bytes] | None = None
        self._files = 0
        self._abandoned = False
        self._end = ""  # how the last process ended

    def ask(self, ask: dict[str, Any], timeout_s: float) -> Frame:
        """Put one question; once more to a new process where one dies of it, since something else may have killed it.

        Raises:
            UnreadableDocument: timeout or crashed, with the process ended.
        """
        try:
            frame = self._ask(ask, timeout_s) or self._ask(ask, timeout_s)
        except Broken as error:
            self.kill()
            status = DocumentStatus.TIMEOUT if error.late else DocumentStatus.CRASHED
            reason = f"the reading process failed: {error}"
            if error.late:
                reason = f"not read within read_timeout_s = {timeout_s:g}"
            raise UnreadableDocument(reason, status=status, doc_path=ask["doc_path"]) from error
        if frame is None:
            reason = f"the reading process died twice ({self._end})"
            raise UnreadableDocument(reason, status=DocumentStatus.CRASHED, doc_path=ask["doc_path"])
        self._files += 1
        if self._files >= _FILES_A_PROCESS or frame.facts.get("rss_mb", 0) > _RSS_MB_A_PROCESS:
            self.kill()
        return frame

    def _ask(self, ask: dict[str, Any], timeout_s: float) -> Frame | None:
        """Put one question to the process; None when it dies."""
        if self._abandoned:
            return None
        process = self._process
        if process is None or process.poll() is not None:
            self.kill()
            process = self._start()
        to, back = _pipes(process)
        try:
            send(to, ask)
            frame = receive(back, time.monotonic() + timeout_s)
        except OSError:
            frame = None
        if frame is None:
            self._end = self.kill()
        return frame

    def _start(self) -> subprocess.Popen[bytes]:
        # Threads of numeric libraries would take address space.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._files = 0
        self._process = process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, str(os.getpid()), str(self._memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=environment,
        )
        if self._abandoned:  # meanwhile: `abandon` may have come too early to find this process
            self.kill()
            raise Broken("the pool was closed")
        try:
            ready = receive(_pipes(process)[1], time.monotonic() + _START_S)
        except (Broken, OSError):
            ready = None
        if ready is None:
            raise Broken(f"it did not start ({self.kill()}); is read_memory_mb = {self._memory_mb} too small?")
        return process

    def abandon(self) -> None:
        """End the process for good; a thread which waits for it gives up."""
        self._abandoned = True
        self.kill()

    def kill(self) -> str:
        """End the process, if there is one. Gives in words how it ended."""
        process, self._process = self._process, None
        if process is None:
            return "it was ended"
        if process.poll() is None:
            process.kill()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
