"""Programs which use the embedded server, ended after each test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from embedded_support import Program, await_stop

from tree_builder.store.embedded.account import Account

# What only root can try: becoming another account. An ordinary user runs all the other tests.
collect_ignore = [] if os.geteuid() == 0 else ["test_embedded_root.py"]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Start programs on a data folder; all are ended after the test, and their servers with them."""
    started: list[Program] = []
    folders: set[Path] = set()

    def start(folder: Path | None = None, account: Account | None = None) -> Program:
        folder = folder or tmp_path / "data"
        folders.add(folder)
        started.append(Program(folder, account))
        return started[-1]

    yield start
    for one in started:
        one.end()
    for folder in folders:
        await_stop(folder)
