"""The models: which pair of embedder and language model is in use, and how a run opens it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from tree_builder.errors import ConfigError
from tree_builder.models.ledger import RunLedger, cost, price_of
from tree_builder.models.prompts import EACH_VERSION, REPAIR_VERSION, SUMMARIZE_VERSION, WINDOW_VERSION
from tree_builder.models.suspicion import suspicious

if TYPE_CHECKING:
    from tree_builder.protocols import Embedder, LanguageModel, Ledger, Memo, VectorStore
    from tree_builder.settings import Settings

__all__ = ["RunLedger", "cost", "open_embedder", "open_models", "price_of", "suspicious", "versions"]


@asynccontextmanager
async def open_models(
    settings: Settings,
    memo: Memo,
    vector_store: VectorStore,
    ledger: Ledger,
    *,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[tuple[Embedder, LanguageModel]]:
    """Give the pair of models which `settings.models` names, for one run; nothing is called or started before it is used.

    The embedder asks the vector store first. On leaving, calls which are already paid for get a few seconds to be kept.

    Raises:
        ConfigError: a model which is not to be had, no key, an address which cannot be used, or `max_usd` without a price.
    """
    if settings.models == "local":
        from tree_builder.models.cached import CachedEmbedder
        from tree_builder.models.local import LocalModels

        async with LocalModels(settings, memo, ledger) as local:
            cached = CachedEmbedder(local.embedder, vector_store, ledger)
            try:
                yield cached, local.language
            finally:
                await cached.close()
        return
    if settings.max_usd is not None:
        for model in (settings.embedding_model_name, settings.summary_model_name):
            if price_of(model, settings.prices) is None:
                raise ConfigError(
                    f"max_usd cannot be kept to: the price of {model!r} is not known; "
                    f'add [prices."{model}"] with input and output to the settings, 0 where it costs nothing',
                    name="max_usd",
                )
    from tree_builder.models.openai import open_service

    async with open_service(settings, memo, vector_store, ledger, environ=environ) as pair:
        yield pair


def open_embedder(
    settings: Settings, model: str, *, environ: Mapping[str, str] | None = None
) -> AbstractAsyncContextManager[Embedder]:
    """Give an embedder of the OpenAI API alone, as for the query of a search. Used as `async with`.

    Raises:
        ConfigError: no key, or an address which cannot be used.
    """
    from tree_builder.models.openai import open_embedder as open_one

    return open_one(settings, model, environ=environ)


def versions(settings: Settings) -> dict[str, str]:
    """Give the versions of the prompts, or of what stands in for them, which these settings use, and what else decides them."""
    if settings.models == "local":
        from tree_builder.models.local.language import VERSION

        return {"summarize": str(VERSION)}
    found = {"summarize": SUMMARIZE_VERSION}
    if settings.prompt_tokens is not None:  # a group closes when its prompt is full
        found["prompt_tokens"] = str(settings.prompt_tokens)
    if settings.verify:
        found["repair"] = REPAIR_VERSION
    if settings.boundary_method in ("each", "window"):
        found["boundaries"] = EACH_VERSION if settings.boundary_method == "each" else WINDOW_VERSION
    return found
