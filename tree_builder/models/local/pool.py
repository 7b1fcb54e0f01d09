"""Worker processes for CPU work, shared by embedding and extraction, asked from asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tree_builder.errors import BadModelOutput, ProviderUnavailable
from tree_builder.models.local import frames
from tree_builder.models.local.worker import ONE_THREAD

ATTEMPTS = 3
CLOSE_TIMEOUT_S = 5.0


def available_cores() -> int:
    """Count the cores this process may use; at least 1."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


@dataclass(order=True, slots=True)
class _Job:
    rank: tuple[int, int]
    frame: bytes = field(compare=False)
    name: str = field(compare=False)
    result: asyncio.Future[tuple[dict[str, Any], bytes]] = field(compare=False)
    attempts: int = field(default=0, compare=False)


class WorkerPool:
    """At most `workers` processes of one thread each, started when there is work for them.

    Guarantees: none is started before the first job; each ends with this process, also when it is killed, since its stdin
    ends then; one which dies is replaced and its job given to another, up to three times. Memory: 165 MB each once it has embedded, 45 MB
    when it has only extracted.
    """

    def __init__(self, workers: int, *, job_timeout_s: float = 120.0) -> None:
        self._limit = max(1, workers)
        self._job_timeout_s = job_timeout_s
        self._queue: list[_Job] = []
        self._arrived = 0
        self._idle = 0
        self._servers: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Condition()
        self._closed = False

    @property
    def processes(self) -> int:
        """How many workers run now."""
        return len(self._servers)

    @property
    def limit(self) -> int:
        """How many workers there may be."""
        return self._limit

    async def run(self, job: str, head: dict[str, Any], *, rank: int = 0) -> tuple[dict[str, Any], bytes]:
        """Have one job done; jobs of lower rank go first, equal ones in the order of asking.

        Raises:
            BadModelOutput: the job failed, or ended three workers; another job may well succeed.
            ProviderUnavailable: no worker can be started, or the pool was closed meanwhile.
        """
        if self._closed:
            raise ProviderUnavailable("the local models are closed; open them again for more work", job=job)
        future: asyncio.Future[tuple[dict[str, Any], bytes]] = asyncio.get_running_loop().create_future()
        self._arrived += 1
        async with self._wakeup:
            heapq.heappush(self._queue, _Job((rank, self._arrived), frames.pack({"job": job, **head}), job, future))
            if self._idle < len(self._queue) and len(self._servers) < self._limit:
                server = asyncio.create_task(self._serve(), name=f"local-worker-{len(self._servers)}")
                self._servers.add(server)
                server.add_done_callback(self._servers.discard)
            self._wakeup.notify()
        reply, body = await future
        if "error" in reply:
            raise BadModelOutput(f"the local model could not {job}: {reply['error']}", job=job)
        return reply, body

    async def close(self) -> None:
        """End the workers; jobs not yet done fail with ProviderUnavailable."""
        self._closed = True
        servers = list(self._servers)
        for server in servers:
            server.cancel()
        await asyncio.gather(*servers, return_exceptions=True)
        for job in self._queue:
            _fail(job, ProviderUnavailable("the local models were closed before this was done", job=job.name))
        self._queue.clear()

    async def _serve(self) -> None:
        """Keep one worker running and hand it jobs, one at a time, until the pool closes."""
        process: asyncio.subprocess.Process | None = None
        try:
            while True:
                job = await self._next_job()
                try:
                    if process is None:
                        process = await _start()
                    await self._hand_over(process, job)
                except (OSError, EOFError, ValueError) as error:  # TimeoutError and IncompleteReadError among them
                    if process is not None:
                        await _stop(process, kill=True)
                    elif isinstance(error, OSError):
                        job.attempts = ATTEMPTS
                    process = None
                    await self._again(job, error)
                except asyncio.CancelledError:
                    _fail(job, ProviderUnavailable("the local models were closed before this was done", job=job.name))
                    raise
        finally:
            if process is not None:
                await _stop(process)

    async def _next_job(self) -> _Job:
        async with self._wakeup:
            while True:
                while self._queue:
                    job = heapq.heappop(self._queue)
                    if not job.result.done():  # its asker may have been cancelled
                        return job
                self._idle += 1
                try:
                    await self._wakeup.wait()
                finally:
                    self._idle -= 1

    async def _hand_over(self, process: asyncio.subprocess.Process, job: _Job) -> None:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        async with asyncio.timeout(self._job_timeout_s):
            process.stdin.write(job.frame)
            await process.stdin.drain()
            head_size, body_size = frames.HEADER.unpack(await process.stdout.readexactly(frames.HEADER.size))
            head = await process.stdout.readexactly(head_size)
            body = await process.stdout.readexactly(body_size)
        if not job.result.done():
            job.result.set_result((frames.head_of(head), body))

    async def _again(self, job: _Job, error: Exception) -> None:
        """Queue a job again whose worker died, or give it up."""
        job.attempts += 1
        if job.attempts < ATTEMPTS:
            async with self._wakeup:
                heapq.heappush(self._queue, job)
                self._wakeup.notify()
        elif isinstance(error, OSError) and not isinstance(error, TimeoutError | BrokenPipeError | ConnectionError):
            _fail(job, ProviderUnavailable(f"no process for the local models could be started: {error}", job=job.name))
        else:
            why = "took too long" if isinstance(error, TimeoutError) else "ended its process"
            _fail(job, BadModelOutput(f"to {job.name} {why} {ATTEMPTS} times; the text is left out", job=job.name))


def _fail(job: _Job, error: Exception) -> None:
    if not job.result.done():
        job.result.set_exception(error)
        job.result.exception()  # looked at: an asker which is gone must not leave a warning behind


async def _start() -> asyncio.subprocess.Process:
    # -P: a file `numpy.py` in the working folder, which may be the corpus, must never be imported.
    environment = {
        **os.environ,
        **ONE_THREAD,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if Path(p).is_absolute()),
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        "from tree_builder.models.local.worker import main; main()",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C is the parent's to handle
    )


async def _stop(process: asyncio.subprocess.Process, *, kill: bool = False) -> None:
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(ProcessLookupError):
        if kill:
            process.kill()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
