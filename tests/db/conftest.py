"""A connection to a fresh migrated database, and small trees in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tree_builder.testing.forest import REPORTS, plant


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def reports(connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    """A corpus `reports` of five documents in three directories, and a file which could not be read."""
    plant(connection, "reports", REPORTS)
    return connection
