"""The domain: what the rooms hand to each other. No I/O, no dependency beyond the standard library and numpy's type."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]  # (dim,), unit length

ROOT_PATH = "."
"""The `dir_path` of the corpus folder itself, whose top is the root."""


class NodeType(StrEnum):
    CHUNK = "chunk"
    SUMMARY = "summary"
    DOC_TOP = "doc_top"
    DIR_TOP = "dir_top"
    ROOT = "root"


TOPS = frozenset({NodeType.DOC_TOP, NodeType.DIR_TOP, NodeType.ROOT})


class DocumentStatus(StrEnum):
    """How a file ended. All but `built` come with a reason; `unsupported` is counted, not listed as failure."""

    BUILT = "built"
    EMPTY = "empty"
    ENCRYPTED = "encrypted"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    DENIED = "denied"
    VANISHED = "vanished"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"  # read well, but a model's answer was unusable
    DEFERRED = "deferred"  # not reached within the run's budget; goes first next time


FAILURES = frozenset(DocumentStatus) - {
    DocumentStatus.BUILT,
    DocumentStatus.EMPTY,
    DocumentStatus.UNSUPPORTED,
    DocumentStatus.VANISHED,
    DocumentStatus.DEFERRED,
}


# --- scan ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file below the corpus folder, as `scan` saw it.

    `doc_path` is its path below the folder with `/`; names which are not UTF-8 carry each odd byte as `%XX`
    (and then a literal `%` as `%25`), so that the path is text and still leads back to the file.
    """

    doc_path: str
    size_bytes: int
    mtime_ns: int
    status: DocumentStatus | None = None  # set when the file is known to be no document: denied, unsupported
    reason: str = ""


# --- read and cut ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A heading of the file's own outline (bookmarks). `char_start` is its place in the document's text."""

    title: str
    depth: int  # 1 for the outermost
    page: int  # 1-based
    char_start: int


@dataclass(frozen=True, slots=True)
class ReadText:
    """A document's text as read.

    page_starts: character offset in `text` at which each page begins, ascending; page n is page_starts[n-1]. A format
    without pages has one.
    """

    text: str
    page_starts: tuple[int, ...]
    outline: tuple[OutlineEntry, ...] = ()
    title: str | None = None
    language: str | None = None  # ISO 639-1
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document: text[char_start:char_end], of which the first `overlap` characters repeat the previous chunk."""

    content: str
    char_start: int
    char_end: int
    page_start: int  # 1-based
    page_end: int
    overlap: int = 0


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """What reading and cutting one file gave; either chunks, or a status with a reason."""

    doc_path: str
    status: DocumentStatus
    reason: str = ""
    content_hash: bytes = b""  # sha256 of the file's bytes
    size_bytes: int = 0
    mtime_ns: int = 0  # of the very bytes which were read
    chunks: tuple[Chunk, ...] = ()
    n_pages: int = 0
    n_chars: int = 0
    title: str | None = None
    language: str | None = None
    outline: tuple[OutlineEntry, ...] = ()
    warnings: tuple[str, ...] = ()
    read_s: float = 0.0
    cut_s: float = 0.0


# --- grow ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """Why two neighbouring items are in one group or not.

    at: index, within the level's items, of the item the question was about. boundary: True when it starts a new group.
    score: the strength of the evidence for a boundary, where the method has one.
    """

    at: int
    boundary: bool
    method: str  # each, window, embedding, size, end
    verdict: str  # what was answered: yes, no, undecided, or the method's word
    score: float | None = None
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"at": self.at, "boundary": self.boundary, "method": self.method, "verdict": self.verdict}
        if self.score is not None:
            out["score"] = round(self.score, 4)
        if self.reason:
            out["reason"] = self.reason
        return out


@dataclass(frozen=True, slots=True)
class Tree:
    """A node of a tree while it grows, with all below it; also an item while it waits to be covered.

    body: sha256 of what the node is: its content and, in order, the bodies of its children. Equal bodies are equal subtrees.
    text_id: the id of `content` alone, under which its vector is kept.
    decisions: the boundary decisions taken while this node's group was formed, the closing one last.
    """

    node_type: NodeType
    content: str
    level: int
    children: tuple[Tree, ...] = ()
    char_start: int | None = None
    char_end: int | None = None
    page_start: int | None = None
    page_end: int | None = None
    overlap: int = 0
    doc_path: str | None = None  # set on tops which are items of a directory
    dir_path: str | None = None
    decisions: tuple[Decision, ...] = ()
    flags: tuple[str, ...] = ()  # what verification found, as "number:1987"
    node_id: uuid.UUID | None = None  # set once placed
    body: bytes = field(default=b"")

    def __post_init__(self) -> None:
        if not self.body:
            object.__setattr__(self, "body", body_of(self.node_type, self.content, self.children))

    @property
    def text_id(self) -> uuid.UUID:
        return text_id(self.content)

    def __repr__(self) -> str:
        return f"Tree({self.node_type}, level={self.level}, {len(self.children)} children, {self.content[:40]!r})"


def directory_of(path: str) -> str:
    """Give the directory which a document or directory lies in; ROOT_PATH for the corpus folder."""
    return path.rpartition("/")[0] or ROOT_PATH


def text_id(content: str) -> uuid.UUID:
    """Give the id of a text: the first 16 bytes of the sha256 of its UTF-8."""
    return uuid.UUID(bytes=hashlib.sha256(content.encode()).digest()[:16])


def body_of(node_type: str, content: str, children: Sequence[Tree]) -> bytes:
    """Hash what a node is, as in a Merkle tree: type, content, and the bodies of its children in order."""
    digest = hashlib.sha256(f"{node_type}\0{len(children)}\0".encode())
    for child in children:
        digest.update(child.body)
    digest.update(content.encode())
    return digest.digest()


def node_id_of(corpus: str, place: str, body: bytes, occurrence: int) -> uuid.UUID:
    """Give the id of a node: the same corpus, path, body and occurrence give the same id on any machine.

    place: `doc:` + doc_path or `dir:` + dir_path. occurrence: 0 for the first node of that body at that place, in
    document order; offsets do not enter, so text inserted elsewhere changes no id.
    """
    seed = f"{corpus}\0{place}\0{occurrence}\0".encode() + body
    return uuid.UUID(bytes=hashlib.sha256(seed).digest()[:16])


# --- models ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Usage:
    """What one or many calls took. Tokens as the service counts them; zero for local models."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
        )


@dataclass(frozen=True, slots=True)
class Request:
    """One exact question to a model. `key` is the memo's key: a hash of everything which may change the answer.

    payload holds everything: model, prompt version, messages and parameters, JSON-serializable.
    kind: summarize, boundary or embed.
    """

    kind: str
    payload: Mapping[str, Any]
    key: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's kept answer to a Request. text: the checked content, never empty."""

    text: str
    usage: Usage = Usage()
    from_memo: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)  # request id, finish reason, probability of YES


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary which passed the checks. flags: numbers and names without support, as "number:1987"."""

    content: str
    flags: tuple[str, ...] = ()


# --- store -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node with its place in a corpus: a row to be. `parent_id` of a top is set when the directory above has grown."""

    node_id: uuid.UUID
    node_type: NodeType
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
    flags: tuple[str, ...]
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A source file as the last run left it; see the columns of the table `documents`."""

    doc_path: str
    status: DocumentStatus
    reason: str
    stale: bool
    size_bytes: int
    mtime_ns: int
    content_hash: bytes | None
    grown_hash: bytes | None
    recipe: bytes | None
    title: str | None = None
    language: str | None = None
    n_pages: int = 0
    n_chars: int = 0
    n_chunks: int = 0
    outline: tuple[OutlineEntry, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def has_tree(self) -> bool:
        """Whether the published tree holds this document, be it an older state of it."""
        return self.grown_hash is not None
