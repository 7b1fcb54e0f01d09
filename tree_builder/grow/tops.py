"""Tops: the last node of a growth, and a lone item promoted into one (law 1)."""

from __future__ import annotations

from dataclasses import dataclass

from tree_builder.grow.groups import node_over
from tree_builder.model import Decision, NodeType, Summary, Tree


@dataclass(frozen=True, slots=True)
class Top:
    """What the last node of a growth is: its type, and the path it is the top of."""

    node_type: NodeType
    doc_path: str | None = None
    dir_path: str | None = None


def promote(item: Tree, top: Top) -> Tree:
    """Give a lone item a top of its own with the same content; no model is asked.

    A document of one chunk keeps its place in the file; above documents there is none.
    """
    return node_over(
        (item,),
        Summary(item.content, item.flags),
        node_type=top.node_type,
        decisions=(Decision(1, boundary=True, method="end", verdict="end"),),
        doc_path=top.doc_path,
        dir_path=top.dir_path,
    )
