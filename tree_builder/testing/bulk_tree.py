"""A large made-up tree written straight into the tables, to measure queries and their plans on. No model, no files.

Vectors are clustered as those of real texts are: a topic, a document of that topic, a passage of that document, with
noise of few dimensions. Words follow a Zipf law, with some which are of the topic alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import psycopg

    Matrix = npt.NDArray[np.float32]

FANOUT = 6
CHUNKS_A_DOCUMENT = 80
DOCUMENTS_A_DIRECTORY = 30
_NOISE_DIMENSIONS = 48


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the tree is: about `nodes` nodes, vectors of `dimensions`, texts of about `words` words."""

    nodes: int
    dimensions: int
    words: int = 120
    topics: int = 400
    vocabulary: int = 40_000
    seed: int = 7
    corpus: str = "bulk"


@dataclass(frozen=True, slots=True)
class _Node:
    node_id: uuid.UUID
    node_type: str
    level: int
    position: int
    parent_id: uuid.UUID | None
    doc_path: str | None
    dir_path: str
    chars: tuple[int, int] | None


def fill(connection: psycopg.Connection[Any], shape: Shape) -> int:
    """Write the tree as one published run of a corpus of its own; give the number of its nodes.

    The vector index is left to be made, by the statement which `tree_builder.vector_index_statement` gives.
    """
    random = np.random.default_rng(shape.seed)
    model_id, corpus_id, run_id = _begin(connection, shape)
    n_documents = max(1, shape.nodes // _nodes_a_document())
    topic_vectors = _unit(random.standard_normal((shape.topics, shape.dimensions)))
    basis = _unit(random.standard_normal((_NOISE_DIMENSIONS, shape.dimensions)))
    vocabulary = [_word(i) for i in range(shape.vocabulary)]
    tops: dict[str, list[uuid.UUID]] = {}
    count = 0
    with connection.cursor() as cursor:
        for n in range(n_documents):
            dir_path = f"part{n // DOCUMENTS_A_DIRECTORY % 10}/section{n // DOCUMENTS_A_DIRECTORY:04d}"
            doc_path = f"{dir_path}/document{n:06d}.pdf"
            nodes = _document_nodes(n, doc_path, dir_path, directory_top=_id(shape, "dir", dir_path), shape=shape)
            tops.setdefault(dir_path, []).append(nodes[-1].node_id)
            topic = int(random.integers(shape.topics))
            vectors = _vectors(random, topic_vectors[topic], basis, len(nodes))
            texts = _texts(random, vocabulary, topic, nodes, shape)
            _copy(cursor, nodes, vectors, texts, (model_id, corpus_id, run_id))
            count += len(nodes)
        upper = _directory_nodes(tops, shape)
        vectors = _vectors(random, topic_vectors[0], basis, len(upper))
        _copy(cursor, upper, vectors, _texts(random, vocabulary, 0, upper, shape), (model_id, corpus_id, run_id))
        cursor.execute(
            "insert into tree_builder.documents (corpus_id, doc_path, dir_path, status, size_bytes, mtime_ns,"
            " grown_hash, title, language, n_pages, n_chars, n_chunks, run_id)"
            " select n.corpus_id, n.doc_path, n.dir_path, 'built', 1, 1, '\\x00', n.doc_path, 'en',"
            " %s, %s, %s, %s from tree_builder.node as n where n.corpus_id = %s and n.node_type = 'doc_top'",
            (CHUNKS_A_DOCUMENT // 3, CHUNKS_A_DOCUMENT * 900, CHUNKS_A_DOCUMENT, run_id, corpus_id),
        )
        cursor.execute("update tree_builder.runs set state = 'published', ended_at = clock_timestamp()"
                       " where run_id = %s", (run_id,))  # fmt: skip
        cursor.execute(
            "update tree_builder.corpora set published_run = %s, model_id = %s where corpus_id = %s",
            (run_id, model_id, corpus_id),
        )
    return count + len(upper)


def _begin(connection: psycopg.Connection[Any], shape: Shape) -> tuple[int, int, int]:
    row: Any = connection.execute(
        "with m as (insert into tree_builder.embedding_models (model, dimensions) values (%s, %s)"
        " on conflict (model, dimensions) do update set model = excluded.model returning model_id),"
        " c as (insert into tree_builder.corpora (corpus) values (%s) returning corpus_id),"
        " r as (insert into tree_builder.runs (corpus_id) select corpus_id from c returning run_id)"
        " select m.model_id, c.corpus_id, r.run_id from m, c, r",
        (f"bulk-{shape.dimensions}", shape.dimensions, shape.corpus),
    ).fetchone()
    return row[0], row[1], row[2]


def _nodes_a_document() -> int:
    total, width = 0, CHUNKS_A_DOCUMENT
    while width > 1:
        total += width
        width = -(-width // FANOUT)
    return total + 1


def _document_nodes(n: int, doc_path: str, dir_path: str, *, directory_top: uuid.UUID, shape: Shape) -> list[_Node]:
    nodes: list[_Node] = []
    width, level = CHUNKS_A_DOCUMENT, 0
    span = 900
    while True:
        parents = -(-width // FANOUT)
        for i in range(width):
            top = width == 1
            parent = directory_top if top else _id(shape, doc_path, level + 1, i // FANOUT)
            kind = "chunk" if level == 0 else "doc_top" if top else "summary"
            position = n % DOCUMENTS_A_DIRECTORY if top else i % FANOUT
            chars = (i * span, min((i + 1) * span, CHUNKS_A_DOCUMENT * 900))
            nodes.append(
                _Node(_id(shape, doc_path, level, i), kind, level, position, parent, doc_path, dir_path, chars)
            )
        if width == 1:
            return nodes
        width, level, span = parents, level + 1, span * FANOUT


def _directory_nodes(tops: dict[str, list[uuid.UUID]], shape: Shape) -> list[_Node]:
    parts = sorted({path.split("/")[0] for path in tops})
    root = _Node(_id(shape, "dir", "."), "root", 7, 0, None, None, ".", None)
    upper = [root]
    for i, part in enumerate(parts):
        upper.append(_Node(_id(shape, "dir", part), "dir_top", 6, i, root.node_id, None, part, None))
        sections = sorted(path for path in tops if path.startswith(f"{part}/"))
        upper += [
            _Node(_id(shape, "dir", path), "dir_top", 5, j, _id(shape, "dir", part), None, path, None)
            for j, path in enumerate(sections)
        ]
    return upper


def _vectors(random: np.random.Generator, topic: Matrix, basis: Matrix, n: int) -> Matrix:
    document = random.standard_normal(_NOISE_DIMENSIONS).astype(np.float32) @ basis
    passages = random.standard_normal((n, _NOISE_DIMENSIONS)).astype(np.float32) @ basis
    return _unit(topic + 0.7 * document / np.linalg.norm(document) + 0.14 * passages)


def _texts(
    random: np.random.Generator, vocabulary: list[str], topic: int, nodes: list[_Node], shape: Shape
) -> Iterator[str]:
    for node in nodes:
        common = _common_words(random, shape)
        own = (topic * 97 + random.integers(0, 60, shape.words // 8)) % len(vocabulary)
        yield " ".join([node.node_id.hex[:12], *(vocabulary[i] for i in random.permutation([*common, *own]))])


def _common_words(random: np.random.Generator, shape: Shape) -> npt.NDArray[np.int64]:
    """Draw places in a vocabulary by the law of Zipf and Mandelbrot: the commonest is in about a fifth of the texts."""
    flat = 80.0
    places = flat * ((shape.vocabulary + flat) / flat) ** random.random(shape.words) - flat
    return places.astype(np.int64) % shape.vocabulary


def _copy(
    cursor: psycopg.Cursor[Any], nodes: list[_Node], vectors: Matrix, texts: Iterator[str], ids: tuple[int, int, int]
) -> None:
    model_id, corpus_id, run_id = ids
    with cursor.copy(
        "copy tree_builder.node (node_id, since_run, corpus_id, node_type, level, position, parent_id, doc_path,"
        " dir_path, text_id, body, char_start, char_end, page_start, page_end) from stdin"
    ) as copy:
        for n in nodes:
            start, end = n.chars or (None, None)
            pages = (start // 2700 + 1, max(end - 1, 0) // 2700 + 1) if start is not None and end else (None, None)
            copy.write_row(
                (n.node_id, run_id, corpus_id, n.node_type, n.level, n.position, n.parent_id, n.doc_path, n.dir_path,
                 n.node_id, n.node_id.bytes, start, end, *pages)
            )  # fmt: skip
    cursor.execute("create temporary table if not exists bulk_text (text_id uuid, content text) on commit delete rows")
    cursor.execute("truncate bulk_text")
    with cursor.copy("copy bulk_text from stdin") as copy:
        for node, text in zip(nodes, texts, strict=True):
            copy.write_row((node.node_id, text))
    cursor.execute(
        "insert into tree_builder.texts (text_id, content, language, words)"
        " select text_id, content, 'en', to_tsvector(tree_builder.text_config('en'), content) from bulk_text"
    )
    with cursor.copy("copy tree_builder.vectors (model_id, text_id, indexed, embedding) from stdin") as copy:
        for node, vector in zip(nodes, vectors, strict=True):
            copy.write_row((model_id, node.node_id, True, "[" + ",".join(map("{:.6g}".format, vector.tolist())) + "]"))


def _id(shape: Shape, *parts: object) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_URL, "\0".join(map(str, (shape.corpus, *parts))))


def _word(i: int) -> str:
    """A made-up word which no stemmer shortens: digits as consonants and vowels."""
    out = ""
    i += 20
    while i:
        i, digit = divmod(i, 80)
        out += "bdfgklmnprtvzcxw"[digit % 16] + "aiuoy"[digit // 16]
    return out + "k"


def _unit(rows: npt.NDArray[Any]) -> Matrix:
    unit: Matrix = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return unit
