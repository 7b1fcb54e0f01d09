"""Reading rows of one version of the tree: one connection, one snapshot, rows as results. What they are for lies above.

A snapshot lasts milliseconds and no model is asked inside one: vectors of queries are made before.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tree_builder.errors import ConfigError, NotFound
from tree_builder.model import ROOT_PATH
from tree_builder.query.results import Change, Corpus, Document, Node
from tree_builder.store.database import Connection, Database, execute, fetch, find
from tree_builder.store.statements import load

_STATEMENTS = load("context")


@dataclass(frozen=True, slots=True)
class CorpusRow:
    """The corpus which is asked: its published run, and the model its vectors are of."""

    corpus_id: int
    corpus: str
    published_run: int | None
    model: str | None
    dimensions: int | None


@dataclass(frozen=True, slots=True)
class Run:
    run_id: int
    ended_at: datetime | None


@asynccontextmanager
async def snapshot(database: Database, corpus: str | None) -> AsyncIterator[Reader]:
    """Open one version of the tree for the block: a run published meanwhile is not seen.

    Raises:
        NotFound: no such corpus, or none at all, or nothing was published yet.
        ConfigError: there are several corpora and none was named.
    """
    async with database.transaction() as connection:
        await execute(connection, "set transaction isolation level repeatable read, read only")
        yield Reader(connection, await _corpus(connection, corpus))


async def _corpus(connection: Connection, name: str | None) -> CorpusRow:
    rows = await fetch(connection, _STATEMENTS["list_corpora"], CorpusRow, corpus=clean(name) if name else None)
    if not rows and name is not None:
        raise NotFound(
            f"there is no corpus {name!r} in this database; `tree-builder status` lists what there is", corpus=name
        )
    if not rows:
        raise NotFound("there is no corpus in this database yet: build one with `tree-builder build FOLDER`")
    if len(rows) > 1:
        names = ", ".join(row.corpus for row in rows)
        raise ConfigError(
            f"there are several corpora in this database ({names}): say which one with --corpus", corpora=names
        )
    if rows[0].published_run is None:
        raise NotFound(
            f"nothing of the corpus {rows[0].corpus!r} was published yet; see `tree-builder status`",
            corpus=rows[0].corpus,
        )
    return rows[0]


def clean(text: str) -> str:
    """Give text which PostgreSQL can hold: no NUL, no lone surrogates. What holds either is not in the tree anyway."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def clean_path(path: str) -> str:
    """Give a path as the tree has it: `reports/` is `reports`, `./a` is `a`, the corpus folder `.`."""
    path = clean(path)
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path.rstrip("/") or ROOT_PATH


class Reader:
    """One version of one corpus's tree."""

    def __init__(self, connection: Connection, corpus: CorpusRow) -> None:
        self.connection = connection
        self.corpus = corpus

    async def _nodes(self, statement: str, **parameters: Any) -> list[Node]:
        return await fetch(self.connection, _STATEMENTS[statement], Node, **parameters)

    async def top(self, path: str) -> Node:
        """Give the top of a path.

        Raises:
            NotFound: the path is not in the tree.
        """
        node = await find(
            self.connection, _STATEMENTS["find_top"], Node, path=clean_path(path), corpus=self.corpus.corpus
        )
        return self._there(node, path)

    async def top_at(self, path: str, run_id: int) -> Node:
        """Give the top which a path had in the tree of an earlier run.

        Raises:
            NotFound: the path was not in that tree.
        """
        node = await find(
            self.connection,
            _STATEMENTS["find_top_at"],
            Node,
            path=clean_path(path),
            corpus=self.corpus.corpus,
            run_id=run_id,
        )
        return self._there(node, path)

    def _there(self, node: Node | None, path: str) -> Node:
        if node is None:
            raise NotFound(
                f"there is no {path!r} in the corpus {self.corpus.corpus!r}; `tree-builder tree` shows what there is",
                path=path,
            )
        return node

    async def get(self, node_id: uuid.UUID) -> Node:
        """Give a node by its id.

        Raises:
            NotFound: no published node has it.
        """
        nodes = await self._nodes("nodes_by_id", node_ids=[node_id])
        if not nodes:
            raise NotFound(f"no published node has the id {node_id}", node_id=node_id)
        return nodes[0]

    async def children(
        self, node_ids: Sequence[uuid.UUID], run_id: int | None = None
    ) -> Mapping[uuid.UUID, list[Node]]:
        """Give the children of each node in order, of the published tree or of an earlier run's."""
        if run_id is None:
            nodes = await self._nodes("child_nodes", node_ids=list(node_ids))
        else:
            nodes = await self._nodes("children_at", node_ids=list(node_ids), run_id=run_id)
        by_parent: dict[uuid.UUID, list[Node]] = {}
        for node in nodes:
            if node.parent_id is not None:
                by_parent.setdefault(node.parent_id, []).append(node)
        return by_parent

    async def scored_children(self, node_ids: Sequence[uuid.UUID], vector: Any) -> list[tuple[float, Node]]:
        """Give the children of some nodes with their similarity to a vector, the most similar first."""
        rows = await fetch(
            self.connection, _STATEMENTS["scored_children"], dict, node_ids=list(node_ids), vector=vector
        )
        return [(row.pop("similarity"), Node(**row)) for row in rows]

    async def above(self, node_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, tuple[Node, ...]]:
        """Give the summaries above each node, from the root down."""
        rows = await fetch(self.connection, _STATEMENTS["nodes_above"], dict, node_ids=list(node_ids))
        known: dict[uuid.UUID, Node] = {}
        above: dict[uuid.UUID, list[Node]] = {}
        for row in rows:
            below_id = row.pop("below_id")
            node = known.setdefault(row["node_id"], Node(**row))
            above.setdefault(below_id, []).append(node)
        return {node_id: tuple(nodes) for node_id, nodes in above.items()}

    async def below(self, node_id: uuid.UUID, depth: int | None = None) -> list[tuple[int, Node]]:
        """Give a node and all below it with their depths, in document order, each before what it covers."""
        rows = await fetch(self.connection, _STATEMENTS["nodes_below"], dict, node_id=node_id, depth=depth)
        return [(row.pop("depth"), Node(**row)) for row in rows]

    async def leaf_ids(self, node_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, frozenset[uuid.UUID]]:
        """Give the chunks below each node; a chunk's own is itself."""
        rows = await fetch(self.connection, _STATEMENTS["leaf_ids"], dict, node_ids=list(node_ids))
        leaves: dict[uuid.UUID, set[uuid.UUID]] = {}
        for row in rows:
            leaves.setdefault(row["top_id"], set()).add(row["node_id"])
        return {node_id: frozenset(ids) for node_id, ids in leaves.items()}

    async def text_below(self, node_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, int]:
        """Count the characters of document text below each node."""
        rows = await fetch(self.connection, _STATEMENTS["text_below"], dict, node_ids=list(node_ids))
        return {row["node_id"]: int(row["n_chars"] or 0) for row in rows}

    async def keys(
        self, path: str, types: Sequence[str] | None, min_level: int | None, max_level: int | None
    ) -> list[tuple[uuid.UUID, int]]:
        """Name the row versions which answer a filter, in document order."""
        rows = await fetch(
            self.connection,
            _STATEMENTS["node_keys"],
            dict,
            corpus=self.corpus.corpus,
            path=clean_path(path),
            types=list(types) if types is not None else None,
            min_level=min_level,
            max_level=max_level,
        )
        return [(row["node_id"], row["since_run"]) for row in rows]

    async def runs(self) -> list[Run]:
        """List the published runs, the latest first."""
        return await fetch(self.connection, _STATEMENTS["published_runs"], Run, corpus=self.corpus.corpus)

    @property
    def published_run(self) -> int:
        """The run whose tree this is."""
        return self.corpus.published_run or 0

    async def changes(self, run_a: int, run_b: int) -> list[Change]:
        """Say what differs between the trees of two runs."""
        return await fetch(
            self.connection, _STATEMENTS["changes"], Change, run_a=run_a, run_b=run_b, corpus=self.corpus.corpus
        )

    async def documents(self, path: str) -> list[Document]:
        return await fetch(
            self.connection, _STATEMENTS["documents_below"], Document, corpus=self.corpus.corpus, path=clean_path(path)
        )

    async def words_found(self, query: str, languages: Sequence[str], words: Sequence[str]) -> set[tuple[str, str]]:
        """Say which of some words, each in its language, are words of the query in another form."""
        rows = await fetch(
            self.connection,
            _STATEMENTS["words_found"],
            dict,
            query=query,
            languages=list(languages),
            found=list(words),
        )
        return {(row["language"], row["word"]) for row in rows}


async def nodes_by_key(database: Database, keys: Sequence[tuple[uuid.UUID, int]]) -> list[Node]:
    """Give row versions by their keys, in that order. Versions never change, so any snapshot gives the same."""
    return await database.fetch(
        _STATEMENTS["nodes_by_key"], Node, node_ids=[key[0] for key in keys], run_ids=[key[1] for key in keys]
    )


async def corpora(database: Database) -> list[Corpus]:
    return await database.fetch(_STATEMENTS["corpus_overview"], Corpus)
