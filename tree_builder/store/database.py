"""The door to PostgreSQL: a pool of connections, rows as dataclasses, the driver's errors translated.

What the statements say lives in queries/ and in the store's other modules; how the schema comes to be, in `migrate`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import conninfo, sql
from psycopg.rows import class_row, dict_row, scalar_row
from psycopg_pool import AsyncConnectionPool

from tree_builder.errors import ConfigError, NotFound, SchemaOutOfDate
from tree_builder.store.address import parameters_of
from tree_builder.store.errors import is_transient, translated
from tree_builder.store.statements import Statement

if TYPE_CHECKING:
    from tree_builder.settings import Settings

__all__ = [
    "Connection",
    "Database",
    "connect",
    "execute",
    "fetch",
    "find",
    "get",
    "is_transient",
    "resolve_url",
]

Row = TypeVar("Row")
Connection = psycopg.AsyncConnection[Any]
Query = Statement | LiteralString | sql.SQL | sql.Composed

OLDEST_SERVER = 15
OLDEST_PGVECTOR = (0, 8, 0)
ADVISED_PGVECTOR = (0, 8, 4)  # 0.8.2 to 0.8.4 mended HNSW indexes which a vacuum could damage

log = logging.getLogger(__name__)


class Database:
    """A pool of autocommit connections to one migrated database. Made by `Database.open`.

    The search path of its connections is where pgvector lives and nothing else: every other name is to be qualified.
    """

    def __init__(self, pool: AsyncConnectionPool[Connection]) -> None:
        self._pool = pool

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, *, max_size: int = 8, application_name: str = "tree-builder"
    ) -> AsyncIterator[Database]:
        """Open a pool for the block and check server and pgvector.

        Raises:
            ConfigError: the address is wrong, the server or pgvector too old.
            StoreUnavailable: the server cannot be reached.
            SchemaOutOfDate: the database was never migrated.
        """
        # The pool would report a failed connection as a time-out only, so the first one is made without it.
        async with connect(url, application_name=application_name):
            pass
        parameters = parameters_of(url, application_name)
        pool = AsyncConnectionPool[Connection](
            conninfo.make_conninfo(**parameters),
            kwargs={"autocommit": True},
            min_size=0,
            max_size=max_size,
            timeout=30.0,
            configure=_configure,
            check=AsyncConnectionPool.check_connection,  # else every connection fails once after the server restarted
            open=False,
        )
        async with pool:
            yield cls(pool)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend an autocommit connection. Never hold it while a model answers (law 11)."""
        with translated():
            async with self._pool.connection() as connection:
                yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Lend a connection inside a transaction, committed at the end of the block, rolled back by an error."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def fetch(self, query: Query, row_class: type[Row], /, **parameters: Any) -> list[Row]:
        """Give all rows; see the function `fetch`."""
        async with self.connection() as connection:
            return await fetch(connection, query, row_class, **parameters)

    async def find(self, query: Query, row_class: type[Row], /, **parameters: Any) -> Row | None:
        """Give the row, or None."""
        async with self.connection() as connection:
            return await find(connection, query, row_class, **parameters)

    async def get(self, query: Query, row_class: type[Row], /, **parameters: Any) -> Row:
        """Give the row which must be there.

        Raises:
            NotFound: there is none.
        """
        async with self.connection() as connection:
            return await get(connection, query, row_class, **parameters)

    async def execute(self, query: Query, /, **parameters: Any) -> int:
        """Run a statement and give the number of rows it touched."""
        async with self.connection() as connection:
            return await execute(connection, query, **parameters)


async def fetch(connection: Connection, query: Query, row_class: type[Row], /, **parameters: Any) -> list[Row]:
    """Run a query on one connection and give its rows.

    row_class: a dataclass takes columns by name; `dict` gives dicts; any other type is that of a single column.
    """
    with translated():
        cursor = connection.cursor(row_factory=_row_factory(row_class))
        await _run(cursor, query, parameters)
        rows: list[Row] = await cursor.fetchall()
        return rows


async def find(connection: Connection, query: Query, row_class: type[Row], /, **parameters: Any) -> Row | None:
    """Run a query on one connection and give its only row, or None."""
    rows = await fetch(connection, query, row_class, **parameters)
    return rows[0] if rows else None


async def get(connection: Connection, query: Query, row_class: type[Row], /, **parameters: Any) -> Row:
    """Run a query on one connection and give its row.

    Raises:
        NotFound: there is none.
    """
    rows = await fetch(connection, query, row_class, **parameters)
    if not rows:
        name = query.name if isinstance(query, Statement) else "the query"
        raise NotFound(f"{name} found nothing for {parameters}", **parameters)
    return rows[0]


async def execute(connection: Connection, query: Query, /, **parameters: Any) -> int:
    """Run a statement on one connection and give the number of rows it touched."""
    with translated():
        cursor = connection.cursor()
        await _run(cursor, query, parameters)
        return cursor.rowcount


async def _run(cursor: psycopg.AsyncCursor[Any], query: Query, parameters: dict[str, Any]) -> None:
    if isinstance(query, Statement):
        query.check(parameters)
        await cursor.execute(query.sql.encode(), parameters)
    else:  # without parameters psycopg leaves percents alone, so that plain SQL can be given as it is
        await cursor.execute(query, parameters or None)


def _row_factory(row_class: type[Any]) -> Any:
    if row_class is dict:
        return dict_row
    return class_row(row_class) if is_dataclass(row_class) or hasattr(row_class, "_fields") else scalar_row


@asynccontextmanager
async def connect(url: str, *, application_name: str = "tree-builder", raw: bool = False) -> AsyncIterator[Connection]:
    """Open one autocommit connection for the block, outside any pool; for a lock or a migration.

    raw: no check of versions, no vector types; for a database which was not migrated yet.

    Raises:
        ConfigError, StoreUnavailable, SchemaOutOfDate: as `Database.open`.
    """
    parameters = parameters_of(url, application_name)
    with translated():
        connection: Connection = await psycopg.AsyncConnection.connect(
            conninfo.make_conninfo(**parameters), autocommit=True
        )
        try:
            if not raw:
                await check_server(connection)
                await _configure(connection)
            yield connection
        finally:
            await connection.close()


async def check_server(connection: Connection) -> None:
    """Refuse a server or a pgvector which is too old.

    Raises:
        ConfigError: either is older than the oldest which works.
        SchemaOutOfDate: pgvector is not installed in this database.
    """
    check_version(connection)
    cursor = await connection.execute("select extversion from pg_catalog.pg_extension where extname = 'vector'")
    row = await cursor.fetchone()
    if row is None:
        raise SchemaOutOfDate("this database was not set up yet: run `tree-builder build` or `tree-builder db migrate`")
    check_pgvector(row[0])


def check_version(connection: Connection) -> None:
    """Refuse a server below PostgreSQL 15.

    Raises:
        ConfigError: too old.
    """
    server = connection.info.server_version
    if server < OLDEST_SERVER * 10000:
        raise ConfigError(
            f"the server is PostgreSQL {server // 10000}; {OLDEST_SERVER} or later is needed", server_version=server
        )


def check_pgvector(version: str) -> None:
    """Refuse a pgvector below 0.8.0; warn below 0.8.4.

    Raises:
        ConfigError: too old.
    """
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:3])
    if numbers < OLDEST_PGVECTOR:
        raise ConfigError(
            f"pgvector is {version} in this database; 0.8.0 or later is needed (0.8.4 advised): "
            "install it on the server, then run `alter extension vector update`",
            pgvector=version,
        )
    if numbers < ADVISED_PGVECTOR:
        _warn(version)


@cache
def _warn(version: str) -> None:
    """Warn once a process: every connection is checked."""
    log.warning("pgvector %s: faults of its HNSW indexes were mended up to 0.8.4; an update is advised", version)


async def use_vector_schema(connection: Connection) -> None:
    """Make the search path the schema in which pgvector was installed, wherever that is."""
    await connection.execute(
        "select pg_catalog.set_config('search_path', pg_catalog.quote_ident(n.nspname), false)"
        " from pg_catalog.pg_extension as e inner join pg_catalog.pg_namespace as n on e.extnamespace = n.oid"
        " where e.extname = 'vector'"
    )


async def _configure(connection: Connection) -> None:
    await use_vector_schema(connection)
    await register_vector_async(connection)


@asynccontextmanager
async def resolve_url(settings: Settings) -> AsyncIterator[str]:
    """Give the address of the database in use; without one in the settings, run the embedded server for the block.

    Raises:
        ConfigError: the embedded server cannot run here; the message says what to do.
        StoreUnavailable: it did not start.
    """
    if settings.database_url:
        yield settings.database_url
        return
    from tree_builder.store.embedded.server import Server

    server = Server(settings.data_dir)
    url = await asyncio.to_thread(server.acquire)
    try:
        yield url
    finally:
        await asyncio.to_thread(server.release)
