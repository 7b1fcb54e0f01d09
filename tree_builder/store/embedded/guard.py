"""A small process beside the server which stops it when its last user is gone, also when that one was killed.

Run as `python -m tree_builder.store.embedded.guard DATA_DIR`, in a session of its own. A user which ends as it should stops
the server itself; then there is nothing left to do here. Without the guard the next user would stop the server.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tree_builder.errors import StoreUnavailable
from tree_builder.store.embedded.account import Account, python_path
from tree_builder.store.embedded.locks import FileLock, held
from tree_builder.store.embedded.server import TURN_TIMEOUT_S, stop_unused


def start_guard(data_dir: Path) -> None:
    """Start a guard for the server of this folder; returns at once."""
    command = [sys.executable, "-m", __name__, str(data_dir)]
    Account("").start(command, cwd=Path("/"), log=Path(os.devnull), more_environment=python_path())


def main(data_dir: Path) -> None:
    """Wait until nobody uses the server, stop it, end. Stays while new users come."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while data_dir.exists():
        users = FileLock(data_dir / "users.lock")
        users.wait_for_ever()
        users.close()
        try:
            with held(data_dir / "start.lock", TURN_TIMEOUT_S):
                if stop_unused(data_dir):
                    return
        except (OSError, StoreUnavailable):
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
