"""Become another account, leave the terminal, and turn into another program. Run as a script; standard library only.

    python -I -S launch.py '{"uid": 65534, "gid": 65534, "capability": 2, "log": "/…/server.log", "detach": true}' PROGRAM ARG...

A process of its own, since dropping rights between fork and exec of a threaded program is not safe.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 47, 2
_CAPABILITY_VERSION_3 = 0x20080522


def main(argv: list[str]) -> None:
    """Do what the first argument says, then become the rest."""
    how: dict[str, Any] = json.loads(argv[0])
    if how.get("uid") is not None:
        _become(how["uid"], how["gid"], how.get("capability"))
    os.umask(0o077)
    if how.get("probe"):
        # By effective rights: a plain access(2) would leave the kept capability out of account.
        effective = os.access in os.supports_effective_ids
        sys.exit(0 if all(os.access(path, mode, effective_ids=effective) for path, mode in how["probe"]) else 1)
    if how.get("detach"):
        # Its own session: a Ctrl-C for the program's process group does not reach it.
        os.setsid()
        if os.fork():
            os._exit(0)
    if how.get("log"):
        log = os.open(how["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.closerange(null, null + 1)
        os.close(log)
    os.execv(argv[1], argv[1:])  # noqa: S606 -- no shell is what is wanted


def _become(uid: int, gid: int, capability: int | None) -> None:
    """Change the account for good; of root's powers keep one capability, handed on to the program, or none."""
    libc = ctypes.CDLL(None, use_errno=True)
    if capability is not None:
        _check(libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setgroups([gid])
    os.setgid(gid)
    os.setuid(uid)
    if capability is not None:
        mask = 1 << capability
        header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
        _check(libc.capset(header, (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)))
        _check(libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, capability, 0, 0))


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main(sys.argv[1:])
