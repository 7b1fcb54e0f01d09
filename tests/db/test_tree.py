"""Walking: up, down, to the passages, and the outline."""

import uuid

import pytest
from sql_rows import column, rows

from tree_builder.testing.forest import REPORTS


def top(connection, path):
    return column(connection, "select tree_builder.top(%s)", path)[0]


def test_leaves_are_the_text_in_order(reports):
    """The leaves of a document are its passages in order, and those of the root the passages of all documents."""
    assert (
        column(reports, "select content from tree_builder.leaves(%s)", top(reports, "a/alpha.txt"))
        == REPORTS["a/alpha.txt"]
    )
    everything = column(reports, "select content from tree_builder.leaves(%s)", top(reports, "."))
    assert everything == [passage for path in sorted(REPORTS) for passage in REPORTS[path]]


def test_children_and_parents_are_inverse(reports):
    """Each child names the node as its nearest parent, for every node of the tree."""
    for node in column(reports, "select node_id from tree_builder.nodes"):
        for child in column(reports, "select node_id from tree_builder.children(%s)", node):
            assert column(reports, "select node_id from tree_builder.parents(%s) where depth = 1", child) == [node]


def test_parents_lead_to_the_root(reports):
    """From a passage: its document, each directory, the root, the nearest first."""
    leaf = column(reports, "select node_id from tree_builder.nodes where content = 'geese over the marsh'")[0]
    way = rows(reports, "select depth, node_type, coalesce(doc_path, dir_path) from tree_builder.parents(%s)", leaf)
    assert way == [(1, "doc_top", "a/deep/gamma.txt"), (2, "dir_top", "a/deep"), (3, "dir_top", "a"), (4, "root", ".")]
    assert rows(reports, "select * from tree_builder.parents(%s)", top(reports, ".")) == []


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4, None])
def test_subtree_to_a_depth(reports, depth):
    """A subtree holds what is so many steps away, whichever way it is read, each node before what it covers."""
    found = rows(
        reports, "select node_id, parent_id, depth from tree_builder.subtree(%s, %s)", top(reports, "."), depth
    )
    every = rows(
        reports,
        "with recursive t as (select node_id, 0 as d from tree_builder.nodes where parent_id is null union all"
        " select n.node_id, d + 1 from t inner join tree_builder.nodes as n on n.parent_id = t.node_id)"
        " select node_id, d from t",
    )
    assert {(f[0], f[2]) for f in found} == {e for e in every if depth is None or e[1] <= depth}
    seen = {None}
    for node_id, parent_id, _ in found:
        assert parent_id in seen
        seen.add(node_id)


def test_subtree_within_a_document(reports):
    """A subtree which starts inside a document stays inside it."""
    below = column(reports, "select distinct doc_path from tree_builder.subtree(%s)", top(reports, "a/beta.txt"))
    assert below == ["a/beta.txt"]


def test_unknown_node_gives_no_rows(reports):
    """A node which is not published has no children, no parents, no subtree."""
    for function in ("children", "parents", "leaves", "subtree", "similar"):
        assert rows(reports, f"select * from tree_builder.{function}(%s)", uuid.uuid4()) == []
        assert rows(reports, f"select * from tree_builder.{function}(null)") == []


def test_outline_tells_pages_and_children(reports):
    """One line a node, indented by depth, with the path of a top and the first words of a passage."""
    lines = rows(reports, "select depth, heading, page_start, n_children from tree_builder.outline('a/beta.txt', 1)")
    assert lines == [(0, "a/beta.txt", 1, 2), (1, "dolphins near the harbour", 1, 0), (1, "eels in the estuary", 2, 0)]
    headings = column(reports, "select heading from tree_builder.outline('.', 1)")
    assert headings == [".", "a", "b", "epsilon.txt"]


def test_walks_join(reports):
    """A walk stands in a lateral join: the passages of each document, counted."""
    counted = rows(
        reports,
        "select d.doc_path, count(*) from tree_builder.document_summaries as d"
        " cross join lateral tree_builder.leaves(d.node_id) as l group by 1 order by 1",
    )
    assert counted == [(path, len(REPORTS[path])) for path in sorted(REPORTS) if REPORTS[path]]
