"""What an operator asks: `status`, `check`, `memo`."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import click

from tree_builder.cli.logs import configure_logging
from tree_builder.cli.report import printable
from tree_builder.cli.setting_options import database_options, settings_from

if TYPE_CHECKING:
    from tree_builder.job.check import CorpusCheck

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.command(short_help="Corpora, documents by status with reasons, last runs.")
@click.option("--corpus", help="Only this corpus.")
@click.option("--runs", "n_runs", default=5, show_default=True, help="How many runs of each corpus.")
@JSON
@database_options
def status(corpus: str | None, n_runs: int, as_json: bool, **given: Any) -> int:
    """Show corpora, their documents by status with reasons, and the last runs."""
    settings = settings_from(given)
    configure_logging(settings)
    from tree_builder.job.status import get_status

    found = asyncio.run(get_status(settings, corpus=corpus, n_runs=n_runs))
    if as_json:
        click.echo(json.dumps({"corpora": [c.as_json() for c in found]}, default=str))
        return 0
    if not found:
        click.echo("no corpus yet: `tree-builder build FOLDER` makes one")
    for entry in found:
        c = entry.as_json()
        published = f"run {c['published_run']} published" if c["published_run"] else "nothing published yet"
        click.echo(f"{c['corpus']}: {published}, {c['model'] or 'no vectors'}, from {c['folder']}")
        counts = ", ".join(f"{n:,} {name}" for name, n in c["documents"].items()) or "none"
        click.echo(f"  documents  {counts}")
        for problem in c["problems"]:
            stale = " (stale tree kept)" if problem["stale"] else ""
            click.echo(
                f"    {problem['status']}: {printable(problem['doc_path'])}: {printable(problem['reason'])}{stale}"
            )
        for run in c["runs"]:
            ended = f"{run['seconds']:.1f} s" if run["seconds"] is not None else "under way"
            cost = f", ${run['cost_usd']:.4f}" if run["cost_usd"] else ""
            error = f": {printable(run['error'])}" if run["error"] else ""
            click.echo(
                f"  run {run['run_id']}  {run['started_at']:%Y-%m-%d %H:%M}  {run['state']}, {ended}{cost}{error}"
            )
    return 0


@click.command(short_help="Verify the laws in the database; exit 1 when one is broken.")
@click.option("--corpus", help="Only this corpus.")
@click.option("--repair", is_flag=True, help="Mend what can be mended; the next build does the rest.")
@JSON
@database_options
def check(corpus: str | None, repair: bool, as_json: bool, **given: Any) -> int:
    """Verify the laws in the database and print figures. Exit code 1 when one is broken."""
    settings = settings_from(given)
    configure_logging(settings)
    from tree_builder.job.check import check as check_corpora

    results = asyncio.run(check_corpora(settings, corpus=corpus, repair=repair))
    broken = sum(result.broken for result in results)
    if as_json:
        click.echo(json.dumps({"broken": broken, "corpora": [r.as_json() for r in results]}))
    else:
        for result in results:
            _print_check(result)
        if not results:
            click.echo("no corpus yet, so no law is broken")
    return 1 if broken else 0


def _print_check(result: CorpusCheck) -> None:
    nodes = ", ".join(f"{n:,} {name}" for name, n in result.nodes.items()) or "no nodes"
    verdict = "all laws hold" if not result.broken else f"{result.broken:,} faults"
    click.echo(f"{result.corpus}: {nodes}: {verdict}")
    for finding in result.findings:
        click.echo(f"  {finding.broken:>6,}  {finding.law}: {finding.says}")
        for example in finding.examples[:5]:
            click.echo(f"          for example {printable(example)}")
    for repair in result.repairs:
        click.echo(f"  repaired: {repair}")


@click.command(short_help="Size of the kept answers of models; --prune removes what no kept run needs.")
@click.option("--prune", is_flag=True, help="Remove answers, vectors and texts which no kept run needs.")
@JSON
@database_options
def memo(prune: bool, as_json: bool, **given: Any) -> int:
    """Show how many answers of models are kept, what they cost and how much room they take."""
    settings = settings_from(given)
    configure_logging(settings)
    from tree_builder.job.status import get_memo

    sizes, pruned = asyncio.run(get_memo(settings, prune=prune))
    if as_json:
        click.echo(json.dumps({"memo": sizes, "pruned": pruned}))
        return 0
    for row in sizes:
        click.echo(
            f"{row['kind']:<10} {row['model']:<24} {row['answers']:>9,} answers {row['size_bytes'] / 1e6:>9.1f} MB "
            f"{row['input_tokens'] + row['output_tokens']:>12,} tokens ${row['cost_usd']:.4f}"
        )
    if not sizes:
        click.echo("no answer is kept yet")
    if pruned is not None:
        click.echo("pruned: " + ", ".join(f"{n:,} {name}" for name, n in pruned.items()))
    return 0
