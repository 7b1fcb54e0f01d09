"""Rows of a statement, as tests like them."""

from __future__ import annotations

from typing import Any


def rows(connection: Any, sql: Any, *parameters: Any) -> list[tuple[Any, ...]]:
    return connection.execute(sql, parameters or None).fetchall()


def column(connection: Any, sql: Any, *parameters: Any) -> list[Any]:
    return [row[0] for row in rows(connection, sql, *parameters)]
