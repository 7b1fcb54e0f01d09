"""Cuts through a tree: nodes which together cover all below a top, as detailed as a budget or a level allows. No I/O.

A cut starts as the top alone. A node is opened by putting its children in its place, the highest level first, so that
detail grows evenly; opened down to the chunks, a cut is the text itself.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tree_builder.model import NodeType
from tree_builder.query.passages import header, join_chunks, joined_text
from tree_builder.query.results import Node
from tree_builder.query.tokens import CountTokens

SEPARATOR_TOKENS = 2


def cut_text(nodes: Sequence[Node]) -> str:
    """Write a cut as text: neighbouring chunks joined, a header where the document or directory changes, none for one path."""
    with_headers = len({node.path for node in nodes}) > 1
    parts: list[str] = []
    path: str | None = None
    for node in _runs(nodes):
        if with_headers and node[0].path != path:
            path = node[0].path
            parts.append(f"{header(path, node[0].title, None, None)}\n{joined_text(node)}")
        else:
            parts.append(joined_text(node))
    return "\n\n".join(parts)


def _runs(nodes: Sequence[Node]) -> list[list[Node]]:
    """Group neighbouring chunks of one document; any other node stays by itself."""
    runs: list[list[Node]] = []
    for node in nodes:
        last = runs[-1][-1] if runs else None
        is_next = last is not None and node.node_type == last.node_type == NodeType.CHUNK and node.path == last.path
        if last is not None and is_next and len(join_chunks([last, node])) == 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs


@dataclass(slots=True)
class Cut:
    """A cut while it is made. `wanting` names the nodes whose children would be needed to go on."""

    top: Node
    min_level: int = 0
    budget_tokens: int | None = None
    count: CountTokens = len
    _opened: dict[uuid.UUID, Sequence[Node]] = field(default_factory=dict)  # in the order of opening
    _closed: set[uuid.UUID] = field(default_factory=set)
    _size: int = 0  # of the cut, the sum of its nodes' own tokens

    def __post_init__(self) -> None:
        self._size = self._size_of(self.top)

    def nodes(self) -> list[Node]:
        """List the cut in document order."""
        out: list[Node] = []
        waiting = [self.top]
        while waiting:
            node = waiting.pop()
            below = self._opened.get(node.node_id)
            if below is None:
                out.append(node)
            else:
                waiting.extend(reversed(below))
        return out

    def wanting(self) -> list[uuid.UUID]:
        return [node.node_id for node in self.nodes() if self._may_open(node)]

    def open(self, children: Mapping[uuid.UUID, Sequence[Node]]) -> None:
        """Open the nodes whose children are given, the highest level first, as far as the budget reaches."""
        ready = [node for node in self.nodes() if self._may_open(node)]
        for node in sorted(ready, key=lambda node: -node.level):
            below = children.get(node.node_id)
            size = self._size + sum(map(self._size_of, below or ())) - self._size_of(node)
            if below and (self.budget_tokens is None or size <= self.budget_tokens):
                self._opened[node.node_id] = below
                self._size = size
            else:
                self._closed.add(node.node_id)

    def finish(self) -> tuple[list[Node], str, int | None]:
        """Give the cut, its text and its tokens. Openings are taken back while the text as a whole is over the budget."""
        nodes = self.nodes()
        text = cut_text(nodes)
        if self.budget_tokens is None:
            return nodes, text, None
        while (tokens := self.count(text)) > self.budget_tokens and self._opened:
            self._opened.popitem()
            nodes = self.nodes()
            text = cut_text(nodes)
        return nodes, text, tokens

    def _may_open(self, node: Node) -> bool:
        return node.level > self.min_level and node.node_type is not NodeType.CHUNK and node.node_id not in self._closed

    def _size_of(self, node: Node) -> int:
        """Count a node's own tokens; the whole text is counted once, at the end."""
        if self.budget_tokens is None:
            return 0
        return self.count(node.content[node.overlap :]) + SEPARATOR_TOKENS
