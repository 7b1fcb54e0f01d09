"""Where the shared corpora are, if they are."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def corpora() -> Path:
    """The folder of real documents beside the project."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip("the shared corpora are absent")
    return folder
