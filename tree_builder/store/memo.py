"""The memo in PostgreSQL (law 4): answers kept before they are used. Looks up and keeps in batches, since calls come by dozens."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from psycopg.types.json import Jsonb

from tree_builder.model import Answer, Request, Usage
from tree_builder.store.database import Database
from tree_builder.store.retrying import retried
from tree_builder.store.statements import load

K = TypeVar("K")
V = TypeVar("V")

_place_uses: contextvars.ContextVar[set[bytes] | None] = contextvars.ContextVar("place_uses", default=None)


@contextmanager
def uses_of_place() -> Iterator[set[bytes]]:
    """Gather the keys of all answers used inside, by this task and those it starts."""
    keys: set[bytes] = set()
    token = _place_uses.set(keys)
    try:
        yield keys
    finally:
        _place_uses.reset(token)


def note_use(key: bytes) -> None:
    keys = _place_uses.get()
    if keys is not None:
        keys.add(key)


class Batcher(Generic[K, V]):
    """Answer many small awaits with few queries: while one query runs, the next batch gathers."""

    def __init__(self, work: Callable[[Sequence[K]], Awaitable[Sequence[V]]], *, limit: int = 500) -> None:
        self._work = work
        self._limit = limit
        self._waiting: list[tuple[K, asyncio.Future[V]]] = []
        self._runner: asyncio.Task[None] | None = None

    async def ask(self, item: K) -> V:
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._runner is None or self._runner.done():
            # Without the caller's context: a batch serves many callers, and outlives the one which started it.
            self._runner = asyncio.create_task(self._run(), context=contextvars.Context())
        return await future

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
            try:
                results = await self._work([item for item, _ in batch])
            except BaseException as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                if isinstance(error, asyncio.CancelledError):
                    raise
                continue
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)


@dataclass(frozen=True, slots=True)
class AnswerRow:
    request_key: bytes
    answer: str
    meta: dict[str, Any]
    input_tokens: int
    output_tokens: int
    cost_usd: float

    def as_answer(self) -> Answer:
        usage = Usage(1, self.input_tokens, self.output_tokens, self.cost_usd)
        return Answer(self.answer, usage, from_memo=True, meta=self.meta)


class PostgresMemo:
    """protocols.Memo over the table `memo`. An answer is durable when `keep` returns."""

    def __init__(self, db: Database, run_id: int | None = None) -> None:
        self._db = db
        self.run_id = run_id
        self._statements = load("store")
        self._find: Batcher[bytes, Answer | None] = Batcher(self._find_many)
        self._keep: Batcher[tuple[Request, Answer], bool] = Batcher(self._keep_many)

    async def find(self, key: bytes) -> Answer | None:
        answer = await self._find.ask(key)
        if answer is not None:
            note_use(key)
        return answer

    async def keep(self, request: Request, answer: Answer) -> Answer:
        first = await self._keep.ask((request, answer))
        note_use(request.key)
        if first:
            return answer
        kept = await self._find.ask(request.key)
        return kept or answer

    @retried
    async def _find_many(self, keys: Sequence[bytes]) -> Sequence[Answer | None]:
        rows = await self._db.fetch(self._statements["find_answer"], AnswerRow, keys=list(set(keys)))
        found = {bytes(row.request_key): row.as_answer() for row in rows}
        return [found.get(key) for key in keys]

    @retried
    async def _keep_many(self, batch: Sequence[tuple[Request, Answer]]) -> Sequence[bool]:
        """Say for each whether it surely was the first under its key; a repeated attempt says no, and the kept one is read."""
        unique = {request.key: (request, answer) for request, answer in reversed(batch)}
        requests, answers = zip(*unique.values(), strict=True)
        count = await self._db.execute(
            self._statements["insert_answers"],
            run_id=self.run_id,
            keys=[r.key for r in requests],
            kinds=[r.kind for r in requests],
            models=[str(r.payload.get("model", "")) for r in requests],
            answers=[a.text for a in answers],
            metas=[Jsonb(dict(a.meta), dumps=json.dumps) for a in answers],
            input_tokens=[a.usage.input_tokens for a in answers],
            output_tokens=[a.usage.output_tokens for a in answers],
            costs=[a.usage.cost_usd for a in answers],
        )
        all_new = count == len(batch)
        return [all_new] * len(batch)


class PlaceUses:
    """Which answers a place used: noted with the run, so that pruning spares them."""

    def __init__(self, db: Database, corpus_id: int, run_id: int) -> None:
        self._db, self._corpus_id, self._run_id = db, corpus_id, run_id
        self._statements = load("store")

    @retried
    async def keep(self, place: str, keys: Iterable[bytes]) -> None:
        await self._db.execute(
            self._statements["upsert_uses"],
            corpus_id=self._corpus_id,
            place=place,
            run_id=self._run_id,
            keys=sorted(keys),
        )

    @retried
    async def copy(self, source: str, place: str) -> None:
        await self._db.execute(
            self._statements["copy_uses"], corpus_id=self._corpus_id, place=place, source=source, run_id=self._run_id
        )
