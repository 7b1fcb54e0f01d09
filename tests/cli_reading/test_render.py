"""How results look: plain functions from results to text."""

from __future__ import annotations

import uuid

import pytest

from tree_builder.cli import render
from tree_builder.model import NodeType
from tree_builder.query.results import Node


def node(kind: NodeType, path: str | None, content: str, title: str | None = None, page: int | None = None) -> Node:
    return Node(
        uuid.uuid4(), "papers", kind, 0, 0, None, path if kind in ("chunk", "doc_top") else None, path or ".", title,
        content, 0, 1, page, page + 2 if page else None, 0, 1,
    )  # fmt: skip


ROWS = [
    (0, node(NodeType.ROOT, None, "All of it."), 1000),
    (1, node(NodeType.DIR_TOP, "reports", "What the reports say."), 750),
    (2, node(NodeType.DOC_TOP, "reports/a.pdf", "One.", "Annual report", 1), 500),
    (3, node(NodeType.CHUNK, "reports/a.pdf", "A first\npassage of it.", page=1), 500),
    (2, node(NodeType.DOC_TOP, "reports/b.pdf", "Two.", None, 4), 250),
    (1, node(NodeType.DOC_TOP, "c.txt", "Three.", None, 1), 250),
]


def test_tree_picture() -> None:
    """Lines of a tree hang together, bars show the share of text, labels are titles or first words."""
    assert [line.plain.rstrip() for line in render.tree_picture(ROWS, 80)] == [
        "████████ 100% papers  All of it.  root",
        "██████    75% ├─ reports/  What the reports say.  dir_top",
        "████      50% │  ├─ a.pdf  Annual report  doc_top pp. 1-3",
        "████      50% │  │  └─ A first passage of it.  chunk pp. 1-3",
        "██        25% │  └─ b.pdf  Two.  doc_top pp. 4-6",
        "██        25% └─ c.txt  Three.  doc_top pp. 1-3",
    ]


def test_tree_picture_without_unicode() -> None:
    """Where the output cannot print boxes, the picture is plain ASCII."""
    lines = [line.plain for line in render.tree_picture(ROWS, 80, ascii_only=True)]
    assert lines[2].startswith("####....  50% |  |- a.pdf")
    assert "".join(lines).isascii()


@pytest.mark.parametrize("width", [12, 20, 40, 59, 60, 200])
def test_tree_picture_fits_the_terminal(width: int) -> None:
    """No line is wider than the terminal, however narrow."""
    assert all(line.cell_len <= width for line in render.tree_picture(ROWS, width))


@pytest.mark.parametrize(
    ("share", "drawn"), [(0, "        "), (0.001, "▏       "), (0.5, "████    "), (1, "████████"), (7, "████████")]
)
def test_bar(share: float, drawn: str) -> None:
    """A bar has the length of its share; anything at all shows."""
    assert render.bar(share, 8) == drawn


def test_harmless_text() -> None:
    """Escape sequences, bells, direction marks and separators go; line breaks, tabs and letters stay."""
    assert render.harmless("a\x1b[31mb\x07\u202ec\u2028d\te\nfé東\ud800\x9b") == "a[31mbcd\te\nfé東"


def test_snippet_shows_where_the_words_are() -> None:
    """A snippet holds the words found, begins at a word, and marks what was left out."""
    content = "nothing here at all. " * 30 + "the onion is in the pot " + "and nothing more. " * 30
    at = content.index("onion")
    shown = render.snippet(content, [(at, at + 5)], 80)
    assert shown.plain.startswith("…")
    assert shown.plain.endswith("…")
    assert "onion" in shown.plain
    assert shown.plain[1:].split()[0] in {"nothing", "here", "at", "all."}
    assert [shown.plain[span.start : span.end] for span in shown.spans] == ["onion"]


def test_snippet_of_a_short_text_is_the_text() -> None:
    """A text which fits is shown whole."""
    assert render.snippet("An onion.", [(3, 8)]).plain == "An onion."
