"""The door to PostgreSQL: rows as dataclasses, errors translated, connections which outlive a restart, no password in words."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import NamedTuple

import psycopg
import pytest

from tree_builder.errors import ConfigError, Conflict, NotFound, SchemaOutOfDate, StoreError, StoreUnavailable
from tree_builder.store.address import redact, split_password
from tree_builder.store.database import Database, connect, is_transient
from tree_builder.store.statements import parse

PAIR = parse("-- name: pair\n-- A row.\nselect :n::int as n, 'a%' as word;", source="test")["pair"]


@dataclass(frozen=True)
class Pair:
    n: int
    word: str


class Tuple(NamedTuple):
    n: int
    word: str


async def test_rows_come_as_what_was_asked(db: Database) -> None:
    """A dataclass and a named tuple by column names, a dict, or the value of a single column."""
    assert await db.fetch(PAIR, Pair, n=7) == [Pair(7, "a%")]
    assert await db.fetch(PAIR, Tuple, n=7) == [Tuple(7, "a%")]
    assert await db.fetch(PAIR, dict, n=7) == [{"n": 7, "word": "a%"}]
    assert await db.fetch("select generate_series(1, 3)", int) == [1, 2, 3]


async def test_get_needs_a_row_and_find_does_not(db: Database) -> None:
    """`get` raises NotFound where `find` gives None."""
    assert await db.find("select 1 where false", int) is None
    with pytest.raises(NotFound):
        await db.get("select 1 where false", int)
    assert await db.get("select 1", int) == 1


async def test_a_transaction_is_whole_or_nothing(db: Database) -> None:
    """An error inside the block rolls back all of it."""
    await db.execute("create table public.t (n int primary key)")

    async def insert_twice() -> None:
        async with db.transaction() as connection:
            await connection.execute("insert into public.t values (1)")
            await connection.execute("insert into public.t values (1)")

    with pytest.raises(Conflict):
        await insert_twice()
    assert await db.get("select count(*) from public.t", int) == 0
    assert await db.execute("insert into public.t select generate_series(1, 5)") == 5


async def test_vectors_go_both_ways(db: Database) -> None:
    """numpy arrays are vectors and come back as such."""
    import numpy as np

    vector = np.array([1, 0.5, -2], dtype=np.float32)
    assert (await db.get("select %(v)s::vector as v", object, v=vector)).to_numpy().tolist() == [1, 0.5, -2]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("select * from tree_builder.no_such_table", SchemaOutOfDate),
        ("select tree_builder.no_such_function()", SchemaOutOfDate),
        ("select 1 / 0", StoreError),
        ("insert into tree_builder.memo values (null)", Conflict),
    ],
)
async def test_errors_are_ours(db: Database, statement: str, error: type[StoreError]) -> None:
    """The driver's errors arrive as this package's, with the SQL state as a fact and the driver's as cause."""
    with pytest.raises(error) as caught:
        await db.execute(statement)  # type: ignore[arg-type]
    assert caught.value.sqlstate
    assert isinstance(caught.value.__cause__, psycopg.Error)
    assert not is_transient(caught.value)


async def test_rows_are_not_quoted_in_errors(db: Database) -> None:
    """The server's detail, which quotes values, stays out of the message: values are texts of documents."""
    await db.execute("create table public.t (word text primary key)")
    await db.execute("insert into public.t values ('secret sentence')")
    with pytest.raises(Conflict) as caught:
        await db.execute("insert into public.t values ('secret sentence')")
    assert "secret sentence" not in str(caught.value)


async def test_a_lost_connection_may_pass_and_the_pool_mends_itself(db: Database, database_url: str) -> None:
    """A connection cut off by the server is an error worth another try; the next use gets a new one."""
    async with db.connection() as connection:
        pid = connection.info.backend_pid
    async with connect(database_url) as other:
        await other.execute("select pg_terminate_backend(%s)", (pid,))
    assert await db.get("select 1", int) == 1  # the idle one was replaced before use
    with pytest.raises(StoreUnavailable) as caught:
        await db.execute("select pg_terminate_backend(pg_backend_pid())")
    assert is_transient(caught.value)
    assert await db.get("select 1", int) == 1


async def test_no_more_connections_than_allowed(database_url: str) -> None:
    """Twenty tasks share two connections."""
    async with Database.open(database_url, max_size=2) as db:
        pids = await asyncio.gather(*(db.get("select pg_backend_pid() from pg_sleep(0.01)", int) for _ in range(20)))
    assert 1 <= len(set(pids)) <= 2


async def test_a_database_never_migrated_is_told(empty_database_url: str) -> None:
    """Opening it says which command to run."""
    with pytest.raises(SchemaOutOfDate, match="tree-builder db migrate"):
        async with Database.open(empty_database_url):
            pass


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        ("postgresql://me:hunter2@127.0.0.1:1/x", StoreUnavailable, "cannot be reached"),
        ("postgresql://me:hunter2@[broken", ConfigError, "cannot be understood"),
        ("postgresql://me:hunter2@127.0.0.1:port/x", ConfigError, "port"),
        ("mysql://me:hunter2@localhost/x", ConfigError, "cannot be understood"),
        ("host=127.0.0.1 port=1 password=hunter2 nonsense", ConfigError, "cannot be understood"),
    ],
)
async def test_a_wrong_address_is_told_without_its_password(
    url: str, error: type[Exception], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither message, cause nor log holds the password."""
    with pytest.raises(error, match=words) as caught:
        async with Database.open(url):
            pass
    assert "hunter2" not in f"{caught.value} {caught.value!r} {caught.value.__cause__} {caplog.text}"


async def test_an_unknown_database_is_a_matter_of_settings(database_url: str) -> None:
    """A database or role which does not exist ends with exit code 4, not as something which may pass."""
    wrong = psycopg.conninfo.make_conninfo(database_url, dbname="no such database")
    with pytest.raises(ConfigError) as caught:
        async with Database.open(wrong):
            pass
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "postgresql://me:hunter2@host:5433/name?sslmode=require",
            "postgresql://me:***@host:5433/name?sslmode=require",
        ),
        ("postgresql://host/name?user=me&password=hunter2", "postgresql://host/name?user=me&password=***"),
        ("postgresql://me@host/name", "postgresql://me@host/name"),
        ("postgresql://postgres@/tree_builder?host=%2Ftmp%2Fx", "postgresql://postgres@/tree_builder?host=%2Ftmp%2Fx"),
        ("host=h password=hunter2", "password=*** host=h"),
    ],
)
def test_addresses_are_shown_without_password(url: str, shown: str) -> None:
    """What people read has `***` in its place; an address without one is shown as it is."""
    assert redact(url) == shown


def test_the_password_is_kept_off_the_command_line() -> None:
    """psql gets the address without the password, which goes another way."""
    address, password = split_password("postgresql+psycopg://me:p%40ss@host/name")
    assert password == "p@ss"
    assert "p@ss" not in address
    assert psycopg.conninfo.conninfo_to_dict(address)["host"] == "host"
