"""What `status` and `memo` show: corpora, documents and runs as stored; the size of the memo."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from tree_builder.errors import RunInProgress
from tree_builder.model import DocumentStatus
from tree_builder.settings import Settings
from tree_builder.store.corpora import Corpora, Corpus, RunRow
from tree_builder.store.database import Database, resolve_url
from tree_builder.store.migrate import migrate
from tree_builder.store.upkeep import memo_size, prune_now


@dataclass(slots=True)
class CorpusStatus:
    """One corpus: its documents by status, those which are not well, and its last runs."""

    corpus: Corpus
    documents: dict[str, int]
    problems: list[dict[str, Any]]
    runs: list[RunRow] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "corpus": self.corpus.corpus,
            "folder": self.corpus.folder,
            "published_run": self.corpus.published_run,
            "model": self.corpus.model,
            "dimensions": self.corpus.dimensions,
            "documents": self.documents,
            "problems": self.problems,
            "runs": [_run(run) for run in self.runs],
        }


def _run(run: RunRow) -> dict[str, Any]:
    ended: datetime | None = run.ended_at
    return {
        "run_id": run.run_id,
        "state": run.state,
        "started_at": run.started_at,
        "ended_at": ended,
        "seconds": (ended - run.started_at).total_seconds() if ended else None,
        "cost_usd": float(run.report.get("cost_usd") or 0.0),
        "error": run.error,
        "holder": run.holder,
    }


async def get_status(settings: Settings, *, corpus: str | None = None, n_runs: int = 5) -> list[CorpusStatus]:
    """Gather the status of one corpus, or of all.

    Raises:
        NotFound: there is no such corpus.
    """
    async with resolve_url(settings) as url:
        await migrate(url)
        async with Database.open(url, application_name="tree-builder status") as db:
            corpora = Corpora(db)
            chosen = [await corpora.require(corpus)] if corpus else await corpora.all()
            return [await _status(corpora, c, n_runs) for c in chosen]


async def _status(corpora: Corpora, corpus: Corpus, n_runs: int) -> CorpusStatus:
    known = await corpora.known_documents(corpus.corpus_id)
    counts: dict[str, int] = {}
    for document in known.values():
        counts[document.status] = counts.get(document.status, 0) + 1
        if document.stale:
            counts["stale"] = counts.get("stale", 0) + 1
    problems = [
        {"doc_path": d.doc_path, "status": str(d.status), "reason": d.reason, "stale": d.stale}
        for d in sorted(known.values(), key=lambda d: d.doc_path)
        if d.status is not DocumentStatus.BUILT
    ]
    runs = await corpora.last_runs(corpus.corpus_id, n_runs)
    return CorpusStatus(corpus, {str(name): n for name, n in sorted(counts.items())}, problems, runs)


async def get_memo(settings: Settings, *, prune: bool = False) -> tuple[list[dict[str, Any]], dict[str, int] | None]:
    """Measure the memo, after pruning it where asked.

    Raises:
        RunInProgress: pruning was asked while a run is under way, which may need what nobody refers to yet.
    """
    async with resolve_url(settings) as url:
        await migrate(url)
        async with Database.open(url, application_name="tree-builder memo") as db:
            pruned = None
            if prune:
                pruned = await prune_now(db, url)
                if pruned is None:
                    raise RunInProgress("a run is under way; prune when it has ended", holder="")
            return [asdict(row) for row in await memo_size(db)], pruned
