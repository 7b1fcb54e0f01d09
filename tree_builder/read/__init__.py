"""Files to text, and with it to chunks, in processes which may crash without harm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_builder.read.document import read_bytes, read_file
    from tree_builder.read.pool import ReadPool

VERSION = 1
"""Raised whenever the same bytes would be read differently."""

__all__ = ["VERSION", "ReadPool", "read_bytes", "read_file"]


def __getattr__(name: str) -> Any:
    """Load parsers and pool when asked for: reading processes need no pool, and the program itself no parsers."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{'pool' if name == 'ReadPool' else 'document'}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
