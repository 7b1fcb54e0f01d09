"""What a tree was grown with, as one hash: another recipe, another tree. Plain functions."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from tree_builder.settings import Settings


def ingredients(settings: Settings) -> dict[str, Any]:
    """Give everything besides a document's bytes which decides what its tree will be. JSON-serializable.

    Not among them: the embedding model, unless boundaries come from vectors; whatever changes speed alone.
    """
    from tree_builder import cut, models, read

    method = settings.boundary_method
    parts: dict[str, Any] = {
        "read": read.VERSION,
        "cut": [cut.VERSION, settings.cut, settings.chunk_size, settings.chunk_overlap],
        "boundaries": [method, *([settings.window_size] if method == "window" else [])],
        "summary_scope": settings.summary_scope,
        "summary": [settings.models, settings.summary_model_name, settings.summary_chars, settings.verify],
        "max_group_items": settings.max_group_items,
        "versions": dict(models.versions(settings)),
    }
    if method == "embedding":
        from tree_builder.grow.detector import DETECTOR_VERSION

        parts["vectors"] = [settings.embedding_model_name, settings.embedding_dimensions, DETECTOR_VERSION]
    return parts


def recipe_of(parts: dict[str, Any]) -> bytes:
    """Hash the ingredients."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()


def changed(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Name what differs between two sets of ingredients, as `cut: [1, 'fixed', 1000, 100] -> ...`."""
    return [
        f"{name}: {json.dumps(before.get(name))} -> {json.dumps(now.get(name))}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
