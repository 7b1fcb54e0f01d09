"""What the tests of the models share: the whole way from settings to the simulated service over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tree_builder.model import NodeType, Tree
from tree_builder.models import RunLedger, open_models
from tree_builder.models.language import PromptedModel
from tree_builder.protocols import Embedder
from tree_builder.settings import Settings
from tree_builder.testing.endpoint import EndpointConfig, SimulatedEndpoint
from tree_builder.testing.fakes import MemoryMemo, MemoryVectors

FAST = EndpointConfig(scale=0, dimensions=1536)


def item(text: str) -> Tree:
    return Tree(NodeType.CHUNK, text, 0)


@dataclass
class Way:
    """A run's models with what they were given."""

    embedder: Embedder
    model: PromptedModel
    memo: MemoryMemo
    vectors: MemoryVectors
    ledger: RunLedger


@dataclass
class Kept:
    """What outlives a run."""

    memo: MemoryMemo = field(default_factory=MemoryMemo)
    vectors: MemoryVectors = field(default_factory=MemoryVectors)


@asynccontextmanager
async def way(
    endpoint: SimulatedEndpoint, kept: Kept | None = None, *, key: str = "sk-test-secret-0123456789", **settings: object
) -> AsyncIterator[Way]:
    """Open the models against the endpoint; waits between attempts are the service's own, short ones."""
    kept = kept or Kept()
    chosen = Settings(models="openai", **settings)  # type: ignore[arg-type]
    models = [chosen.summary_model_name, chosen.embedding_model_name]
    ledger = RunLedger(chosen.max_usd, chosen.max_minutes, chosen.prices, models=models)
    environ = {"OPENAI_BASE_URL": endpoint.base_url, "OPENAI_API_KEY": key}
    async with open_models(chosen, kept.memo, kept.vectors, ledger, environ=environ) as (embedder, model):
        assert isinstance(model, PromptedModel)
        yield Way(embedder, model, kept.memo, kept.vectors, ledger)
