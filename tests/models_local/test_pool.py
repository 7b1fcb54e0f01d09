from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from tree_builder.errors import BadModelOutput, ProviderUnavailable
from tree_builder.models.local import pool as pool_module
from tree_builder.models.local.pool import WorkerPool

TASK = {
    "items": [["A sentence about whales and ships stands here.", 0, True]],
    "context": [],
    "chars": 200,
    "leads": False,
}
EXTRACT = {**TASK, "covering": False}


def children() -> list[psutil.Process]:
    return [p for p in psutil.Process().children() if "models.local.worker" in " ".join(p.cmdline())]


async def test_no_process_starts_before_there_is_work():
    """A pool which is opened and closed without work starts no process."""
    pool = WorkerPool(2)
    assert pool.processes == 0
    await pool.close()
    assert children() == []


async def test_processes_start_as_needed_and_end_on_close():
    """Two jobs at once take two processes, a third none more, and closing leaves none."""
    pool = WorkerPool(2)
    await asyncio.gather(*(pool.run("extract", EXTRACT) for _ in range(3)))
    assert pool.processes == 2
    assert len(children()) == 2
    await pool.close()
    assert children() == []


async def test_a_killed_worker_is_replaced_and_its_job_done():
    """A worker killed between two jobs costs nothing but a restart."""
    pool = WorkerPool(1)
    before = await pool.run("extract", EXTRACT)
    children()[0].send_signal(signal.SIGKILL)
    assert await pool.run("extract", EXTRACT) == before
    await pool.close()


async def test_a_job_which_ends_every_worker_is_given_up(monkeypatch: pytest.MonkeyPatch):
    """A job whose workers die is tried three times, then fails as bad output; the next job succeeds."""
    pool = WorkerPool(1)
    starts = 0
    start = pool_module._start

    async def doomed() -> asyncio.subprocess.Process:
        nonlocal starts
        starts += 1
        process = await start()
        if starts <= 3:
            process.kill()
            await process.wait()
        return process

    monkeypatch.setattr(pool_module, "_start", doomed)
    with pytest.raises(BadModelOutput, match="3 times"):
        await pool.run("extract", EXTRACT)
    assert starts == 3
    assert (await pool.run("extract", EXTRACT))[0]["text"]
    await pool.close()


async def test_a_job_which_takes_too_long_is_given_up():
    """A worker which does not answer in time is ended, and the error says so."""
    pool = WorkerPool(1, job_timeout_s=0.001)
    with pytest.raises(BadModelOutput, match="took too long"):
        await pool.run("extract", EXTRACT)
    await pool.close()
    assert children() == []


async def test_a_worker_answers_an_unknown_job_with_an_error_and_lives_on():
    """An error inside a worker is told, and the same process does the next job."""
    pool = WorkerPool(1)
    with pytest.raises(BadModelOutput, match="knows embed and extract"):
        await pool.run("dance", {})
    first = [p.pid for p in children()]
    await pool.run("extract", EXTRACT)
    assert [p.pid for p in children()] == first
    await pool.close()


async def test_without_a_python_to_start_the_service_is_unavailable(monkeypatch: pytest.MonkeyPatch):
    """When no process can be started at all the error is not the text's fault."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    pool = WorkerPool(1)
    with pytest.raises(ProviderUnavailable, match="could be started"):
        await pool.run("extract", EXTRACT)
    await pool.close()


async def test_closing_fails_jobs_which_wait():
    """Jobs in the queue of a pool which closes fail, and so do later ones."""
    pool = WorkerPool(1)
    jobs = [asyncio.create_task(pool.run("embed", {"texts": ["x"] * 50})) for _ in range(3)]
    await asyncio.sleep(0)
    await pool.close()
    results = await asyncio.gather(*jobs, return_exceptions=True)
    assert all(isinstance(r, ProviderUnavailable) for r in results)
    with pytest.raises(ProviderUnavailable, match="closed"):
        await pool.run("extract", EXTRACT)


async def test_a_cancelled_asker_leaves_the_pool_in_order():
    """Cancelling one asker neither loses another's job nor leaves a process behind."""
    pool = WorkerPool(1)
    lost = asyncio.create_task(pool.run("extract", EXTRACT))
    kept = asyncio.create_task(pool.run("extract", EXTRACT))
    await asyncio.sleep(0)
    lost.cancel()
    assert (await kept)[0]["text"]
    await pool.close()
    assert children() == []


async def test_jobs_of_lower_rank_go_first():
    """With one worker busy, a job of rank 0 overtakes waiting ones of rank 1."""
    pool = WorkerPool(1)
    done: list[str] = []

    async def run(name: str, rank: int) -> None:
        await pool.run("extract", EXTRACT, rank=rank)
        done.append(name)

    async with asyncio.TaskGroup() as group:
        for name, rank in (("first", 1), ("slow", 1), ("urgent", 0)):
            group.create_task(run(name, rank))
    assert done.index("urgent") < done.index("slow")
    await pool.close()


def test_workers_end_with_a_killed_parent(tmp_path: Path):
    """kill -9 of the parent ends its workers."""
    program = textwrap.dedent(f"""
        import asyncio, sys
        from tree_builder.models.local.pool import WorkerPool
        async def main():
            await WorkerPool(1).run("extract", {EXTRACT!r})
            print("ready", flush=True)
            await asyncio.sleep(600)
        asyncio.run(main())
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        workers = psutil.Process(parent.pid).children()
        assert len(workers) == 1
        parent.kill()
    gone, alive = psutil.wait_procs(workers, timeout=30)
    assert (len(gone), alive) == (1, [])


async def test_modules_in_the_working_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A file `numpy.py` in the working folder, which may be the corpus, is never run."""
    (tmp_path / "numpy.py").write_text("raise SystemExit('imported')")
    (tmp_path / "nupunkt.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    pool = WorkerPool(1)
    assert (await pool.run("extract", EXTRACT))[0]["text"]
    await pool.close()


async def test_the_event_loop_is_free_while_workers_work():
    """While a worker embeds, the loop turns freely: its process uses CPU time, ours does not."""
    pool = WorkerPool(1)
    await pool.run("embed", {"texts": ["warm"]})
    worker = children()[0]
    ours, theirs = time.process_time(), sum(worker.cpu_times()[:2])
    await pool.run("embed", {"texts": ["the quick brown fox jumps over the lazy dog " * 20] * 30})
    ours, theirs = time.process_time() - ours, sum(worker.cpu_times()[:2]) - theirs
    assert ours < theirs / 4
    await pool.close()


def test_workers_are_told_to_use_one_thread():
    """The variables which hold BLAS to one thread are set before the worker's numpy loads."""
    environment = {"PATH": os.environ["PATH"], **pool_module.ONE_THREAD}
    assert environment["OPENBLAS_NUM_THREADS"] == environment["OMP_NUM_THREADS"] == "1"
