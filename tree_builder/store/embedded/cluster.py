"""One cluster (PGDATA): made whole or not at all, started, waited for, stopped. Who may do so when is `server`'s matter."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tree_builder.errors import StoreError, StoreUnavailable
from tree_builder.store.embedded import tuning
from tree_builder.store.embedded.account import Account
from tree_builder.store.embedded.binaries import Binaries
from tree_builder.store.embedded.locks import PAUSE_S, FileLock, is_free, same_owner

DATABASE = "tree_builder"
SUPERUSER = "postgres"
SOCKET_PREFIX = "tree-builder-"
_SOCKET = ".s.PGSQL.5432"
_CONFIGURATION = {"config_file": "postgresql.conf", "hba_file": "pg_hba.conf", "ident_file": "pg_ident.conf"}
START_TIMEOUT_S = 900.0  # replaying the log after a crash may take minutes; a server which died is noticed at once
STOP_TIMEOUT_S = 60.0
_LOG_KEPT_BYTES = 5_000_000
# The same order and case rules on every machine, whatever its locales.
_INITDB = (
    "--auth=peer",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--data-checksums",
    "--no-instructions",
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Postmaster:
    """What postmaster.pid says. ready: connections are accepted."""

    pid: int
    socket_dir: Path
    ready: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster's folder, and the lock which its processes hold while they live."""

    folder: Path
    lock: Path

    @property
    def log_file(self) -> Path:
        return self.folder / "server.log"

    def create(self, binaries: Binaries, account: Account) -> None:
        """Make the cluster and its database. It appears under its name only when it is whole.

        Raises:
            StoreError: initdb failed; quotes what it said.
        """
        for left_over in self.folder.parent.glob(f"{self.folder.name}.new-*"):
            shutil.rmtree(left_over, ignore_errors=True)
        new = Path(tempfile.mkdtemp(prefix=f"{self.folder.name}.new-", dir=self.folder.parent))
        account.own(new)
        try:
            initdb: list[Path | str] = [binaries.program("initdb"), "-D", ".", "-U", SUPERUSER, *_INITDB]
            self._check(account.run(initdb, cwd=new))
            single: list[Path | str] = [binaries.program("postgres"), "--single", "-D", ".", "template1"]
            self._check(account.run(single, cwd=new, text=f"create database {DATABASE}\n"))
            new.rename(self.folder)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise

    def _check(self, done: subprocess.CompletedProcess[str]) -> None:
        # The single-user server reports a failed statement on stderr only.
        if done.returncode != 0 or "FATAL" in done.stderr or "ERROR" in done.stderr:
            said = " ".join((done.stderr or done.stdout).split())[-600:]
            raise StoreError(f"the database folder {self.folder} cannot be made: {said}", path=str(self.folder))

    def postmaster(self) -> Postmaster | None:
        """Read postmaster.pid: who runs the cluster, or ran it last. None when there is none, or half written."""
        try:
            lines = (self.folder / "postmaster.pid").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
            return Postmaster(abs(int(lines[0])), Path(lines[4]), len(lines) > 7 and lines[7].strip() == "ready")
        except (OSError, ValueError, IndexError):
            return None

    def accepts(self) -> bool:
        """Say whether a live server listens on the socket which postmaster.pid names."""
        postmaster = self.postmaster()
        if postmaster is None:
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(5)
            try:
                probe.connect(str(postmaster.socket_dir / _SOCKET))
            except OSError:
                return False
        return True

    def is_alive(self) -> bool:
        """Say whether postmaster.pid names a living server of this very cluster, and not another process of that number."""
        postmaster = self.postmaster()
        return postmaster is not None and _is_server_of(postmaster.pid, self.folder)

    def start(self, binaries: Binaries, account: Account, options: Mapping[str, str] | None) -> None:
        """Start the server and wait until it accepts connections. The caller has made sure that none runs.

        options: server settings besides our own; None keeps the configuration of the last start. The socket lies where it
        lay before, if that folder is still there, so that addresses which users hold stay good.

        Raises:
            StoreUnavailable: it ended at once, or is not ready in time; quotes the end of its log.
        """
        self._sweep()
        life = FileLock(self.lock)
        try:
            if not life.wait(STOP_TIMEOUT_S):
                raise StoreUnavailable(f"another server runs on {self.folder}")
            socket_dir = self._socket_dir(account)
            if options is not None:
                self._configure(account, socket_dir, options)
            places = {name: self.folder.parent / file for name, file in _CONFIGURATION.items()}
            arguments = [f"--{name}={place}" for name, place in places.items()]
            command: list[Path | str] = [binaries.program("postgres"), "-D", ".", *arguments]
            account.start(command, cwd=self.folder, log=self.log_file, keep=[life.fd])
        finally:
            life.close()  # the server holds it from here on
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until a server which starts, or recovers, accepts connections.

        Raises:
            StoreUnavailable: it ended, or is not ready in time.
        """
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            postmaster = self.postmaster()
            if postmaster is not None and postmaster.ready and self.accepts():
                return
            if is_free(self.lock):
                raise StoreUnavailable(
                    f"the embedded server did not start: {self._last_words()}", path=str(self.folder)
                )
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"the embedded server was not ready after {START_TIMEOUT_S:.0f} s; see {self.log_file}"
                )
            time.sleep(PAUSE_S)

    def stop(self) -> None:
        """Stop the server: its clients are cut off, nothing committed is lost. Does nothing when none runs."""
        for word, timeout_s in ((signal.SIGINT, STOP_TIMEOUT_S), (signal.SIGQUIT, 10.0)):
            if self._signal(word, timeout_s):
                break
        self._remove_socket_dir()

    def bury(self) -> None:
        """End what is left of a server whose head is gone or cannot be reached, so that a new one may start.

        Backends of a killed postmaster end by themselves, after their current statement; they are told to end at once.

        Raises:
            StoreUnavailable: the server belongs to another container, or sees another /tmp; or its remains do not end.
        """
        if any(_is_elsewhere(pid) for pid in _servers_of(self.folder)):
            raise StoreUnavailable(
                f"the server on {self.folder} runs in another container, or with a /tmp of its own (systemd's PrivateTmp), so "
                "that its socket cannot be reached from here: wait until its users have ended"
            )
        if self.is_alive():
            self.stop()
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while not is_free(self.lock):
            for pid in _servers_of(self.folder):
                _kill(pid, signal.SIGQUIT)
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"processes of another server still run on {self.folder}, perhaps in another container; wait for them or end them"
                )
            time.sleep(PAUSE_S * 5)

    def _signal(self, word: signal.Signals, timeout_s: float) -> bool:
        """Send the signal to the server; say whether all its processes are gone in time."""
        if (postmaster := self.postmaster()) is not None and _is_server_of(postmaster.pid, self.folder):
            _kill(postmaster.pid, word)
        deadline = time.monotonic() + timeout_s
        while not is_free(self.lock):
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE_S)
        return True

    def _sweep(self) -> None:
        """Remove a pid file whose number another process has now, and a log which has grown long."""
        if self.postmaster() is not None and not self.is_alive():
            (self.folder / "postmaster.pid").unlink(missing_ok=True)
        if self.log_file.exists() and self.log_file.stat().st_size > _LOG_KEPT_BYTES:
            self.log_file.replace(self.log_file.with_suffix(".log.1"))

    # What root writes or trusts lies in the data folder and not in the cluster, which belongs to the server's account.

    @property
    def _note(self) -> Path:
        return self.folder.parent / "socket_dir"

    def _socket_dir(self, account: Account) -> Path:
        """Give the folder of the last start's socket, emptied, or else a new one."""
        uid = os.geteuid() if account.uid is None else account.uid
        with suppress(OSError, ValueError):
            before = Path(self._note.read_text(encoding="utf-8"))
            found = before.lstat()
            if stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o700 and found.st_uid == uid:
                for name in (_SOCKET, f"{_SOCKET}.lock"):
                    (before / name).unlink(missing_ok=True)
                return before
        made = _make_socket_dir(self.folder)
        account.own(made)
        self._note.write_text(str(made), encoding="utf-8")
        return made

    def _remove_socket_dir(self) -> None:
        with suppress(OSError, ValueError):
            socket_dir = Path(self._note.read_text(encoding="utf-8"))
            if socket_dir.name.startswith(SOCKET_PREFIX):
                shutil.rmtree(socket_dir, ignore_errors=True)
            self._note.unlink()

    def _configure(self, account: Account, socket_dir: Path, options: Mapping[str, str]) -> None:
        values = tuning.settings(tuning.measure(), socket_dir, options)
        users = {account.name, _name(os.geteuid()), "root"} - {""}
        for name, content in tuning.files(values, users).items():
            path = self.folder.parent / name
            path.write_text(content, encoding="utf-8")
            path.chmod(0o644)  # no secret in it, and the server's account must read it
            same_owner(path)

    def _last_words(self) -> str:
        try:
            lines = self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-4:]
        except OSError:
            lines = []
        return " / ".join(lines) or f"it left no log in {self.folder}"


def _name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


def _make_socket_dir(folder: Path) -> Path:
    """Make a folder for the socket: short, since a socket's path has 107 characters at most, private, and not tied to a session.

    Not $XDG_RUNTIME_DIR, which goes when the user logs out, while a server may serve a job in the background.
    """
    for base in ("/tmp", tempfile.gettempdir(), str(folder.parent)):  # noqa: S108 -- mkdtemp makes a new folder, 0700
        if len(base) < 60:
            try:
                return Path(tempfile.mkdtemp(prefix=SOCKET_PREFIX, dir=base))
            except OSError:
                continue
    raise StoreError(
        f"no folder for the server's socket can be made in /tmp or {tempfile.gettempdir()}: make one writable"
    )


def _is_server_of(pid: int, folder: Path) -> bool:
    import psutil

    try:
        process = psutil.Process(pid)
        return process.name().startswith("postgres") and Path(process.cwd()).samefile(folder)
    except (psutil.Error, OSError):
        return False


def _is_elsewhere(pid: int) -> bool:
    """Say whether a process sees other mounts than this one, where the system tells."""
    try:
        return Path(f"/proc/{pid}/ns/mnt").readlink() != Path("/proc/self/ns/mnt").readlink()
    except OSError:
        return False


def _servers_of(folder: Path) -> list[int]:
    import psutil

    return [pid for pid in psutil.pids() if _is_server_of(pid, folder)]


def _kill(pid: int, word: signal.Signals) -> None:
    try:
        os.kill(pid, word)
    except ProcessLookupError:
        log.debug("process %d is gone already", pid)
