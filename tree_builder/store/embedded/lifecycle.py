"""When the server starts, restarts and stops. Whoever calls these holds start.lock, so that one does so at a time."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from tree_builder.errors import StoreUnavailable
from tree_builder.store.embedded.account import choose_account
from tree_builder.store.embedded.binaries import find_binaries
from tree_builder.store.embedded.cluster import Cluster, Postmaster
from tree_builder.store.embedded.locks import FileLock, is_free

TURN_TIMEOUT_S = 1000.0

log = logging.getLogger(__name__)


def ensure_running(data_dir: Path, options: Mapping[str, str] | None) -> tuple[Postmaster, bool]:
    """Give the running server, started if need be (then True), its cluster made if need be.

    options: settings of the server if it is started; None keeps the configuration of its last start.

    Raises:
        ConfigError: it cannot run here.
        StoreUnavailable: it did not start, or cannot be reached from here.
    """
    binaries = find_binaries(_existing_major(data_dir))
    cluster = _cluster(data_dir, binaries.major)
    started = not _joined(cluster)
    if started:
        programs: dict[Path, int] = {binaries.program(name): os.R_OK | os.X_OK for name in ("postgres", "initdb")}
        account = choose_account(data_dir, cluster.folder, {**programs, data_dir: os.X_OK})
        if not cluster.folder.exists():
            cluster.create(binaries, account)
        cluster.start(binaries, account, options)
    postmaster = cluster.postmaster()
    if postmaster is None:
        raise StoreUnavailable(f"the embedded server in {data_dir} ended just after it started")
    return postmaster, started


def _joined(cluster: Cluster) -> bool:
    """Say whether a server runs and is ready; what is left of one which cannot be reached is ended."""
    if not cluster.folder.exists() or (is_free(cluster.lock) and not cluster.is_alive()):
        return False
    if not cluster.accepts():
        cluster.bury()
        return False
    cluster.wait_ready()
    return True


def restart_dead(data_dir: Path) -> bool:
    """Start the server again if it died under its users; say whether anybody uses it.

    Raises:
        StoreError: it does not start.
    """
    if not is_used(data_dir):
        return False
    _, started = ensure_running(data_dir, None)
    if started:
        log.warning("the embedded server in %s had died and was started again", data_dir)
    return True


def stop_unused(data_dir: Path) -> bool:
    """Stop the server unless someone uses it; say whether nobody does."""
    if is_used(data_dir):
        return False
    major = _existing_major(data_dir)
    if major is not None:
        _cluster(data_dir, major).stop()
    return True


def is_used(data_dir: Path) -> bool:
    """Say whether any process holds users.lock. The guard, which waits for this moment, may hold it for an instant."""
    try:
        users = FileLock(data_dir / "users.lock", create=False)
    except FileNotFoundError:
        return False
    try:
        return not users.wait(0.05)
    finally:
        users.close()


def _existing_major(data_dir: Path) -> int | None:
    found = [int(folder.name.removeprefix("postgres-")) for folder in data_dir.glob("postgres-[0-9][0-9]")]
    return max(found, default=None)


def _cluster(data_dir: Path, major: int) -> Cluster:
    return Cluster(data_dir / f"postgres-{major}", data_dir / "server.lock")
