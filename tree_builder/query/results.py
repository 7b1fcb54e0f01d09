"""What asking the tree gives: frozen results which print well in a terminal and in a notebook. No I/O."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import Enum
from typing import Any, Literal, overload

from tree_builder.model import NodeType
from tree_builder.query import html

Mode = Literal["hybrid", "vector", "text"]
Span = tuple[int, int]  # characters from, up to and not including


def pages(start: int | None, end: int | None) -> str:
    """Name a range of pages for people: `p. 3`, `pp. 3-5`, or nothing."""
    if start is None:
        return ""
    return f"p. {start}" if end is None or end == start else f"pp. {start}-{end}"


def one_line(text: str, width: int = 72) -> str:
    """Give a text's first words on one line, at most `width` characters."""
    line = " ".join(text[: 4 * width].split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a text comes from: `text[char_start:char_end]` of the document as read, on these pages (1-based).

    A directory or a corpus has a path only.
    """

    path: str
    page_start: int | None = None
    page_end: int | None = None
    char_start: int | None = None
    char_end: int | None = None

    def __str__(self) -> str:
        place = pages(self.page_start, self.page_end)
        return f"{self.path}, {place}" if place else self.path


@dataclass(frozen=True, slots=True, repr=False)
class Node:
    """A node of the tree. title: of its document, where the file has one; run_id: the run which wrote it."""

    node_id: uuid.UUID
    corpus: str
    node_type: NodeType
    level: int
    position: int
    parent_id: uuid.UUID | None
    doc_path: str | None
    dir_path: str
    title: str | None
    content: str
    char_start: int | None
    char_end: int | None
    page_start: int | None
    page_end: int | None
    overlap: int
    run_id: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "node_type", NodeType(self.node_type))

    @property
    def path(self) -> str:
        """The document's path, or the directory's."""
        return self.doc_path if self.doc_path is not None else self.dir_path

    @property
    def citation(self) -> Citation:
        return Citation(self.path, self.page_start, self.page_end, self.char_start, self.char_end)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._about()}, {one_line(self.content, 60)!r})"

    def _about(self) -> str:
        return f"{self.node_type}, {str(self.citation)!r}"

    def _repr_html_(self) -> str:
        return html.card(f"{self.node_type} · {self.citation}", self.content)


@dataclass(frozen=True, slots=True, repr=False)
class Hit(Node):
    """A node which answers a query, and how that came about.

    score: what hits are ordered by. vector_score: cosine similarity; text_score: of the full text search; each None where that side
    did not find the node, as is its rank (1 for the best).
    above: the summaries above it, from the root down: root, directories, document, groups.
    words: where the words of the query stand in `content`.
    """

    score: float = 0.0
    vector_score: float | None = None
    vector_rank: int | None = None
    text_score: float | None = None
    text_rank: int | None = None
    above: tuple[Node, ...] = ()
    words: tuple[Span, ...] = ()

    @property
    def how(self) -> str:
        """How the score came about, for people."""
        sides = []
        if self.vector_score is not None:
            sides.append(f"vector {self.vector_score:.3f}" + (f" (#{self.vector_rank})" if self.vector_rank else ""))
        if self.text_score is not None:
            sides.append(f"text {self.text_score:.3f}" + (f" (#{self.text_rank})" if self.text_rank else ""))
        return ", ".join(sides)

    def _about(self) -> str:
        return f"{self.score:.3f}, {self.node_type}, {str(self.citation)!r}"

    def _repr_html_(self) -> str:
        title = f"{self.score:.3f} · {self.node_type} · {self.citation}"
        return html.card(title, self.content, marks=self.words, note=self.how)


def as_hit(
    node: Node,
    *,
    score: float,
    vector_score: float | None = None,
    above: tuple[Node, ...] = (),
    words: tuple[Span, ...] = (),
) -> Hit:
    """Make a hit of a node."""
    values = {f.name: getattr(node, f.name) for f in fields(Node)}
    return Hit(**values, score=score, vector_score=vector_score, above=above, words=words)


@dataclass(frozen=True, slots=True, repr=False)
class Hits(Sequence[Hit]):
    """The hits of a search, best first. mode: the one which was used; `warning` says why, when it is not the one asked for."""

    query: str
    mode: Mode
    hits: tuple[Hit, ...]
    warning: str = ""

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __repr__(self) -> str:
        lines = "".join(f"\n  {hit!r}," for hit in self.hits)
        return f"Hits({self.query!r}, {self.mode}, [{lines}{chr(10) if lines else ''}])"

    def _repr_html_(self) -> str:
        rows = [
            (f"{hit.score:.3f}", hit.node_type.value, str(hit.citation), html.marked(hit.content, hit.words))
            for hit in self.hits
        ]
        return html.table(self.query, ("score", "type", "where", html.Raw("passage")), rows, note=self.warning)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a walk: of `seen` nodes at this depth, those which were followed, best first."""

    depth: int
    seen: int
    kept: tuple[Hit, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Walk:
    """A walk from a top down by similarity: the steps it took and the leaves it arrived at, best first."""

    query: str
    steps: tuple[Step, ...]
    hits: tuple[Hit, ...]

    def __repr__(self) -> str:
        lines = [f"Walk({self.query!r})"]
        for step in self.steps:
            kept = "; ".join(f"{hit.score:.3f} {hit.path} {one_line(hit.content, 30)!r}" for hit in step.kept)
            lines.append(f"  {step.depth}: {len(step.kept)} of {step.seen}: {kept}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (str(step.depth), f"{hit.score:.3f}", hit.node_type.value, str(hit.citation), one_line(hit.content, 160))
            for step in self.steps
            for hit in step.kept
        ]
        return html.table(self.query, ("depth", "score", "type", "where", "text"), rows)


@dataclass(frozen=True, slots=True, repr=False)
class Passage:
    """A text which answers, whole, with where it comes from. A passage of neighbouring chunks is one, their overlaps removed.

    kind: `passage` is the document's own text, `content == text[char_start:char_end]`; `summary` stands for passages which
    did not fit. header: path, title and pages on one line, the same in every context. node_ids: the nodes it is made of.
    """

    kind: Literal["passage", "summary"]
    header: str
    content: str
    citation: Citation
    score: float
    node_ids: tuple[uuid.UUID, ...]

    def __str__(self) -> str:
        return f"{self.header}\n{self.content}"

    def __repr__(self) -> str:
        return f"Passage({self.kind}, {str(self.citation)!r}, {one_line(self.content, 60)!r})"

    def _repr_html_(self) -> str:
        return html.card(f"{self.kind} · {self.header}", self.content)


@dataclass(frozen=True, slots=True, repr=False)
class Context:
    """What a language model should read to answer a query: passages in document order, never more than `budget_tokens`.

    tokens: of `text`, as o200k_base counts them.
    """

    query: str
    budget_tokens: int
    tokens: int
    passages: tuple[Passage, ...]
    warning: str = ""

    @property
    def text(self) -> str:
        return "\n\n".join(str(passage) for passage in self.passages)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        lines = "".join(f"\n  {passage!r}," for passage in self.passages)
        return f"Context({self.query!r}, {self.tokens} of {self.budget_tokens} tokens, [{lines}{chr(10) if lines else ''}])"

    def _repr_html_(self) -> str:
        cards = "".join(passage._repr_html_() for passage in self.passages)
        return f"{html.heading(f'{self.query} · {self.tokens} of {self.budget_tokens} tokens')}{cards}"


@dataclass(frozen=True, slots=True, repr=False)
class Summary:
    """The summary of a path: its top's content, or a more detailed cut through the tree below it.

    nodes: consecutive nodes which together cover all below the path, in order. tokens: of `content`, when a budget was given.
    """

    path: str
    corpus: str
    run_id: int
    nodes: tuple[Node, ...]
    content: str
    tokens: int | None = None

    @property
    def title(self) -> str | None:
        return self.nodes[0].title if len({node.doc_path for node in self.nodes}) == 1 else None

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        return f"Summary({self.path!r}, {len(self.nodes)} nodes, {one_line(self.content, 60)!r})"

    def _repr_html_(self) -> str:
        return html.card(f"{self.corpus} · {self.path}", self.content)


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """A source file as the last run left it, with its published summary. status: see `DocumentStatus`."""

    doc_path: str
    dir_path: str
    title: str | None
    status: str
    reason: str
    stale: bool
    language: str | None
    n_pages: int
    n_chars: int
    n_chunks: int
    summary: str | None

    def __repr__(self) -> str:
        return f"Document({self.doc_path!r}, {self.status}, {self.n_pages} pages, {one_line(self.summary or self.reason, 50)!r})"

    def _repr_html_(self) -> str:
        return html.card(f"{self.doc_path} · {self.status} · {self.n_pages} pages", self.summary or self.reason)


@dataclass(frozen=True, slots=True, repr=False)
class Corpus:
    """A corpus of the database. `run_id` is the published run, None before the first."""

    corpus: str
    folder: str | None
    embedding_model: str | None
    dimensions: int | None
    run_id: int | None
    published_at: datetime | None
    n_documents: int
    summary: str | None

    def __repr__(self) -> str:
        return f"Corpus({self.corpus!r}, {self.n_documents} documents, run {self.run_id}, {one_line(self.summary or '', 50)!r})"

    def _repr_html_(self) -> str:
        return html.card(f"{self.corpus} · {self.n_documents} documents · run {self.run_id}", self.summary or "")


ChangeKind = Literal["added", "removed", "moved", "changed"]


@dataclass(frozen=True, slots=True, repr=False)
class Change:
    """How a document or directory differs between two runs, itself or below it. old_path: where a moved document was."""

    kind: ChangeKind
    what: Literal["document", "directory"]
    path: str
    old_path: str | None
    before: str | None
    after: str | None

    def __repr__(self) -> str:
        moved = f" from {self.old_path!r}" if self.kind == "moved" else ""
        return f"Change({self.kind}, {self.what}, {self.path!r}{moved})"

    def _repr_html_(self) -> str:
        return html.table(f"{self.kind} · {self.path}", ("before", "after"), [(self.before or "", self.after or "")])


@dataclass(frozen=True, slots=True, repr=False)
class Diff:
    """What changed between the trees of two runs of a corpus, in path order."""

    corpus: str
    run_a: int
    run_b: int
    changes: tuple[Change, ...] = field(default=())

    def __repr__(self) -> str:
        lines = "".join(f"\n  {change!r}," for change in self.changes)
        return f"Diff({self.corpus!r}, runs {self.run_a} to {self.run_b}, [{lines}{chr(10) if lines else ''}])"

    def _repr_html_(self) -> str:
        rows = [(c.kind, c.what, c.path, c.before or "", c.after or "") for c in self.changes]
        return html.table(
            f"{self.corpus}: runs {self.run_a} to {self.run_b}", ("change", "what", "path", "before", "after"), rows
        )


def as_json(value: Any) -> Any:
    """Turn a result into what JSON can hold: dataclasses to objects, ids and times to text."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: as_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return value
