"""Searching, walking and merging within one version of the tree."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from tree_builder.model import NodeType
from tree_builder.query.merging import SHARE, Cover
from tree_builder.query.reader import clean, clean_path
from tree_builder.query.results import Hit, Mode, Node, Step, as_hit
from tree_builder.query.words import distinct_words, spans
from tree_builder.store.database import fetch
from tree_builder.store.statements import load

_STATEMENTS = load("context")

if TYPE_CHECKING:
    from tree_builder.query.encoder import QueryVector
    from tree_builder.query.reader import Reader


@dataclass(frozen=True, slots=True)
class Filter:
    """What a search is about. path: a directory or a document; pages: of documents, from and to, both included."""

    path: str = "."
    types: tuple[str, ...] | None = None
    min_level: int | None = None
    max_level: int | None = None
    first_page: int | None = None
    last_page: int | None = None
    since: datetime | None = None
    min_score: float | None = None


async def search(
    reader: Reader, query: str, vector: QueryVector | None, mode: Mode, where: Filter, *, k: int, offset: int
) -> list[Hit]:
    """Find the best k hits after the first `offset`, with the summaries above them and the words found."""
    rows = await fetch(
        reader.connection,
        _STATEMENTS["search_hits"],
        dict,
        words=clean(query) if mode != "vector" else None,
        vector=vector if mode != "text" else None,
        k=k,
        skip=offset,
        corpus=reader.corpus.corpus,
        path=clean_path(where.path),
        types=list(where.types) if where.types is not None else None,
        min_level=where.min_level,
        max_level=where.max_level,
        first_page=where.first_page,
        last_page=where.last_page,
        since=where.since,
        min_score=where.min_score,
    )
    languages = {row["node_id"]: row.pop("language") for row in rows}
    hits = [Hit(**row) for row in rows]
    return await _with_words(reader, query, await with_above(reader, hits), languages)


async def similar(reader: Reader, node: Node, k: int, where: Filter) -> list[Hit]:
    """Find the nodes nearest to a node, itself and what has the same content left out."""
    rows = await fetch(
        reader.connection,
        _STATEMENTS["similar_hits"],
        dict,
        node_id=node.node_id,
        k=k,
        corpus=reader.corpus.corpus,
        path=clean_path(where.path),
        types=list(where.types) if where.types is not None else None,
    )
    for row in rows:
        del row["language"]
    return await with_above(reader, [Hit(**row) for row in rows])


async def with_above(reader: Reader, hits: Sequence[Hit]) -> list[Hit]:
    """Put the summaries above each hit beside it."""
    above = await reader.above([hit.node_id for hit in hits]) if hits else {}
    return [replace(hit, above=above.get(hit.node_id, ())) for hit in hits]


async def _with_words(
    reader: Reader, query: str, hits: Sequence[Hit], languages: Mapping[uuid.UUID, str | None]
) -> list[Hit]:
    asked = {(languages.get(hit.node_id) or "", word) for hit in hits for word in distinct_words([hit.content])}
    if not asked:
        return list(hits)
    pairs = sorted(asked)
    found = await reader.words_found(clean(query), [language for language, _ in pairs], [word for _, word in pairs])
    by_language: dict[str, set[str]] = {}
    for language, word in found:
        by_language.setdefault(language, set()).add(word)
    return [
        replace(hit, words=spans(hit.content, by_language.get(languages.get(hit.node_id) or "", ()))) for hit in hits
    ]


async def walk(reader: Reader, top: Node, vector: QueryVector, beam: int) -> tuple[list[Step], list[Hit]]:
    """Go down from a top, following the `beam` most similar nodes of each depth; chunks are arrived at and wait.

    Guarantees: one query a depth; at most `beam` leaves a depth are kept, the best `beam` of all are given.
    """
    steps: list[Step] = []
    leaves: list[Hit] = []
    ways: dict[uuid.UUID, tuple[Node, ...]] = {top.node_id: ()}
    frontier: list[Node] = [top]
    while frontier:
        scored = await reader.scored_children([node.node_id for node in frontier], vector)
        if not scored:
            break
        known = {node.node_id: node for node in frontier}
        kept: list[Hit] = []
        for score, node in scored[:beam]:
            parent = known[node.parent_id] if node.parent_id is not None else top
            way = (*ways[parent.node_id], parent)
            ways[node.node_id] = way
            kept.append(as_hit(node, score=score, vector_score=score, above=way))
        steps.append(Step(len(steps) + 1, len(scored), tuple(kept)))
        leaves += [hit for hit in kept if hit.node_type is NodeType.CHUNK]
        frontier = [hit for hit in kept if hit.node_type is not NodeType.CHUNK]
    return steps, sorted(leaves, key=lambda hit: -hit.score)[:beam]


async def covers(reader: Reader, hits: Sequence[Hit]) -> list[Cover]:
    """Count, for the nodes above the chunks among the hits, how many of their chunks are hits.

    Goes up from the hits and stops where half or less was found: a node has more than half only where one of its children has.
    """
    found = frozenset(hit.node_id for hit in hits if hit.node_type is NodeType.CHUNK)
    ways = [hit.above for hit in hits if hit.node_id in found]
    places = {node.node_id: (node, way[:i]) for way in ways for i, node in enumerate(way)}
    out: list[Cover] = []
    frontier = {way[-1].node_id for way in ways if way}
    while frontier:
        below = await reader.leaf_ids(sorted(frontier))
        counted = [
            Cover(places[node_id][0], len(ids), len(ids & found), places[node_id][1]) for node_id, ids in below.items()
        ]
        out += counted
        frontier = {
            cover.above[-1].node_id for cover in counted if cover.above and cover.n_found > SHARE * cover.n_leaves
        }
    return out
