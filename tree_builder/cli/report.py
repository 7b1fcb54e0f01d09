"""A run's report for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from tree_builder.model import DocumentStatus

if TYPE_CHECKING:
    from tree_builder.job.estimate import Estimate
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
        click.echo(f"  {problem.status}: {printable(problem.doc_path)}: {printable(problem.reason)}{stale}")
    if len(problems) > SHOWN_PROBLEMS:
        click.echo(f"  and {len(problems) - SHOWN_PROBLEMS} more: `tree-builder status` lists them")


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in text)


def print_estimate(estimate: Estimate, *, as_json: bool) -> None:
    """Print what a build would do and cost."""
    e = estimate.as_json()
    if as_json:
        click.echo(json.dumps(e))
        return
    documents = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in e["documents"].items())
    click.echo(f"a build of corpus {e['corpus']} would have: {documents}")
    for change in e["rebuilt"]:
        click.echo(f"  settings changed: {change}")
    click.echo(f"  chunks           {e['chunks']:,}")
    for name in ("summarize", "boundary", "input_tokens", "output_tokens", "embedding_tokens"):
        r = e[name]
        click.echo(f"  {name.replace('_', ' '):<16} {r['expected']:>12,.0f}   ({r['low']:,.0f} to {r['high']:,.0f})")
    r = e["usd"]
    unpriced = f"; price unknown: {', '.join(e['unpriced'])}" if e["unpriced"] else ""
    click.echo(
        f"  US dollars       {r['expected']:>12.4f}   ({r['low']:.4f} to {r['high']:.4f}; prices of {e['prices_date']}{unpriced})"
    )
    r = e["minutes"]
    click.echo(f"  minutes of calls {r['expected']:>12.1f}   ({r['low']:.1f} to {r['high']:.1f})")
    click.echo("  answers which the memo holds already make it cheaper")
    for problem in e["problems"]:
        click.echo(f"  {problem['status']}: {printable(problem['doc_path'])}: {printable(problem['reason'])}")
