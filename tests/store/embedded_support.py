"""What the tests of the embedded server share: programs of their own, and waiting for what happens."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg

from tree_builder.store.embedded.account import Account
from tree_builder.store.embedded.locks import is_free

PROGRAM = Path(__file__).with_name("embedded_program.py")
FAST = {"fsync": "off"}


class Program:
    """One running embedded_program.py."""

    def __init__(self, folder: Path, account: Account | None = None) -> None:
        command = [sys.executable, str(PROGRAM), str(folder)]
        if account is not None:
            command = [*account._launcher({}), *command]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.said: str | None = None

    @property
    def url(self) -> str:
        """What it printed first: the address, or the error."""
        if self.said is None:
            self.said = self.read()
        return self.said

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, line: str) -> str:
        assert self.url.startswith("postgresql://"), self.url
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return "" if line == "die" else self.read()

    def end(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.kill()
        self.process.wait()


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"not within 60 s: {what}"
        time.sleep(0.02)


def await_stop(folder: Path) -> None:
    """Wait for the guard of a server whose users are gone."""
    if folder.exists():
        until(lambda: is_free(folder / "server.lock"), "the server stops")


def postmaster_pid(folder: Path) -> int:
    return int(next(folder.glob("postgres-*/postmaster.pid")).read_text().split()[0])


def answers(url: str) -> bool:
    """Say whether the server at the address takes connections."""
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def gone(pid: int) -> bool:
    """Say whether a process ended; its parent, the system's first process, may not have noticed yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def guards(folder: Path) -> list[psutil.Process]:
    """Give the guards of the server in a data folder."""
    wanted = ["tree_builder.store.embedded.guard", str(folder)]
    return [p for p in psutil.process_iter(["cmdline"]) if (p.info["cmdline"] or [])[-2:] == wanted]


def socket_dir(url: str) -> Path:
    return Path(str(psycopg.conninfo.conninfo_to_dict(url)["host"]))
