"""Merging of hits into the nodes above them: plain functions."""

from __future__ import annotations

import uuid

import pytest

from tree_builder.model import NodeType
from tree_builder.query.merging import Cover, merge
from tree_builder.query.results import Node, as_hit


def node(name: str, level: int) -> Node:
    kind = NodeType.CHUNK if level == 0 else NodeType.SUMMARY
    return Node(
        uuid.uuid5(uuid.NAMESPACE_URL, name), "c", kind, level, 0, None, "a.txt", ".", None, name, 0, 1, 1, 1, 0, 1
    )  # fmt: skip


CHUNKS = [node(f"chunk {i}", 0) for i in range(6)]
LEFT, RIGHT, TOP = node("left", 1), node("right", 1), node("top", 2)
WAYS = {chunk.node_id: (TOP, LEFT if i < 3 else RIGHT) for i, chunk in enumerate(CHUNKS)}


def hits(*indices: int) -> list[object]:
    return [as_hit(CHUNKS[i], score=1 - i / 10, above=WAYS[CHUNKS[i].node_id]) for i in indices]


def covers(*indices: int) -> list[Cover]:
    left = sum(i < 3 for i in indices)
    return [
        Cover(TOP, 6, len(indices)),
        Cover(LEFT, 3, left, (TOP,)),
        Cover(RIGHT, 3, len(indices) - left, (TOP,)),
    ]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((0,), ["chunk 0"]),
        ((0, 1), ["left"]),
        ((0, 1, 2), ["left"]),  # half of the top's chunks is not more than half
        ((0, 1, 5), ["left", "chunk 5"]),
        ((0, 1, 2, 3), ["top"]),
        ((0, 3), ["chunk 0", "chunk 3"]),
        ((0, 1, 4, 5), ["top"]),
    ],
)
def test_more_than_half_is_replaced_by_the_highest(found: tuple[int, ...], expected: list[str]) -> None:
    """The highest node of whose chunks more than half are hits replaces them; others stay."""
    assert [hit.content for hit in merge(hits(*found), covers(*found))] == expected  # type: ignore[arg-type]


def test_a_node_of_one_chunk_replaces_nothing() -> None:
    """A promoted chunk says the same as the chunk, so the chunk stays."""
    lone = node("lone", 1)
    hit = as_hit(CHUNKS[0], score=1, above=(lone,))
    assert merge([hit], [Cover(lone, 1, 1)]) == [hit]


def test_of_equal_covers_the_lowest_is_taken() -> None:
    """Of nodes which cover the same chunks, the lowest, which says most, replaces them."""
    over = node("over", 3)
    two = [as_hit(CHUNKS[i], score=1, above=(over, LEFT)) for i in (0, 1)]
    merged = merge(two, [Cover(over, 3, 2), Cover(LEFT, 3, 2, (over,))])
    assert [hit.content for hit in merged] == ["left"]
