"""How the statements reach their rows on a large tree: by index, and never by reading a whole table."""

import json

import numpy as np
import psycopg
import pytest
from psycopg import sql
from sql_rows import column, rows

from tree_builder.testing.bulk_tree import Shape, fill

DIMENSIONS = 24
LARGE = 1000  # rows; what has fewer may well be read as a whole
SECTION = "part1/section0001"
DOCUMENT = f"{SECTION}/document000031.pdf"


@pytest.fixture(
    scope="module", params=[12_000, pytest.param(100_000, marks=[pytest.mark.soak, pytest.mark.timeout(900)])]
)
def bulk(request, template_database):
    """A made-up tree with its vector index and fresh statistics, in a database of its own."""
    server, template = template_database
    name = sql.Identifier(f"{template}_bulk_{request.param}")
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {} template {}").format(name, sql.Identifier(template)))
        try:
            with psycopg.connect(server, dbname=name.as_string().strip('"')) as connection:
                fill(connection, Shape(request.param, DIMENSIONS, words=16, vocabulary=5000))
            with psycopg.connect(server, dbname=name.as_string().strip('"'), autocommit=True) as connection:
                statement = "select tree_builder.vector_index_statement(model_id) from tree_builder.embedding_models"
                connection.execute(column(connection, statement)[0])
                connection.execute("vacuum analyze")
                yield connection
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(name))


def scans(connection, call, parameters):
    """Run a call in a transaction of its own; give the large tables read whole, the indexes used, and the rows."""
    counts = (
        "select c.relname, c.relkind = 'r', pg_stat_get_xact_numscans(c.oid), c.reltuples from pg_class as c"
        " where c.relnamespace = 'tree_builder'::regnamespace and c.relkind in ('r', 'i')"
    )
    connection.execute("select pg_stat_force_next_flush()")  # else what was counted just before is counted here too
    with connection.transaction():
        found = connection.execute(call, parameters).fetchall()
        counted = rows(connection, counts)
    whole = {name for name, is_table, n, n_rows in counted if is_table and n and n_rows >= LARGE}
    used = {name for name, is_table, n, _ in counted if not is_table and n}
    return whole, used, found


def vector(connection):
    return json.dumps(np.ones(DIMENSIONS).tolist())


CALLS = [
    ("select * from tree_builder.search_vector(%(v)s::text::vector)", "vectors_{model}_idx", 10),
    (
        "select * from tree_builder.search_vector(%(v)s::text::vector, node_types => '{chunk}')",
        "vectors_{model}_idx",
        10,
    ),
    ("select * from tree_builder.search_vector(%(v)s::text::vector, document => %(document)s)", "vectors_pkey", 10),
    ("select * from tree_builder.search_vector(%(v)s::text::vector, directory => %(section)s)", "vectors_pkey", 10),
    (
        "select * from tree_builder.search_vector(%(v)s::text::vector, node_types => '{dir_top}')",
        "node_level_idx",
        10,
    ),
    ("select * from tree_builder.search_text(%(w)s)", "texts_words_idx", 10),
    ("select * from tree_builder.search(%(w)s, %(v)s::text::vector)", "texts_words_idx", 10),
    ("select * from tree_builder.search_text(%(w)s, document => %(document)s)", "texts_pkey", 1),
    ("select * from tree_builder.similar(%(leaf)s)", "vectors_{model}_idx", 10),
    ("select * from tree_builder.subtree(%(top)s)", "node_doc_idx", 90),
    ("select * from tree_builder.subtree(%(section_top)s, 2)", "node_parent_idx", 90),
    ("select * from tree_builder.leaves(%(top)s)", "node_doc_idx", 80),
    ("select * from tree_builder.parents(%(leaf)s)", "node_pkey", 6),
    ("select * from tree_builder.children(%(top)s)", "node_parent_idx", 3),
    ("select * from tree_builder.summary(%(document)s)", "node_doc_idx", 1),
    ("select * from tree_builder.summary(%(section)s)", "node_dir_idx", 1),
    ("select * from tree_builder.outline(%(document)s, 1)", "node_parent_idx", 4),
]


def test_calls_use_their_indexes(bulk):
    """Searches, walks and summaries read no large table as a whole, and use the index which is made for them."""
    model = column(bulk, "select model_id from tree_builder.embedding_models")[0]
    leaf, content = rows(
        bulk, "select node_id, content from tree_builder.nodes where doc_path = %s and level = 0 limit 1", DOCUMENT
    )[0]
    parameters = {
        "v": vector(bulk), "w": " ".join(content.split()[1:4]), "document": DOCUMENT, "section": SECTION, "leaf": leaf,
        "top": column(bulk, "select tree_builder.top(%s)", DOCUMENT)[0],
        "section_top": column(bulk, "select tree_builder.top(%s)", SECTION)[0],
    }  # fmt: skip
    for call, index, at_least in CALLS:
        whole, used, found = scans(bulk, call, parameters)
        assert whole == set(), call
        assert index.format(model=model) in used, call
        assert len(found) >= at_least, call


def test_narrow_filters_keep_finding_k(bulk):
    """Filters which one node in a hundred or in a thousand passes find k, the same as comparing all one by one."""
    for filters, condition in (
        ("node_types => '{doc_top}'", "n.node_type = 'doc_top'"),
        (f"document => '{DOCUMENT}'", f"n.doc_path = '{DOCUMENT}'"),
        ("first_page => 27, last_page => 27", "n.page_end >= 27 and n.page_start <= 27"),
        ("directory => 'part1'", "(n.dir_path = 'part1' or n.dir_path like 'part1/%%')"),
    ):
        found = column(
            bulk, f"select node_id from tree_builder.search_vector(%s::text::vector, {filters})", vector(bulk)
        )
        exact = column(
            bulk,
            "select n.node_id from tree_builder.published_node as n inner join tree_builder.vectors as v using (text_id)"
            f" where {condition} order by v.embedding <=> %s::text::vector limit 10",
            vector(bulk),
        )
        assert len(found) == 10
        assert len(set(found) & set(exact)) >= 9, filters


def test_deep_pages_of_hits_are_found(bulk):
    """The index is walked on as far as asked for."""
    deep = rows(bulk, "select * from tree_builder.search_vector(%s::text::vector, 10, skip => 1500)", vector(bulk))
    assert [hit[0] for hit in deep] == list(range(1501, 1511))


def test_words_bring_up_as_many_as_are_asked_for(bulk):
    """Where a few texts with the rarest words are looked at first, more are when these are too few, and the best stay the best."""
    narrowed = 0
    rather_rare = "select word from ts_stat('select words from tree_builder.texts') where ndoc between 260 and 480 order by word limit 9"
    several = column(bulk, rather_rare)
    for at in range(len(several) - 2):
        words = " ".join(several[at : at + 3])
        for k in (10, 45, 300):
            [(narrow, n_all)] = rows(
                bulk,
                "select p.narrow::text, (select count(*) from tree_builder.published_node as n inner join tree_builder.texts as t"
                " using (text_id) where t.words @@ p.source) from tree_builder.text_plan(%s, %s) as p",
                words, k,
            )  # fmt: skip
            narrowed += narrow is not None
            found = column(bulk, "select score from tree_builder.search_text(%s, k => %s)", words, k)
            assert len(found) == min(k, n_all), (words, k)
            assert found == sorted(found, reverse=True)
    assert narrowed, "no query was narrowed: nothing was tested"


def test_more_texts_are_looked_at_where_the_likely_ones_are_in_no_tree(bulk):
    """As when they are of versions which nobody sees any more: the others are found all the same."""
    rather_rare = "select word from ts_stat('select words from tree_builder.texts') where ndoc between 260 and 480 order by ndoc limit 3"
    words = " ".join(column(bulk, rather_rare))
    [narrow] = column(bulk, "select p.narrow::text from tree_builder.text_plan(%s, 45) as p", words)
    assert narrow is not None
    with bulk.transaction(force_rollback=True):
        bulk.execute(
            "delete from tree_builder.node as n using tree_builder.texts as t where n.text_id = t.text_id and t.words @@ %s::tsquery",
            (narrow,),
        )
        assert len(column(bulk, "select node_id from tree_builder.search_text(%s, k => 45)", words)) == 45
