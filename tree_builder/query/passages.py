"""Packing of passages into a budget of tokens: whole, in document order, none twice. No I/O.

A passage is a run of neighbouring chunks of one document, joined without their overlaps, so that it is again a piece
of the document's text. Where a passage does not fit, a summary above it may, if nothing below that summary was taken.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tree_builder.model import NodeType
from tree_builder.query.results import Citation, Context, Hit, Node, Passage, pages
from tree_builder.query.tokens import CountTokens

TITLE_CHARS = 120


def header(path: str, title: str | None, page_start: int | None, page_end: int | None) -> str:
    """Give the line above a passage: path, title and pages. What cannot be printed in path or title becomes a space."""
    words = " ".join(printable(title or "").split())[:TITLE_CHARS]
    parts = [f"[{printable(path)}]", words, pages(page_start, page_end)]
    return " · ".join(part for part in parts if part)


def printable(text: str) -> str:
    """Give a text on one line: control characters and line breaks become spaces."""
    return "".join(c if c.isprintable() else " " for c in text)


def join_chunks(chunks: Sequence[Node]) -> list[list[Node]]:
    """Split chunks of one document, in order, into runs without a gap between them."""
    runs: list[list[Node]] = []
    for chunk in chunks:
        if runs and _end(runs[-1][-1]) >= _start(chunk):
            runs[-1].append(chunk)
        else:
            runs.append([chunk])
    return runs


def joined_text(run: Sequence[Node]) -> str:
    """Join the contents of neighbouring chunks, what each repeats of the one before left out."""
    text, end = run[0].content, _end(run[0])
    for chunk in run[1:]:
        if _end(chunk) > end:
            text += chunk.content[end - _start(chunk) :]
            end = _end(chunk)
    return text


@dataclass(slots=True)
class _Pack:
    """What was taken so far. Chunks by document, and summaries, each with the score it came with."""

    chunks: dict[uuid.UUID, tuple[Node, float]] = field(default_factory=dict)
    summaries: dict[uuid.UUID, tuple[Node, float]] = field(default_factory=dict)
    covered: set[uuid.UUID] = field(default_factory=set)  # every node above something taken
    texts: set[str] = field(default_factory=set)

    def passages(self) -> list[Passage]:
        by_document: dict[str, list[Node]] = {}
        for chunk, _ in self.chunks.values():
            by_document.setdefault(chunk.path, []).append(chunk)
        placed = [
            (_place(run[0]), self._passage(run))
            for chunks in by_document.values()
            for run in join_chunks(sorted(chunks, key=_place))
        ]
        placed += [(_place(node), _summary(node, score)) for node, score in self.summaries.values()]
        return [passage for _, passage in sorted(placed, key=lambda pair: pair[0])]

    def _passage(self, run: Sequence[Node]) -> Passage:
        first, last = run[0], run[-1]
        citation = Citation(first.path, first.page_start, last.page_end, first.char_start, _end(last))
        return Passage(
            "passage",
            header(first.path, first.title, first.page_start, last.page_end),
            joined_text(run),
            citation,
            max(self.chunks[chunk.node_id][1] for chunk in run),
            tuple(chunk.node_id for chunk in run),
        )


def pack(query: str, hits: Sequence[Hit], budget_tokens: int, count: CountTokens, *, warning: str = "") -> Context:
    """Take from `hits`, best first, what fits into the budget.

    hits: chunks with the summaries above them. A passage which does not fit leaves room for a later, shorter one; when none fits any more,
    the passages left out are stood for by the nearest summary above them below which nothing was taken.

    Guarantees: `count(context.text) <= budget_tokens`; no passage twice; document order; every passage is a piece of its document.
    """
    taken = _Pack()
    left_out: list[Hit] = []
    for hit in hits:
        if hit.node_type is not NodeType.CHUNK or hit.node_id in taken.chunks or hit.content in taken.texts:
            continue
        if not _take(taken, hit, budget_tokens, count):
            left_out.append(hit)
    for hit in left_out:
        _take_summary(taken, hit, budget_tokens, count)
    passages = taken.passages()
    text = "\n\n".join(map(str, passages))
    return Context(query, budget_tokens, count(text) if passages else 0, tuple(passages), warning)


def _take(taken: _Pack, hit: Hit, budget: int, count: CountTokens) -> bool:
    taken.chunks[hit.node_id] = (hit, hit.score)
    if not _fits(taken, budget, count):
        del taken.chunks[hit.node_id]
        return False
    taken.covered.update(node.node_id for node in hit.above)
    taken.texts.add(hit.content)
    return True


def _take_summary(taken: _Pack, hit: Hit, budget: int, count: CountTokens) -> None:
    """Take the nearest summary above a passage which did not fit; none when a nearer one was taken already."""
    if any(node.node_id in taken.summaries for node in hit.above):
        return
    for node in _free(taken, hit):
        taken.summaries[node.node_id] = (node, hit.score)
        if _fits(taken, budget, count):
            taken.covered.update(above.node_id for above in hit.above)
            taken.texts.add(node.content)
            return
        del taken.summaries[node.node_id]


def _free(taken: _Pack, hit: Hit) -> Iterator[Node]:
    """The summaries above a passage, nearest first, below which nothing was taken and which say something else."""
    for node in reversed(hit.above):
        if node.node_id in taken.covered:
            return
        if node.content not in taken.texts and node.content != hit.content:
            yield node


def _fits(taken: _Pack, budget: int, count: CountTokens) -> bool:
    return count("\n\n".join(map(str, taken.passages()))) <= budget


def _summary(node: Node, score: float) -> Passage:
    line = header(node.path, node.title, node.page_start, node.page_end) + " · summary"
    return Passage("summary", line, node.content, node.citation, score, (node.node_id,))


def _place(node: Node) -> tuple[tuple[str, ...], int, int]:
    """Order as in the tree: a directory's summary before its documents, a summary before what it covers."""
    path = () if node.path == "." else tuple(node.path.split("/"))
    return path, -1 if node.char_start is None else node.char_start, -node.level


def _start(node: Node) -> int:
    return node.char_start or 0


def _end(node: Node) -> int:
    return node.char_end or 0
