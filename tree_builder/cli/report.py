"""A run's report for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tree_builder.model import DocumentStatus

if TYPE_CHECKING:
    from tree_builder.job.report import Report

SHOWN_PROBLEMS = 20


def print_report(report: Report) -> None:
    """Print what a run did, used and cost, and what did not end well."""
    r = report.as_json()
    documents = ", ".join(f"{n} {name}" for name, n in r["documents"].items() if n) or "none"
    nodes = ", ".join(f"{n:,} {name}" for name, n in r["nodes"].items())
    calls, tokens, seconds = r["model_calls"], r["tokens"], r["seconds"]
    click.echo(f"run {r['run_id']} of corpus {r['corpus']}: {r['status']} in {seconds['total']:.1f} s")
    click.echo(f"  documents  {documents}")
    click.echo(f"  nodes      {nodes} ({r['nodes_written']:,} written, {r['nodes_ended']:,} ended)")
    click.echo(
        f"  calls      {calls['summarize']:,} summarize, {calls['boundary']:,} boundary, {calls['embed']:,} embed; "
        f"{calls['memo_hits']:,} answers out of the memo"
    )
    if any(tokens.values()):
        used = ", ".join(f"{n:,} {name}" for name, n in tokens.items())
        unpriced = f" (price unknown: {', '.join(r['unpriced'])})" if r["unpriced"] else ""
        click.echo(f"  tokens     {used}: ${r['cost_usd']:.4f}{unpriced}")
    stages = ", ".join(f"{name} {s:.1f}" for name, s in seconds.items() if name != "total")
    click.echo(f"  seconds    {stages} (read to grow: summed over documents side by side)")
    for warning in r["warnings"]:
        click.echo(f"  warning: {warning}")
    for place in r["suspicious"]:
        click.echo(f"  suspicious: {place['doc_path']}, page {place['page']}: {'; '.join(place['reasons'])}")
    _print_problems(report)


def _print_problems(report: Report) -> None:
    problems = sorted(report.problems, key=lambda p: (p.status is DocumentStatus.EMPTY, p.doc_path))
    for problem in problems[:SHOWN_PROBLEMS]:
        stale = "; the tree of an earlier night stays" if problem.stale else ""
        click.echo(f"  {problem.status}: {_printable(problem.doc_path)}: {_printable(problem.reason)}{stale}")
    if len(problems) > SHOWN_PROBLEMS:
        click.echo(f"  and {len(problems) - SHOWN_PROBLEMS} more: `tree-builder status` lists them")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in text)
