"""The pair of local models for one run, sharing one pool of processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from tree_builder.errors import ConfigError
from tree_builder.models.local.embedder import (
    SENTENCE_TRANSFORMERS,
    USE_DIMENSIONS,
    USE_NAME,
    LocalEmbedder,
    SentenceTransformersEmbedder,
)
from tree_builder.models.local.language import EXTRACT_NAME, ExtractiveModel
from tree_builder.models.local.pool import WorkerPool, available_cores

if TYPE_CHECKING:
    from types import TracebackType

    from tree_builder.protocols import Embedder, LanguageModel, Ledger, Memo
    from tree_builder.settings import Settings


class LocalModels:
    """An async context manager which gives `.embedder` and `.language`.

    Entering starts no process: workers start with the first text to embed or to summarize, and end on leaving.

    Raises:
        ConfigError: the settings name a model which `local` has not.
    """

    embedder: Embedder
    language: LanguageModel

    def __init__(self, settings: Settings, memo: Memo, ledger: Ledger) -> None:
        _check(settings)
        self._settings = settings
        self._ledger = ledger
        self._pool = WorkerPool(settings.local_workers or available_cores(), job_timeout_s=settings.call_timeout_s)
        self.embedder = LocalEmbedder(self._pool, ledger)
        self.language = ExtractiveModel(self._pool, memo, ledger, summary_chars=settings.summary_chars)

    @property
    def processes(self) -> int:
        """How many worker processes run now."""
        return self._pool.processes

    async def __aenter__(self) -> Self:
        name = self._settings.embedding_model_name
        if name.startswith(SENTENCE_TRANSFORMERS):
            self.embedder = await SentenceTransformersEmbedder.load(name, self._ledger)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._pool.close()


def _check(settings: Settings) -> None:
    name = settings.embedding_model_name
    if name != USE_NAME and not name.startswith(SENTENCE_TRANSFORMERS):
        raise ConfigError(
            f"models = 'local' has no embedding_model {name!r}; use {USE_NAME!r}, '{SENTENCE_TRANSFORMERS}NAME' with that package "
            "installed, or models = 'openai' with a server's OPENAI_BASE_URL",
            name="embedding_model",
        )
    if (
        settings.embedding_dimensions is not None
        and settings.embedding_dimensions != USE_DIMENSIONS
        and name == USE_NAME
    ):
        raise ConfigError(
            f"{USE_NAME} has 512 dimensions and cannot shorten its vectors; leave embedding_dimensions unset",
            name="embedding_dimensions",
        )
    if settings.summary_model_name != EXTRACT_NAME:
        raise ConfigError(
            f"models = 'local' has no summary_model {settings.summary_model_name!r}; use {EXTRACT_NAME!r}, or models = 'openai'",
            name="summary_model",
        )
