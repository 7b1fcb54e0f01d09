"""Growing in parallel, in simulated time: the same as over HTTP, whatever else the machine does.

Calls take 0.25 s and 4 ms an output token on a clock which stands still while the program computes, so the figures are those of
the algorithm alone and the same on every machine; those over HTTP add what the client, the service and the processor take.
"""

# ruff: noqa: ARG002  the protocols give priorities, which a service without limits has no use for

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from statistics import mean

import numpy as np

from benchmarks import made_up
from benchmarks.growing import (
    CHUNKS,
    DOCUMENTS,
    Reference,
    Run,
    grow_library,
    latency_s,
    library,
    plain_library,
    rows_of,
    settings,
)
from benchmarks.plain import Plain, Timed, contents, timed
from benchmarks.report import Row
from tree_builder.grow import Grower
from tree_builder.model import Summary, Tree
from tree_builder.protocols import Priority, Verdict, WindowVerdict
from tree_builder.settings import Settings
from tree_builder.testing import clock, oracle
from tree_builder.testing.fakes import MemoryMemo

SEEDS = (1, 2, 3)
LIBRARIES = (2, 3, 4, 5, 6)
_notes: list[str] = []


class Simulated:
    """A language model which answers as the simulated service does, after as long, on the loop's clock."""

    name = "simulated"
    prompt_size = 10**9  # the plain way knows no limit either

    def __init__(self, *, waits: bool = True) -> None:
        self._waits = waits
        self.calls = 0
        self.busy_s = 0.0

    def size(self, item: Tree) -> int:
        return len(item.content)

    async def _take(self, answer: str) -> None:
        self.calls += 1
        self.busy_s += latency_s(answer)
        if self._waits:
            await asyncio.sleep(latency_s(answer))

    async def summarize(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> Summary:
        text = oracle.summarize([item.content for item in items], 900)
        await self._take(text)
        return Summary(text)

    async def changes_topic(self, summary: str, item: Tree, *, priority: Priority = Priority.CRITICAL) -> Verdict:
        yes = oracle.changes_topic(summary, item.content)
        await self._take("YES" if yes else "NO")
        return Verdict(yes, "yes" if yes else "no")

    async def first_new_topic(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> WindowVerdict:
        first = oracle.first_new_topic([item.content for item in items])
        await self._take('{"first_new_topic": 0}')
        return WindowVerdict(first, "no" if first is None else "yes")


class Vectors:
    """The service's vectors, half a second after they are asked for."""

    name, dimensions = "simulated", 1536

    async def embed(self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL) -> np.ndarray:
        await asyncio.sleep(0.5)
        return np.stack([oracle.vector(text, 1536) for text in texts])


def reference(grow: Callable[[Plain], Awaitable[Timed]], window: int = 0) -> Reference:
    plain = Plain(Simulated(waits=False), latency_s, window)
    top = clock.run(_awaited(grow(plain)))
    return Reference(top.contents, plain.calls, plain.total_s, top.in_order_s, top.free_s)


async def _awaited(work: Awaitable[Timed]) -> Timed:
    return await work


def ours(config: Settings, grow: Callable[[Grower], Awaitable[Tree]], *, many: bool = False) -> Run:
    async def work() -> Run:
        model = Simulated()
        tree = await grow(Grower(model, Vectors(), config, many=many))
        return Run(contents(tree), MemoryMemo(), model.calls, asyncio.get_running_loop().time(), model.busy_s, 0.0)

    return clock.run(work())


def main() -> list[Row]:
    _notes.clear()
    chunks = made_up.document(CHUNKS, seed=2)
    each = reference(lambda plain: plain.tree(timed(chunks)))
    run = ours(settings(), lambda g: g.grow_document(chunks))
    rows = rows_of(
        f"1 document of {CHUNKS} chunks, each, 32 in flight", run, each, 32, speed=8, extra=0.25, against_s=each.total_s
    )
    _notes.append(_curve())

    window = reference(lambda plain: plain.tree(timed(chunks)), window=Settings().window_size)
    run = ours(settings(boundaries="window"), lambda g: g.grow_document(chunks))
    rows += rows_of("the same, window", run, window, 32, speed=25, extra=None, against_s=each.total_s)
    calls = run.calls / CHUNKS
    rows.append(Row("the same, window: calls a chunk", f"{calls:.2f}", "0.45", calls <= 0.45, f"{window.calls} plain"))

    documents = library()
    plain = reference(lambda plain: plain_library(plain, documents))
    run = ours(settings(concurrency=64), lambda g: grow_library(g, documents), many=True)
    rows += rows_of(
        f"{DOCUMENTS} documents, each, 64 in flight", run, plain, 64, speed=40, extra=0.02, against_s=plain.total_s
    )
    _notes.append(_other_libraries())
    return rows


def _other_libraries() -> str:
    """Tabulate the same for other documents. One with a group of 120 chunks, asked about one after another, takes longest."""
    lines = ["| library | speed | extra calls | identical |", "| ---: | ---: | ---: | --- |"]
    for seed in LIBRARIES:
        documents = library(seed)
        plain = reference(lambda p, d=documents: plain_library(p, d))  # type: ignore[misc]
        run = ours(settings(concurrency=64), lambda g, d=documents: grow_library(g, d), many=True)  # type: ignore[misc]
        same = "yes" if run.contents == plain.contents else "no"
        lines.append(f"| {seed} | {plain.total_s / run.wall_s:.1f}x | {run.calls / plain.calls - 1:.1%} | {same} |")
    return f"{DOCUMENTS} other documents, `each`, 64 in flight:\n\n" + "\n".join(lines) + "\n"


def _curve() -> str:
    """Tabulate speed against extra calls, the mean of several documents."""
    lines = ["| speculation | extra calls | speed | wall |", "| ---: | ---: | ---: | ---: |"]
    documents = [made_up.document(CHUNKS, seed=seed) for seed in SEEDS]
    plain = [reference(lambda p, chunks=chunks: p.tree(timed(chunks))) for chunks in documents]  # type: ignore[misc]
    for share in (0.0, 0.05, 0.1, 0.25, 0.5):
        runs = [ours(settings(speculation=share), lambda g, c=c: g.grow_document(c)) for c in documents]  # type: ignore[misc]
        extra = mean(run.calls / ref.calls - 1 for run, ref in zip(runs, plain, strict=True))
        speed = mean(ref.total_s / run.wall_s for run, ref in zip(runs, plain, strict=True))
        lines.append(f"| {share:g} | {extra:.1%} | {speed:.1f}x | {mean(run.wall_s for run in runs):.1f} s |")
    return (
        f"Speed against extra calls, one document, `each`, mean of {len(SEEDS)} documents:\n\n"
        + "\n".join(lines)
        + "\n"
    )


def notes() -> str:
    return "\n".join(_notes)
