"""Builds of small text corpora with oracle models, which count what is paid for."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg

from tree_builder.job.report import Report
from tree_builder.job.run import Options, build
from tree_builder.model import Answer, Request, Summary, Tree, Usage, text_id
from tree_builder.protocols import Ledger, Memo, Priority, VectorStore, Verdict, WindowVerdict
from tree_builder.settings import Settings
from tree_builder.testing import oracle

PRICE_USD = 0.001


class OracleModels:
    """A language model and an embedder over the memo and the vector store, as the real ones are. Counts paid calls."""

    def __init__(self, dimensions: int = 32, name: str = "oracle-embedder") -> None:
        self.name, self.dimensions = name, dimensions
        self.paid: Counter[str] = Counter()
        self.paid_keys: list[bytes] = []
        self.paid_at: Counter[int] = Counter()
        """Calls by the level of the nodes which were being formed."""
        self.in_flight: set[bytes] = set()
        """Questions answered whose answers are not known to be kept."""
        self.embedded: list[str] = []
        self.fail_when: Callable[[str, str], Exception | None] = lambda kind, text: None

    @asynccontextmanager
    async def __call__(
        self, settings: Settings, memo: Memo, vectors: VectorStore, ledger: Ledger
    ) -> AsyncIterator[tuple[Any, Any]]:
        yield OracleEmbedder(self, vectors, ledger), OracleLanguage(self, memo, ledger, settings)


class OracleEmbedder:
    def __init__(self, models: OracleModels, vectors: VectorStore, ledger: Ledger) -> None:
        self._models, self._vectors, self._ledger = models, vectors, ledger
        self.name, self.dimensions = models.name, models.dimensions

    async def embed(self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL) -> Any:
        import numpy as np

        ids = {text_id(text): text for text in texts}
        kept = dict(await self._vectors.find_vectors(list(ids)))
        missing = {i: t for i, t in ids.items() if i not in kept}
        if missing:
            self._models.embedded += missing.values()
            made = np.stack([oracle.vector(t, self.dimensions) for t in missing.values()])
            await self._vectors.keep_vectors(missing, made, Usage(1))
            kept |= dict(zip(missing, made, strict=True))
        return np.stack([kept[text_id(text)] for text in texts])


class OracleLanguage:
    name = "oracle"
    prompt_size = 10_000

    def __init__(self, models: OracleModels, memo: Memo, ledger: Ledger, settings: Settings) -> None:
        self._models, self._memo, self._ledger, self._chars = models, memo, ledger, settings.summary_chars

    def size(self, item: Tree) -> int:
        return len(item.content)

    async def summarize(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> Summary:
        texts = [item.content for item in items]
        level = 1 + max(item.level for item in items)
        return Summary(await self._ask("summarize", level, texts, lambda: oracle.summarize(texts, self._chars)))

    async def changes_topic(self, summary: str, item: Tree, *, priority: Priority = Priority.CRITICAL) -> Verdict:
        texts = [summary, item.content]
        word = await self._ask(
            "boundary", item.level + 1, texts, lambda: "yes" if oracle.changes_topic(*texts) else "no"
        )
        return Verdict(word == "yes", word)

    async def first_new_topic(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> WindowVerdict:
        texts = [item.content for item in items]
        level = 1 + max(item.level for item in items)
        word = await self._ask("boundary", level, texts, lambda: str(oracle.first_new_topic(texts)))
        return WindowVerdict(None if word == "None" else int(word), word)

    async def _ask(self, kind: str, level: int, texts: list[str], answer: Callable[[], str]) -> str:
        key = hashlib.sha256("\0".join([kind, str(self._chars), *texts]).encode()).digest()
        kept = await self._memo.find(key)
        if kept is not None:
            self._ledger.record(kind, kept.usage, from_memo=True)
            return kept.text
        self._ledger.before_call(kind)
        error = self._models.fail_when(kind, "\n".join(texts))
        if error is not None:
            raise error
        usage = Usage(1, 10, 5, PRICE_USD)
        self._models.paid[kind] += 1
        self._models.paid_at[level] += 1
        self._models.paid_keys.append(key)
        self._ledger.record(kind, usage)
        request = Request(kind, {"model": self.name}, key)
        self._models.in_flight.add(key)
        kept = await self._memo.keep(request, Answer(answer(), usage))
        self._models.in_flight.discard(key)
        return kept.text


class Corpus:
    """A folder, a database and oracle models; `build` runs the nightly job over them."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.settings = Settings(
            database_url=url, models="openai", chunk_size=120, chunk_overlap=20, summary_chars=100, read_workers=1,
            concurrency=8, keep=7,
        )  # fmt: skip
        self.models = OracleModels()

    def write(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    async def build(self, *, options: Options | None = None, **changes: Any) -> Report:
        self.models.paid.clear()
        self.models.embedded.clear()
        self.models.paid_keys.clear()
        self.models.paid_at.clear()
        self.models.in_flight.clear()
        return await build(self.folder, self.settings.but(**changes), corpus="c", options=options, models=self.models)

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(sql, parameters).fetchall()

    def tree(self) -> dict[Any, tuple[Any, ...]]:
        """Every published node but its vector, by id."""
        return {
            row[0]: row[1:]
            for row in self.rows(
                "select node_id, node_type, level, parent_id, position, doc_path, dir_path, content, char_start,"
                " char_end, page_start, page_end from tree_builder.nodes"
            )
        }


def prose(seed: int, n_sentences: int, topic: str | None = None) -> str:
    """Give sentences of random words, a topic word in each; the same seed gives the same text."""
    rng = random.Random(seed)
    words = [
        f"{a}{b}"
        for a in ("har", "mel", "tor", "vin", "sul", "bre")
        for b in ("bour", "ody", "ment", "tage", "phur", "eze")
    ]
    sentences = []
    for index in range(n_sentences):
        subject = topic or f"topic-{'abcdefgh'[index // 6 % 8]}{seed % 97}"
        sentences.append(f"The {subject} has {' '.join(rng.choices(words, k=6))} in it.")
    return " ".join(sentences)
