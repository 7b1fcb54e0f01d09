"""The reading side's own named queries: psql runs their file, and Python gets the same rows."""

from __future__ import annotations

import csv
import io
import subprocess
from importlib import resources

import psycopg

from tree_builder.query import SummaryTree
from tree_builder.store.embedded.binaries import find_binaries
from tree_builder.store.upkeep import index_vectors
from tree_builder.testing.planting import Planted


def by_psql(url: str, text: str) -> list[list[str]]:
    psql = find_binaries().program("psql")
    done = subprocess.run(
        [psql, "-X", "-q", "--csv", "-t", "-v", "ON_ERROR_STOP=1", "-d", url],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(csv.reader(io.StringIO(done.stdout)))


def test_psql_runs_the_file(database_url: str, planted: Planted) -> None:
    """`psql -f queries/context.sql` runs to its end without any value given, and finds rows."""
    text = (resources.files("tree_builder.queries") / "context.sql").read_text()
    assert len(by_psql(database_url, text)) > 50


def test_psql_and_python_see_the_same_children(database_url: str, planted: Planted) -> None:
    """The children of the root by the query's text in psql are those which SummaryTree gives."""
    text = (resources.files("tree_builder.queries") / "context.sql").read_text()
    head = text[: text.index("-- name:")]
    block = next(part for part in text.split("-- name: ") if part.startswith("child_nodes\n")).split("\n", 1)[1]
    with SummaryTree.open(database_url) as tree:
        children = tree.children(tree.summary().nodes[0])
    assert [row[0] for row in by_psql(database_url, head + block)] == [str(child.node_id) for child in children]


def test_a_large_walk_reads_by_index(database_url: str, planted: Planted) -> None:
    """Ancestors and children are looked up by index, however large the tree: no plan reads the whole of node."""
    from tree_builder.store.statements import load

    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("set enable_seqscan = off")  # the planted tree is too small for an index to pay
        row = connection.execute("select node_id from tree_builder.node where node_type = 'chunk' limit 1").fetchone()
        assert row is not None
        for name in ("nodes_above", "child_nodes", "nodes_by_id", "leaf_ids"):
            statement = load("context")[name]
            plan = connection.execute(("explain " + statement.sql).encode(), {"node_ids": [row[0]]}).fetchall()
            lines = "\n".join(line for (line,) in plan)
            assert "Seq Scan on node" not in lines, f"{name}:\n{lines}"


async def test_a_new_tree_has_statistics(database_url: str, planted: Planted) -> None:
    """Once a tree's vectors are indexed, the server knows how rare words are: text search weighs words by that."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("update tree_builder.vectors set indexed = false")
        row = connection.execute("select corpus_id, model_id from tree_builder.corpora").fetchone()
        assert row is not None
        await index_vectors(database_url, model_id=row[1], corpus_id=row[0], run_id=planted.run_id)
        query = "select count(*) from pg_stats where schemaname = 'tree_builder' and tablename = 'texts' and attname = 'words'"
        assert connection.execute(query).fetchone() == (1,)
