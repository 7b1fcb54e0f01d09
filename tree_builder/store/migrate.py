"""The schema, made and kept: numbered migrations once each and in order, then what may be run again at any time.

`db/migrations/NNNN_name.sql` are run once, frozen by checksum when released. `db/functions/*.sql` (views, functions, roles)
are all run again, in the order of their names, whenever one of them changed. What was run is in `tree_builder.migrations`.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources

import psycopg

from tree_builder.errors import ConfigError, MigrationEdited, SchemaOutOfDate, StoreError, StoreUnavailable
from tree_builder.store.database import Connection, check_pgvector, check_version, connect, fetch, use_vector_schema
from tree_builder.store.errors import translate, translated

FUNCTIONS = 0  # the number under which the re-runnable files' joint checksum is kept
IN_THE_WAY = ("40P01", "55P03")  # a deadlock; a lock which was not to be had in time
ATTEMPTS = 20
PATIENCE_MS = 500
"""Less than the second after which the server looks for deadlocks, and may end a reader to solve one."""
LOCK_KEY = 0x7472_6565_6462  # any number will do; all versions must agree on it
LOCK_TIMEOUT_S = 600.0
_FILE = re.compile(r"(\d{4})_(\w+)\.sql")

_TABLE = """
create table if not exists tree_builder.migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp()
);
comment on table tree_builder.migrations is
'Which migrations were applied, with the sha256 of their files; number 0 stands for the files in db/functions.'
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file, or (number 0) all re-runnable ones together."""

    number: int
    name: str
    sql: bytes

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql).hexdigest()


@dataclass(frozen=True, slots=True)
class _Applied:
    number: int
    name: str
    checksum: str


@cache
def shipped() -> tuple[Migration, ...]:
    """Read the migrations which come with the program, in order, the re-runnable files last.

    Raises:
        StoreError: a file is not named NNNN_name.sql, or a number is missing or used twice.
    """
    folder = resources.files("tree_builder.db")
    files = {file.name: file.read_bytes() for file in (folder / "migrations").iterdir() if file.name.endswith(".sql")}
    numbered = []
    for number, name in enumerate(sorted(files), start=1):
        match = _FILE.fullmatch(name)
        if match is None or int(match[1]) != number:
            raise StoreError(f"db/migrations/{name}: expected {number:04d}_name.sql, numbers without gaps", name=name)
        numbered.append(Migration(number, name.removesuffix(".sql"), files[name]))
    again = sorted(
        (file.name, file.read_bytes()) for file in (folder / "functions").iterdir() if file.name.endswith(".sql")
    )
    return (*numbered, Migration(FUNCTIONS, "functions", b"\n".join(content for _, content in again)))


async def migrate(url: str) -> list[str]:
    """Bring the database's schema up to this program's, and give the names of what was applied; none when it was up to date.

    Cheap when there is nothing to do: one connection, one query, no lock. Each migration is one transaction, so that an
    error leaves all before it applied and none of itself.

    Raises:
        ConfigError: server or pgvector are too old, pgvector is missing, or the role may not do this.
        SchemaOutOfDate: the database is newer than the program.
        MigrationEdited: an applied migration differs from the shipped file.
        StoreUnavailable: the database cannot be reached, or another process has been migrating for ten minutes.
    """
    async with connect(url, raw=True) as connection:
        check_version(connection)
        if not _pending(await _applied(connection)):
            return []
        async with _alone(connection):
            return [migration.name for migration in await _apply_pending(connection)]


async def pending(url: str) -> list[str]:
    """Name what `migrate` would apply; errors as there. Writes nothing."""
    async with connect(url, raw=True) as connection:
        check_version(connection)
        return [migration.name for migration in _pending(await _applied(connection))]


async def _apply_pending(connection: Connection) -> Sequence[Migration]:
    await _prepare(connection)
    todo = _pending(await _applied(connection))
    await use_vector_schema(connection)
    for migration in todo:
        await _apply_one(connection, migration)
    return todo


async def _apply_one(connection: Connection, migration: Migration) -> None:
    """Apply one in a transaction of its own; again where readers of what it replaces were in the way, who are let pass."""
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            with translated():
                async with connection.transaction():
                    patience = PATIENCE_MS if attempts_left else 0  # at last for as long as it takes
                    await connection.execute("select set_config('lock_timeout', %s, true)", (str(patience),))
                    await connection.execute(migration.sql)
                    await connection.execute(
                        "insert into tree_builder.migrations (number, name, checksum) values (%s, %s, %s)"
                        " on conflict (number) do update set checksum = excluded.checksum, applied_at = clock_timestamp()",
                        (migration.number, migration.name, migration.checksum),
                    )
            return
        except StoreUnavailable as error:
            if not attempts_left or error.facts.get("sqlstate") not in IN_THE_WAY:
                raise
            await asyncio.sleep(PATIENCE_MS / 1000)


def _pending(applied: Sequence[_Applied]) -> list[Migration]:
    """Compare what was applied with what is shipped."""
    known = {migration.number: migration for migration in shipped()}
    done = {row.number: row for row in applied}
    newer = [row.name for row in applied if row.number not in known]
    if newer:
        raise SchemaOutOfDate(
            f"the database is newer than this program (it has {', '.join(newer)}): update tree-builder", newer=newer
        )
    for number, row in done.items():
        if number != FUNCTIONS and row.checksum != known[number].checksum:
            raise MigrationEdited(
                f"migration {number:04d} ({row.name}) was applied from another file than the one shipped now: install the "
                "version of tree-builder which made this database, or build again in an empty database",
                number=number,
            )
    return [m for m in known.values() if m.number not in done or m.checksum != done[m.number].checksum]


async def _applied(connection: Connection) -> list[_Applied]:
    exists = await fetch(connection, "select to_regclass('tree_builder.migrations') is not null", bool)
    if not exists[0]:
        return []
    return await fetch(
        connection, "select number, name, checksum from tree_builder.migrations order by number", _Applied
    )


async def _prepare(connection: Connection) -> None:
    """Make what the first migration stands on: the schema, pgvector, the table of migrations."""
    # `create schema if not exists` asks for the right to create even where the schema is there already.
    if not (await fetch(connection, "select to_regnamespace('tree_builder') is not null", bool))[0]:
        await _execute(connection, "create schema if not exists tree_builder", "may not create the schema tree_builder")
    installed = await fetch(connection, "select extversion from pg_catalog.pg_extension where extname = 'vector'", str)
    if not installed:
        available = await fetch(
            connection, "select default_version from pg_catalog.pg_available_extensions where name = 'vector'", str
        )
        if not available:
            raise ConfigError(
                "the server has no pgvector: install it there (for instance the package postgresql-NN-pgvector, or the "
                "image pgvector/pgvector), then try again"
            )
        check_pgvector(available[0])
        await _execute(connection, "create extension if not exists vector", "may not create the extension vector")
    else:
        check_pgvector(installed[0])
    with translated():
        await connection.execute(_TABLE)


async def _execute(connection: Connection, statement: str, trouble: str) -> None:
    try:
        await connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise ConfigError(
            f"this role {trouble}: let the owner of the database run `{statement}` once, then try again"
        ) from error
    except psycopg.Error as error:
        raise translate(error) from error


@asynccontextmanager
async def _alone(connection: Connection) -> AsyncIterator[None]:
    """Hold the migrations' lock. Polled: a blocking wait holds a snapshot, for which `create index concurrently` waits."""
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while not (await fetch(connection, "select pg_try_advisory_lock(%(key)s)", bool, key=LOCK_KEY))[0]:
        if time.monotonic() > deadline:
            raise StoreUnavailable(f"another process has been migrating this database for {LOCK_TIMEOUT_S:.0f} s")
        await asyncio.sleep(0.1)
    try:
        yield
    finally:
        if not connection.closed and not connection.broken:
            await connection.execute("select pg_advisory_unlock(%s)", (LOCK_KEY,))
