"""What concerns the database itself: `db url`, `db migrate`, `db psql`."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import click

from tree_builder.cli.logs import configure_logging
from tree_builder.cli.setting_options import database_options, settings_from
from tree_builder.settings import Settings

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group(short_help="The database in use: url, migrate, psql.")
def db() -> None:
    """The database in use: its address, its schema, a session in it."""


@db.command(short_help="Print the address of the database.")
@click.option("--show-password", is_flag=True, help="Print the password too, if the address has one.")
@click.option(
    "--minutes", default=10.0, show_default=True, help="How long the embedded server stays up for this address."
)
@JSON
@database_options
def url(show_password: bool, minutes: float, as_json: bool, **given: Any) -> int:
    """Print the address of the database in use.

    The embedded server runs only while it is used; for the printed address it stays up for some minutes, and longer while
    somebody is connected.
    """
    settings = _settings(given)
    from tree_builder.store.address import redact
    from tree_builder.store.embedded.holder import hold

    address = settings.database_url or hold(settings.data_dir, minutes * 60)
    shown = address if show_password else redact(address)
    if as_json:
        click.echo(json.dumps({"url": shown, "embedded": settings.database_url is None}))
        return 0
    click.echo(shown)
    if settings.database_url is None:
        click.echo(f"the embedded server stays up for {minutes:g} minutes, and while somebody is connected", err=True)
    return 0


@db.command(short_help="Bring the schema up to date.")
@JSON
@database_options
def migrate(as_json: bool, **given: Any) -> int:
    """Bring the database's schema up to date; every build does so too."""
    settings = _settings(given)
    applied = asyncio.run(_migrate(settings))
    if as_json:
        click.echo(json.dumps({"applied": applied}))
    else:
        click.echo("applied: " + ", ".join(applied) if applied else "up to date")
    return 0


async def _migrate(settings: Settings) -> list[str]:
    from tree_builder.store.database import resolve_url
    from tree_builder.store.migrate import migrate as apply

    async with resolve_url(settings) as address:
        return await apply(address)


@db.command(short_help="Open psql in the database.", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@JSON
@database_options
def psql(arguments: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Open psql in the database in use; ARGUMENTS are psql's, as `-c "select ..."` or `-f FILE`.

    With --json its output becomes one JSON document, {"exit_code": ..., "output": ...}.
    """
    settings = _settings(given)
    from tree_builder.store.session import run_psql

    done = run_psql(settings, arguments, capture=as_json)
    if as_json:
        click.echo(json.dumps({"exit_code": done.returncode, "output": done.stdout}))
    return done.returncode


def _settings(given: dict[str, Any]) -> Settings:
    settings = settings_from(given)
    configure_logging(settings)
    return settings
