"""File locks which die with their holder: the count of users, the turn to start or stop, the sign of life of the server."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tree_builder.errors import StoreUnavailable

PAUSE_S = 0.02


class FileLock:
    """An open lock file. Each object counts for itself, also within one process.

    A forked child would share the lock, and giving it up there would give up the parent's, so that a child only closes it.
    """

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o600)
        self._pid = os.getpid()
        if create:
            same_owner(path)

    def take(self, *, shared: bool = False) -> bool:
        """Take the lock if it is free; say whether it is ours now."""
        try:
            fcntl.flock(self.fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait(self, timeout_s: float, *, shared: bool = False) -> bool:
        """Take the lock as soon as it is free; say whether it is ours, False when the time is over."""
        deadline = time.monotonic() + timeout_s
        while not self.take(shared=shared):
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE_S)
        return True

    def wait_for_ever(self) -> None:
        """Take the lock as soon as it is free, without looking again and again."""
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def close(self) -> None:
        """Give the lock up, and the file. Descriptors which a started program inherited keep it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def unlock(self) -> None:
        """Give the lock up, also for descriptors which were inherited."""
        if self.fd >= 0 and self._pid == os.getpid():
            fcntl.flock(self.fd, fcntl.LOCK_UN)


def same_owner(path: Path) -> None:
    """Let a file which root made belong to the owner of its folder, who can go on using it."""
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


@contextmanager
def held(path: Path, timeout_s: float, *, create: bool = True) -> Iterator[None]:
    """Hold a lock for the block.

    Raises:
        FileNotFoundError: there is no such file, and it is not to be created.
        StoreUnavailable: another process has had it all the time.
    """
    lock = FileLock(path, create=create)
    try:
        if not lock.wait(timeout_s):
            raise StoreUnavailable(
                f"another process has been starting or stopping the database in {path.parent} for {timeout_s:.0f} s"
            )
        yield
    finally:
        lock.unlock()
        lock.close()


def is_free(path: Path) -> bool:
    """Say whether nobody holds the lock at this moment."""
    try:
        lock = FileLock(path, create=False)
    except FileNotFoundError:
        return True
    try:
        if free := lock.take():
            lock.unlock()
        return free
    finally:
        lock.close()
