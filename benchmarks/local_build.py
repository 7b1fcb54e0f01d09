"""A local build of the manuals: time inside the local models, memory

The PDFs of the shared manuals where they are, else those of examples/.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.building import COMMAND
from benchmarks.reading import folder
from benchmarks.report import Row

LONG = True


def main() -> list[Row]:
    with tempfile.TemporaryDirectory() as scratch:
        return local_share(Path(scratch))


def local_share(place: Path) -> list[Row]:
    """Share of a local build's CPU time which the processes of the embedder and the summarizer take."""
    process = subprocess.Popen(
        [*COMMAND, "build", str(folder()), "--corpus", "local", "--data-dir", str(place / "local"), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    times: dict[int, tuple[bool, float]] = {}
    peak = 0
    while process.poll() is None:
        peak = max(peak, _look(process.pid, times))
        time.sleep(0.1)
    assert process.stdout is not None
    report = json.loads(process.stdout.read())
    total = sum(seconds for _, seconds in times.values())
    inside = sum(seconds for model, seconds in times.values() if model)
    chunks, wall_s = report["nodes"]["chunk"], report["seconds"]["total"]
    return [
        Row(
            "local build: share of CPU time inside the embedder and the summarizer",
            f"{inside / total:.2f}",
            "at least 0.8",
            inside >= 0.8 * total,
            f"{chunks:,} chunks in {wall_s:.0f} s, {chunks / wall_s:.0f} a second; database aside",
        ),
        Row(
            "local build: peak memory of all processes, shared pages once, database aside",
            f"{peak / 1e6:.0f} MB",
            "under 700 MB",
            peak < 700e6,
        ),
    ]


def _look(pid: int, times: dict[int, tuple[bool, float]]) -> int:
    """Note the CPU time of the program's processes so far; give their memory, shared pages counted once."""
    memory = 0
    try:
        for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            try:
                line = " ".join(process.cmdline())
                if "postgres" in process.name():
                    continue
                cpu = process.cpu_times()
                times[process.pid] = ("models.local.worker" in line, cpu.user + cpu.system)
                memory += process.memory_full_info().pss
            except psutil.Error:
                continue
    except psutil.Error:
        return 0
    return memory
