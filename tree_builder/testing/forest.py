"""Small trees of short passages, run by run, so that SQL can be tested without models and files.

A document is a list of passages, one chunk each. Its summary, and that of a directory, quotes the first word of all below,
so that a test sees what a summary may give away. Whatever has one item only is promoted, as the first law asks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tree_builder.model import ROOT_PATH, Decision, NodeType, Tree, directory_of
from tree_builder.testing.planting import File, write

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
    """Write the tree of these documents as a run of the corpus and publish it; give the run's number."""
    return write(
        connection,
        corpus,
        _root(documents),
        [_file(path, passages) for path, passages in documents.items()],
        model=model,
        vectors=lambda text: vector(text, dimensions),
        language=language,
    )


def _file(path: str, passages: Sequence[str]) -> File:
    file = File(path, f"Title of {path}", len(passages), sum(map(len, passages)), len(passages))
    return file if passages else replace(file, status="malformed", reason="not a PDF")


def _root(documents: Mapping[str, Sequence[str]]) -> Tree:
    folders: dict[str, Any] = {}
    for path, passages in sorted(documents.items()):
        if passages:
            *parents, name = path.split("/")
            folder = folders
            for parent in parents:
                folder = folder.setdefault(parent, {})
            folder[name] = _document(path, passages)
    return _directory(ROOT_PATH, folders)


def _directory(path: str, folder: Mapping[str, Any]) -> Tree:
    prefix = "" if path == ROOT_PATH else f"{path}/"
    items = tuple(
        item if isinstance(item, Tree) else _directory(prefix + name, item) for name, item in sorted(folder.items())
    )
    return _top(NodeType.ROOT if path == ROOT_PATH else NodeType.DIR_TOP, items, None, path)


def _document(path: str, passages: Sequence[str]) -> Tree:
    chunks, start = [], 0
    for page, passage in enumerate(passages, start=1):
        end = start + len(passage)
        chunks.append(
            Tree(
                NodeType.CHUNK,
                passage,
                0,
                char_start=start,
                char_end=end,
                page_start=page,
                page_end=page,
                doc_path=path,
                dir_path=directory_of(path),
            )
        )
        start = end
    top = _top(NodeType.DOC_TOP, tuple(chunks), path, directory_of(path))
    return replace(top, char_start=0, char_end=start, page_start=1, page_end=len(passages))


def _top(kind: NodeType, items: tuple[Tree, ...], doc_path: str | None, dir_path: str) -> Tree:
    content = items[0].content if len(items) == 1 else "summary of " + ", ".join(map(_first_word, items))
    return Tree(
        kind,
        content,
        1 + max((item.level for item in items), default=0),
        items,
        doc_path=doc_path,
        dir_path=dir_path,
        decisions=tuple(
            Decision(at, boundary=False, method="each", verdict="no", reason=f"about {item.content.split()[0]}")
            for at, item in enumerate(items)
            if at
        ),
    )


def _first_word(item: Tree) -> str:
    return item.content.removeprefix("summary of ").split()[0]
