"""Summaries by path: the three views, and the function which takes any path."""

import psycopg
import pytest
from sql_rows import column, rows

from tree_builder.testing.forest import REPORTS, plant


def test_every_path_has_its_summary(reports):
    """Each document, each directory and the corpus folder answer with exactly one row of their own type."""
    paths = {
        "a/alpha.txt": "doc_top", "a/beta.txt": "doc_top", "a/deep/gamma.txt": "doc_top", "b/delta.txt": "doc_top",
        "epsilon.txt": "doc_top", "a": "dir_top", "a/deep": "dir_top", "b": "dir_top", ".": "root",
    }  # fmt: skip
    for path, node_type in paths.items():
        assert rows(reports, "select node_type, path from tree_builder.summary(%s)", path) == [(node_type, path)]


@pytest.mark.parametrize(
    ("written", "meant"), [("a/", "a"), ("./a/deep//", "a/deep"), ("", "."), ("./", "."), (None, ".")]
)
def test_paths_are_taken_as_people_write_them(reports, written, meant):
    """A slash at the end, `./` before, nothing at all: the same directory."""
    assert column(reports, "select path from tree_builder.summary(%s::text)", written) == [meant]


def test_unknown_path_gives_no_row(reports):
    """A path which is not in the tree, or whose file could not be read, gives nothing rather than an error."""
    for path in ("nowhere", "a/alpha", "broken.pdf", "a/alpha.txt/x"):
        assert rows(reports, "select * from tree_builder.summary(%s)", path) == []


def test_counts_are_of_all_below(reports):
    """A directory counts documents, chunks, pages and characters anywhere below it, and not its neighbours'."""
    found = {
        path: tuple(counts)
        for path, *counts in rows(
            reports, "select dir_path, n_documents, n_chunks, n_pages from tree_builder.directory_summaries"
        )
    }
    assert found == {".": (5, 11, 11), "a": (3, 8, 8), "a/deep": (1, 3, 3), "b": (1, 1, 1)}
    characters = column(reports, "select n_chars from tree_builder.corpus_summaries")
    assert characters == column(reports, "select sum(n_chars) from tree_builder.document_summaries")


def test_siblings_with_like_names_do_not_count(connection):
    """`a-b` and `ab` are not below `a`."""
    plant(connection, "c", {"a/x.txt": ["one"], "a-b/y.txt": ["two"], "ab/z.txt": ["three"], "a0.txt": ["four"]})
    assert column(connection, "select n_documents from tree_builder.directory_summaries where dir_path = 'a'") == [1]


def test_corpus_may_be_left_out_while_there_is_one(reports):
    """With a second corpus the name is asked for; an unknown name is an error which tells where to look."""
    plant(reports, "letters", {"x.txt": ["one", "two"]})
    with pytest.raises(psycopg.errors.AmbiguousParameter, match="several corpora"):
        reports.execute("select * from tree_builder.summary('.')")
    assert column(reports, "select corpus from tree_builder.summary('.', 'letters')") == ["letters"]
    with pytest.raises(psycopg.errors.NoDataFound, match="no corpus 'lettres'"):
        reports.execute("select * from tree_builder.summary('.', 'lettres')")


def test_stale_shows_above_too(reports):
    """A document older than its file is stale, and so is every directory above it, and no other."""
    reports.execute("update tree_builder.documents set stale = true where doc_path = 'a/deep/gamma.txt'")
    assert column(reports, "select doc_path from tree_builder.document_summaries where stale") == ["a/deep/gamma.txt"]
    stale = column(reports, "select dir_path from tree_builder.directory_summaries where stale order by dir_path")
    assert stale == [".", "a", "a/deep"]
    assert column(reports, "select stale from tree_builder.corpus_summaries") == [True]


def test_summary_tells_the_run_which_made_it(reports):
    """What a later run left as it was keeps its own run; what it changed tells the later one."""
    second = plant(reports, "reports", {**REPORTS, "b/delta.txt": ["iron ore and tin"]})
    made = dict(rows(reports, "select doc_path, run_id from tree_builder.document_summaries"))
    assert made["b/delta.txt"] == second
    assert made["a/alpha.txt"] < second
    assert column(reports, "select published_run from tree_builder.corpus_summaries") == [second]


def test_summaries_join(reports):
    """The functions stand in joins: one call for each row of a view."""
    joined = rows(
        reports,
        "select d.doc_path, s.path from tree_builder.document_summaries as d"
        " cross join lateral tree_builder.summary(d.dir_path, d.corpus) as s order by 1",
    )
    assert joined[0] == ("a/alpha.txt", "a")
    assert joined[-1] == ("epsilon.txt", ".")


def test_boundaries_are_rows(reports):
    """Each decision of the published tree is a row with its method, verdict and reason."""
    found = rows(
        reports,
        "select at, boundary, method, reason from tree_builder.boundaries where doc_path = 'a/alpha.txt' order by at",
    )
    assert found == [(1, False, "each", "about barley"), (2, False, "each", "about cider")]


def test_everything_is_explained(connection):
    """Every view, function and type of the schema has a comment."""
    silent = rows(
        connection,
        "select p.oid::regprocedure::text from pg_proc as p where p.pronamespace = 'tree_builder'::regnamespace"
        " and obj_description(p.oid, 'pg_proc') is null"
        " union all select c.oid::regclass::text from pg_class as c where c.relnamespace = 'tree_builder'::regnamespace"
        " and c.relkind in ('v', 'r') and obj_description(c.oid, 'pg_class') is null",
    )
    assert silent == []
