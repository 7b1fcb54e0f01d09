"""Options which the reading commands share, and how they are run and answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click

from tree_builder.cli.logs import configure_logging
from tree_builder.cli.setting_options import database_options, settings_from

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")


def reading_options(command: F) -> F:
    """Add `--corpus`, `--json` and the options which say where the database is."""
    command = database_options(command)
    command = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)
    return click.option("--corpus", help="Which corpus; may be left out where there is one.")(command)


def asking_options(command: F) -> F:
    """Add `--models`, which allows a corpus of a service's model to be searched by vector."""
    help_text = "openai: let the query be sent to the service whose model the corpus's vectors are of."
    return click.option("--models", metavar="local|openai", help=help_text)(command)


def ask(
    question: Callable[[Any], Awaitable[R]], *, corpus: str | None, given: dict[str, Any], encodes: bool = False
) -> R:
    """Open the tree, put the question to it, and give the answer. encodes: a query's vector will be wanted."""
    configure_logging(settings_from(given))
    from tree_builder.query.tree import AsyncSummaryTree

    async def work() -> R:
        settings = {name: value for name, value in given.items() if name != "database_url" and value is not None}
        async with AsyncSummaryTree.open(given.get("database_url"), corpus, warm_up=encodes, **settings) as tree:
            return await question(tree)

    return asyncio.run(work())


def print_json(document: dict[str, Any]) -> None:
    """Print the one JSON document of a command. Lone surrogates cannot be printed, so everything but ASCII is escaped."""
    click.echo(json.dumps(document))
