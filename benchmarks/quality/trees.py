"""Documents and directories grown as the program grows them, without a database: for measuring summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.quality.plan import end_of_line
from tree_builder.cut import cut
from tree_builder.errors import UnreadableDocument
from tree_builder.grow import Grower
from tree_builder.model import ROOT_PATH, Chunk, NodeType, Tree
from tree_builder.protocols import Embedder, LanguageModel
from tree_builder.read import read_file
from tree_builder.settings import Settings

SUFFIXES = (".pdf", ".md", ".txt")


@dataclass(frozen=True, slots=True)
class Source:
    """A document's text, and where each of its pages begins."""

    doc_path: str
    text: str
    page_starts: tuple[int, ...] = (0,)

    @property
    def dir_path(self) -> str:
        return self.doc_path.rpartition("/")[0] or ROOT_PATH

    def first(self, chars: int) -> Source:
        end = end_of_line(self.text, chars)
        return Source(self.doc_path, self.text[:end], tuple(start for start in self.page_starts if start < end))


def read_sources(folder: Path) -> list[Source]:
    """Read every document below a folder, in path order; those without text are left out."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file()):
        try:
            read = read_file(path)
        except UnreadableDocument:
            continue
        if read.text.strip():
            found.append(Source(path.relative_to(folder).as_posix(), read.text, read.page_starts))
    return found


def grower(language: LanguageModel, embedder: Embedder, settings: Settings) -> Grower:
    return Grower(language, embedder, settings)


def chunks_of(source: Source, settings: Settings) -> list[Tree]:
    """Cut a document into the items of its lowest level."""
    chunks = cut(source.text, source.page_starts, size=settings.chunk_size, overlap=settings.chunk_overlap)
    return items_of(chunks, source.doc_path, source.dir_path)


def items_of(chunks: Sequence[Chunk], doc_path: str | None = None, dir_path: str | None = None) -> list[Tree]:
    """Make items of chunks."""
    return [
        Tree(
            NodeType.CHUNK,
            c.content,
            0,
            (),
            c.char_start,
            c.char_end,
            c.page_start,
            c.page_end,
            c.overlap,
            doc_path,
            dir_path,
        )
        for c in chunks
    ]


async def level_starts(growing: Grower, items: Sequence[Tree]) -> list[int]:
    """Grow the first level above some items, and give where its groups start, without the first."""
    starts, at = [], 0
    async for node in growing.build_level(items):
        starts.append(at)
        at += max(1, len(node.children))
    return starts[1:]


async def grow_directories(growing: Grower, tops: dict[str, Tree]) -> dict[str, Tree]:
    """Grow all directories above some documents' tops, bottom up; by `dir_path`, the root among them."""
    paths = {above for path in tops for above in _above(path)}
    grown: dict[str, Tree] = {}
    for path in sorted(paths, key=lambda p: (-p.count("/") if p != ROOT_PATH else 1, p)):
        below = {p: t for p, t in tops.items() if (p.rpartition("/")[0] or ROOT_PATH) == path}
        below |= {p: t for p, t in grown.items() if p != path and (p.rpartition("/")[0] or ROOT_PATH) == path}
        kind = NodeType.ROOT if path == ROOT_PATH else NodeType.DIR_TOP
        items = [replace(t, children=()) for _, t in sorted(below.items())]
        grown[path] = await growing.grow_directory(items, top=kind, dir_path=path)
    return grown


def _above(doc_path: str) -> list[str]:
    parts = doc_path.split("/")[:-1]
    return [ROOT_PATH, *("/".join(parts[:n]) for n in range(1, len(parts) + 1))]


def nodes(tree: Tree) -> Iterator[Tree]:
    """Give a node and all below it."""
    yield tree
    for child in tree.children:
        yield from nodes(child)
