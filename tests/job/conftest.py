"""A corpus of one's own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from .support import Corpus


@pytest.fixture
def corpus(tmp_path: Path, database_url: str) -> Corpus:
    folder = tmp_path / "corpus"
    folder.mkdir()
    return Corpus(folder, database_url)
