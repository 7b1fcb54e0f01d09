"""`tree-builder db url|migrate|psql`, run as the program runs them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from embedded_support import await_stop, until

from tree_builder.cli import main

Run = Callable[..., tuple[int, str, str]]
SECRET = "postgresql://me:hunter2@db.example.org:5433/papers"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the program; gives exit code, standard output and standard error, of programs which it starts as well."""

    def call(*argv: str) -> tuple[int, str, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["db", *argv])
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    return call


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[str]:
    """A data folder for the embedded server; what still holds it after the test is ended."""
    yield str(tmp_path / "data")
    for process in holders(tmp_path):
        process.kill()
    await_stop(tmp_path / "data")


def holders(folder: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if "tree_builder.store.embedded.holder" in (process.info["cmdline"] or [])
        and str(folder / "data") in process.info["cmdline"]
    ]


def test_url_of_ones_own_server(run: Run) -> None:
    """The address is printed as it was given, its password only when asked for."""
    assert run("url", "--database", "postgresql://db/x") == (0, "postgresql://db/x\n", "")
    assert run("url", "--database", SECRET)[1] == SECRET.replace("hunter2", "***") + "\n"
    assert run("url", "--database", SECRET, "--show-password")[1] == SECRET + "\n"
    assert json.loads(run("url", "--database", "postgresql://db/x", "--json")[1]) == {
        "url": "postgresql://db/x",
        "embedded": False,
    }


def test_url_of_the_embedded_server_answers(run: Run, data_dir: str) -> None:
    """The printed address can be used after the command has ended; the server stops when the time is over."""
    code, out, err = run("url", "--data-dir", data_dir)
    assert (code, "10 minutes" in err) == (0, True)
    with psycopg.connect(out.strip()) as connection:
        assert connection.execute("select current_database()").fetchone() == ("tree_builder",)
    (holder,) = holders(Path(data_dir).parent)
    holder.terminate()
    await_stop(Path(data_dir))


def test_a_printed_address_lives_while_somebody_is_connected(run: Run, data_dir: str) -> None:
    """The time being over, whoever holds the server for it waits for those who are connected."""
    address = run("url", "--data-dir", data_dir, "--minutes", "0.01")[1].strip()
    with psycopg.connect(address) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
        assert holders(Path(data_dir).parent)
    until(lambda: not holders(Path(data_dir).parent), "the holder ends")


def test_migrate_says_what_it_applied(run: Run, empty_database_url: str) -> None:
    """The first call lists the files, the second has nothing to do."""
    assert "0001_foundation" in json.loads(run("migrate", "--database", empty_database_url, "--json")[1])["applied"]
    assert run("migrate", "--database", empty_database_url) == (0, "up to date\n", "")


def test_psql_runs_in_the_database(run: Run, database_url: str) -> None:
    """psql's output and exit code are passed on; with --json they become one document."""
    query = ("psql", "--database", database_url, "--", "-X", "-A", "-t", "-c")
    assert run(*query, "select count(*) from tree_builder.nodes") == (0, "0\n", "")
    code, out, err = run(*query, "select nonsense")
    assert (code, out) == (1, "")
    assert "nonsense" in err
    answer = run("psql", "--json", "--database", database_url, "--", "-X", "-A", "-t", "-c", "select 7")
    assert json.loads(answer[1]) == {"exit_code": 0, "output": "7\n"}


def test_psql_does_not_show_the_password(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password is in the environment of psql and not among its arguments, which all may read."""
    stand_in = tmp_path / "psql"
    stand_in.write_text('#!/bin/sh\necho "arguments $*"\necho "password $PGPASSWORD"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    arguments, password = run("psql", "--database", SECRET)[1].splitlines()
    assert "hunter2" not in arguments
    assert "host=db.example.org" in arguments
    assert password == "password hunter2"


def test_a_wrong_address_ends_with_code_4(run: Run) -> None:
    """An address which cannot be understood is wrong use, told without its password."""
    code, out, err = run("migrate", "--database", "postgresql://me:hunter2@[broken")
    assert (code, out) == (4, "")
    assert "hunter2" not in err
