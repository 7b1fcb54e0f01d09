"""Who runs the server. PostgreSQL refuses to run as root, so for root an existing account without rights stands in."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tree_builder.errors import ConfigError

_LAUNCH = Path(__file__).with_name("launch.py")
_STAND_INS = ("postgres", "nobody")
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


@dataclass(frozen=True, slots=True)
class Account:
    """The account which runs the server; uid is None when it is the one which runs this program.

    capability: one power of root which the server keeps, so that it can pass through folders such as /root (0700)
    on the way to its own, whose rights are not ours to change.
    """

    name: str
    uid: int | None = None
    gid: int | None = None
    capability: int | None = None

    def own(self, path: Path) -> None:
        """Give a file or folder of the server's to its account."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def run(self, command: Sequence[Path | str], *, cwd: Path, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program as this account, to its end."""
        argv = [*self._launcher({}), *map(str, command)]
        return subprocess.run(argv, cwd=cwd, input=text, capture_output=True, text=True, env=environment(), check=False)

    def start(
        self,
        command: Sequence[Path | str],
        *,
        cwd: Path,
        log: Path,
        keep: Iterable[int] = (),
        more_environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start a program as this account which outlives this one, in a session of its own. keep: descriptors it inherits."""
        argv = [*self._launcher({"detach": True, "log": str(log)}), *map(str, command)]
        subprocess.run(
            argv,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**environment(), **(more_environment or {})},
            pass_fds=tuple(keep),
            check=True,
        )

    def reaches(self, paths: Mapping[Path, int]) -> bool:
        """Say whether this account has the given access (os.R_OK, ...) to all the paths."""
        probe = [(str(path), mode) for path, mode in paths.items()]
        return subprocess.run(self._launcher({"probe": probe}), cwd="/", env=environment(), check=False).returncode == 0

    def _launcher(self, how: dict[str, Any]) -> list[str]:
        rights = {"uid": self.uid, "gid": self.gid, "capability": self.capability}
        return [sys.executable, "-I", "-S", str(_LAUNCH), json.dumps({**rights, **how})]


def environment() -> dict[str, str]:
    """Give the environment of the server's programs: nothing of the caller's but what finds system programs."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def python_path() -> dict[str, str]:
    """Give the environment by which a started Python finds this package where this process found it."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def choose_account(data_dir: Path, cluster: Path, needed: Mapping[Path, int]) -> Account:
    """Choose who runs the server. needed: paths with the access which the account must have.

    An ordinary user runs it as himself. For root it is the owner of the cluster or of the data folder, else `postgres` or
    `nobody`, whichever exists.

    Raises:
        ConfigError: the cluster belongs to someone else, or no account can reach what it needs.
    """
    uid = os.geteuid()
    owner = (cluster if cluster.exists() else data_dir).stat().st_uid
    if uid != 0:
        if cluster.exists() and owner != uid:
            raise ConfigError(
                f"{cluster} belongs to user id {owner}, not to this user ({uid}): set data_dir to a folder of your own",
                path=str(cluster),
            )
        return Account(user_name(uid))
    accounts = [pwd.getpwuid(owner)] if owner != 0 else list(_stand_ins())
    for entry in accounts:
        plain = Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
        if plain.reaches(needed):
            return plain
        for capability in _capabilities():
            helped = Account(entry.pw_name, entry.pw_uid, entry.pw_gid, capability)
            if helped.reaches(needed):
                return helped
    names = " or ".join(entry.pw_name for entry in accounts) or " or ".join(_STAND_INS)
    raise ConfigError(
        f"PostgreSQL does not run as root, and the account {names} cannot reach {', '.join(map(str, needed))}: run "
        "tree-builder as an ordinary user, or set data_dir to a folder (and install tree-builder in one) whose parents all may enter, "
        "or use a PostgreSQL of your own with --database",
        paths=[str(path) for path in needed],
    )


def user_name(uid: int) -> str:
    """Give the name of an account.

    Raises:
        ConfigError: the user id has no name, which PostgreSQL's initdb insists on.
    """
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError as error:
        raise ConfigError(
            f"user id {uid} has no name in the system's user list (/etc/passwd), which the embedded server needs: "
            "add one, or use a PostgreSQL of your own with --database",
            uid=uid,
        ) from error


def _stand_ins() -> Iterable[pwd.struct_passwd]:
    for name in _STAND_INS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            yield entry


def _capabilities() -> list[int]:
    """Give the capabilities, of those which pass through closed folders, that root has here; the lesser one first."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    permitted = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapPrm")), 0)
    return [n for n in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE) if permitted >> n & 1]
