"""The named queries: each is prepared against the real schema, and psql and Python get the same rows from the same file."""

import csv
import io
import json
import subprocess
from pathlib import Path

import psycopg
import pytest

from tree_builder.store import statements
from tree_builder.store.embedded.binaries import find_binaries
from tree_builder.testing.forest import REPORTS, plant, vector

QUERIES = Path(statements.__file__).parents[2] / "queries"
FOR_PEOPLE = ("nodes", "search", "corpora", "changes")

VALUES = {
    "path": "a/alpha.txt", "corpus": "reports", "depth": "3", "words": "apple river", "vector": json.dumps(vector("eels")),
    "k": "5", "skip": "1", "directory": "a", "document": "", "node_types": "{chunk,doc_top}", "min_level": "0", "max_level": "9",
    "first_page": "1", "last_page": "9", "since": "2020-01-01 00:00:00+00", "before": "", "min_score": "-100", "fusion": "ranks",
    "model": "", "status": "built",
}  # fmt: skip


@pytest.fixture
def planted(database_url):
    """Two runs of a corpus; gives the address and a value for every parameter."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        first = plant(connection, "reports", REPORTS)
        second = plant(connection, "reports", {**REPORTS, "b/delta.txt": ["iron ore and 'quoted' tin", "back\\slash"]})
        row = connection.execute("select tree_builder.top('a/alpha.txt')").fetchone()
    return database_url, {**VALUES, "node": str(row[0]), "from_run": str(first), "to_run": str(second)}


def names():
    return [(subject, name) for subject in FOR_PEOPLE for name in statements.load(subject)]


def file_parts(subject):
    """The head of a query file, and its statements by name, as they stand there."""
    head, *blocks = (QUERIES / f"{subject}.sql").read_text().split("-- name: ")
    return head, {block.split("\n", 1)[0].strip(): block.split("\n", 1)[1] for block in blocks}


def by_psql(url, text, values):
    """Run a text in psql and give its rows as text, null as None."""
    given = [argument for name, value in values.items() for argument in ("-v", f"{name}={value}")]
    psql = find_binaries().program("psql")
    done = subprocess.run(
        [psql, "-X", "-q", "--csv", "-P", "null=(null)", "-v", "ON_ERROR_STOP=1", *given, "-d", url],
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [[None if cell == "(null)" else cell for cell in row] for row in csv.reader(io.StringIO(done.stdout))][1:]


def by_python(url, statement, values):
    """Run a statement as the program does, and give its rows as the server writes them."""
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        parameters = {name: values[name] for name in statement.parameters}
        cursor.execute(statement.sql.encode(), parameters)
        found = [
            [cursor.pgresult.get_value(r, c) for c in range(cursor.pgresult.nfields)]
            for r in range(cursor.pgresult.ntuples)
        ]
    return [[None if cell is None else cell.decode() for cell in row] for row in found]


@pytest.mark.parametrize("subject", statements.subjects())
def test_every_query_can_be_prepared(planted, subject):
    """Names, types and parameters of every named query fit the schema."""
    url, _ = planted
    with psycopg.connect(url) as connection:
        for name, statement in statements.load(subject).items():
            numbered = statement.sql
            if "staged_" in numbered or statement.sql.lower().startswith(("set ", "create ", "truncate ")):
                continue  # about temporary tables which the statement before makes
            for place, parameter in enumerate(sorted(statement.parameters), start=1):
                numbered = numbered.replace(f"%({parameter})s", f"${place}")
            with connection.transaction(force_rollback=True):
                connection.execute(f"prepare {name} as {numbered.replace('%%', '%')}".encode())


def test_psql_and_python_get_the_same_rows(planted):
    """Each query for people, by psql from its file and by Python: the same rows in the same order."""
    url, given = planted
    empty = []
    for subject in FOR_PEOPLE:
        _, blocks = file_parts(subject)
        for name, statement in statements.load(subject).items():
            values = given | ({"path": "a"} if name == "fetch_directories" else {})
            found = by_python(url, statement, values)
            assert by_psql(url, blocks[name], values) == found, name
            if not found:
                empty.append(name)
    assert empty == []


@pytest.mark.parametrize("subject", FOR_PEOPLE)
def test_the_whole_file_runs_without_any_value(planted, subject):
    """`psql -f` of a file alone: what is not given has a default."""
    url, _ = planted
    assert by_psql(url, (QUERIES / f"{subject}.sql").read_text(), {}) != []


def test_numbers_and_nulls_from_python(planted):
    """Python may give numbers as numbers and None for what is not wanted."""
    url, _ = planted
    statement = statements.load("search")["search"]
    plain = dict.fromkeys(statement.parameters) | {"words": "apple river", "k": 3, "skip": 0, "min_score": -1.5, "fusion": "scores",
                                                   "node_types": ["chunk"], "max_level": 0}  # fmt: skip
    with psycopg.connect(url, autocommit=True) as connection:
        assert len(connection.execute(statement.sql.encode(), plain).fetchall()) == 2


def test_names_are_used_once():
    """No two queries of all subjects have one name, so that a name says which query is meant."""
    every = [name for subject in (*FOR_PEOPLE,) for name in statements.load(subject)]
    assert len(every) == len(set(every))
