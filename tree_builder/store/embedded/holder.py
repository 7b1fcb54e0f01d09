"""A small process which uses the server for a while, so that a printed address answers.

Run as `python -m tree_builder.store.embedded.holder DATA_DIR SECONDS DESCRIPTOR`; it writes a byte to the descriptor once
it holds the server, and ends when the time is over and nobody else is connected.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import psycopg

from tree_builder.errors import StoreError
from tree_builder.store.embedded.account import Account, python_path
from tree_builder.store.embedded.server import Server, serve

_LOOK_AGAIN_S = 3.0


def hold(data_dir: Path | None, seconds: float) -> str:
    """Give the embedded server's address, and keep the server up for some time, and while somebody is connected.

    Raises:
        ConfigError, StoreUnavailable: as `Server.acquire`.
    """
    with serve(data_dir) as url:
        reading, writing = os.pipe()
        folder = str(Server(data_dir).data_dir)
        command = [sys.executable, "-m", __name__, folder, str(seconds), str(writing)]
        try:
            Account("").start(
                command, cwd=Path("/"), log=Path(os.devnull), keep=[writing], more_environment=python_path()
            )
        finally:
            os.close(writing)
        with os.fdopen(reading, "rb") as answer:
            if answer.read() != b"1":
                raise StoreError(
                    "the embedded server could not be kept running for the address; use `tree-builder db psql`"
                )
        return url


def main(data_dir: Path, seconds: float, writing: int) -> None:
    """Hold the server; see the module's docstring."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with serve(data_dir) as url:
        os.write(writing, b"1")
        os.close(writing)
        time.sleep(seconds)
        while _is_used(url):
            time.sleep(_LOOK_AGAIN_S)


def _is_used(url: str) -> bool:
    query = (
        "select exists (select from pg_catalog.pg_stat_activity"
        " where backend_type = 'client backend' and pid <> pg_catalog.pg_backend_pid())"
    )
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            row = connection.execute(query).fetchone()
    except psycopg.Error:
        return False
    return bool(row and row[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
