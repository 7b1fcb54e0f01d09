"""Models behind the OpenAI API, there or at any base URL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tree_builder.model import Usage
from tree_builder.models.cached import CachedEmbedder
from tree_builder.models.language import PromptedModel
from tree_builder.models.openai.connection import Account, Connection
from tree_builder.models.openai.embedder import OpenAIEmbedder
from tree_builder.models.openai.language import OpenAITransport
from tree_builder.models.openai.tokens import tokenizer
from tree_builder.models.pacing import Limiter

if TYPE_CHECKING:
    from tree_builder.protocols import Embedder, LanguageModel, Ledger, Memo, VectorStore
    from tree_builder.settings import Settings

KNOWN_PROMPT_TOKENS = 16_000
"""Document text in one prompt to a model of OpenAI: far below what fits, where answers still heed all of it."""
OTHER_PROMPT_TOKENS = 3_000
"""The same for a model of unknown context length: with instructions and answer it fits 4,096."""


@asynccontextmanager
async def open_service(
    settings: Settings,
    memo: Memo,
    vector_store: VectorStore,
    ledger: Ledger,
    *,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[tuple[Embedder, LanguageModel]]:
    """Give the embedder and the language model of the service; see `tree_builder.models.open_models`."""
    connection = _connect(settings, ledger, environ)
    embedder = _embedder(settings, settings.embedding_model_name, connection)
    cached = CachedEmbedder(embedder, vector_store, ledger)
    name = settings.summary_model_name
    language = PromptedModel(
        name,
        OpenAITransport(connection, name),
        memo,
        ledger,
        count_tokens=lambda text: tokenizer().count(text),
        summary_chars=settings.summary_chars,
        verify=settings.verify,
        prompt_size=settings.prompt_tokens or (KNOWN_PROMPT_TOKENS if name.startswith("gpt-") else OTHER_PROMPT_TOKENS),
        prices=settings.prices,
    )
    try:
        yield cached, language
    finally:
        await asyncio.gather(language.close(), embedder.close())
        await cached.close(1.0)
        await connection.close()


@asynccontextmanager
async def open_embedder(
    settings: Settings, model: str, *, environ: Mapping[str, str] | None = None
) -> AsyncIterator[Embedder]:
    """Give the embedder alone, without store and ledger."""
    connection = _connect(settings, _Unlimited(), environ)
    embedder = _embedder(settings, model, connection)
    try:
        yield embedder
    finally:
        await embedder.close()
        await connection.close()


class _Unlimited:
    """A ledger for calls outside a run."""

    def before_call(self, kind: str) -> None: ...

    def record(self, kind: str, usage: Usage, *, from_memo: bool = False) -> None: ...

    def count(self, what: str, n: int = 1) -> None: ...


def _connect(settings: Settings, ledger: Ledger, environ: Mapping[str, str] | None) -> Connection:
    limiter = Limiter(
        settings.concurrency,
        requests_per_minute=settings.requests_per_minute,
        tokens_per_minute=settings.tokens_per_minute,
    )
    return Connection(
        Account.from_environment(environ),
        limiter,
        ledger,
        timeout_s=settings.call_timeout_s,
        max_attempts=settings.max_attempts,
    )


def _embedder(settings: Settings, model: str, connection: Connection) -> OpenAIEmbedder:
    return OpenAIEmbedder(
        connection,
        model,
        dimensions=settings.embedding_dimensions,
        prices=settings.prices,
    )


__all__ = ["Account", "Connection", "OpenAIEmbedder", "OpenAITransport", "open_embedder", "open_service"]
