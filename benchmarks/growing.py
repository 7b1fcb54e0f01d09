"""Growing in parallel: speed and extra calls against the plain way.

Over HTTP, to a simulated service in a process of its own: a call takes 0.25 s and 4 ms an output token, times a scale.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import openai

from benchmarks import made_up
from benchmarks.plain import Contents, Plain, Timed, contents, timed
from benchmarks.report import Row
from tree_builder.grow import Grower
from tree_builder.model import NodeType, Tree
from tree_builder.models import open_models
from tree_builder.models.prompts import each_messages
from tree_builder.protocols import Embedder, LanguageModel
from tree_builder.settings import Settings
from tree_builder.testing.endpoint import EndpointConfig, SubprocessEndpoint
from tree_builder.testing.fakes import MemoryMemo, MemoryVectors, NullLedger

CHUNKS, DOCUMENTS, DIRECTORIES, CORPUS_CHUNKS = 550, 40, 8, 3082
SLOTS = 64
CURVE = ((0.0, 0.05), (0.05, 0.1), (0.1, 0.15), (0.25, 1.0))
"""Shares of extra calls allowed, and the scale of latency at which each is run: the more calls in flight, the closer to real."""
PLAIN_SCALE = 0.05
_notes: list[str] = []


@dataclass(frozen=True, slots=True)
class Reference:
    """The tree of the plain way, and how long it takes: one call after another, and as the two clocks of `plain` say."""

    contents: Contents
    calls: int
    total_s: float
    in_order_s: float
    free_s: float


@dataclass(frozen=True, slots=True)
class Run:
    """One run of ours. wall_s and busy_s (latencies added up) at full latency."""

    contents: Contents
    memo: MemoryMemo
    calls: int
    wall_s: float
    busy_s: float
    cpu_s: float

    def bound_s(self, path_s: float, slots: int) -> float:
        return max(path_s, self.busy_s / slots)


def _say(what: str) -> None:
    print(f"  {what}", flush=True)


def latency_s(answer: str) -> float:
    return 0.25 + 0.004 * ((len(answer) + 3) // 4)


@asynccontextmanager
async def models(url: str, settings: Settings, memo: MemoryMemo) -> AsyncIterator[tuple[Embedder, LanguageModel]]:
    """Open the real client on the simulated service."""
    environ = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    async with open_models(settings, memo, MemoryVectors(), NullLedger(), environ=environ) as pair:
        yield pair


def settings(*, boundaries: str = "each", speculation: float = 0.25, concurrency: int = 32) -> Settings:
    return Settings(models="openai", boundaries=boundaries, speculation=speculation, concurrency=concurrency)  # type: ignore[arg-type]


class Bench:
    def __init__(self, endpoint: SubprocessEndpoint) -> None:
        self.endpoint = endpoint

    def scale(self, scale: float) -> None:
        self.endpoint.configure(EndpointConfig(scale=scale))

    async def plain(
        self, grow: Callable[[Plain], Awaitable[Timed]], memo: MemoryMemo, *, window: int = 0, scale: float = 0.0
    ) -> tuple[Reference, float]:
        """Grow the plain way; give the reference, and the wall time it really took at that scale.

        With the memo of a run of ours it asks nothing anew, if ours asked all that the plain way does.
        """
        self.scale(scale)
        async with models(self.endpoint.base_url, settings(speculation=0, concurrency=1), memo) as (_, language):
            plain = Plain(language, latency_s, window)
            began = time.perf_counter()
            top = await grow(plain)
            wall_s = time.perf_counter() - began
        return Reference(top.contents, plain.calls, plain.total_s, top.in_order_s, top.free_s), wall_s

    async def ours(
        self, config: Settings, grow: Callable[[Grower], Awaitable[Tree]], *, scale: float, many: bool = False
    ) -> Run:
        """Grow our way, at that scale of latency, with nothing kept from before."""
        self.scale(scale)
        memo = MemoryMemo()
        async with models(self.endpoint.base_url, config, memo) as (embedder, language):
            grower = Grower(language, embedder, config, many=many)
            began, cpu = time.perf_counter(), time.process_time()
            tree = await grow(grower)
            wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        stats = self.endpoint.stats()
        busy_s = stats["busy_s"] - stats["embed"] * 0.25 * scale
        return Run(contents(tree), memo, stats["chat"], wall_s / scale, busy_s / scale, cpu_s)


async def client_alone_ms(url: str, n: int = 1000) -> float:
    """CPU time a call of the official client by its fastest way, answers unread, nothing of ours around it."""
    passages = [chunk.content for chunk in made_up.document(n // 10, seed=3)]
    http_client = openai.DefaultAioHttpClient()
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=http_client) as client:
        slots = asyncio.Semaphore(SLOTS)

        async def ask(i: int) -> None:
            messages = each_messages(passages[i % len(passages)], passages[(i * 7 + 1) % len(passages)])
            async with slots:
                await client.chat.completions.with_raw_response.create(
                    model="model",
                    messages=messages,  # type: ignore[arg-type]
                    max_tokens=16,
                    temperature=0,
                    logprobs=True,
                    top_logprobs=5,
                )

        await asyncio.gather(*map(ask, range(SLOTS)))
        cpu = time.process_time()
        await asyncio.gather(*map(ask, range(n)))
        return 1000 * (time.process_time() - cpu) / n


def library(seed: int = 1) -> list[list[Tree]]:
    sizes = made_up.sizes(DOCUMENTS, CORPUS_CHUNKS, seed=seed)
    per = DOCUMENTS // DIRECTORIES
    return [made_up.document(n, seed=100 * seed + i, shelf=i // per, doc_path=f"{i}") for i, n in enumerate(sizes)]


async def grow_library(grower: Grower, documents: Sequence[Sequence[Tree]]) -> Tree:
    """Grow all documents side by side, directories and root as their items come."""
    per = len(documents) // DIRECTORIES
    tops = [asyncio.create_task(grower.grow_document(chunks)) for chunks in documents]

    async def stream(tasks: Sequence[asyncio.Task[Tree]]) -> AsyncIterator[asyncio.Task[Tree]]:
        for task in tasks:
            yield task

    directories = [
        asyncio.create_task(
            grower.grow_directory(stream(tops[i : i + per]), top=NodeType.DIR_TOP, dir_path=str(i // per))
        )
        for i in range(0, len(documents), per)
    ]
    return await grower.grow_directory(stream(directories), top=NodeType.ROOT, dir_path=".")


async def plain_library(plain: Plain, documents: Sequence[Sequence[Tree]]) -> Timed:
    per = len(documents) // DIRECTORIES
    shelves = [documents[i : i + per] for i in range(0, len(documents), per)]
    directories = [await plain.tree([await plain.tree(timed(chunks)) for chunks in shelf]) for shelf in shelves]
    return await plain.tree(directories)


def rows_of(
    what: str, run: Run, reference: Reference, slots: int, *, speed: float, extra: float | None, against_s: float
) -> list[Row]:
    same = run.contents == reference.contents
    faster, more = against_s / run.wall_s, run.calls / reference.calls - 1
    beside = f"{run.wall_s:.1f} s beside {against_s:.0f} s; {run.calls} calls beside {reference.calls}"
    rows = [Row(f"{what}: speed against the plain way", f"{faster:.1f}x", f"{speed:.0f}x", faster >= speed, beside)]
    if extra is not None:
        rows.append(Row(f"{what}: extra calls", f"{more:.1%}", f"{extra:.0%}", more <= extra))
    rows.append(Row(f"{what}: tree identical to the plain one", "yes" if same else "no", "yes", same))
    ratio = run.wall_s / run.bound_s(reference.in_order_s, slots)
    path = f"critical path of the plain order of calls {reference.in_order_s:.0f} s, calls / slots {run.busy_s / slots:.0f} s"
    rows.append(
        Row(f"{what}: wall against max(critical path, calls / slots)", f"{ratio:.2f}", "1.3", ratio <= 1.3, path)
    )
    floor = run.wall_s / run.bound_s(reference.free_s, slots)
    note = f"were all boundaries known at once: {reference.free_s:.0f} s"
    rows.append(Row(f"{what}: the same, had no group to wait for the one before", f"{floor:.2f}", beside=note))
    return rows


async def measure(bench: Bench) -> list[Row]:
    await bench.ours(settings(), lambda g: g.grow_document(made_up.document(5, seed=9)), scale=0.1)  # imports, tables
    chunks = made_up.document(CHUNKS, seed=2)
    _say("plain")
    each, plain_wall_s = await bench.plain(lambda plain: plain.tree(timed(chunks)), MemoryMemo(), scale=PLAIN_SCALE)
    overhead_s = (plain_wall_s - each.total_s * PLAIN_SCALE) / each.calls
    _notes.append(
        f"The plain way, run for real at {PLAIN_SCALE:g} of the latency: {plain_wall_s:.1f} s for {each.calls} calls, of which "
        f"{each.total_s * PLAIN_SCALE:.1f} s are latency and {1000 * overhead_s:.1f} ms a call its own time. At full latency its "
        f"{each.calls} answers add up to {each.total_s:.0f} s; what ours is compared with is that and its own time, as ours has its own.\n"
    )

    def plain_s(reference: Reference) -> float:
        return reference.total_s + reference.calls * overhead_s

    rows, curve = [], []
    for share, scale in CURVE:
        _say(f"each, speculation {share:g}")
        run = await bench.ours(settings(speculation=share), lambda g: g.grow_document(chunks), scale=scale)
        extra, faster = run.calls / each.calls - 1, plain_s(each) / run.wall_s
        curve.append(f"| {share:g} | {extra:.1%} | {faster:.1f}x | {run.wall_s:.1f} s | {scale:g} |")
    what = f"1 document of {CHUNKS} chunks, each, 32 in flight"
    rows += rows_of(what, run, each, 32, speed=8, extra=0.25, against_s=plain_s(each))
    head = "| speculation | extra calls | speed | wall | run at latency x |\n| ---: | ---: | ---: | ---: | ---: |"
    _notes.append("Speed against extra calls, one document, `each`:\n\n" + "\n".join([head, *curve]) + "\n")

    _say("window")
    run = await bench.ours(settings(boundaries="window"), lambda g: g.grow_document(chunks), scale=1.0)
    window, _ = await bench.plain(lambda plain: plain.tree(timed(chunks)), run.memo, window=Settings().window_size)
    rows += rows_of("the same, window", run, window, 32, speed=25, extra=None, against_s=plain_s(each))
    calls = run.calls / CHUNKS
    rows.append(Row("the same, window: calls a chunk", f"{calls:.2f}", "0.45", calls <= 0.45, f"{window.calls} plain"))

    _say("library")
    documents = library()
    run = await bench.ours(settings(concurrency=SLOTS), lambda g: grow_library(g, documents), scale=1.0, many=True)
    reference, _ = await bench.plain(lambda plain: plain_library(plain, documents), run.memo)
    what = f"{DOCUMENTS} documents in {DIRECTORIES} directories, each, {SLOTS} in flight"
    rows += rows_of(what, run, reference, SLOTS, speed=40, extra=0.02, against_s=plain_s(reference))
    whole_ms = 1000 * run.cpu_s / run.calls
    bench.scale(1.0)
    client_ms = await client_alone_ms(bench.endpoint.base_url)
    own_ms = whole_ms - client_ms
    beside = f"whole process {whole_ms:.1f} ms a call, embedding and checks included; the official client alone {client_ms:.1f} ms"
    rows.append(
        Row(f"CPU time of our own code a model call, {SLOTS} in flight", f"{own_ms:.1f} ms", "3 ms", own_ms < 3, beside)
    )
    return rows


def main() -> list[Row]:
    _notes.clear()
    with SubprocessEndpoint(EndpointConfig()) as endpoint:
        return asyncio.run(measure(Bench(endpoint)))


def notes() -> str:
    return "\n".join(_notes)
