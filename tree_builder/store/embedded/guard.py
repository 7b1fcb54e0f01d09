"""A small process beside the server: it stops the server when its last user is gone, and starts it again when it died.

Run as `python -m tree_builder.store.embedded.guard DATA_DIR`, in a session of its own. A user which ends as it should stops
the server itself; the guard is for those which are killed. Without it the next user would do the same.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from tree_builder.errors import StoreError, TreeBuilderError
from tree_builder.store.embedded.account import Account, python_path
from tree_builder.store.embedded.lifecycle import TURN_TIMEOUT_S, restart_dead, stop_unused
from tree_builder.store.embedded.locks import FileLock, held

MAX_RESTARTS = 20  # a server which dies again and again is left to the next user, who is told why
PAUSE_S = 0.5


def start_guard(data_dir: Path) -> None:
    """Start a guard for the server of this folder; returns at once."""
    command = [sys.executable, "-m", __name__, str(data_dir)]
    Account("").start(command, cwd=Path("/"), log=Path(os.devnull), more_environment=python_path())


def main(data_dir: Path) -> None:
    """Stay until nobody uses the server any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_restart_while_used, args=(data_dir,), daemon=True).start()
    try:
        while data_dir.exists():
            _wait(data_dir / "users.lock")
            with held(data_dir / "start.lock", TURN_TIMEOUT_S, create=False):
                if stop_unused(data_dir):
                    return
    except (OSError, TreeBuilderError):
        return


def _restart_while_used(data_dir: Path) -> None:
    try:
        for _ in range(MAX_RESTARTS):
            _wait(data_dir / "server.lock")
            try:
                with held(data_dir / "start.lock", TURN_TIMEOUT_S, create=False):
                    if not restart_dead(data_dir):
                        return
            except StoreError:  # it died again while it was starting
                time.sleep(PAUSE_S)
    except (OSError, TreeBuilderError):
        return


def _wait(path: Path) -> None:
    """Wait until nobody holds a lock. Makes no file: the folder may be on its way out."""
    lock = FileLock(path, create=False)
    try:
        lock.wait_for_ever()
    finally:
        lock.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
