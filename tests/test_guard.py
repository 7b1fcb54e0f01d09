"""The tests' own safety: nothing reaches beyond this machine, nothing of the caller's environment gets in."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest


def test_a_connection_to_the_outside_is_an_error() -> None:
    """A plain socket to an address which is not loopback fails before a packet leaves."""
    with socket.socket() as one, pytest.raises(AssertionError, match="only loopback"):
        one.connect(("192.0.2.1", 443))


async def test_so_is_one_by_asyncio() -> None:
    """asyncio's connections go the same way."""
    with pytest.raises(AssertionError, match="only loopback"):
        await asyncio.open_connection("192.0.2.1", 443)


def test_loopback_is_open() -> None:
    """Services simulated on this machine can be reached."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass


def test_the_environment_is_clean() -> None:
    """No key and no setting of the caller's reaches a test."""
    assert [n for n in os.environ if n.startswith(("TREE_BUILDER_", "OPENAI_")) or n == "DATABASE_URL"] == []
