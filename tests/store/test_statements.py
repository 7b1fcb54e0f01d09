"""The loader of named queries: what is a parameter, what only looks like one, and what a file must hold."""

from __future__ import annotations

import contextlib

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_builder.errors import StoreError
from tree_builder.store import statements
from tree_builder.store.statements import parse


def one(sql: str) -> statements.Statement:
    return parse(f"-- name: q\n-- What it gives.\n{sql}", source="test.sql")["q"]


@pytest.mark.parametrize(
    ("sql", "expected", "parameters"),
    [
        ("select :a;", "select %(a)s", {"a"}),
        ("select :'a', :a;", "select %(a)s, %(a)s", {"a"}),
        ("select :a::int, '1'::int;", "select %(a)s::int, '1'::int", {"a"}),
        ("select(:a)::uuid[];", "select(%(a)s)::uuid[]", {"a"}),
        ("select ':a', 'it''s :b', e'\\' :c';", "select ':a', 'it''s :b', e'\\' :c'", set()),
        ('select ":a" from t;', 'select ":a" from t', set()),
        ("select $$ :a ; $$, $x$ $$ :b $x$;", "select $$ :a ; $$, $x$ $$ :b $x$", set()),
        ("select 1 -- :a; 5%\n;", "select 1 -- :a; 5%%", set()),
        ("select /* :a; /* :b */ ; */ 1;", "select /* :a; /* :b */ ; */ 1", set()),
        ("select f(x := :a, y => :b);", "select f(x := %(a)s, y => %(b)s)", {"a", "b"}),
        (
            "select v[1:2], v[n:m], v[:lo], v[g(1):m] from t;",
            "select v[1:2], v[n:m], v[%(lo)s], v[g(1):m] from t",
            {"lo"},
        ),
        ("select 7 % 2 where x like '5%';", "select 7 %% 2 where x like '5%%'", set()),
        ("select 'a:b', now()::time - '10:30';", "select 'a:b', now()::time - '10:30'", set()),
        ("select price$$ from t;", "select price$$ from t", set()),
        ("select 1; -- the end", "select 1", set()),
    ],
)
def test_parameters_are_found_and_only_they(sql: str, expected: str, parameters: set[str]) -> None:
    """`:name` outside literals, comments, casts and slices is a parameter; percents are doubled."""
    statement = one(sql)
    assert (statement.sql, statement.parameters) == (expected, parameters)


def test_a_file_holds_many_blocks_with_descriptions() -> None:
    """Blocks come by name, in order, with their description lines joined."""
    text = "-- A header.\n\n-- name: a\n-- First,\n-- second.\nselect 1;\n\n-- name: b\n-- Other.\nselect :x;\n"
    found = parse(text, source="test.sql")
    assert list(found) == ["a", "b"]
    assert found["a"].description == "First, second."
    assert found["b"].parameters == {"x"}


@pytest.mark.parametrize(
    "text",
    [
        "-- name: a\nselect 1;",
        "-- name: a\n-- About.\nselect 1",
        "-- name: a\n-- About.\n",
        "-- name: a\n-- About.\nselect 1; select 2;",
        "-- name: two words\n-- About.\nselect 1;",
        "-- name: a\n-- About.\nselect 1;\n-- name: a\n-- About.\nselect 1;",
    ],
)
def test_a_malformed_file_is_refused(text: str) -> None:
    """No description, no end, no statement, two statements, a bad name and a double name are errors naming the file."""
    with pytest.raises(StoreError, match=r"test\.sql"):
        parse(text, source="test.sql")


def test_parameters_which_do_not_fit_are_refused() -> None:
    """A missing and an unknown parameter are both told by name."""
    with pytest.raises(StoreError, match=r"missing parameters \['a'\], unknown ones \['b'\]"):
        one("select :a;").check({"b": 1})


def test_an_unknown_subject_is_refused() -> None:
    """Asking for a file which does not exist says which."""
    with pytest.raises(StoreError, match="nonsense"):
        statements.load("nonsense")


def test_every_shipped_file_loads() -> None:
    """All files in queries/ are in the form."""
    for subject in statements.subjects():
        assert statements.load(subject)


@given(
    st.lists(st.sampled_from(["'", '"', ":a", "::b", "$$", "%", "--", "\n", "/*", "*/", "[", "]", "x", " ", ";", "é"]))
)
def test_parsing_never_fails_in_another_way(parts: list[str]) -> None:
    """Whatever a file holds, the answer is a statement or a StoreError."""
    with contextlib.suppress(StoreError):
        one("".join(parts) + ";")


def test_psycopg_reads_what_the_loader_writes(database_url: str) -> None:
    """A statement with every oddity runs under psycopg with its one parameter."""
    statement = one("select :a::int % 7, ':a %', $$%$$, (array[1,2,3])[2:3] -- 5% :b\n;")
    with psycopg.connect(database_url) as connection:
        row = connection.execute(statement.sql.encode(), {"a": 9}).fetchone()
    assert row == (2, ":a %", "%", [2, 3])
