"""Retrieval: real questions with gold evidence, local models.

Stories (*squality*.jsonl): each question that is not the same for all stories is asked of all stories; a hit is right when it is of the
right one. Meetings (*qmsum*.jsonl): each specific query is asked of all meetings; a hit is right when half of it, or half of a gold
span which is shorter, lies within the gold spans. Recall@k: the share of questions with a right hit among the first k.

Everything goes through the program itself: read, cut, grown, published, asked with `AsyncSummaryTree`. BM25 (bm25s, English stems and stop
words) ranks the very same chunks. `python -m benchmarks.retrieval --data FOLDER` keeps the database there, uses it again, and prints.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.data import corpora, files, json_lines
from benchmarks.report import Row, table
from tree_builder.job.run import build
from tree_builder.models.local.vectors import embed
from tree_builder.query import AsyncSummaryTree, Node
from tree_builder.settings import Settings
from tree_builder.store.database import Database, resolve_url

LONG = True

KS = (1, 5, 10)
BY_RANKS = (
    "select p.* from tree_builder.search(%(words)s, %(query)s::vector, k => %(k)s, corpus => %(corpus)s,"
    " node_types => '{chunk}', fusion => 'ranks') as h"
    " inner join tree_builder.placed_node as p on h.node_id = p.node_id order by h.place"
)
STORY_BASELINE = {"vector": (0.50, 0.69), "BM25": (0.56, 0.73), "their rank fusion": (0.61, 0.73)}

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Question:
    """spans: of the document's text without any white space, where reading leaves characters as they are; None for all of it."""

    text: str
    doc_path: str
    spans: tuple[Span, ...] | None = None


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    documents: dict[str, str]
    questions: list[Question]


def stories(folder: Path) -> Task:
    """Load stories. A question asked of more than half of them tells nothing about which is meant, and is left out."""
    rows = [row for path in files(folder, "text", "*squality*.jsonl") for row in json_lines(path)]
    asked = Counter(q["question_text"] for row in rows for q in row["questions"])
    documents, questions = {}, []
    for number, row in enumerate(rows):
        path = f"story-{number:03}.txt"
        documents[path] = row["document"]
        texts = [question["question_text"] for question in row["questions"]]
        questions += [Question(text, path) for text in texts if asked[text] <= len(rows) / 2]
    return Task("stories", documents, questions)


def meetings(folder: Path) -> Task:
    rows = [row for path in files(folder, "text", "*qmsum*.jsonl") for row in json_lines(path)]
    documents, questions = {}, []
    for number, row in enumerate(rows):
        path = f"meeting-{number:03}.txt"
        turns = [f"{turn['speaker']}: {turn['content']}\n\n" for turn in row["meeting_transcripts"]]
        documents[path] = "".join(turns)
        ends = np.cumsum([0] + [len("".join(turn.split())) for turn in turns])
        for query in row["specific_query_list"]:
            spans = [
                (int(ends[int(a)]), int(ends[min(int(b) + 1, len(turns))])) for a, b in query["relevant_text_span"]
            ]
            questions.append(Question(query["query"], path, tuple(spans)))
    return Task("meetings", documents, questions)


class Judge:
    """Says whether a node answers a question."""

    def __init__(self, leaves: Sequence[Node]) -> None:
        self._starts: dict[str, np.ndarray[Any, Any]] = {}
        texts: dict[str, list[str]] = {}
        for leaf in leaves:
            texts.setdefault(leaf.path, []).append(leaf.content[leaf.overlap :])
        for path, parts in texts.items():
            text = "".join(parts)
            self._starts[path] = np.cumsum([0] + [not c.isspace() for c in text])

    def is_right(self, node: Node, question: Question) -> bool:
        if node.doc_path != question.doc_path or node.char_start is None or node.char_end is None:
            return False
        if question.spans is None:
            return True
        starts = self._starts[node.doc_path]
        start, end = int(starts[node.char_start]), int(starts[min(node.char_end, len(starts) - 1)])
        inside = [(min(end, b) - max(start, a), b - a) for a, b in question.spans]
        if 2 * sum(max(0, part) for part, _ in inside) >= end - start:
            return True
        return node.level == 0 and any(2 * part >= length > 0 for part, length in inside)


def first_right(judge: Judge, nodes: Sequence[Node], question: Question) -> int | None:
    return next((place for place, node in enumerate(nodes, 1) if judge.is_right(node, question)), None)


def recalls(places: Sequence[int | None]) -> tuple[float, ...]:
    return tuple(float(np.mean([place is not None and place <= k for place in places])) for k in KS)


def bm25(leaves: Sequence[Node], questions: Sequence[Question]) -> list[list[Node]]:
    """Rank the chunks with BM25 for each question."""
    import bm25s
    from nltk.stem.snowball import EnglishStemmer

    stemmer = EnglishStemmer()
    stem = lambda words: [stemmer.stem(word) for word in words]  # noqa: E731 -- as bm25s wants it
    tokens = bm25s.tokenize([leaf.content for leaf in leaves], stopwords="en", stemmer=stem, show_progress=False)
    retriever = bm25s.BM25()
    retriever.index(tokens, show_progress=False)
    asked = bm25s.tokenize([q.text for q in questions], stopwords="en", stemmer=stem, show_progress=False)
    found, _ = retriever.retrieve(asked, k=min(50, len(leaves)), show_progress=False)
    return [[leaves[i] for i in row] for row in found]


async def ask(tree: AsyncSummaryTree, question: str) -> dict[str, Sequence[Node]]:
    """Ask in every way."""
    k = max(KS)
    return {
        "vector": await tree.search(question, k, mode="vector", types="chunk"),
        "text": await tree.search(question, k, mode="text", types="chunk"),
        "hybrid": await tree.search(question, k, types="chunk"),
        "collapsed (hybrid over all levels)": await tree.search(question, k),
        "collapsed, merged": await tree.merge(await tree.search(question, k)),
        "walk, beam 10": (await tree.walk(question, beam=k)).hits,
    }


async def measure(task: Task, data_dir: Path) -> dict[str, tuple[float, ...]]:
    """Build the corpus, ask every question in every way; recall@1, @5, @10 of each."""
    folder = data_dir / "documents" / task.name
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in task.documents.items():
        (folder / path).write_text(text, encoding="utf-8")
    settings = Settings(data_dir=data_dir / "db")
    await build(folder, settings, corpus=task.name)
    places: dict[str, list[int | None]] = {}
    async with (
        AsyncSummaryTree.open(corpus=task.name, data_dir=data_dir / "db") as tree,
        resolve_url(settings) as url,
        Database.open(url) as database,
    ):
        leaves = [node async for node in tree.nodes(types="chunk")]
        judge = Judge(leaves)
        ranked = bm25(leaves, task.questions)
        for question, found in zip(task.questions, ranked, strict=True):
            fused = await database.fetch(
                BY_RANKS, Node, words=question.text, query=embed([question.text])[0], k=max(KS), corpus=task.name
            )
            ways: dict[str, Sequence[Node]] = {
                "BM25 (bm25s)": found,
                **await ask(tree, question.text),
                "hybrid by ranks alone (fusion => 'ranks')": fused,
            }
            for name, nodes in ways.items():
                places.setdefault(name, []).append(first_right(judge, nodes, question))
    return {name: recalls(found) for name, found in places.items()}


def rows_of(task: Task, measured: dict[str, tuple[float, ...]]) -> list[Row]:
    """Put the figures into rows, the hybrid held to the best of its parts, and on stories to the baseline."""
    best = [max(measured[part][i] for part in ("vector", "text")) for i in range(len(KS))]
    out = []
    for name, figures in measured.items():
        wanted, met = "", None
        if name == "hybrid":
            wanted = "the better part: " + " / ".join(f"{x:.2f}" for x in best)
            met = all(f >= b - 0.005 for f, b in zip(figures, best, strict=True))
        out.append(
            Row(
                f"{task.name}: {name}, recall@1 / @5 / @10",
                " / ".join(f"{x:.3f}" for x in figures),
                wanted,
                met,
                f"{len(task.questions)} questions, {len(task.documents)} documents",
            )
        )
    return out


async def measure_all(data_dir: Path) -> list[Row]:
    rows: list[Row] = []
    folder = corpora()
    for load in (stories, meetings):
        task = load(folder)
        if task.questions:
            rows += rows_of(task, await measure(task, data_dir))
    return rows


def main() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="retrieval-") as name:
        return asyncio.run(measure_all(Path(name)))


def notes() -> str:
    baseline = "; ".join(f"{name} {one:.2f} / {five:.2f}" for name, (one, five) in STORY_BASELINE.items())
    return f"Over plain windows of 1000 characters stories had, at 1 and 5: {baseline}."


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder which keeps documents and database")
    given = parser.parse_args()
    print(table(asyncio.run(measure_all(given.data)) if given.data else main()))
