"""Calls to a service: limits kept, slots full, time of our own, requests for embeddings.

Over HTTP, to a simulated service in a process of its own: a call takes 0.25 s and 4 ms an output token, times a scale.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import openai

from benchmarks.report import Row
from tree_builder.model import NodeType, Tree
from tree_builder.models.language import PromptedModel
from tree_builder.models.openai import Account, Connection, OpenAIEmbedder, OpenAITransport
from tree_builder.models.openai.tokens import tokenizer
from tree_builder.models.pacing import Limiter
from tree_builder.models.prompts import each_messages
from tree_builder.testing.endpoint import EndpointConfig, SubprocessEndpoint
from tree_builder.testing.fakes import MemoryMemo, NullLedger

SLOTS = 64
LIMIT = 500
WORDS = [
    "harbour",
    "grain",
    "vessel",
    "quay",
    "customs",
    "tariff",
    "captain",
    "ledger",
    "storm",
    "lantern",
    "anchor",
    "crane",
    "warehouse",
    "pilot",
    "tide",
]


def text(seed: int, n_words: int = 150) -> str:
    """Make a passage of about 1000 characters; another seed, another passage."""
    return f"Passage {seed}: " + " ".join(WORDS[(seed * 7 + i * i) % len(WORDS)] for i in range(n_words))


def item(seed: int) -> Tree:
    return Tree(NodeType.CHUNK, text(seed), 0)


@asynccontextmanager
async def model(url: str) -> AsyncIterator[tuple[PromptedModel, Connection]]:
    connection = Connection(Account(url, "none"), Limiter(SLOTS), NullLedger())
    language = PromptedModel(
        "model",
        OpenAITransport(connection, "model"),
        MemoryMemo(),
        NullLedger(),
        count_tokens=tokenizer().count,
        verify=False,
    )
    try:
        yield language, connection
    finally:
        await language.close()
        await connection.close()


async def _limit_kept(endpoint: SubprocessEndpoint) -> list[Row]:
    """Send more than an announced limit allows in a minute."""
    endpoint.configure(EndpointConfig(scale=0.2, requests_per_window=LIMIT))
    n = LIMIT + 100
    async with model(endpoint.base_url) as (language, _):
        began = time.perf_counter()
        await asyncio.gather(*(language.changes_topic(text(i), item(i + 1)) for i in range(n)))
        took_s = time.perf_counter() - began
    stats = endpoint.stats()
    above = max(0, stats["max_per_window"] - LIMIT)
    refused = stats["statuses"].get("429", 0) / stats["calls"]
    return [
        Row(
            f"sent above an announced limit of {LIMIT} a minute",
            f"{above}",
            "0",
            above == 0,
            f"{n} calls in {took_s:.0f} s",
        ),
        Row("429s caused", f"{100 * refused:.1f} %", "at most 1 %", refused <= 0.01),
    ]


async def _slots_full(endpoint: SubprocessEndpoint) -> list[Row]:
    """Sample how many slots are taken while there is work for all of them."""
    endpoint.configure(EndpointConfig(scale=1))
    taken: list[int] = []
    async with model(endpoint.base_url) as (language, connection):
        asked: list[Awaitable[object]] = [language.changes_topic(text(i), item(i + 1)) for i in range(900)]
        asked += [language.summarize([item(i), item(i + 1)]) for i in range(300)]
        work = asyncio.gather(*asked)
        lane = connection.limiter.lane("model")
        while not work.done():
            await asyncio.sleep(0.02)
            if sum(map(len, lane.waiting.values())) and lane.known:
                taken.append(connection.limiter.in_flight)
        await work
    share = sum(taken) / len(taken) / SLOTS
    return [
        Row(f"slots busy while there is work, {SLOTS} allowed", f"{100 * share:.0f} %", "at least 90 %", share >= 0.9)
    ]


async def _own_time(endpoint: SubprocessEndpoint, n: int = 1500) -> list[Row]:
    """Compare our CPU time a call with that of the official client used as in its handbook, on the same questions."""
    endpoint.configure(EndpointConfig(scale=1))
    async with model(endpoint.base_url) as (language, _):
        await asyncio.gather(*(language.changes_topic(text(i), item(-i)) for i in range(SLOTS)))
        began = time.process_time()
        await asyncio.gather(*(language.changes_topic(text(i), item(i + 1)) for i in range(n)))
        ours_ms = 1000 * (time.process_time() - began) / n
    async with openai.AsyncOpenAI(base_url=endpoint.base_url, api_key="none", max_retries=0) as client:
        slots = asyncio.Semaphore(SLOTS)

        async def plain(i: int) -> None:
            async with slots:
                messages = each_messages(text(i), text(i + 1))
                await client.chat.completions.create(
                    model="model",
                    messages=messages,
                    max_tokens=16,
                    logprobs=True,
                    top_logprobs=5,
                    temperature=0,  # type: ignore[arg-type]
                )

        await asyncio.gather(*(plain(-i) for i in range(SLOTS)))
        began = time.process_time()
        await asyncio.gather(*(plain(i) for i in range(n // 3)))
        plain_ms = 1000 * (time.process_time() - began) / (n // 3)
    return [
        Row(
            f"CPU time a model call at {SLOTS} in flight, the client's included",
            f"{ours_ms:.2f} ms",
            "under 3 ms",
            ours_ms < 3,
            f"the official client's own way: {plain_ms:.2f} ms",
        )
    ]


async def _embedding_requests(endpoint: SubprocessEndpoint, n: int = 6000) -> list[Row]:
    """Embed many passages which come in small groups, as from documents growing side by side."""
    endpoint.configure(EndpointConfig(scale=1, dimensions=256))
    texts = [text(i) for i in range(n)]
    tokens = sum(map(tokenizer().count, texts))
    least = max(math.ceil(tokens / 300_000), math.ceil(n / 2048))
    connection = Connection(Account(endpoint.base_url, "none"), Limiter(SLOTS), NullLedger())
    embedder = OpenAIEmbedder(connection, "embedder")

    async def document(at: int) -> None:
        await asyncio.sleep(0.001 * (at % 40))
        await embedder.embed(texts[at * 50 : at * 50 + 50])

    began = time.process_time()
    await asyncio.gather(*(document(at) for at in range(n // 50)))
    cpu_us = 1e6 * (time.process_time() - began) / n
    await embedder.close()
    await connection.close()
    calls = endpoint.stats()["calls"]
    return [
        Row(
            f"requests to embed {n} passages asked for by {n // 50} documents",
            f"{calls}",
            f"at most {2 * least + 2}",
            calls <= 2 * least + 2,
            f"least possible {least} ({tokens} tokens); {cpu_us:.0f} µs of CPU a passage",
        )
    ]


async def _all(endpoint: SubprocessEndpoint) -> list[Row]:
    rows = await _own_time(endpoint)
    rows += await _slots_full(endpoint)
    rows += await _embedding_requests(endpoint)
    return rows + await _limit_kept(endpoint)


def main() -> list[Row]:
    with SubprocessEndpoint(EndpointConfig()) as endpoint:
        return asyncio.run(_all(endpoint))
