"""A small published corpus, planted into the real schema."""

from __future__ import annotations

import pytest

from tree_builder.testing.planting import SAMPLE_FILES, Planted, plant


@pytest.fixture
def planted(database_url: str) -> Planted:
    return plant(database_url, SAMPLE_FILES, titles={"boats/sails.pdf": "Sails\nand\tropes"})
