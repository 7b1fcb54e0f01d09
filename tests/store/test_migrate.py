"""Migrations: once each, in order, under a lock, frozen; newer databases and edited files refused."""

from __future__ import annotations

import asyncio
import hashlib
from importlib import resources
from pathlib import Path

import psycopg
import pytest

from tree_builder.errors import ConfigError, MigrationEdited, SchemaOutOfDate, StoreError
from tree_builder.store import database
from tree_builder.store import migrate as module
from tree_builder.store.database import check_pgvector
from tree_builder.store.migrate import FUNCTIONS, Migration, migrate, pending, shipped

MIGRATIONS = Path(str(resources.files("tree_builder.db"))) / "migrations"


def ship(monkeypatch: pytest.MonkeyPatch, *migrations: Migration) -> None:
    """Let the program come with these migrations instead of its own."""
    monkeypatch.setattr(module, "shipped", lambda: migrations)


def rows(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def test_released_files_are_frozen() -> None:
    """Each migration has the checksum written beside it: add a migration, never edit one which was released."""
    lines = (MIGRATIONS / "checksums.sha256").read_text().splitlines()
    written = {name: checksum for checksum, name in (line.split() for line in lines)}
    actual = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(MIGRATIONS.glob("*.sql"))}
    assert actual == written, "run `make checksums` after adding a migration"


async def test_an_empty_database_gets_all_and_then_nothing(empty_database_url: str) -> None:
    """The first run applies every file in order, the second none."""
    names = [migration.name for migration in shipped()]
    assert await pending(empty_database_url) == names
    assert await migrate(empty_database_url) == names
    assert await migrate(empty_database_url) == []
    assert await pending(empty_database_url) == []


async def test_processes_which_migrate_at_once_apply_each_file_once(empty_database_url: str) -> None:
    """Four at once on an empty database: one applies, the others find it done."""
    results = await asyncio.gather(*(migrate(empty_database_url) for _ in range(4)))
    assert sorted(map(len, results)) == [0, 0, 0, len(shipped())]
    numbers = rows(empty_database_url, "select number from tree_builder.migrations order by number")
    assert numbers == [(n,) for n in sorted(m.number for m in shipped())]


async def test_a_broken_migration_leaves_nothing_of_itself(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error rolls its own file back and keeps the ones before; mended, it is applied."""
    good = Migration(1, "0001_good", b"create table tree_builder.one (n integer)")
    broken = Migration(2, "0002_broken", b"create table tree_builder.two (n integer); select 1 / 0")
    ship(monkeypatch, good, broken)
    with pytest.raises(StoreError, match="division by zero"):
        await migrate(empty_database_url)
    tables = "select tablename from pg_tables where schemaname = 'tree_builder' order by 1"
    assert rows(empty_database_url, tables) == [("migrations",), ("one",)]
    ship(monkeypatch, good, Migration(2, "0002_broken", b"create table tree_builder.two (n integer)"))
    assert await migrate(empty_database_url) == ["0002_broken"]


async def test_an_edited_migration_is_refused(empty_database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An applied file whose content changed since is told by number, and nothing is run."""
    ship(monkeypatch, Migration(1, "0001_a", b"create table tree_builder.a (n integer)"))
    await migrate(empty_database_url)
    ship(
        monkeypatch,
        Migration(1, "0001_a", b"create table tree_builder.b (n integer)"),
        Migration(2, "0002_c", b"create table tree_builder.c (n integer)"),
    )
    with pytest.raises(MigrationEdited, match="0001") as caught:
        await migrate(empty_database_url)
    assert caught.value.number == 1
    assert rows(empty_database_url, "select to_regclass('tree_builder.c')") == [(None,)]


async def test_a_newer_database_is_refused(database_url: str) -> None:
    """A database with a migration which the program does not know is left alone."""
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "insert into tree_builder.migrations (number, name, checksum) values (999, '0999_later', 'x')"
        )
    with pytest.raises(SchemaOutOfDate, match=r"0999_later.*update tree-builder"):
        await migrate(database_url)


async def test_functions_are_run_again_when_they_change(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The re-runnable files are applied whenever their bytes differ from those applied last."""

    def with_answer(n: int) -> Migration:
        text = f"create or replace function tree_builder.answer() returns integer language sql as 'select {n}'"
        return Migration(FUNCTIONS, "functions", text.encode())

    for n, applied in ((1, ["functions"]), (1, []), (2, ["functions"])):
        ship(monkeypatch, with_answer(n))
        assert await migrate(empty_database_url) == applied
        assert rows(empty_database_url, "select tree_builder.answer()") == [(n,)]


async def test_pgvector_may_live_in_any_schema(empty_database_url: str) -> None:
    """Where the extension was installed into a schema of its own, migrations and functions find it."""
    with psycopg.connect(empty_database_url) as connection:
        connection.execute('create schema "my extensions"')
        connection.execute('create extension vector schema "my extensions"')
    assert await migrate(empty_database_url)


async def test_an_owner_without_rights_on_the_server_can_migrate(empty_database_url: str) -> None:
    """A role which owns the database, no superuser, migrates it once the extension is there."""
    name = psycopg.conninfo.conninfo_to_dict(empty_database_url)["dbname"]
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("create extension vector")
        connection.execute("drop role if exists tree_builder_test_owner")
        connection.execute("create role tree_builder_test_owner login password 'secret'")
        connection.execute(f'alter database "{name}" owner to tree_builder_test_owner')
    url = _as(empty_database_url, "tree_builder_test_owner", "secret")
    try:
        assert await migrate(url)
        assert await migrate(url) == []
    finally:
        with psycopg.connect(empty_database_url, autocommit=True) as connection:
            connection.execute(f'alter database "{name}" owner to current_user')
            connection.execute("drop owned by tree_builder_test_owner cascade")
            connection.execute("drop role tree_builder_test_owner")


async def test_a_role_which_may_not_is_told_what_its_owner_can_do(empty_database_url: str) -> None:
    """A role without rights gets the statement which someone else must run, not the server's words alone."""
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("drop role if exists tree_builder_test_guest")
        connection.execute("create role tree_builder_test_guest login password 'secret'")
    try:
        with pytest.raises(ConfigError, match="create schema if not exists tree_builder"):
            await migrate(_as(empty_database_url, "tree_builder_test_guest", "secret"))
    finally:
        with psycopg.connect(empty_database_url, autocommit=True) as connection:
            connection.execute("drop role tree_builder_test_guest")


@pytest.mark.parametrize("version", ["0.7.4", "0.5.1", "0.4"])
def test_an_old_pgvector_is_refused(version: str) -> None:
    """Below 0.8.0 there is no iterative scan; the message says what to run."""
    with pytest.raises(ConfigError, match="alter extension vector update"):
        check_pgvector(version)


@pytest.mark.parametrize(("version", "warned"), [("0.8.0", True), ("0.8.3", True), ("0.8.4", False), ("0.10.0", False)])
def test_a_pgvector_with_known_faults_is_warned_about(
    version: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """0.8.0 to 0.8.3 work, with a warning, once a process."""
    database._warn.cache_clear()
    check_pgvector(version)
    check_pgvector(version)
    assert caplog.text.count("an update is advised") == warned


def test_misnamed_and_missing_numbers_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files are numbered without gaps, so that two branches cannot add the same number unseen."""
    (tmp_path / "migrations").mkdir()
    (tmp_path / "functions").mkdir()
    (tmp_path / "migrations" / "0001_a.sql").write_text("select 1")
    (tmp_path / "migrations" / "0003_b.sql").write_text("select 1")
    monkeypatch.setattr(module.resources, "files", lambda _: tmp_path)
    with pytest.raises(StoreError, match="0003_b"):
        shipped.__wrapped__()


def _as(url: str, user: str, password: str) -> str:
    return psycopg.conninfo.make_conninfo(url, user=user, password=password)
