from __future__ import annotations

from collections.abc import Iterator

import pytest

from tree_builder.models.openai import connection
from tree_builder.testing.endpoint import SimulatedEndpoint

from .support import FAST


@pytest.fixture(scope="session")
def _service() -> Iterator[SimulatedEndpoint]:
    with SimulatedEndpoint(FAST) as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(_service: SimulatedEndpoint) -> SimulatedEndpoint:
    """The simulated service without latency or faults; `configure` changes it for one test."""
    _service.configure(FAST)
    return _service


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the shape of retrying and leave out the seconds."""
    monkeypatch.setattr(connection, "BACKOFF_S", 0.001)
