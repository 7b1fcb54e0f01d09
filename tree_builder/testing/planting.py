"""Plants a small published tree straight into the schema, for tests of what reads it. Grows nothing, asks no model.

`write` writes any tree as a run; rows which stay the same stay as they are, so that earlier runs can still be read. `plant` makes trees
of long texts: chunks are plain windows, every summary is the first sentence of its first passages. `forest` makes those of short passages.
What is planted obeys the laws of the tree.
"""

from __future__ import annotations

import json
import posixpath
import random
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import psycopg

from tree_builder.model import ROOT_PATH, NodeType, Tree, directory_of, node_id_of
from tree_builder.testing import oracle

PAGE_CHARS = 900
DIMENSIONS = 256
Vectors = Callable[[str], Sequence[float] | np.ndarray[tuple[int, ...], np.dtype[np.float32]]]

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
class File:
    """A source file as a run left it."""

    doc_path: str
    title: str | None
    n_pages: int
    n_chars: int
    n_chunks: int
    status: str = "built"
    reason: str = ""


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
    tops = {path: document_tree(path, text, shape) for path, text in files.items()}
    documents = [
        File(path, (titles or {}).get(path), len(text) // PAGE_CHARS + 1, len(text), 1) for path, text in files.items()
    ]
    with psycopg.connect(url) as connection:
        run_id = write(
            connection,
            corpus,
            directory_tree(ROOT_PATH, tops, shape),
            documents,
            model=model,
            vectors=vectors or (lambda text: oracle.vector(text, DIMENSIONS)),
            language=language,
        )
    return Planted(corpus, run_id, dict(files))


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


def write(
    connection: psycopg.Connection[Any],
    corpus: str,
    root: Tree,
    files: Sequence[File],
    *,
    model: str,
    vectors: Vectors,
    language: str | None,
) -> int:
    """Write a tree as a run of the corpus and publish it; give the run's number."""
    rows = list(_rows(corpus, root))
    texts = {row["text_id"]: row["content"] for row in rows}
    kept = {text_id: vectors(text) for text_id, text in texts.items()}
    with connection.transaction(), connection.cursor() as cursor:
        ids = _begin(cursor, corpus, model, len(next(iter(kept.values()))), files)
        cursor.executemany(
            "insert into tree_builder.texts (text_id, content, language, words) values"
            " (%(id)s, %(text)s, %(language)s, to_tsvector(tree_builder.text_config(%(language)s), %(text)s))"
            " on conflict do nothing",
            [{"id": text_id, "text": text, "language": language} for text_id, text in texts.items()],
        )
        cursor.executemany(
            "insert into tree_builder.vectors (model_id, text_id, indexed, embedding) values"
            " (%s, %s, true, %s::text::public.vector) on conflict do nothing",
            [(ids["model_id"], text_id, json.dumps([float(x) for x in vector])) for text_id, vector in kept.items()],
        )
        _write_nodes(cursor, rows, ids)
        _write_files(cursor, files, ids, language)
        cursor.execute(
            "update tree_builder.runs set state = 'published', ended_at = clock_timestamp() where run_id = %(run_id)s",
            ids,
        )
        cursor.execute(
            "update tree_builder.corpora set published_run = %(run_id)s, model_id = %(model_id)s"
            " where corpus_id = %(corpus_id)s",
            ids,
        )
    return ids["run_id"]


def _rows(corpus: str, root: Tree) -> Iterator[dict[str, Any]]:
    """Give all nodes with their ids, parents and positions, as rows of the table; content beside them."""
    seen: dict[tuple[str, bytes], int] = {}
    waiting: list[tuple[Tree, uuid.UUID | None, int]] = [(root, None, 0)]
    while waiting:
        node, parent_id, position = waiting.pop()
        place = f"doc:{node.doc_path}" if node.doc_path is not None else f"dir:{node.dir_path}"
        occurrence = seen[place, node.body] = seen.get((place, node.body), -1) + 1
        node_id = node_id_of(corpus, place, node.body, occurrence)
        yield {
            "node_id": node_id, "node_type": node.node_type.value, "level": node.level, "position": position,
            "parent_id": parent_id, "doc_path": node.doc_path, "dir_path": node.dir_path, "text_id": node.text_id,
            "body": node.body, "char_start": node.char_start, "char_end": node.char_end, "page_start": node.page_start,
            "page_end": node.page_end, "overlap": node.overlap, "content": node.content,
            "decisions": json.dumps([decision.as_json() for decision in node.decisions]),
        }  # fmt: skip
        waiting += [(child, node_id, i) for i, child in reversed(list(enumerate(node.children)))]


def _begin(
    cursor: psycopg.Cursor[Any], corpus: str, model: str, dimensions: int, files: Sequence[File]
) -> dict[str, int]:
    """Begin a run of the corpus; give the ids of model, corpus and run."""
    failed = [file.doc_path for file in files if file.status != "built"]
    row = cursor.execute(
        "with m as (insert into tree_builder.embedding_models (model, dimensions) values (%s, %s)"
        " on conflict (model, dimensions) do update set model = excluded.model returning model_id),"
        " c as (insert into tree_builder.corpora (corpus, folder) values (%s, '/documents')"
        " on conflict (corpus) do update set corpus = excluded.corpus returning corpus_id),"
        " r as (insert into tree_builder.runs (corpus_id, holder, report)"
        " select corpus_id, 'machine-7', %s from c returning run_id)"
        " select m.model_id, c.corpus_id, r.run_id from m, c, r",
        (model, dimensions, corpus, json.dumps({"failed": failed})),
    ).fetchone()
    return dict(zip(("model_id", "corpus_id", "run_id"), row or (), strict=True))


def _write_nodes(cursor: psycopg.Cursor[Any], rows: Sequence[dict[str, Any]], ids: dict[str, int]) -> None:
    cursor.execute(
        "create temporary table if not exists planted (like tree_builder.node including defaults) on commit delete rows"
    )
    cursor.execute("truncate planted")
    cursor.executemany(
        "insert into planted (since_run, corpus_id, node_id, node_type, level, position, parent_id, doc_path, dir_path, text_id,"
        " body, char_start, char_end, page_start, page_end, overlap, decisions)"
        " values (%(run_id)s, %(corpus_id)s, %(node_id)s, %(node_type)s, %(level)s, %(position)s, %(parent_id)s, %(doc_path)s,"
        " %(dir_path)s, %(text_id)s, %(body)s, %(char_start)s, %(char_end)s, %(page_start)s, %(page_end)s, %(overlap)s,"
        " %(decisions)s)",
        [{**row, **ids} for row in rows],
    )
    cursor.execute(
        "update tree_builder.node as n set until_run = %(run_id)s"
        " where n.corpus_id = %(corpus_id)s and n.until_run > %(run_id)s and not exists ("
        " select 1 from planted as o where o.node_id = n.node_id"
        " and (o.parent_id, o.position) is not distinct from (n.parent_id, n.position))",
        ids,
    )
    cursor.execute(
        "insert into tree_builder.node select p.* from planted as p where not exists ("
        " select 1 from tree_builder.node as o where o.corpus_id = p.corpus_id and o.node_id = p.node_id"
        " and o.until_run > p.since_run)"
    )


def _write_files(cursor: psycopg.Cursor[Any], files: Sequence[File], ids: dict[str, int], language: str | None) -> None:
    cursor.execute("delete from tree_builder.documents where corpus_id = %(corpus_id)s", ids)
    cursor.executemany(
        "insert into tree_builder.documents (corpus_id, doc_path, dir_path, status, reason, size_bytes, mtime_ns,"
        " grown_hash, title, language, n_pages, n_chars, n_chunks, run_id)"
        " values (%(corpus_id)s, %(doc_path)s, %(dir_path)s, %(status)s, %(reason)s, 1, 1, %(grown)s, %(title)s,"
        " %(language)s, %(n_pages)s, %(n_chars)s, %(n_chunks)s, %(run_id)s)",
        [
            {
                **asdict(file),
                **ids,
                "dir_path": directory_of(file.doc_path),
                "grown": b"x" if file.status == "built" else None,
                "language": language,
            }
            for file in files
        ],
    )
