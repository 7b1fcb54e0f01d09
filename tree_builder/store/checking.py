"""The laws, asked of the database; and what can be mended."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from tree_builder.store.database import Database
from tree_builder.store.retrying import retried
from tree_builder.store.statements import load

LAWS = (
    "documents_without_one_top",
    "directories_without_one_top",
    "nodes_without_parent",
    "nodes_with_wrong_children",
    "documents_with_gaps",
    "nodes_without_text",
    "nodes_with_wrong_body",
    "nodes_without_vector",
    "vector_index_missing",
    "leftovers_of_dead_runs",
    "runs_off_the_ledger",
)
_OF_NODES = (
    "nodes_without_parent",
    "nodes_with_wrong_children",
    "nodes_without_text",
    "nodes_with_wrong_body",
    "nodes_without_vector",
)
_OF_DOCUMENTS = ("documents_without_one_top", "documents_with_gaps")


@dataclass(frozen=True, slots=True)
class _Row:
    broken: int
    examples: list[str] | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One law: what it says, how often it is broken, with up to a thousand examples (paths or node ids)."""

    law: str
    says: str
    broken: int
    examples: tuple[str, ...]


@retried
async def check_laws(db: Database, corpus_id: int) -> list[Finding]:
    """Ask the database about every law of one corpus's published tree."""
    statements = load("check")
    findings = []
    for law in LAWS:
        row = await db.get(statements[law], _Row, corpus_id=corpus_id)
        findings.append(Finding(law, statements[law].description, row.broken, tuple(row.examples or ())))
    return findings


@retried
async def mark_for_rebuilding(db: Database, corpus_id: int, findings: Sequence[Finding]) -> list[str]:
    """Let the next run grow anew what broken laws name; gives the documents."""
    statements = load("check")
    paths = {place for f in findings if f.law in _OF_DOCUMENTS for place in f.examples}
    node_ids = [uuid.UUID(place) for f in findings if f.law in _OF_NODES for place in f.examples]
    if node_ids:
        found = await db.fetch(statements["paths_of_nodes"], str, corpus_id=corpus_id, node_ids=node_ids)
        paths |= {path for path in found if path}
    if paths:
        await db.execute(statements["mark_for_rebuilding"], corpus_id=corpus_id, doc_paths=sorted(paths))
    return sorted(paths)
