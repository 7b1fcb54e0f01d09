"""Gives grown trees their place: node ids, parents, positions; and directories their order. Plain functions, no I/O."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tree_builder.model import ROOT_PATH, NodeType, PlacedNode, Tree, directory_of, node_id_of


@dataclass(frozen=True, slots=True)
class Placed:
    """A tree in its place. links: for each item which has an id of its own already, its parent and position."""

    top: Tree  # without children, as an item for the directory above
    nodes: tuple[PlacedNode, ...]
    links: tuple[tuple[uuid.UUID, uuid.UUID, int], ...]


def place_document(tree: Tree, *, corpus: str, doc_path: str) -> Placed:
    """Place a document's tree. The top's own parent is linked when its directory has grown."""
    return _place(tree, corpus=corpus, place=f"doc:{doc_path}", doc_path=doc_path, dir_path=directory_of(doc_path))


def place_directory(tree: Tree, *, corpus: str, dir_path: str) -> Placed:
    """Place a directory's own nodes; its documents' and sub-directories' tops are linked below them."""
    return _place(tree, corpus=corpus, place=f"dir:{dir_path}", doc_path=None, dir_path=dir_path)


def _place(tree: Tree, *, corpus: str, place: str, doc_path: str | None, dir_path: str) -> Placed:
    seen: Counter[bytes] = Counter()
    nodes: list[PlacedNode] = []
    links: list[tuple[uuid.UUID, uuid.UUID, int]] = []

    def descend(node: Tree, parent_id: uuid.UUID | None, position: int) -> uuid.UUID:
        if node.node_id is not None and parent_id is not None:
            links.append((node.node_id, parent_id, position))
            return node.node_id
        node_id = node_id_of(corpus, place, node.body, seen[node.body])
        seen[node.body] += 1
        nodes.append(
            _placed(
                node,
                node_id=node_id,
                parent_id=parent_id,
                position=position,
                doc_path=doc_path,
                dir_path=dir_path,
            )
        )
        for index, child in enumerate(node.children):
            descend(child, node_id, index)
        return node_id

    top_id = descend(replace(tree, node_id=None), None, 0)
    top = replace(tree, children=(), decisions=(), node_id=top_id, doc_path=doc_path, dir_path=dir_path)
    return Placed(top, tuple(nodes), tuple(links))


def _placed(
    node: Tree,
    *,
    node_id: uuid.UUID,
    parent_id: uuid.UUID | None,
    position: int,
    doc_path: str | None,
    dir_path: str,
) -> PlacedNode:
    return PlacedNode(
        node_id=node_id,
        node_type=node.node_type,
        level=node.level,
        position=position,
        parent_id=parent_id,
        doc_path=doc_path,
        dir_path=dir_path,
        content=node.content,
        text_id=node.text_id,
        body=node.body,
        char_start=node.char_start,
        char_end=node.char_end,
        page_start=node.page_start,
        page_end=node.page_end,
        overlap=node.overlap,
        flags=node.flags,
        decisions=node.decisions,
    )


def replace_place(nodes: Sequence[PlacedNode], *, corpus: str, source: str, target: str) -> Placed:
    """Give a published document's nodes the ids which they have at another path: the same tree elsewhere, made without growing.

    source, target: doc_paths.
    """
    new_ids: dict[uuid.UUID, uuid.UUID] = {}
    for body, count in Counter(n.body for n in nodes).items():
        for occurrence in range(count):
            old = node_id_of(corpus, f"doc:{source}", body, occurrence)
            new_ids[old] = node_id_of(corpus, f"doc:{target}", body, occurrence)
    moved = [
        replace(
            n,
            node_id=new_ids[n.node_id],
            parent_id=None if n.node_type is NodeType.DOC_TOP else new_ids[n.parent_id] if n.parent_id else None,
            position=0 if n.node_type is NodeType.DOC_TOP else n.position,
            doc_path=target,
            dir_path=directory_of(target),
        )
        for n in nodes
    ]
    top = next(n for n in moved if n.node_type is NodeType.DOC_TOP)
    return Placed(as_item(top), tuple(moved), ())


def as_item(node: PlacedNode) -> Tree:
    """Give a placed top as an item for the directory above."""
    return Tree(
        node_type=node.node_type,
        content=node.content,
        level=node.level,
        doc_path=node.doc_path,
        dir_path=node.dir_path,
        char_start=node.char_start,
        char_end=node.char_end,
        page_start=node.page_start,
        page_end=node.page_end,
        node_id=node.node_id,
        body=node.body,
    )


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory with at least one document below it. items: names in path order, a directory's ending in `/`."""

    dir_path: str
    documents: tuple[str, ...]  # doc_paths
    directories: tuple[str, ...]  # dir_paths

    @property
    def items(self) -> tuple[tuple[str, bool], ...]:
        """Paths in path order (by code point), each with whether it is a directory."""
        both = [(path, False) for path in self.documents] + [(path, True) for path in self.directories]
        return tuple(sorted(both))


def directories_of(doc_paths: Iterable[str]) -> dict[str, Directory]:
    """Give every directory above these documents, the corpus folder included, by path."""
    documents: dict[str, list[str]] = {}
    directories: dict[str, set[str]] = {}
    for path in doc_paths:
        here = directory_of(path)
        documents.setdefault(here, []).append(path)
        while here != ROOT_PATH:
            above = directory_of(here)
            if here in directories.setdefault(above, set()):
                break
            directories[above].add(here)
            here = above
    return {
        path: Directory(path, tuple(sorted(documents.get(path, ()))), tuple(sorted(directories.get(path, ()))))
        for path in sorted({*documents, *directories})
    }


def ancestors_of(path: str) -> list[str]:
    """Give the directories above a path, the nearest first, the corpus folder last."""
    above: list[str] = []
    while path != ROOT_PATH:
        path = directory_of(path)
        above.append(path)
    return above
