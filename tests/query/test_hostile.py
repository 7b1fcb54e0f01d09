"""Hostile queries, paths, filters and ids: no error but a clean one, nothing changed; and readers beside a publisher."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tree_builder.errors import ConfigError, NotFound, TreeBuilderError
from tree_builder.query import SummaryTree, as_json
from tree_builder.query.tokens import count_tokens
from tree_builder.testing.fakes import FakeEmbedder
from tree_builder.testing.planting import DIMENSIONS, SAMPLE_FILES, Planted, plant

HOSTILE = [
    "",
    " ",
    "'",
    '"',
    '"unclosed',
    "'; drop schema tree_builder cascade; --",
    "$$; drop table tree_builder.node; $$",
    "a' or '1'='1",
    "%s %(query)s %% %",
    ":query :'query' ::text",
    "\\'; select pg_sleep(9) --",
    "a & b | !c <-> d",
    "& | ! <->",
    "foo:* & (bar",
    "((((((",
    "-",
    "-- comment",
    "-boat",
    '-"boat engine"',
    '""',
    "'a':1A",
    "\x00",
    "nul\x00inside",
    "\ud800 lone",
    "\U0001f9a5" * 50,
    "\u202eright to left",
    "\x1b[2J\x07",
    "../../etc/passwd",
    "/etc/passwd",
    "a/../b",
    "{}",
    "{a,b}",
    "[1,2,3]",
    "NULL",
    "null",
    "<script>alert(1)</script>",
    "x" * 20_000,
    "word " * 5_000,
    "é" * 3000,
    "東京" * 2000,
    "\n\n\t\r",
    "copy tree_builder.node to program 'id'",
    "1e400",
    "-9223372036854775809",
    "_", "%", "a_b%c",
]  # fmt: skip


@pytest.fixture
def tree(database_url: str, planted: Planted) -> Iterator[SummaryTree]:
    with SummaryTree.open(database_url, embedder=FakeEmbedder(DIMENSIONS)) as tree:
        yield tree


def calls(tree: SummaryTree, text: str) -> list[Callable[[], Any]]:
    return [
        lambda: tree.search(text),
        lambda: tree.search(text, mode="text"),
        lambda: tree.search("boat", in_=text),
        lambda: tree.search("boat", types=text),
        lambda: tree.context(text, 200),
        lambda: tree.walk(text),
        lambda: tree.summary(text),
        lambda: tree.summary(text, at=1),
        lambda: tree.get(text),
        lambda: tree.similar(text),
        lambda: tree.documents(text),
        lambda: list(tree.nodes(text)),
    ]


def state(url: str) -> list[tuple[Any, ...]]:
    """All columns of the schema, and how many rows its tables have."""
    with psycopg.connect(url) as connection:
        columns = connection.execute(
            "select table_name, column_name, data_type from information_schema.columns"
            " where table_schema = 'tree_builder' order by 1, 2"
        ).fetchall()
        tables = connection.execute(
            "select tablename from pg_tables where schemaname = 'tree_builder' order by 1"
        ).fetchall()
        counts = [connection.execute(f"select count(*) from tree_builder.{table}").fetchone() for (table,) in tables]
    return [*columns, *filter(None, counts)]


def test_hostile_text_is_only_text(database_url: str, tree: SummaryTree) -> None:
    """Whatever stands in a query, a path, a filter or an id: it is answered, or refused cleanly, and nothing changes."""
    before = state(database_url)
    for text in HOSTILE:
        for call in calls(tree, text):
            try:
                call()
            except (ConfigError, NotFound):
                continue
            except TreeBuilderError as error:
                pytest.fail(f"{text[:40]!r}: {error!r}")
    assert state(database_url) == before


def test_what_notebooks_show_is_escaped(database_url: str) -> None:
    """No text of a document, path or title reaches a notebook as markup."""
    evil = "<img src=x onerror=alert(1)> boat "
    plant(database_url, {"<b>/<i>.txt": evil * 30}, titles={"<b>/<i>.txt": evil})
    with SummaryTree.open(database_url, embedder=FakeEmbedder(DIMENSIONS)) as tree:
        hits = tree.search("boat <b>")
        shown = [
            hits,
            *hits,
            tree.summary(),
            tree.context("boat", 500),
            tree.walk("boat"),
            *tree.documents(),
            *tree.corpora(),
        ]
        for result in shown:
            markup = result._repr_html_()
            assert "<img" not in markup
            assert "<i>" not in markup
        assert "<mark>boat</mark>" in hits[0]._repr_html_()
        assert as_json(hits)["hits"][0]["content"] == hits[0].content


def random_contexts(tree: SummaryTree, texts: dict[str, str], n: int) -> None:
    rng = random.Random(11)
    words = [word for text in texts.values() for word in text.split()]
    for _ in range(n):
        query = " ".join(rng.sample(words, rng.randrange(1, 8)))
        budget = rng.choice([0, 1, 10, 50, 120, 400, 1500, rng.randrange(3000)])
        context = tree.context(query, budget, mode=rng.choice(["hybrid", "text", "vector"]))
        assert context.tokens == count_tokens(context.text) <= budget
        order, seen = [], set()
        for passage in context.passages:
            cite = passage.citation
            order.append((tuple(p for p in cite.path.split("/") if p != "."), cite.char_start or -1))
            assert not seen & set(passage.node_ids)
            seen |= set(passage.node_ids)
            if passage.kind == "passage":
                assert texts[cite.path][cite.char_start : cite.char_end] == passage.content
        assert order == sorted(order)


def test_contexts_of_random_queries(tree: SummaryTree, planted: Planted) -> None:
    """Never over budget, never a passage twice, in document order; every citation resolves to the same text in the file's text."""
    random_contexts(tree, planted.texts, 40)


@pytest.mark.soak
def test_contexts_of_a_thousand_random_queries(tree: SummaryTree, planted: Planted) -> None:
    """The same for a thousand queries and budgets."""
    random_contexts(tree, planted.texts, 1000)


def test_readers_see_one_version(database_url: str, tree: SummaryTree, planted: Planted) -> None:
    """While runs are published, each answer is of one version: a text is the old one or the new one, whole."""
    old = planted.texts["boats/sails.pdf"]
    new = "An altogether other text about the same old sails. " * 60
    stop = threading.Event()

    def publish() -> None:
        number = 0
        while not stop.is_set() and number < 12:
            number += 1
            plant(database_url, {**SAMPLE_FILES, "boats/sails.pdf": new if number % 2 else old})

    publisher = threading.Thread(target=publish)
    publisher.start()
    seen = set()
    try:
        while publisher.is_alive():
            text = tree.summary("boats/sails.pdf", level=0).content
            assert text in (old, new)
            seen.add(text == new)
            leaves = list(tree.nodes("boats/sails.pdf", types="chunk"))
            assert "".join(leaf.content[leaf.overlap :] for leaf in leaves) in (old, new)
            for hit in tree.search("sails", k=5, types="chunk"):
                versions = {node.run_id for node in (hit, *hit.above)}
                assert len(versions) == 1
    finally:
        stop.set()
        publisher.join()
    assert seen == {True, False}
