"""Corpora and their runs: begun, ended, and what dead ones left behind put away."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from tree_builder.errors import NotFound
from tree_builder.model import DocumentStatus, KnownDocument
from tree_builder.store.database import Database, execute, get
from tree_builder.store.retrying import retried
from tree_builder.store.statements import load


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus as stored. model, dimensions: of its vectors; None before the first publication."""

    corpus_id: int
    corpus: str
    folder: str | None
    published_run: int | None
    settings: dict[str, Any]
    model: str | None
    dimensions: int | None
    model_id: int | None


@dataclass(frozen=True, slots=True)
class _DocumentRow:
    doc_path: str
    status: str
    reason: str
    stale: bool
    size_bytes: int
    mtime_ns: int
    content_hash: bytes | None
    grown_hash: bytes | None
    recipe: bytes | None
    title: str | None
    language: str | None
    n_pages: int
    n_chars: int
    n_chunks: int

    def known(self) -> KnownDocument:
        return KnownDocument(
            doc_path=self.doc_path,
            status=DocumentStatus(self.status),
            reason=self.reason,
            stale=self.stale,
            size_bytes=self.size_bytes,
            mtime_ns=self.mtime_ns,
            content_hash=self.content_hash,
            grown_hash=self.grown_hash,
            recipe=self.recipe,
            title=self.title,
            language=self.language,
            n_pages=self.n_pages,
            n_chars=self.n_chars,
            n_chunks=self.n_chunks,
        )


class Corpora:
    """What a run asks about corpora and runs. Every method may be repeated without harm."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._statements = load("store")

    @retried
    async def upsert(self, corpus: str, folder: str) -> Corpus:
        return await self._db.get(self._statements["upsert_corpus"], Corpus, corpus=corpus, folder=folder)

    @retried
    async def find(self, corpus: str) -> Corpus | None:
        return await self._db.find(self._statements["find_corpus"], Corpus, corpus=corpus)

    @retried
    async def model_id(self, model: str, dimensions: int) -> int:
        return await self._db.get(self._statements["upsert_embedding_model"], int, model=model, dimensions=dimensions)

    @retried
    async def begin_run(self, corpus_id: int, holder: str, settings: Mapping[str, Any]) -> int:
        """Begin a run and put away what dead ones left. The corpus must be locked."""
        async with self._db.transaction() as conn:
            run_id = await get(
                conn, self._statements["insert_run"], int, corpus_id=corpus_id, holder=holder, settings=Jsonb(settings)
            )
            await execute(conn, self._statements["end_dead_runs"], corpus_id=corpus_id, run_id=run_id)
            for name in ("delete_unpublished_nodes", "revive_nodes", "delete_unpublished_uses"):
                await execute(conn, self._statements[name], corpus_id=corpus_id)
        return run_id

    @retried
    async def end_run(self, run_id: int, state: str, report: Mapping[str, Any], error: str | None = None) -> None:
        await self._db.execute(
            self._statements["end_run"],
            run_id=run_id,
            state=state,
            report=Jsonb(report, dumps=json.dumps),
            error=error,
        )

    @retried
    async def known_documents(self, corpus_id: int) -> dict[str, KnownDocument]:
        rows = await self._db.fetch(self._statements["known_documents"], _DocumentRow, corpus_id=corpus_id)
        return {row.doc_path: row.known() for row in rows}

    async def require(self, corpus: str) -> Corpus:
        """Give the corpus of this name.

        Raises:
            NotFound: there is none.
        """
        found = await self.find(corpus)
        if found is None:
            raise NotFound(f"there is no corpus {corpus!r}; `tree-builder status` lists what there is", corpus=corpus)
        return found

    @retried
    async def all(self) -> list[Corpus]:
        return await self._db.fetch(self._statements["all_corpora"], Corpus)

    @retried
    async def last_runs(self, corpus_id: int, limit: int) -> list[RunRow]:
        return await self._db.fetch(self._statements["last_runs"], RunRow, corpus_id=corpus_id, limit=limit)


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as stored."""

    run_id: int
    state: str
    started_at: datetime
    ended_at: datetime | None
    holder: str
    report: dict[str, Any]
    error: str | None
