"""`check`: are the laws kept in the database? And `check --repair`: mend what can be mended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tree_builder.settings import Settings
from tree_builder.store.checking import Finding, check_laws, mark_for_rebuilding
from tree_builder.store.corpora import Corpora, Corpus
from tree_builder.store.database import Database, resolve_url
from tree_builder.store.locks import CorpusLock, new_holder
from tree_builder.store.migrate import migrate
from tree_builder.store.publishing import count_nodes
from tree_builder.store.upkeep import index_vectors

SHOWN = 5  # examples of a broken law
REBUILT_NEXT_RUN = frozenset(
    {
        "nodes_without_vector",
        "documents_without_one_top",
        "documents_with_gaps",
        "nodes_without_parent",
        "nodes_with_wrong_children",
        "nodes_without_text",
        "nodes_with_wrong_body",
    }
)


@dataclass(slots=True)
class CorpusCheck:
    """What was found in one corpus, and what was done about it."""

    corpus: str
    run_id: int | None
    nodes: dict[str, int]
    findings: Sequence[Finding]
    repairs: list[str] = field(default_factory=list)

    @property
    def broken(self) -> int:
        return sum(f.broken for f in self.findings)

    def as_json(self) -> dict[str, Any]:
        return {
            "corpus": self.corpus,
            "run_id": self.run_id,
            "nodes": self.nodes,
            "broken": self.broken,
            "laws": [
                {"law": f.law, "says": f.says, "broken": f.broken, "examples": list(f.examples[:SHOWN])}
                for f in self.findings
            ],
            "repairs": self.repairs,
        }


async def check(settings: Settings, *, corpus: str | None = None, repair: bool = False) -> list[CorpusCheck]:
    """Verify the laws of one corpus, or of all.

    Raises:
        NotFound: there is no such corpus.
        RunInProgress: repair was asked while a run has the corpus.
    """
    async with resolve_url(settings) as url:
        await migrate(url)
        async with Database.open(url, application_name="tree-builder check") as db:
            corpora = Corpora(db)
            chosen = [await corpora.require(corpus)] if corpus else await corpora.all()
            return [await _check_one(db, url, c, repair=repair) for c in chosen]


async def _check_one(db: Database, url: str, corpus: Corpus, *, repair: bool) -> CorpusCheck:
    nodes = await count_nodes(db, corpus.corpus_id, corpus.published_run or 0)
    findings = await check_laws(db, corpus.corpus_id)
    result = CorpusCheck(corpus.corpus, corpus.published_run, nodes, findings)
    if repair and result.broken:
        async with CorpusLock(db, url, corpus.corpus, corpus.corpus_id):
            result.repairs = await _repair(db, url, corpus, findings)
            result.findings = await check_laws(db, corpus.corpus_id)
    return result


async def _repair(db: Database, url: str, corpus: Corpus, findings: Sequence[Finding]) -> list[str]:
    """Mend what needs no model here, and leave the rest to the next run, which has one."""
    broken = {f.law for f in findings if f.broken}
    repairs: list[str] = []
    corpora = Corpora(db)
    if "leftovers_of_dead_runs" in broken:
        run_id = await corpora.begin_run(corpus.corpus_id, new_holder(), {})
        await corpora.end_run(run_id, "cancelled", {}, "check --repair")
        repairs.append("removed what dead runs left")
    if broken & {"nodes_without_vector", "vector_index_missing"} and corpus.model_id and corpus.published_run:
        await index_vectors(url, model_id=corpus.model_id, corpus_id=corpus.corpus_id, run_id=corpus.published_run)
        repairs.append("brought the vector index up to date")
    if broken & REBUILT_NEXT_RUN:
        paths = await mark_for_rebuilding(db, corpus.corpus_id, findings)
        if paths:
            repairs.append(f"the next build grows anew: {', '.join(paths)}")
    return repairs
