"""Counts tokens, for budgets. The tables come in a wheel; loading them takes about half a second, once a process."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

ENCODING = "o200k_base"  # of gpt-4o and later; others differ by a few percent
_BINDINGS = "bpe_openai._bindings"

CountTokens = Callable[[str], int]


def count_tokens(text: str) -> int:
    """Count a text's tokens. Words like `<|endoftext|>` in it are plain text."""
    return int(_tokenizer().count(text))


@cache
def _tokenizer() -> Any:
    return _bindings().tokenizer_for_encoding(ENCODING)


def _bindings() -> Any:
    """Load the package's compiled part alone: its Python part would first parse the tables of every encoding, for a second."""
    if _BINDINGS in sys.modules:
        return sys.modules[_BINDINGS]
    package = importlib.util.find_spec("bpe_openai")
    folders = package.submodule_search_locations if package else None
    spec = importlib.machinery.PathFinder.find_spec(_BINDINGS, folders)
    if spec is None or spec.loader is None:
        raise ImportError(
            "the package bpe-openai is not installed, or has another form than 0.1: pip install bpe-openai"
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[_BINDINGS] = module  # a compiled module can be loaded once only
    spec.loader.exec_module(module)
    return module
