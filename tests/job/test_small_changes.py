"""A small change of something large costs little (law 6), at full size: 300 pages, 1,000 documents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from fpdf import FPDF

from .support import Corpus, prose

PAGES = 300


WORDS = prose(1, 30, "text").replace(".", "").lower().split()


def sections(seed: int = 1) -> list[str]:
    """Give paragraphs of some 300 pages, a topic of its own for every few, of words which come from one stock."""
    rng = random.Random(seed)

    def sentence(topic: str) -> str:
        words = rng.choices(WORDS, k=rng.randint(4, 18))
        words.insert(rng.randrange(len(words)), topic)
        return " ".join(words).capitalize() + "."

    def paragraph(topic: str) -> str:
        return " ".join(sentence(topic) for _ in range(rng.randint(3, 9)))

    return [paragraph(f"topic-{section}") for section in range(290) for _ in range(rng.randint(2, 7))]


def pdf(paragraphs: Sequence[str]) -> bytes:
    page = FPDF(format=(148, 210))
    page.set_font("helvetica", size=11)
    page.add_page()
    for paragraph in paragraphs:
        page.multi_cell(0, 6, paragraph, new_x="LMARGIN", new_y="NEXT")
        page.ln(3)
    return bytes(page.output())


async def test_a_sentence_inserted_in_300_pages(corpus: Corpus) -> None:
    """One sentence on the first page: at most 3 chunks embedded, 6 calls a level, and no other node's id changes."""
    settings = corpus.settings.but(chunk_size=1000, chunk_overlap=100, summary_chars=900)
    corpus.settings = settings
    paragraphs = sections()
    file = corpus.folder / "long.pdf"
    file.write_bytes(pdf(paragraphs))
    await corpus.build()
    before = corpus.tree()
    assert max(row[10] for row in before.values() if row[10]) >= PAGES

    words = paragraphs[1].split(". ")
    paragraphs[1] = ". ".join([*words[:2], "A sentence more stands here", *words[2:]])
    file.write_bytes(pdf(paragraphs))
    await corpus.build()
    after = corpus.tree()

    new_chunks = {i for i, row in after.items() if row[0] == "chunk" and i not in before}
    assert 1 <= len(new_chunks) <= 3
    contents = {row[6] for i, row in after.items() if i in new_chunks}
    assert sum(text in contents for text in corpus.models.embedded) <= 3
    assert corpus.models.paid_at
    assert max(corpus.models.paid_at.values()) <= 6, corpus.models.paid_at
    assert set(after) - set(before) == new_chunks | above(after, new_chunks)


def above(tree: dict[Any, tuple[Any, ...]], nodes: set[Any]) -> set[Any]:
    """Give the ids of all nodes above some."""
    found: set[Any] = set()
    while nodes := {tree[node][2] for node in nodes} - found - {None}:
        found |= nodes
    return found


@pytest.mark.parametrize("count", [pytest.param(60, id="short"), pytest.param(1000, id="long", marks=pytest.mark.soak)])
async def test_one_document_of_many(corpus: Corpus, count: int) -> None:
    """An edit of one asks for that document and the directories above it, and for nothing else."""
    for n in range(count):
        corpus.write(f"{n % 10}/{n // 10 % 10}/{n}.txt", prose(n, 12))
    await corpus.build()
    before = corpus.tree()
    corpus.write("3/4/43.txt", prose(43, 7) + " A sentence about the topic-new stands at its end.")
    report = await corpus.build()
    after = corpus.tree()
    documents = report.as_json()["documents"]
    assert (documents["changed"], documents["unchanged"]) == (1, count - 1)
    touched = {row[4] or row[5] for node, row in after.items() if node not in before}
    assert touched == {"3/4/43.txt", "3/4", "3", "."}
    new = {node for node in after if node not in before}
    assert sum(corpus.models.paid.values()) <= 2 * sum(after[node][2] in new for node in after)
    assert set(corpus.models.embedded) <= {after[node][6] for node in new}
