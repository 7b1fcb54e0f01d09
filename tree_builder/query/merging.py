"""Merging of hits: where most of what a node covers was found, the node itself is the better answer. No I/O."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tree_builder.query.results import Hit, Node, as_hit

SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Cover:
    """A node above some hits. n_found: how many of the chunks which it covers are hits. above: the summaries above it."""

    node: Node
    n_leaves: int
    n_found: int
    above: tuple[Node, ...] = ()

    @property
    def replaces(self) -> bool:
        """Whether it says more than its hits: more than half of several chunks are hits."""
        return self.n_leaves > 1 and self.n_found > SHARE * self.n_leaves


def merge(hits: Sequence[Hit], covers: Iterable[Cover]) -> list[Hit]:
    """Replace hits by the highest node of whose chunks more than half are hits. Best first.

    Of nodes which cover the same chunks the lowest is taken. The node has the score of the best hit it replaces; every hit below it goes.
    """
    chosen: dict[uuid.UUID, Cover] = {}
    for cover in sorted(covers, key=lambda cover: (-cover.n_leaves, cover.node.level)):
        over_it = any(node.node_id in chosen for node in cover.above)
        # A node of the same chunks further down was taken already, and says the same.
        below_it = any(cover.node.node_id == node.node_id for other in chosen.values() for node in other.above)
        if cover.replaces and not over_it and not below_it:
            chosen[cover.node.node_id] = cover
    merged: dict[uuid.UUID, Hit] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        way = (*hit.above, hit)
        over = next((chosen[node.node_id] for node in way if node.node_id in chosen), None)
        if over is None or over.node.node_id == hit.node_id:
            merged.setdefault(hit.node_id, hit)
        else:
            merged.setdefault(over.node.node_id, as_hit(over.node, score=hit.score, above=over.above))
    return list(merged.values())
