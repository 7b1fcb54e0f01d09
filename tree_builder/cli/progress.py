"""A run's progress: bars on a terminal, plain lines otherwise, nothing with --json."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tree_builder.job.progress import Progress

EVERY_S = 0.2
LINE_EVERY_S = 10.0


@asynccontextmanager
async def shown(progress: Progress, *, quiet: bool) -> AsyncIterator[None]:
    """Show the progress on stderr while the block runs."""
    if quiet:
        yield
        return
    watch = _bar if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" else _lines
    watcher = asyncio.create_task(watch(progress))
    try:
        yield
    finally:
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)


async def _bar(progress: Progress) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description:<10}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[documents]}"),
        TextColumn("{task.fields[calls]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bars.add_task("starting", total=None, documents="", calls="")
    with bars:
        while True:
            bars.update(
                task,
                description=progress.stage,
                total=progress.bytes_total or None,
                completed=progress.bytes_done,
                documents=_documents(progress),
                calls=_calls(progress),
            )
            await asyncio.sleep(EVERY_S)


async def _lines(progress: Progress) -> None:
    last, waited = "", 0.0
    while True:
        line = f"{progress.stage}: {_documents(progress)}" if progress.documents_total else progress.stage
        waited += EVERY_S
        if line != last and (progress.stage != last.split(":", maxsplit=1)[0] or waited >= LINE_EVERY_S):
            parts = [line, _calls(progress), _left(progress)]
            sys.stderr.write(f"[{progress.elapsed_s:6.1f} s] " + ", ".join(p for p in parts if p) + "\n")
            sys.stderr.flush()
            last, waited = line, 0.0
        await asyncio.sleep(EVERY_S)


def _documents(progress: Progress) -> str:
    if not progress.documents_total:
        return ""
    return f"{progress.documents_done}/{progress.documents_total} documents"


def _calls(progress: Progress) -> str:
    usage = progress.spent()
    if not usage.calls:
        return ""
    text = f"{usage.calls:,} calls"
    tokens = usage.input_tokens + usage.output_tokens
    if tokens:
        text += f", {tokens:,} tokens"
    return text + (f", ${usage.cost_usd:.4f}" if usage.cost_usd else "")


def _left(progress: Progress) -> str:
    done = progress.bytes_done / progress.bytes_total if progress.bytes_total else 0.0
    if done < 0.2:
        return ""
    return f"about {progress.elapsed_s * (1 - done) / done:.0f} s left"
