"""A run's numbers as a Prometheus text file, for the node exporter's textfile collector."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tree_builder.job.report import Report

# https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format


def write_metrics(path: Path, report: Report) -> None:
    """Write the numbers; the file is replaced in one step, so that a collector never reads half of it."""
    text = "\n".join(_lines(report)) + "\n"
    handle, temporary = tempfile.mkstemp(dir=path.parent or Path(), prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _lines(report: Report) -> Iterator[str]:
    r = report.as_json()
    corpus = _escaped(r["corpus"])
    yield from _metric("last_run_timestamp_seconds", "When the last run ended.", [("", time.time())], corpus)
    yield from _metric(
        "last_run_success", "1 when the last run was published.", [("", int(r["status"] == "published"))], corpus
    )
    yield from _metric("last_run_exit_code", "Exit code of the last run.", [("", report.exit_code)], corpus)
    yield from _metric("last_run_cost_usd", "US dollars which the last run cost.", [("", r["cost_usd"])], corpus)
    for name, label, help_text in (
        ("documents", "outcome", "Documents of the last run by outcome."),
        ("nodes", "type", "Nodes of the published tree by type."),
        ("model_calls", "kind", "Model calls of the last run by kind."),
        ("tokens", "kind", "Tokens of the last run by kind."),
        ("seconds", "stage", "Seconds of the last run by stage."),
    ):
        values = [(f'{label}="{_escaped(key)}"', value) for key, value in r[name].items()]
        yield from _metric(f"last_run_{name}", help_text, values, corpus)


def _metric(name: str, help_text: str, values: list[tuple[str, float]], corpus: str) -> Iterator[str]:
    yield f"# HELP tree_builder_{name} {help_text}"
    yield f"# TYPE tree_builder_{name} gauge"
    for label, value in values:
        labels = f'corpus="{corpus}"' + (f",{label}" if label else "")
        yield f"tree_builder_{name}{{{labels}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
