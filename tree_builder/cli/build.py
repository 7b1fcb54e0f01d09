"""`tree-builder build`: the nightly job from the command line."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import click

from tree_builder.cli.logs import configure_logging
from tree_builder.cli.setting_options import setting_options, settings_from
from tree_builder.errors import TreeBuilderError

DRAIN_S = 10.0


@click.command(short_help="Bring a corpus's tree up to date with its folder, and publish it.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--corpus", help="Name of the corpus; default: the folder's name.")
@click.option("--rehash", is_flag=True, help="Compare every file by content, not by size and time.")
@click.option("--reembed", is_flag=True, help="Embed a corpus anew whose vectors are of another model.")
@click.option(
    "--dry-run", is_flag=True, help="Read and cut what changed, call no model; print calls, tokens, price, time."
)
@click.option("--metrics", type=click.Path(path_type=Path), help="Write the run's numbers to this file for Prometheus.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
@setting_options
def build(
    folder: Path,
    *,
    corpus: str | None,
    rehash: bool,
    reembed: bool,
    dry_run: bool,
    metrics: Path | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Bring a corpus's tree up to date with FOLDER, and publish it.

    Exit codes: 0 all well; 3 published, but some documents failed or were put off; 4 wrong settings or use; 5 nothing
    published; 75 another run has the corpus; 130 and 143 stopped by Ctrl-C or SIGTERM.
    """
    settings = settings_from(given)
    configure_logging(settings)
    from tree_builder.cli.progress import shown
    from tree_builder.job.progress import Progress
    from tree_builder.job.run import Options
    from tree_builder.job.run import build as run_build

    progress = Progress()
    if dry_run:
        from tree_builder.cli.report import print_estimate
        from tree_builder.job.estimate import estimate

        found = asyncio.run(estimate(folder, settings, corpus=corpus, options=Options(rehash, reembed)))
        print_estimate(found, as_json=as_json)
        return 0

    async def work() -> Any:
        async with shown(progress, quiet=as_json):
            return await run_build(folder, settings, corpus=corpus, options=Options(rehash, reembed), progress=progress)

    report, code = _until_stopped(work(), as_json=as_json)
    if report is None:
        return code
    if metrics:
        from tree_builder.job.metrics import write_metrics

        write_metrics(metrics, report)
    if as_json:
        click.echo(json.dumps(report.as_json()))
    else:
        from tree_builder.cli.report import print_report

        print_report(report)
    return int(report.exit_code)


def _until_stopped(work: Any, *, as_json: bool) -> tuple[Any, int]:
    """Run until done or told to stop; on SIGTERM or Ctrl-C drain for at most DRAIN_S, then give up."""
    stopped: list[signal.Signals] = []

    async def supervised() -> Any:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)

        def stop(number: signal.Signals) -> None:
            if not stopped:
                stopped.append(number)
                task.cancel()
                loop.call_later(DRAIN_S, _give_up, number)

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop, number)
        return await task

    try:
        return asyncio.run(supervised()), 0
    except asyncio.CancelledError:
        code = 128 + (stopped[0] if stopped else signal.SIGINT)
        _tell_stop(code, as_json=as_json)
        return None, code
    except TreeBuilderError as error:
        if as_json:
            click.echo(json.dumps({"status": "failed", "error": str(error), "exit_code": error.exit_code}))
        raise


def _tell_stop(code: int, *, as_json: bool) -> None:
    message = "stopped; nothing was published, what was paid for is kept, and the next run goes on from there"
    if as_json:
        click.echo(json.dumps({"status": "cancelled", "error": message, "exit_code": code}))
    click.echo(f"tree-builder: {message}", err=True)


def _give_up(number: signal.Signals) -> None:
    sys.stderr.write("tree-builder: stopping took too long\n")
    sys.stderr.flush()
    import os

    os._exit(128 + number)
