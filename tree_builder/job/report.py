"""A run's report: what it found, did, used and cost. The same numbers go to the terminal, to JSON and to the table `runs`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tree_builder.model import FAILURES, DocumentStatus, PlacedNode

STAGES = ("scan", "read", "cut", "embed", "grow", "publish", "total")
EXIT_OK, EXIT_PARTIAL, EXIT_NOTHING = 0, 3, 5


@dataclass(frozen=True, slots=True)
class Problem:
    """A document which did not end well, and why."""

    doc_path: str
    status: DocumentStatus
    reason: str
    stale: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"doc_path": self.doc_path, "status": str(self.status), "reason": self.reason, "stale": self.stale}


@dataclass(slots=True)
class Report:
    """Gathers while a run goes on.

    seconds: read, cut, embed and grow are summed over documents which are worked on side by side, so that together they
    may exceed the total; scan, publish and total are wall time.
    """

    corpus: str
    run_id: int | None = None
    status: str = "running"
    documents: Counter[str] = field(default_factory=Counter)
    nodes: dict[str, int] = field(default_factory=dict)
    nodes_written: int = 0
    nodes_ended: int = 0
    spent_so_far: Callable[[], dict[str, Any]] = dict  # RunLedger.report
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    suspicious: list[dict[str, Any]] = field(default_factory=list)
    rebuilt: list[str] = field(default_factory=list)
    flags: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    error: str | None = None

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.took(stage, time.perf_counter() - start)

    def took(self, stage: str, seconds: float) -> None:
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def add_problem(self, problem: Problem) -> None:
        self.problems.append(problem)
        if problem.status in FAILURES:
            self.documents["failed"] += 1
        elif problem.status is DocumentStatus.EMPTY:
            self.documents["empty"] += 1
        else:
            self.documents[str(problem.status)] += 1

    def count_flags(self, nodes: Iterable[PlacedNode]) -> None:
        """Count what verification found in new nodes, by kind: number, name, fallback."""
        self.flags.update(flag.partition(":")[0] for node in nodes for flag in node.flags)

    @property
    def exit_code(self) -> int:
        """0 all well, 3 published but some documents failed or were put off, 5 nothing published."""
        if self.status != "published":
            return EXIT_NOTHING
        unwell = any(p.status in FAILURES or p.status is DocumentStatus.DEFERRED for p in self.problems)
        return EXIT_PARTIAL if unwell else EXIT_OK

    def as_json(self) -> dict[str, Any]:
        """Give the report as one JSON-serializable document; keys are stable, and only ever added to."""
        documents = (
            "added",
            "changed",
            "moved",
            "deleted",
            "unchanged",
            "failed",
            "empty",
            "unsupported",
            "deferred",
            "stale",
        )
        spent = self.spent_so_far()
        calls = spent.get("model_calls", {})
        tokens = spent.get("tokens", {})
        return {
            "run_id": self.run_id,
            "corpus": self.corpus,
            "status": self.status,
            "documents": {name: self.documents.get(name, 0) for name in documents},
            "nodes": {name: self.nodes.get(name, 0) for name in ("chunk", "summary", "doc_top", "dir_top", "root")},
            "nodes_written": self.nodes_written,
            "nodes_ended": self.nodes_ended,
            "model_calls": {name: calls.get(name, 0) for name in ("summarize", "boundary", "embed", "memo_hits")},
            "tokens": {name: tokens.get(name, 0) for name in ("input", "output", "embedding")},
            "cost_usd": spent.get("cost_usd", 0.0),
            "saved_usd": spent.get("saved_usd", 0.0),
            "unpriced": spent.get("unpriced", []),
            "verify": spent.get("verify", {}),
            "events": spent.get("events", {}),
            "seconds": {name: round(self.seconds.get(name, 0.0), 3) for name in STAGES},
            "models": self.models,
            "rebuilt": self.rebuilt,
            "flags": dict(self.flags),
            "problems": [p.as_json() for p in sorted(self.problems, key=lambda p: p.doc_path)],
            "suspicious": self.suspicious,
            "warnings": self.warnings,
            "error": self.error,
        }
