"""Earlier runs: the tree as it was, and what changed between two."""

import psycopg
import pytest
from sql_rows import column, rows

from tree_builder.testing.forest import REPORTS, plant

LATER = {
    **{path: passages for path, passages in REPORTS.items() if path not in ("a/beta.txt", "epsilon.txt")},
    "a/alpha.txt": ["apple orchards in autumn", *REPORTS["a/alpha.txt"][1:]],
    "moved/epsilon.txt": REPORTS["epsilon.txt"],
    "b/new.txt": ["lanterns at dusk"],
}


@pytest.fixture
def two_runs(reports):
    first = column(reports, "select published_run from tree_builder.corpora")[0]
    return reports, first, plant(reports, "reports", LATER)


def test_changes_name_what_came_went_moved_and_changed(two_runs):
    """Documents and directories alike; what stayed is not listed."""
    connection, first, second = two_runs
    found = rows(
        connection, "select change, node_type, path, old_path from tree_builder.changes(%s, %s)", first, second
    )
    assert set(found) == {
        ("changed", "directory", ".", "."),
        ("changed", "directory", "a", "a"),
        ("changed", "document", "a/alpha.txt", "a/alpha.txt"),
        ("removed", "document", "a/beta.txt", "a/beta.txt"),
        ("changed", "directory", "b", "b"),
        ("added", "document", "b/new.txt", None),
        ("added", "directory", "moved", None),
        ("moved", "document", "moved/epsilon.txt", "epsilon.txt"),
    }


def test_changes_carry_both_summaries(two_runs):
    """The summary before and the summary after; null where there was none."""
    connection, first, second = two_runs
    found = {
        path: texts
        for path, *texts in rows(
            connection, "select path, old_summary, new_summary from tree_builder.changes(%s, %s)", first, second
        )
    }
    assert found["b"] == ["iron ore and coal", "summary of iron, lanterns"]
    assert found["a/beta.txt"] == ["summary of dolphins, eels", None]
    assert found["b/new.txt"] == [None, "lanterns at dusk"]


def test_changes_backwards_are_the_reverse(two_runs):
    """Added becomes removed, and the other way round."""
    connection, first, second = two_runs
    back = dict(rows(connection, "select path, change from tree_builder.changes(%s, %s)", second, first))
    assert back["b/new.txt"] == "removed"
    assert back["a/beta.txt"] == "added"
    assert back["epsilon.txt"] == "moved"


def test_a_run_and_itself_do_not_differ(two_runs):
    """No rows."""
    connection, first, _ = two_runs
    assert rows(connection, "select * from tree_builder.changes(%s, %s)", first, first) == []


def test_nodes_at_is_the_tree_of_that_run(two_runs):
    """Passages of the earlier tree, all of them, with the parents they had."""
    connection, first, second = two_runs
    for run, documents in ((first, REPORTS), (second, LATER)):
        at = rows(connection, "select node_id, parent_id, node_type, content from tree_builder.nodes_at(%s)", run)
        assert sorted(n[3] for n in at if n[2] == "chunk") == sorted(p for d in documents.values() for p in d)
        ids = {n[0] for n in at}
        assert [n[2] for n in at if n[1] not in ids] == ["root"]


def test_runs_without_a_kept_tree_are_refused(two_runs):
    """An unknown run, a failed one, and runs of two corpora."""
    connection, first, second = two_runs
    other = plant(connection, "other", {"x.txt": ["one"]})
    connection.execute("update tree_builder.runs set state = 'failed' where run_id = %s", (first,))
    for run in (first, 99999, None):
        with pytest.raises(psycopg.errors.NoDataFound, match="no kept tree"):
            connection.execute("select * from tree_builder.changes(%s, %s)", (run, second))
        with pytest.raises(psycopg.errors.NoDataFound, match="no kept tree"):
            connection.execute("select * from tree_builder.nodes_at(%s)", (run,))
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="different corpora"):
        connection.execute("select * from tree_builder.changes(%s, %s)", (other, second))
