"""Hostile paths, words and filters: no error but a clean one, and the schema as it was (law 10)."""

import hashlib
import json
import random

import psycopg
import pytest
from sql_rows import column, rows

from tree_builder.testing.forest import plant, vector

FIXED = [
    "'; drop table tree_builder.node; --", '"; drop schema tree_builder cascade; --', "' or '1'='1", "') or true --", "%", "_", "%%s", "%(a)s",
    "\\", "\\'", "\\x27", "E'\\047'", "$$", "$1", "$tag$ select 1 $tag$", ":name", ":'name'", "{", "}", "{}", "{1}", "{{n}}", "%1$s", "%L", "%I", "%s",
    "a & b", "a | b", "!", "!!a", "a <-> b", "a <0> b", "<->", "(", ")", "((a)", "a:*", "a:ABCD", "a:1A,2B", "'a", "a'", "''", "'''",
    '"', '""', '"a', '-"', '-"a b"', "- -a", "--a", "-a -b", "or", "OR or OR", "and not or", "a OR", "-the", '"the"', '"the of" -and',
    "*", "?", "+", "^", "[", "]", "(?:", "\\1", ".*", "a.b.c", "http://a.b/c?d=e&f=g", "a@b.c", "1e400", "-1", "0x1F", "NaN", "null", "NULL",
    "../../etc/passwd", "/etc/passwd", "a//b", "./././.", ".", "..", "/", "//", "a/./b", "~", "C:\\x", "a\tb", "a\nb", "\r\n", "\x01\x02\x03", "\x7f",
    "\u200b", "\u202e", "\ufeff", "\ufffe", "\U0001f600", "é", "e\u0301", "İ", "ß", "日本語の文章", "مرحبا", "Ω", "𝒳", "ａ", "x" * 3000, "a " * 3000,
    "&" * 500, "'" * 501, "(" * 400, "-x " * 300, '"a b" ' * 120, "a" * 2046, "a" * 2047, "日" * 1000,
    "<script>alert(1)</script>", "StartSel=<b>", "HighlightAll=false", "MaxWords=0,", "[1,2,3]", "[]", "[NaN]", "{chunk}", "pg_sleep(9)",
]  # fmt: skip


def cases() -> list[str]:
    """The fixed ones, and random mixtures, 200 together."""
    randomly = random.Random(5)
    pieces = [f for f in FIXED if len(f) < 60]
    mixed = [
        "".join(randomly.choice([" ", "", "/"]) + randomly.choice(pieces) for _ in range(randomly.randint(2, 8)))
        for _ in range(200)
    ]
    return (FIXED + mixed)[:200]


def schema(connection) -> str:
    """A hash of all objects of the schema, and of what is in the tables."""
    objects = rows(
        connection,
        "select c.relname, c.relkind::text, c.relrowsecurity, c.relacl::text from pg_class as c"
        " where c.relnamespace = 'tree_builder'::regnamespace"
        " union all select p.oid::regprocedure::text, 'f', p.prosecdef, md5(p.prosrc) from pg_proc as p"
        " where p.pronamespace = 'tree_builder'::regnamespace order by 1, 2",
    )
    counted = rows(connection, "select count(*), min(node_id::text), max(until_run) from tree_builder.node")
    return hashlib.sha256(repr((objects, counted)).encode()).hexdigest()


CALLS = {
    "words": "select tree_builder.headline(h.content, %(x)s, h.language) from tree_builder.search_text(%(x)s) as h",
    "words and vector": "select * from tree_builder.search(%(x)s, %(v)s::text::vector)",
    "directory": "select * from tree_builder.search_text('apple', directory => %(x)s)",
    "document": "select * from tree_builder.search_vector(%(v)s::text::vector, document => %(x)s)",
    "summary": "select * from tree_builder.summary(%(x)s)",
    "outline": "select * from tree_builder.outline(%(x)s, 3)",
    "language": "select tree_builder.text_config(%(x)s), tree_builder.headline('a text', 'text', %(x)s)",
    "clean path": "select tree_builder.clean_path(%(x)s), tree_builder.lies_within(%(x)s, %(x)s)",
}
REFUSING = {
    "corpus": "select * from tree_builder.search_text('apple', corpus => %(x)s)",
    "summary of": "select * from tree_builder.summary('.', %(x)s)",
    "type": "select * from tree_builder.search_text('apple', node_types => array[%(x)s])",
    "model": "select * from tree_builder.search_vector(%(v)s::text::vector, model => %(x)s)",
    "fusion": "select * from tree_builder.search('apple', fusion => %(x)s)",
}
CLEAN = (psycopg.errors.NoDataFound, psycopg.errors.InvalidParameterValue, psycopg.errors.DataException)


def test_hostile_strings_change_nothing(reports):
    """Every string as words, as each filter and as each path: an answer, or for names a refusal which says what is wrong."""
    before = schema(reports)
    query = json.dumps(vector("eels"))
    for text in cases():
        for call in CALLS.values():
            reports.execute(call, {"x": text, "v": query}).fetchall()
        for name, call in REFUSING.items() if text in FIXED else ():
            with pytest.raises(CLEAN) as caught:
                reports.execute(call, {"x": text, "v": query})
            assert caught.value.diag.sqlstate in ("P0002", "22023", "22000"), (name, text)
    assert schema(reports) == before


def test_hostile_documents_are_only_data(connection):
    """Paths and passages made of hostile strings are found, walked, compared and shown, as data."""
    names = [n for n in FIXED if len(n) < 200 and "/" not in n and n not in (".", "..") and "\0" not in n]
    documents = {f"{i:03d}{name}/{name}.txt": [f"{name} passage", f"other {i}"] for i, name in enumerate(names)}
    before = schema(connection)
    first = plant(connection, "'; drop table node; --", documents)
    second = plant(connection, "'; drop table node; --", {**documents, "new.txt": ["new words"]})
    found = dict(
        rows(
            connection,
            "select path, content from tree_builder.document_summaries as d"
            " cross join lateral (select d.doc_path as path, l.content from tree_builder.leaves(d.node_id) as l limit 1) as l",
        )
    )
    assert found == {path: passages[0] for path, passages in documents.items()} | {"new.txt": "new words"}
    for path in documents:
        assert column(connection, "select path from tree_builder.summary(%s)", path) == [path]
        assert column(
            connection,
            "select distinct doc_path from tree_builder.search_text('passage other', directory => %s)",
            path.rpartition("/")[0],
        ) == [path]
    assert column(
        connection, "select path from tree_builder.changes(%s, %s) where change = 'added'", first, second
    ) == ["new.txt"]
    connection.execute("delete from tree_builder.node")
    assert schema(connection) == before


def test_query_vectors_which_are_none(reports):
    """Not a number, infinite, empty or too long: refused by name."""
    for text in ("[NaN]", "[inf]", "[]", "[1,2", "x", "[" + ",".join(["1"] * 16001) + "]"):
        with pytest.raises(psycopg.Error) as caught:
            reports.execute("select * from tree_builder.search_vector(%s::text::vector)", (text,))
        assert (caught.value.diag.sqlstate or "")[:2] in ("22", "54")
