"""A session of psql in the database in use."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from tree_builder.errors import ConfigError
from tree_builder.store.address import split_password
from tree_builder.store.embedded.binaries import find_binaries
from tree_builder.store.embedded.server import serve

if TYPE_CHECKING:
    from tree_builder.settings import Settings


def run_psql(settings: Settings, arguments: Sequence[str], *, capture: bool) -> subprocess.CompletedProcess[str]:
    """Run psql to its end, on this terminal, or with its output captured.

    The password goes through the environment: the arguments of a process can be read by everybody on the machine.

    Raises:
        ConfigError: there is no psql, neither on the PATH nor in the wheel of the embedded server.
    """
    program = _find_psql(embedded=settings.database_url is None)
    with nullcontext(settings.database_url) if settings.database_url else serve(settings.data_dir) as url:
        address, password = split_password(url)
        environment = {**os.environ, **({"PGPASSWORD": password} if password else {})}
        # Ctrl-C is psql's: it cancels a statement, not the session.
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            return subprocess.run(
                [program, "--dbname", address, *arguments],
                env=environment,
                stdout=subprocess.PIPE if capture else None,
                text=True,
                check=False,
            )
        finally:
            signal.signal(signal.SIGINT, before)


def _find_psql(*, embedded: bool) -> str:
    """Prefer the psql which fits the server: the wheel's for the embedded one, the system's otherwise."""
    on_path = shutil.which("psql")
    if on_path and not embedded:
        return on_path
    try:
        return str(find_binaries().program("psql"))
    except ConfigError as error:
        if on_path:
            return on_path
        raise ConfigError("there is no psql on the PATH: install PostgreSQL's client programs") from error
