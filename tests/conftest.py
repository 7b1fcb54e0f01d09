"""What every test may use: a real PostgreSQL with pgvector, a fresh migrated database each, and no way to the outside.

The server is the one at TREE_BUILDER_TEST_DATABASE_URL, else a container where Docker answers, else the embedded server in
a temporary folder. The schema is migrated once into a template; a test's own database is a copy of it.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import conninfo, sql

from tree_builder.store.database import Database
from tree_builder.store.embedded.server import serve
from tree_builder.store.migrate import migrate

IMAGE = "pgvector/pgvector:0.8.1-pg17"
# Read and removed here: to the settings it would be an unknown name, and no test may find a database by accident.
GIVEN_URL = os.environ.pop("TREE_BUILDER_TEST_DATABASE_URL", None)
for _name in [name for name in os.environ if name.startswith(("TREE_BUILDER_", "OPENAI_")) or name == "DATABASE_URL"]:
    del os.environ[_name]

_REAL_CONNECT = socket.socket.connect
_REAL_CONNECT_EX = socket.socket.connect_ex
_LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")  # noqa: S104 -- compared, not bound

_numbers = itertools.count(1)
_server: ExitStack | None = None
_server_url: str | None = None


def _guarded(real: Any) -> Any:
    def connect(self: socket.socket, address: Any) -> Any:
        outward = self.family in (socket.AF_INET, socket.AF_INET6) and not str(address[0]).startswith(_LOOPBACK)
        if outward and str(address[0]) not in os.environ.get("DOCKER_HOST", ""):
            raise AssertionError(f"a test tried to connect to {address}: only loopback is allowed here")
        return real(self, address)

    return connect


def pytest_configure(config: pytest.Config) -> None:
    """Let no test reach beyond this machine, so that no model is ever called for real. libpq has sockets of its own."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background: children would ignore Ctrl-C too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    socket.socket.connect = _guarded(_REAL_CONNECT)  # type: ignore[method-assign]
    socket.socket.connect_ex = _guarded(_REAL_CONNECT_EX)  # type: ignore[method-assign]


def pytest_unconfigure(config: pytest.Config) -> None:
    socket.socket.connect = _REAL_CONNECT  # type: ignore[method-assign]
    socket.socket.connect_ex = _REAL_CONNECT_EX  # type: ignore[method-assign]
    if _server is not None:
        _server.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which server the tests run against."""
    if config.getoption("collectonly", default=False):
        return []
    with psycopg.connect(server_url(), autocommit=True) as connection:
        row = connection.execute(
            "select current_setting('server_version'),"
            " (select default_version from pg_available_extensions where name = 'vector')"
        ).fetchone()
    return [f"PostgreSQL {row[0]}, pgvector {row[1]} ({_kind()})" if row else "no PostgreSQL"]


def server_url() -> str:
    """Start the session's server at the first call, and give its address."""
    global _server, _server_url  # noqa: PLW0603 -- one server a session, needed before fixtures exist, for the header
    if _server_url is None:
        _server = ExitStack()
        _server_url = _server.enter_context(_any_server())
    return _server_url


def _kind() -> str:
    return "given address" if GIVEN_URL else "container" if _docker_answers() else "embedded"


@contextmanager
def _any_server() -> Iterator[str]:
    if GIVEN_URL:
        yield GIVEN_URL
    elif _docker_answers():
        from testcontainers.community.postgres import PostgresContainer

        with PostgresContainer(IMAGE, driver=None) as container:
            yield container.get_connection_url()
    else:
        folder = Path(tempfile.mkdtemp(prefix="tree-builder-tests-"))
        try:
            # Speed instead of safety: the data is thrown away.
            options = {
                "fsync": "off",
                "synchronous_commit": "off",
                "full_page_writes": "off",
                "shared_buffers": "128MB",
            }
            with serve(folder, options=options) as url:
                yield url
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@cache
def _docker_answers() -> bool:
    """Say whether a Docker engine answers within seconds and has the image, or can get it."""
    if shutil.which("docker") is None:
        return False
    try:
        asked = subprocess.run(["docker", "info"], capture_output=True, timeout=5, check=False)
        return asked.returncode == 0 and (
            subprocess.run(
                ["docker", "image", "inspect", IMAGE], capture_output=True, timeout=5, check=False
            ).returncode
            == 0
            or subprocess.run(["docker", "pull", "-q", IMAGE], capture_output=True, timeout=120, check=False).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def _at(url: str, dbname: str) -> str:
    """Give the address of another database on the same server, as a URL."""
    from urllib.parse import urlsplit, urlunsplit

    if "://" not in url:
        return conninfo.make_conninfo(url, dbname=dbname)
    return urlunsplit(urlsplit(url)._replace(path=f"/{dbname}"))


@pytest.fixture(scope="session")
def template_database() -> Iterator[tuple[str, str]]:
    """A migrated database of this session; gives the server's address and the template's name."""
    url, name = server_url(), f"tree_builder_template_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        asyncio.run(migrate(_at(url, name)))
        yield url, name
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@contextmanager
def _database(server: str, template: str | None) -> Iterator[str]:
    name = f"tree_builder_test_{os.getpid()}_{next(_numbers)}"
    source = sql.SQL(" template {}").format(sql.Identifier(template)) if template else sql.SQL("")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)) + source)
        yield _at(server, name)
    # A new connection: the test may have restarted the server meanwhile.
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


@pytest.fixture
def database_url(template_database: tuple[str, str]) -> Iterator[str]:
    """The address of a fresh migrated database, dropped after the test."""
    with _database(*template_database) as url:
        yield url


@pytest.fixture
def empty_database_url() -> Iterator[str]:
    """The address of a fresh database without schema and without pgvector."""
    with _database(server_url(), None) as url:
        yield url


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """A Database on a fresh migrated database."""
    async with Database.open(database_url) as database:
        yield database


@pytest.fixture
def corpora() -> Path:
    """The folder of real documents beside the project."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip("the shared corpora are absent")
    return folder
