"""Plants a small published tree straight into the schema, for tests of what reads it. Grows nothing, asks no model.

Chunks are plain windows; every summary is the first sentence of its first passages. What is planted obeys the laws of the tree.
"""

from __future__ import annotations

import posixpath
import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from tree_builder.model import ROOT_PATH, NodeType, Tree, node_id_of
from tree_builder.testing import oracle

PAGE_CHARS = 900
DIMENSIONS = 256
Vectors = Callable[[str], np.ndarray[tuple[int, ...], np.dtype[np.float32]]]

_TOPICS = {
    "boats/sails.pdf": "sail mast rope canvas wind harbour deck anchor rudder keel hull tide",
    "boats/engines.pdf": "engine piston fuel diesel shaft propeller valve oil pump gauge exhaust spark",
    "kitchen/bread.md": "flour yeast dough oven crust salt water knead loaf bake rise crumb",
    "kitchen/soup/onion.txt": "onion broth pot butter simmer spoon ladle thyme pepper cheese bowl toast",
    "single.txt": "lantern",
}


def sample_prose(words: list[str], sentences: int, seed: int) -> str:
    """Write sentences of some words, none like another."""
    rng = random.Random(seed)  # noqa: S311 -- no secret
    lines = []
    for number in range(sentences):
        picked = rng.sample(words, min(len(words), 5))
        lines.append(f"Note {number} tells how the {' and the '.join(picked)} belong together.")
    return " ".join(lines)


SAMPLE_FILES = {
    path: sample_prose(words.split(), 40 if path != "single.txt" else 1, seed)
    for seed, (path, words) in enumerate(_TOPICS.items())
}


@dataclass(slots=True)
class Planted:
    """What was planted: the text of each document as read, and the run which published it."""

    corpus: str
    run_id: int
    texts: dict[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """How trees are made: characters of a chunk and of its overlap, children of a group."""

    chunk_size: int = 400
    overlap: int = 40
    group: int = 3


def plant(
    url: str,
    files: Mapping[str, str],
    *,
    corpus: str = "papers",
    shape: Shape = Shape(),
    model: str = "fake-embedder",
    vectors: Vectors | None = None,
    titles: Mapping[str, str] | None = None,
    language: str = "en",
) -> Planted:
    """Publish a tree of some documents as a new run of the corpus, in place of the earlier one."""
    embed = vectors or (lambda text: oracle.vector(text, DIMENSIONS))
    tops = {path: document_tree(path, text, shape) for path, text in files.items()}
    root = directory_tree(ROOT_PATH, tops, shape)
    with psycopg.connect(url) as connection:
        connection.execute("set search_path = public")
        register_vector(connection)
        planter = _Planter(connection, corpus, embed, language)
        planter.begin(model, len(embed("any")))
        planter.insert(root)
        planter.insert_documents(files, titles or {})
        return Planted(corpus, planter.publish(), dict(files))


def document_tree(path: str, text: str, shape: Shape) -> Tree:
    """Make the tree of one document."""
    step = shape.chunk_size - shape.overlap
    starts = range(0, max(1, len(text) - shape.overlap), step)
    level = [_chunk(text, start, shape, path) for start in starts]
    while len(level) > shape.group:
        level = [_cover(NodeType.SUMMARY, level[i : i + shape.group], path) for i in range(0, len(level), shape.group)]
    return _cover(NodeType.DOC_TOP, level, path)


def _chunk(text: str, start: int, shape: Shape, path: str) -> Tree:
    end = min(len(text), start + shape.chunk_size)
    return Tree(
        NodeType.CHUNK,
        text[start:end],
        0,
        char_start=start,
        char_end=end,
        page_start=start // PAGE_CHARS + 1,
        page_end=max(start, end - 1) // PAGE_CHARS + 1,
        overlap=min(start, shape.overlap),
        doc_path=path,
        dir_path=posixpath.dirname(path) or ROOT_PATH,
    )


def _cover(kind: NodeType, items: Sequence[Tree], path: str) -> Tree:
    first, last = items[0], items[-1]
    content = (
        first.content if len(items) == 1 else " ".join(item.content.split(". ")[0].strip(". ") + "." for item in items)
    )
    return Tree(
        kind,
        content,
        max(item.level for item in items) + 1,
        tuple(items),
        char_start=first.char_start,
        char_end=last.char_end,
        page_start=first.page_start,
        page_end=last.page_end,
        doc_path=path,
        dir_path=posixpath.dirname(path) or ROOT_PATH,
    )


def directory_tree(path: str, tops: Mapping[str, Tree], shape: Shape) -> Tree:
    """Make the tree of a directory from the tops of all documents below it."""
    prefix = "" if path == ROOT_PATH else f"{path}/"
    inside = sorted({top.removeprefix(prefix).split("/")[0] for top in tops if top.startswith(prefix)})
    items = [
        tops[prefix + name] if prefix + name in tops else directory_tree(prefix + name, tops, shape) for name in inside
    ]
    while len(items) > shape.group:
        items = [_over(NodeType.SUMMARY, items[i : i + shape.group], path) for i in range(0, len(items), shape.group)]
    return _over(NodeType.ROOT if path == ROOT_PATH else NodeType.DIR_TOP, items, path)


def _over(kind: NodeType, items: Sequence[Tree], path: str) -> Tree:
    content = (
        items[0].content
        if len(items) == 1
        else " ".join(item.content.split(". ")[0].strip(". ") + "." for item in items)
    )
    return Tree(kind, content, max(item.level for item in items) + 1, tuple(items), dir_path=path)


def _placed(corpus: str, root: Tree) -> list[tuple[Tree, uuid.UUID | None, int]]:
    """List all nodes with their ids, parents and positions."""
    out: list[tuple[Tree, uuid.UUID | None, int]] = []
    seen: dict[tuple[str, bytes], int] = {}
    waiting: list[tuple[Tree, uuid.UUID | None, int]] = [(root, None, 0)]
    while waiting:
        node, parent_id, position = waiting.pop()
        place = f"doc:{node.doc_path}" if node.doc_path is not None else f"dir:{node.dir_path}"
        occurrence = seen[place, node.body] = seen.get((place, node.body), -1) + 1
        placed = replace(node, node_id=node_id_of(corpus, place, node.body, occurrence))
        out.append((placed, parent_id, position))
        waiting += [(child, placed.node_id, i) for i, child in reversed(list(enumerate(node.children)))]
    return out


@dataclass(slots=True)
class _Planter:
    connection: psycopg.Connection
    corpus: str
    embed: Vectors
    language: str
    model_id: int = 0
    corpus_id: int = 0
    run_id: int = 0

    def begin(self, model: str, dimensions: int) -> None:
        self.model_id = self._value(
            "insert into tree_builder.embedding_models (model, dimensions) values (%s, %s)"
            " on conflict (model, dimensions) do update set model = excluded.model returning model_id",
            model,
            dimensions,
        )
        self.corpus_id = self._value(
            "insert into tree_builder.corpora (corpus, folder) values (%s, '/papers')"
            " on conflict (corpus) do update set corpus = excluded.corpus returning corpus_id",
            self.corpus,
        )
        self.run_id = self._value(
            "insert into tree_builder.runs (corpus_id, state, ended_at)"
            " values (%s, 'published', clock_timestamp()) returning run_id",
            self.corpus_id,
        )
        self._execute(
            "update tree_builder.node set until_run = %s where corpus_id = %s and until_run > %s",
            self.run_id,
            self.corpus_id,
            self.run_id,
        )

    def insert(self, root: Tree) -> None:
        for node, parent_id, position in _placed(self.corpus, root):
            self._insert_text(node)
            self._execute(
                "insert into tree_builder.node (node_id, since_run, corpus_id, node_type, level, position, parent_id,"
                " doc_path, dir_path, text_id, body, char_start, char_end, page_start, page_end, overlap)"
                " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                *(node.node_id, self.run_id, self.corpus_id, node.node_type.value, node.level, position, parent_id),
                *(node.doc_path, node.dir_path, node.text_id, node.body, node.char_start, node.char_end),
                *(node.page_start, node.page_end, node.overlap),
            )

    def _insert_text(self, node: Tree) -> None:
        self._execute(
            "insert into tree_builder.texts (text_id, content, language, words)"
            " values (%s, %s, %s, to_tsvector(tree_builder.text_config(%s), %s)) on conflict do nothing",
            *(node.text_id, node.content, self.language, self.language, node.content),
        )
        self._execute(
            "insert into tree_builder.vectors (model_id, text_id, indexed, embedding)"
            " values (%s, %s, true, %s) on conflict do nothing",
            *(self.model_id, node.text_id, self.embed(node.content)),
        )

    def insert_documents(self, texts: Mapping[str, str], titles: Mapping[str, str]) -> None:
        self._execute("delete from tree_builder.documents where corpus_id = %s", self.corpus_id)
        for path, text in texts.items():
            self._execute(
                "insert into tree_builder.documents (corpus_id, doc_path, dir_path, status, size_bytes, mtime_ns,"
                " grown_hash, title, language, n_pages, n_chars, n_chunks, run_id)"
                " values (%s, %s, %s, 'built', %s, 0, '', %s, %s, %s, %s, 1, %s)",
                *(self.corpus_id, path, posixpath.dirname(path) or ROOT_PATH, len(text), titles.get(path)),
                *(self.language, len(text) // PAGE_CHARS + 1, len(text), self.run_id),
            )

    def publish(self) -> int:
        self._execute(
            "update tree_builder.corpora set published_run = %s, model_id = %s where corpus_id = %s",
            self.run_id,
            self.model_id,
            self.corpus_id,
        )
        return self.run_id

    def _execute(self, statement: str, *values: object) -> None:
        self.connection.execute(statement.encode(), values)

    def _value(self, statement: str, *values: object) -> int:
        row = self.connection.execute(statement.encode(), values).fetchone()
        if row is None:
            raise AssertionError(f"no row from {statement}")
        return int(row[0])
