"""The embedded server for root, for whom another account runs it, and for an account without rights."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from embedded_support import FAST, Program, postmaster_pid

from tree_builder.errors import ConfigError
from tree_builder.store.embedded.account import Account, choose_account
from tree_builder.store.embedded.server import serve


def test_an_ordinary_user_runs_it_too(program: Callable[..., Program], tmp_path: Path) -> None:
    """As an account without rights, on a folder of its own, the server runs as that account."""
    nobody = pwd.getpwnam("nobody")
    # The capability only lets it read this checkout and this Python, which may lie in a closed folder.
    account = Account("nobody", nobody.pw_uid, nobody.pw_gid, capability=2)
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    one = program(home / "data", account)
    assert one.tell("sql select current_user") == "postgres"
    assert psutil.Process(postmaster_pid(home / "data")).uids().effective == nobody.pw_uid
    refused = program(tmp_path / "not-mine" / "data", account)
    assert refused.url.startswith("ConfigError: the data folder")


def test_for_root_the_owner_of_the_data_runs_it(tmp_path: Path) -> None:
    """A data folder which belongs to a user, used by root (sudo), stays usable for that user."""
    nobody = pwd.getpwnam("nobody")
    os.chown(tmp_path, nobody.pw_uid, nobody.pw_gid)
    with serve(tmp_path, options=FAST):
        pass
    assert {path.stat().st_uid for path in tmp_path.iterdir()} == {nobody.pw_uid}


def test_no_account_which_could_run_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody else gets through and no capability may help, the message names folder and ways out."""
    monkeypatch.setattr("tree_builder.store.embedded.account._capabilities", list)
    (tmp_path / "closed").mkdir(mode=0o700)
    (tmp_path / "closed" / "data").mkdir()
    with pytest.raises(ConfigError, match=r"cannot reach .*closed/data.*--database"):
        choose_account(tmp_path, tmp_path / "x", {tmp_path / "closed" / "data": os.R_OK})
