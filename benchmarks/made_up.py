"""Made-up documents for benchmarks: passages of about 1000 characters whose topics change as in real ones, at every level.

A book has chapters, a chapter sections, a section topics; at each level two or three of them come up in turns, and a topic lasts some
passages. Each topic has words of its own beside those which all share; now and then a passage digresses.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tree_builder.model import NodeType, Tree

_SYLLABLES = [c + v + e for c in "bdfgklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "s")]


def _words(rng: random.Random, n: int) -> list[str]:
    return ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(n)]


Topic = tuple[str, list[str]]
"""A name and words of its own."""


def _topic(rng: random.Random) -> Topic:
    return f"topic-{_words(rng, 1)[0]}", _words(rng, 45)


@dataclass(frozen=True, slots=True)
class _Subject:
    topic: Topic | None
    children: list[_Subject]


class _Author:
    """Writes about the subjects of one shelf, as others do whose documents lie in the same directory."""

    def __init__(self, seed: int, shelf: int) -> None:
        self._rng = random.Random(seed)
        self._common = _words(random.Random(0), 150)
        shelf_rng = random.Random(1000 + shelf)
        self._subjects = [_topic(shelf_rng) for _ in range(12)]
        self._rng.shuffle(self._subjects)

    def passage(self, topic: Topic, *, chars: int = 950) -> str:
        name, own = topic
        sentences: list[str] = []
        length = 0
        while length < chars:
            words = [self._rng.choice(own if self._rng.random() < 0.45 else self._common) for _ in range(12)]
            if not sentences or self._rng.random() < 0.2:
                words.insert(self._rng.randrange(4), name)
            sentence = " ".join(words).capitalize() + "."
            sentences.append(sentence)
            length += len(sentence) + 1
        return " ".join(sentences)

    def document(self, n: int) -> list[str]:
        out: list[str] = []
        book = self._subject(2)
        while len(out) < n:
            self._visit(book, out)
        return out[:n]

    def _subject(self, depth: int) -> _Subject:
        children = [self._subject(depth - 1) for _ in range(2 if depth == 1 else 3)] if depth else []
        return _Subject(self._subjects.pop() if not depth else None, children)

    def _visit(self, subject: _Subject, out: list[str]) -> None:
        """Write about a subject: some passages, or its parts, which come up in turns."""
        rng = self._rng
        if subject.topic is not None:
            for _ in range(rng.randint(4, 12)):
                digress = rng.random() < 0.02
                out.append(self.passage(rng.choice(self._subjects) if digress else subject.topic))
            return
        at = rng.randrange(len(subject.children))
        for _ in range(rng.randint(4, 8)):
            at = (at + rng.randint(1, len(subject.children) - 1)) % len(subject.children)
            self._visit(subject.children[at], out)


def document(n: int, *, seed: int, shelf: int = 0, doc_path: str = "made-up.txt") -> list[Tree]:
    """Write a document of n passages; the same seed gives the same one. shelf: documents of one shelf share their subjects."""
    out, at = [], 0
    for content in _Author(seed, shelf).document(n):
        out.append(
            Tree(
                NodeType.CHUNK,
                content,
                level=0,
                char_start=at,
                char_end=at + len(content),
                page_start=at // 3000 + 1,
                page_end=(at + len(content)) // 3000 + 1,
                doc_path=doc_path,
            )
        )
        at += len(content)
    return out


def sizes(n_documents: int, total: int, *, seed: int) -> list[int]:
    """Share `total` passages out to documents as unevenly as papers are: the longest about three times the mean."""
    rng = random.Random(seed)
    weights = [rng.lognormvariate(0, 0.5) for _ in range(n_documents)]
    return [max(2, round(total * weight / sum(weights))) for weight in weights]
