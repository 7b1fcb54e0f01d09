"""Placed nodes as rows: their columns for COPY, and back."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString

from psycopg.types.json import Jsonb

from tree_builder.model import Decision, NodeType, PlacedNode, Tree

if TYPE_CHECKING:
    from psycopg import AsyncConnection

COLUMNS: tuple[tuple[LiteralString, str], ...] = (
    ("node_id", "uuid"),
    ("since_run", "int8"),
    ("corpus_id", "int4"),
    ("node_type", "text"),
    ("level", "int4"),
    ("position", "int4"),
    ("parent_id", "uuid"),
    ("doc_path", "text"),
    ("dir_path", "text"),
    ("text_id", "uuid"),
    ("body", "bytea"),
    ("char_start", "int4"),
    ("char_end", "int4"),
    ("page_start", "int4"),
    ("page_end", "int4"),
    ("overlap", "int4"),
    ("flags", "text[]"),
    ("decisions", "jsonb"),
)
COPY_NODES: LiteralString = (
    "copy staged_node (" + ", ".join(name for name, _ in COLUMNS) + ") from stdin (format binary)"
)
COPY_TEXTS = "copy staged_text (text_id, content, language) from stdin (format binary)"
COPY_VECTORS = "copy staged_vector (text_id, embedding) from stdin (format binary)"

_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


async def copy_nodes(conn: AsyncConnection[Any], nodes: Sequence[PlacedNode], *, corpus_id: int, run_id: int) -> None:
    """COPY nodes in binary form into this connection's staging table."""
    async with conn.cursor() as cursor, cursor.copy(COPY_NODES) as copy:
        copy.set_types([kind for _, kind in COLUMNS])
        for n in nodes:
            decisions = Jsonb([d.as_json() for d in n.decisions], dumps=_dumps)
            await copy.write_row(
                (
                    n.node_id, run_id, corpus_id, str(n.node_type), n.level, n.position, n.parent_id, n.doc_path,
                    n.dir_path, n.text_id, n.body, n.char_start, n.char_end, n.page_start, n.page_end, n.overlap,
                    list(n.flags), decisions,
                )
            )  # fmt: skip


async def copy_texts(conn: AsyncConnection[Any], texts: dict[uuid.UUID, str], language: str | None) -> None:
    """COPY texts into this connection's staging table."""
    async with conn.cursor() as cursor, cursor.copy(COPY_TEXTS) as copy:
        copy.set_types(["uuid", "text", "text"])
        for text_id, content in texts.items():
            await copy.write_row((text_id, content, language))


@dataclass(frozen=True, slots=True)
class TopRow:
    """A published top, as an item for the directory above."""

    node_id: uuid.UUID
    node_type: str
    level: int
    doc_path: str | None
    dir_path: str
    body: bytes
    content: str

    def as_item(self) -> Tree:
        return Tree(
            node_type=NodeType(self.node_type),
            content=self.content,
            level=self.level,
            doc_path=self.doc_path,
            dir_path=self.dir_path,
            node_id=self.node_id,
            body=self.body,
        )


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A published node of a document, to be placed elsewhere too."""

    node_id: uuid.UUID
    node_type: str
    level: int
    position: int
    parent_id: uuid.UUID | None
    doc_path: str | None
    dir_path: str
    content: str
    text_id: uuid.UUID
    body: bytes
    char_start: int | None
    char_end: int | None
    page_start: int | None
    page_end: int | None
    overlap: int
    flags: list[str]
    decisions: list[dict[str, Any]]

    def as_node(self) -> PlacedNode:
        return PlacedNode(
            node_id=self.node_id,
            node_type=NodeType(self.node_type),
            level=self.level,
            position=self.position,
            parent_id=self.parent_id,
            doc_path=self.doc_path,
            dir_path=self.dir_path,
            content=self.content,
            text_id=self.text_id,
            body=bytes(self.body),
            char_start=self.char_start,
            char_end=self.char_end,
            page_start=self.page_start,
            page_end=self.page_end,
            overlap=self.overlap,
            flags=tuple(self.flags),
            decisions=tuple(Decision(**d) for d in self.decisions),
        )


@dataclass(frozen=True, slots=True)
class TextRow:
    text_id: uuid.UUID
    content: str
