"""After a publication: the vector index brought up to date, old versions and what nothing refers to any more removed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from tree_builder.errors import StoreError, StoreUnavailable
from tree_builder.store.database import Connection, Database, Query, connect, execute, fetch, get
from tree_builder.store.locks import RUNS_UNDER_WAY, UPKEEP_SPACE, CorpusLock
from tree_builder.store.retrying import retried
from tree_builder.store.statements import load

log = logging.getLogger(__name__)

ANALYZE_SHARE = 0.1
REBUILD_SHARE = 0.5
"""Index anew instead of row by row when so many vectors are new, measured against those held: 68 rows/s against 5,500."""
SMALL = 2_000  # so few are indexed in seconds either way


@dataclass(frozen=True, slots=True)
class _Waiting:
    waiting: int
    held: int


@dataclass(frozen=True, slots=True)
class MemoSize:
    kind: str
    model: str
    answers: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    size_bytes: int


@retried
async def index_vectors(url: str, *, model_id: int, corpus_id: int, run_id: int) -> int:
    """Bring the vectors of a run's tree into the model's index before they are published; gives how many were new.

    Readers go on meanwhile: a missing index makes their search exact and slower, never wrong.
    """
    statements = load("store")
    key = {"model_id": model_id, "corpus_id": corpus_id, "run_id": run_id}
    async with connect(url, application_name="tree-builder index") as conn:
        counts = await get(conn, statements["count_vectors_to_index"], _Waiting, **key)
        valid = await fetch(conn, statements["vector_index_state"], bool, model_id=model_id)
        name = sql.Identifier("tree_builder", f"vectors_{model_id}_idx")
        anew = counts.waiting > max(SMALL, REBUILD_SHARE * counts.held) or valid == [False]
        if counts.waiting == 0 and valid == [True]:
            return 0
        if valid and anew:
            await execute(conn, sql.SQL("drop index concurrently if exists {}").format(name))
            valid = []
        while await execute(conn, statements["index_new_vectors"], **key, batch=5_000):
            pass
        if not valid:
            await _create_index(conn, model_id)
        if counts.waiting > ANALYZE_SHARE * counts.held:
            # How rare words are is read from the statistics; a server which sleeps between runs never gathers them by itself.
            await execute(conn, "analyze tree_builder.texts, tree_builder.node, tree_builder.documents")
        # New words wait in a list which each search would read whole; such a server does not tidy it up by itself either.
        await _try(conn, statements["flush_word_index"], "new words wait outside their index, search will be slower")
    return counts.waiting


async def _create_index(conn: Connection, model_id: int) -> None:
    statement = await get(conn, load("store")["vector_index_statement"], str, model_id=model_id)
    # Made by our own SQL function from a number, so nothing foreign is in it.
    await _try(conn, sql.SQL(statement), "the vector index could not be made, search will be slower")  # pyright: ignore[reportArgumentType]


async def _try(conn: Connection, statement: Query, trouble: str) -> None:
    """Run what searching works without, only slower: a run is worth more than that."""
    try:
        await execute(conn, statement)
    except StoreUnavailable:
        raise
    except StoreError as error:
        log.warning("%s: %s", trouble, error)


@retried
async def unindex_vectors(db: Database, *, model_id: int, corpus_id: int, run_id: int) -> None:
    """Let the vectors which no published tree has leave the index."""
    await db.execute(load("store")["unindex_vectors"], model_id=model_id, corpus_id=corpus_id, run_id=run_id)


@retried
async def forget_old_versions(db: Database, *, corpus_id: int, keep: int) -> None:
    """Remove the versions which none of the last `keep` published runs shows, and older runs."""
    statements = load("store")
    async with db.transaction() as conn:
        kept: Sequence[int] = await fetch(conn, statements["kept_runs"], int, corpus_id=corpus_id, keep=keep)
        if not kept:
            return
        oldest = min(kept)
        await execute(conn, statements["delete_old_nodes"], corpus_id=corpus_id, oldest_run=oldest)
        await execute(conn, statements["delete_old_uses"], corpus_id=corpus_id, oldest_run=oldest)
        await execute(conn, statements["retire_old_runs"], corpus_id=corpus_id, oldest_run=oldest)
        await execute(conn, statements["delete_old_runs"], corpus_id=corpus_id, oldest_run=oldest)


async def prune(db: Database, lock: CorpusLock) -> dict[str, int] | None:
    """Remove texts, vectors and answers which nothing refers to; only while no other run is under way.

    Gives how many of each, or None when another run is under way. Answers which were paid for within the kept runs stay.
    """
    return await _prune(db) if await lock.alone() else None


async def prune_now(db: Database, url: str) -> dict[str, int] | None:
    """Do the same outside any run; None when one is under way."""
    async with connect(url, application_name="tree-builder prune") as conn:
        key = {"space": UPKEEP_SPACE, "number": RUNS_UNDER_WAY}
        return await _prune(db) if await get(conn, load("store")["try_lock"], bool, **key) else None


@retried
async def _prune(db: Database) -> dict[str, int]:
    statements = load("store")
    return {
        "vectors": await db.execute(statements["delete_unused_vectors"]),
        "texts": await db.execute(statements["delete_unused_texts"]),
        "answers": await db.execute(statements["delete_unused_answers"]),
    }


@retried
async def memo_size(db: Database) -> list[MemoSize]:
    """Measure the memo, by kind and model."""
    return await db.fetch(load("store")["memo_size"], MemoSize)
