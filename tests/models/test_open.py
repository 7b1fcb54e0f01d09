"""Opening the models which the settings name."""

from __future__ import annotations

import pytest

from tree_builder.errors import ConfigError
from tree_builder.models import open_models, versions
from tree_builder.models.cached import CachedEmbedder
from tree_builder.settings import Settings
from tree_builder.testing.endpoint import SimulatedEndpoint
from tree_builder.testing.fakes import MemoryMemo, MemoryVectors, NullLedger

from .support import way


async def test_models_are_never_guessed_from_the_environment() -> None:
    """A key in the environment changes nothing: without `models = openai` the models are local."""
    environ = {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    async with open_models(Settings(), MemoryMemo(), MemoryVectors(), NullLedger(), environ=environ) as (
        embedder,
        model,
    ):
        assert (embedder.name, model.name) == ("use-multilingual-v3", "extract")


async def test_openai_without_a_key_is_refused() -> None:
    """`models = openai` without a key is an error before anything is read or sent."""
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        async with open_models(Settings(models="openai"), MemoryMemo(), MemoryVectors(), NullLedger(), environ={}):
            pass


async def test_the_defaults_are_those_of_the_design(endpoint: SimulatedEndpoint) -> None:
    """text-embedding-3-small with 1536 dimensions, and gpt-4.1-mini; opening them sends nothing."""
    async with way(endpoint) as w:
        assert (w.embedder.name, w.embedder.dimensions) == ("text-embedding-3-small", 1536)
        assert w.model.name == "gpt-4.1-mini"
        assert isinstance(w.embedder, CachedEmbedder)
    assert endpoint.stats()["calls"] == 0


def test_versions_follow_the_prompts_in_use() -> None:
    """A tree depends on the versions of the prompts which its settings use, and on no others."""
    each = versions(Settings(models="openai"))
    assert set(each) == {"summarize", "repair", "boundaries"}
    assert versions(Settings(models="openai", boundaries="window"))["boundaries"] != each["boundaries"]
    assert set(versions(Settings(models="openai", boundaries="embedding", verify=False))) == {"summarize"}
    assert versions(Settings(models="openai", prompt_tokens=500)) != each
    assert set(versions(Settings())) == {"summarize"}
