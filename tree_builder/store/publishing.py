"""The swap: a run's tree becomes the one which readers see, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from psycopg.types.json import Jsonb

from tree_builder.model import KnownDocument, directory_of
from tree_builder.store.database import Database, execute
from tree_builder.store.retrying import retried
from tree_builder.store.statements import load


@dataclass(frozen=True, slots=True)
class Publication:
    """All which becomes true at once when a run is published."""

    corpus_id: int
    run_id: int
    model_id: int | None
    settings: Mapping[str, Any]
    documents: Sequence[KnownDocument]  # new or otherwise than before
    gone: Sequence[str]  # doc_paths


@retried
async def publish(db: Database, publication: Publication, report: Mapping[str, Any], *, batch: int = 2000) -> None:
    """Publish a run. After an answer lost during COMMIT it is simply done again: the second time changes nothing."""
    statements = load("store")
    p = publication
    async with db.transaction() as conn:
        if p.gone:
            await execute(conn, statements["delete_documents"], corpus_id=p.corpus_id, doc_paths=list(p.gone))
        for start in range(0, len(p.documents), batch):
            rows = [_as_json(d) for d in p.documents[start : start + batch]]
            await execute(
                conn, statements["upsert_documents"], corpus_id=p.corpus_id, run_id=p.run_id, documents=Jsonb(rows)
            )
        await execute(
            conn,
            statements["publish"],
            corpus_id=p.corpus_id,
            run_id=p.run_id,
            model_id=p.model_id,
            settings=Jsonb(p.settings),
        )
        await execute(
            conn,
            statements["end_run"],
            run_id=p.run_id,
            state="published",
            report=Jsonb(report, dumps=json.dumps),
            error=None,
        )


@retried
async def count_nodes(db: Database, corpus_id: int, run_id: int) -> dict[str, int]:
    """Count the nodes of each type in a run's tree."""
    rows = await db.fetch(load("store")["node_counts"], _Count, corpus_id=corpus_id, run_id=run_id)
    return {row.node_type: row.nodes for row in rows}


@retried
async def count_writes(db: Database, corpus_id: int, run_id: int) -> tuple[int, int]:
    """Count the node rows which a run wrote, and those which it ended."""
    row = await db.get(load("store")["node_writes"], _Writes, corpus_id=corpus_id, run_id=run_id)
    return row.written, row.ended


@dataclass(frozen=True, slots=True)
class _Count:
    node_type: str
    nodes: int


@dataclass(frozen=True, slots=True)
class _Writes:
    written: int
    ended: int


def _as_json(document: KnownDocument) -> dict[str, Any]:
    row = {
        name: getattr(document, name)
        for name in (
            "doc_path", "reason", "stale", "size_bytes", "mtime_ns", "title", "language", "n_pages", "n_chars", "n_chunks"
        )
    }  # fmt: skip
    row["status"] = str(document.status)
    row["dir_path"] = directory_of(document.doc_path)
    for name in ("content_hash", "grown_hash", "recipe"):
        value = getattr(document, name)
        row[name] = None if value is None else "\\x" + bytes(value).hex()
    row["outline"] = [asdict(entry) for entry in document.outline]
    row["warnings"] = _texts(document.warnings)
    return row


def _texts(values: Iterable[str]) -> list[str]:
    return [value.replace("\0", "") for value in values]
