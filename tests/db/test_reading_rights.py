"""Who may read: the role tree_reader, and row security by path."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql
from sql_rows import column, rows

from tree_builder.testing.forest import REPORTS, plant, vector

# Words of what alice may not see: outside a/deep, and summaries which cover more than that.
SECRETS = ("apple", "barley", "cider", "dolphins", "eels", "iron", "jade", "kilns", "secret", "alpha", "beta", "delta", "epsilon",
           "broken", "machine-7", "lanterns")  # fmt: skip
READABLE = {"a/deep/gamma.txt", "a/deep"}


@contextmanager
def role(connection, *grants: str) -> Iterator[str]:
    """A role of its own for the block, a member of tree_reader."""
    name = f"reader_{os.getpid()}_{os.urandom(4).hex()}"
    connection.execute(sql.SQL("create role {} in role tree_reader").format(sql.Identifier(name)))
    try:
        for path in grants:
            connection.execute("select tree_builder.grant_path(%s, %s, 'reports')", (name, path))
        yield name
    finally:
        connection.execute("reset role")
        connection.execute(sql.SQL("drop owned by {0}; drop role {0}").format(sql.Identifier(name)))


@contextmanager
def acting(connection, name: str) -> Iterator[None]:
    connection.execute(sql.SQL("set role {}").format(sql.Identifier(name)))
    try:
        yield
    finally:
        connection.execute("reset role")


@pytest.fixture
def secured(reports):
    """Two corpora, two runs, row security; alice may read a/deep of one."""
    first = column(reports, "select published_run from tree_builder.corpora")[0]
    later = {
        **REPORTS,
        "b/new.txt": ["lanterns at dusk"],
        "a/deep/gamma.txt": ["falcons at noon", "geese over the marsh"],
    }
    second = plant(reports, "reports", later)
    plant(reports, "secret", {"secret/x.txt": ["secret falcons above the cliffs", "secret geese"]})
    for statement in column(
        reports, "select tree_builder.vector_index_statement(model_id) from tree_builder.embedding_models"
    ):
        reports.execute(statement)
    reports.execute("analyze")
    reports.execute("select tree_builder.enable_row_security()")
    with role(reports, "a/deep") as alice:
        yield reports, alice, first, second


def readable_functions(connection):
    """Every set-returning function and view of the schema, as statements which give all that they can."""
    query = f"'{json.dumps(vector('apple barley cider'))}'::vector"
    nodes = "(select array_agg(node_id) from everything)"
    each = "from unnest(" + nodes + ") as n (id) cross join lateral tree_builder.{0}(n.id) as f"
    yield from (
        f"select f.* {each.format(name)}"
        for name in ("children", "parents", "leaves", "subtree", "similar", "nodes_below")
    )
    yield (
        "select * from unnest(array['.', 'a', 'a/deep', 'b', 'a/alpha.txt', 'a/deep/gamma.txt', 'epsilon.txt']) as p (path)"
        " cross join lateral tree_builder.summary(p.path, 'reports') as f"
    )
    yield (
        "select f.* from unnest(array['.', 'a', 'a/deep', 'a/alpha.txt', 'epsilon.txt']) as p (path)"
        " cross join lateral tree_builder.outline(p.path, 9, 'reports') as f"
    )
    words = "'apple falcons barley iron jade eels lanterns secret summary'"
    for filters in (
        "",
        ", corpus => 'reports'",
        ", directory => 'a'",
        ", node_types => '{chunk}'",
        ", node_types => '{root,dir_top}'",
    ):
        yield f"select f.*, tree_builder.headline(f.content, {words}, f.language) from tree_builder.search({words}, {query}, 50{filters}) as f"
        yield f"select f.* from tree_builder.search({words}, {query}, 50, fusion => 'ranks'{filters}) as f"
        yield f"select f.* from tree_builder.search_text({words}, 50{filters}) as f"
        yield f"select f.* from tree_builder.search_vector({query}, 50{filters}) as f"
    yield "select * from tree_builder.changes({first}, {second})"
    yield "select * from tree_builder.nodes_at({first})"
    yield "select * from tree_builder.nodes_at({second})"
    yield "select * from tree_builder.tops_at({first})"
    yield f"select t.content from tree_builder.texts as t where t.text_id = any(tree_builder.readable_texts({words}, 10, 1000))"
    yield f"select tree_builder.readable_texts({words}, 10, 1000)"
    yield "select * from tree_builder.vector_hits(" + query + ", 100, '(1,,,,,,,,,,)', 16)"
    for relation in column(
        connection,
        "select c.oid::regclass::text from pg_class as c where c.relnamespace = 'tree_builder'::regnamespace and c.relkind in ('v', 'r')",
    ):
        yield f"select * from {relation}"


def test_nothing_leaks(secured):
    """No view, table or function shows a word, a path or an id of what the reader may not see."""
    connection, alice, first, second = secured
    connection.execute(
        "create table public.everything as select node_id, text_id, coalesce(doc_path, dir_path) as path,"
        " corpus_id from tree_builder.node"
    )
    connection.execute("grant select on public.everything to tree_reader")
    # A readable node tells the id of its parent, a hash which says nothing about the parent's text.
    hidden = {
        str(i)
        for i in column(
            connection,
            "select e.node_id from public.everything as e inner join tree_builder.corpora as c using (corpus_id)"
            " where (c.corpus <> 'reports' or e.path not like 'a/deep%') and not exists ("
            " select 1 from tree_builder.node as n where n.parent_id = e.node_id and n.dir_path = 'a/deep')",
        )
    }
    statements = list(readable_functions(connection))
    shown = 0
    with acting(connection, alice):
        for statement in statements:
            filled = (
                statement.replace("everything", "public.everything")
                .replace("{first}", str(first))
                .replace("{second}", str(second))
            )
            try:
                found = rows(connection, filled)
            except psycopg.errors.InsufficientPrivilege:
                continue
            if "public.everything" not in filled:
                shown += len(found)
            text = "\n".join(str(row) for row in found).lower()
            assert [word for word in SECRETS if word in text.replace("'barley", "")] == [], filled
            assert [i for i in hidden if i in text] == [], filled
    assert shown > 100


def test_what_is_granted_is_seen_whole(secured):
    """The reader sees every node at or below its path, and the directory's own summary."""
    connection, alice, *_ = secured
    whole = rows(
        connection,
        "select node_id from tree_builder.nodes where corpus = 'reports'"
        " and coalesce(doc_path, dir_path) = any(%s) order by 1",
        list(READABLE),
    )
    with acting(connection, alice):
        assert rows(connection, "select node_id from tree_builder.nodes order by 1") == whole
        assert column(connection, "select dir_path from tree_builder.directory_summaries") == ["a/deep"]
        assert column(connection, "select n_documents from tree_builder.directory_summaries") == [1]
        assert rows(connection, "select * from tree_builder.corpus_summaries") == []
        assert column(connection, "select path from tree_builder.summary('a/deep')") == ["a/deep"]


@pytest.mark.parametrize("path", [".", "a", "a/alpha.txt"])
def test_a_summary_is_seen_by_who_may_see_all_below_it(secured, path):
    """A grant of a document shows it and no directory; of a directory, its summary too; of everything, the root."""
    connection, *_ = secured
    with role(connection, path) as bob, acting(connection, bob):
        directories = set(column(connection, "select dir_path from tree_builder.directory_summaries"))
        assert directories == {".": {".", "a", "a/deep", "b"}, "a": {"a", "a/deep"}, "a/alpha.txt": set()}[path]
        documents = set(column(connection, "select doc_path from tree_builder.document_summaries"))
        assert "a/alpha.txt" in documents
        assert ("b/delta.txt" in documents) == (path == ".")


def test_search_still_finds_its_k(secured):
    """As many hits as there are readable nodes, by vector, by words and by both, in the same order as the owner's."""
    connection, alice, *_ = secured
    query = json.dumps(vector("apple orchards in spring"))
    by_vector = "select node_id from tree_builder.search_vector(%s::text::vector, 3, corpus => 'reports')"
    with acting(connection, alice):
        found = column(connection, by_vector, query)
        texts = column(connection, "select content from tree_builder.search_text('geese falcons')")
        both = column(connection, "select node_id from tree_builder.search('geese', %s::text::vector, 3)", query)
    assert found == column(connection, by_vector.replace(")", ", directory => 'a/deep')"), query)
    assert {"falcons at noon", "geese over the marsh"} <= set(texts)
    assert len(both) == 3


def test_a_reader_without_grants_sees_nothing(secured):
    """Row security on, no grant: no rows anywhere, and searches find nothing."""
    connection, *_ = secured
    with role(connection) as nobody, acting(connection, nobody):
        for relation in ("nodes", "texts", "vectors", "documents", "corpora", "runs_seen", "boundaries"):
            source = (
                "select run_id from tree_builder.runs"
                if relation == "runs_seen"
                else f"select * from tree_builder.{relation}"
            )
            assert rows(connection, source) == []
        assert rows(connection, "select * from tree_builder.search_text('falcons')") == []


def test_a_reader_in_a_role_with_grants_sees_as_that_role(secured):
    """Grants of a role count for its members; and a session which takes a smaller role sees only that role's."""
    connection, alice, *_ = secured
    with role(connection) as carol:
        connection.execute(sql.SQL("grant {} to {}").format(sql.Identifier(alice), sql.Identifier(carol)))
        with acting(connection, carol):
            assert column(connection, "select doc_path from tree_builder.document_summaries") == ["a/deep/gamma.txt"]
            assert column(connection, "select cardinality(tree_builder.readable_texts('geese', 10, 10))") == [2]


def test_readers_write_nothing(reports):
    """No table of the schema takes a write from a reader, and none is made or dropped; security stays the owner's."""
    with role(reports) as name, acting(reports, name):
        tables = column(
            reports,
            "select c.oid::regclass::text from pg_class as c where c.relnamespace = 'tree_builder'::regnamespace and c.relkind = 'r'",
        )
        attempts = (
            [f"delete from {t}" for t in tables]
            + [f"truncate {t}" for t in tables]
            + [f"drop table {t}" for t in tables]
        )
        attempts += [
            "create table tree_builder.mine ()",
            "insert into tree_builder.path_grants values ('x', 1, '.')",
            "update tree_builder.corpora set published_run = 1",
            "select tree_builder.enable_row_security()",
            "select tree_builder.disable_row_security()",
            "select tree_builder.grant_path('x')",
            "select report from tree_builder.runs",
            "select * from tree_builder.memo",
        ]
        for attempt in attempts:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reports.execute(attempt)


def test_readers_read_everything_until_security_is_enabled(reports):
    """Without row security a reader sees what the owner sees, through every view and function."""
    views = ("nodes", "document_summaries", "directory_summaries", "corpus_summaries", "boundaries", "placed_node")
    owner = [rows(reports, f"select * from tree_builder.{view} order by 1, 2, 3") for view in views]
    with role(reports) as name, acting(reports, name):
        assert [rows(reports, f"select * from tree_builder.{view} order by 1, 2, 3") for view in views] == owner
        assert (
            len(
                rows(
                    reports, "select * from tree_builder.search('apple', %s::text::vector)", json.dumps(vector("apple"))
                )
            )
            == 10
        )
        assert rows(reports, "select * from tree_builder.summary('.')") != []


def test_security_can_be_switched_off_again(secured):
    """Afterwards a reader reads everything."""
    connection, alice, *_ = secured
    connection.execute("select tree_builder.disable_row_security()")
    with acting(connection, alice):
        assert column(connection, "select corpus from tree_builder.corpus_summaries order by 1") == [
            "reports",
            "secret",
        ]


def test_grants_can_be_taken_back(secured):
    """After revoke_path the path is hidden."""
    connection, alice, *_ = secured
    connection.execute("select tree_builder.revoke_path(%s, 'a/deep/', 'reports')", (alice,))
    with acting(connection, alice):
        assert rows(connection, "select * from tree_builder.nodes") == []
