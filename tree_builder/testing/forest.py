"""Small trees written straight into the tables, run by run, so that SQL can be tested without models and files.

A document is a list of passages, one chunk each. Its summary, and that of a directory, quotes the first word of all below,
so that a test sees what a summary may give away. Whatever has one item only is promoted, as the first law asks.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tree_builder.model import ROOT_PATH, body_of, node_id_of, text_id

if TYPE_CHECKING:
    import psycopg

DIMENSIONS = 16
REPORTS = {
    "a/alpha.txt": ["apple orchards in spring", "barley fields after rain", "cider presses and casks"],
    "a/beta.txt": ["dolphins near the harbour", "eels in the estuary"],
    "a/deep/gamma.txt": ["falcons above the cliffs", "geese over the marsh", "herons by the river"],
    "b/delta.txt": ["iron ore and coal"],
    "broken.pdf": [],
    "epsilon.txt": ["jade carvings of old", "kilns for red pottery"],
}
"""A corpus to test with: five documents in three directories, and a file which could not be read."""
_COLUMNS = (
    "node_id", "node_type", "level", "position", "parent_id", "doc_path", "dir_path", "text_id", "body",
    "char_start", "char_end", "page_start", "page_end", "decisions",
)  # fmt: skip


@dataclass(frozen=True)
class Grown:
    """A node in the making."""

    node_type: str
    content: str
    level: int
    children: tuple[Grown, ...] = ()
    doc_path: str | None = None
    dir_path: str = ROOT_PATH
    chars: tuple[int, int] | None = None
    pages: tuple[int, int] | None = None
    body: bytes = b""


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Give the unit vector of a text: each word adds a direction of its own, so that common words make texts alike."""
    total = np.zeros(dimensions)
    for word in text.lower().split():
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4])
        total += np.random.default_rng(seed).standard_normal(dimensions)
    if not total.any():
        total[0] = 1.0
    unit: list[float] = (total / np.linalg.norm(total)).round(6).tolist()
    return unit


def plant(
    connection: psycopg.Connection[Any],
    corpus: str,
    documents: Mapping[str, Sequence[str]],
    *,
    language: str | None = "en",
    model: str = "words",
    dimensions: int = DIMENSIONS,
) -> int:
    """Write the tree of these documents as a run of the corpus and publish it; give the run's number.

    Rows which stay the same stay as they are, so that earlier runs can still be read.
    """
    with connection.transaction():
        return _plant(connection, corpus, documents, language=language, model=model, dimensions=dimensions)


def _plant(
    connection: psycopg.Connection[Any],
    corpus: str,
    documents: Mapping[str, Sequence[str]],
    *,
    language: str | None,
    model: str,
    dimensions: int,
) -> int:
    model_id = _scalar(
        connection,
        "insert into tree_builder.embedding_models (model, dimensions) values (%s, %s)"
        " on conflict (model, dimensions) do update set model = excluded.model returning model_id",
        (model, dimensions),
    )
    corpus_id = _scalar(
        connection,
        "insert into tree_builder.corpora (corpus, folder) values (%s, '/documents')"
        " on conflict (corpus) do update set corpus = excluded.corpus returning corpus_id",
        (corpus,),
    )
    run_id = _scalar(
        connection,
        "insert into tree_builder.runs (corpus_id, holder, report) values (%s, 'machine-7', %s) returning run_id",
        (corpus_id, json.dumps({"failed": [p for p, passages in documents.items() if not passages]})),
    )
    rows = _placed(corpus, _root(documents))
    _write_texts(connection, {r["text_id"]: r["content"] for r in rows}, language, model_id, dimensions)
    _write_nodes(connection, rows, corpus_id, run_id)
    _write_documents(connection, documents, corpus_id, run_id, language)
    connection.execute(
        "update tree_builder.runs set state = 'published', ended_at = clock_timestamp() where run_id = %s", (run_id,)
    )
    connection.execute(
        "update tree_builder.corpora set published_run = %s, model_id = %s where corpus_id = %s",
        (run_id, model_id, corpus_id),
    )
    return int(run_id)


def _scalar(connection: psycopg.Connection[Any], sql: Any, parameters: tuple[Any, ...]) -> Any:
    row = connection.execute(sql, parameters).fetchone()
    return row[0] if row else None


def _root(documents: Mapping[str, Sequence[str]]) -> Grown:
    folders: dict[str, Any] = {}
    for path, passages in sorted(documents.items()):
        if passages:
            *parents, name = path.split("/")
            folder = folders
            for parent in parents:
                folder = folder.setdefault(parent, {})
            folder[name] = _document(path, passages)
    return _directory(ROOT_PATH, folders)


def _directory(path: str, folder: Mapping[str, Any]) -> Grown:
    prefix = "" if path == ROOT_PATH else f"{path}/"
    items = tuple(
        item if isinstance(item, Grown) else _directory(prefix + name, item) for name, item in sorted(folder.items())
    )
    return _top("root" if path == ROOT_PATH else "dir_top", items, None, path)


def _document(path: str, passages: Sequence[str]) -> Grown:
    dir_path = path.rpartition("/")[0] or ROOT_PATH
    chunks, start = [], 0
    for page, passage in enumerate(passages, start=1):
        end = start + len(passage)
        chunks.append(
            Grown("chunk", passage, 0, (), path, dir_path, (start, end), (page, page), body_of("chunk", passage, ()))
        )
        start = end
    top = _top("doc_top", tuple(chunks), path, dir_path)
    return replace(top, chars=(0, start), pages=(1, len(passages)))


def _top(node_type: str, items: tuple[Grown, ...], doc_path: str | None, dir_path: str) -> Grown:
    if len(items) == 1:
        content = items[0].content
    else:
        content = "summary of " + ", ".join(item.content.removeprefix("summary of ").split()[0] for item in items)
    digest = hashlib.sha256(node_type.encode() + content.encode() + b"".join(i.body for i in items)).digest()
    level = 1 + max((item.level for item in items), default=0)
    return Grown(node_type, content, level, items, doc_path, dir_path, body=digest)


def _placed(corpus: str, root: Grown) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    seen: dict[tuple[str, bytes], int] = {}

    def place(node: Grown, parent_id: uuid.UUID | None, position: int) -> None:
        where = f"doc:{node.doc_path}" if node.doc_path else f"dir:{node.dir_path}"
        occurrence = seen[where, node.body] = seen.get((where, node.body), -1) + 1
        node_id = node_id_of(corpus, where, node.body, occurrence)
        decisions = [
            {
                "at": at,
                "boundary": False,
                "method": "each",
                "verdict": "no",
                "reason": f"about {child.content.split()[0]}",
            }
            for at, child in enumerate(node.children)
            if at
        ]
        rows.append({
            "node_id": node_id, "node_type": node.node_type, "level": node.level, "position": position,
            "parent_id": parent_id, "doc_path": node.doc_path, "dir_path": node.dir_path,
            "text_id": text_id(node.content), "content": node.content, "body": node.body,
            "char_start": node.chars[0] if node.chars else None, "char_end": node.chars[1] if node.chars else None,
            "page_start": node.pages[0] if node.pages else None, "page_end": node.pages[1] if node.pages else None,
            "decisions": json.dumps(decisions),
        })  # fmt: skip
        for i, child in enumerate(node.children):
            place(child, node_id, i)

    place(root, None, 0)
    return rows


def _write_texts(
    connection: psycopg.Connection[Any], texts: Mapping[uuid.UUID, str], language: str | None, model_id: int, n: int
) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into tree_builder.texts (text_id, content, language, words) values"
            " (%(id)s, %(text)s, %(language)s, to_tsvector(tree_builder.text_config(%(language)s), %(text)s))"
            " on conflict do nothing",
            [{"id": i, "text": text, "language": language} for i, text in texts.items()],
        )
        cursor.executemany(
            "insert into tree_builder.vectors (model_id, text_id, indexed, embedding) values (%s, %s, true, %s::text::vector)"
            " on conflict do nothing",
            [(model_id, i, json.dumps(vector(text, n))) for i, text in texts.items()],
        )


def _write_nodes(
    connection: psycopg.Connection[Any], rows: Sequence[Mapping[str, Any]], corpus_id: int, run_id: int
) -> None:
    connection.execute(
        "create temporary table if not exists planted (like tree_builder.node including defaults) on commit delete rows"
    )
    connection.execute("truncate planted")
    names = ", ".join(_COLUMNS)
    values = ", ".join(f"%({name})s" for name in _COLUMNS)
    with connection.cursor() as cursor:
        insert: Any = f"insert into planted (since_run, corpus_id, {names}) values (%(run)s, %(corpus)s, {values})"  # noqa: S608 -- names of columns above
        cursor.executemany(insert, [{**row, "run": run_id, "corpus": corpus_id} for row in rows])
    connection.execute(
        "update tree_builder.node as n set until_run = %s where n.corpus_id = %s and n.until_run > %s and not exists ("
        " select 1 from planted as o where o.node_id = n.node_id"
        " and (o.parent_id, o.position) is not distinct from (n.parent_id, n.position))",
        (run_id, corpus_id, run_id),
    )
    connection.execute(
        "insert into tree_builder.node select p.* from planted as p where not exists ("
        " select 1 from tree_builder.node as o where o.corpus_id = p.corpus_id and o.node_id = p.node_id"
        " and o.until_run > p.since_run)"
    )


def _write_documents(
    connection: psycopg.Connection[Any],
    documents: Mapping[str, Sequence[str]],
    corpus_id: int,
    run_id: int,
    language: str | None,
) -> None:
    connection.execute("delete from tree_builder.documents where corpus_id = %s", (corpus_id,))
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into tree_builder.documents (corpus_id, doc_path, dir_path, status, reason, size_bytes, mtime_ns,"
            " grown_hash, title, language, n_pages, n_chars, n_chunks, run_id)"
            " values (%s, %s, %s, %s, %s, 1, 1, %s, %s, %s, %s, %s, %s, %s)",
            [
                (corpus_id, path, path.rpartition("/")[0] or ROOT_PATH, "built" if passages else "malformed",
                 "" if passages else "not a PDF", b"x" if passages else None, f"Title of {path}", language,
                 len(passages), sum(map(len, passages)), len(passages), run_id)
                for path, passages in documents.items()
            ],
        )  # fmt: skip
