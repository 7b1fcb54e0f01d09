"""Counting tokens as the embedding models do (cl100k_base), with no download."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from functools import lru_cache
from importlib.machinery import PathFinder
from typing import Protocol, cast

_PACKAGE = "bpe_openai"
_EXTENSION = f"{_PACKAGE}._bindings"


class Tokenizer(Protocol):
    """What is used of the tokenizer. About 35 µs for 1000 characters."""

    def count(self, text: str) -> int: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, tokens: list[int]) -> str: ...


@lru_cache(maxsize=1)
def tokenizer() -> Tokenizer:
    """Load the tokenizer when first needed.

    Its compiled part alone takes 30 ms and 34 MB; importing the whole package, which reads its tables into Python as well,
    takes 1.2 s and 103 MB, and is the way only where that part is not found.
    """
    module = sys.modules.get(_EXTENSION) or _load_extension()
    return cast("Tokenizer", module.tokenizer_for_encoding("cl100k_base"))  # type: ignore[attr-defined]


def beginning(text: str, n_tokens: int) -> str:
    """Give the beginning of a text which takes n_tokens at most; a character is never cut in two."""
    tokens = tokenizer().encode(text)[:n_tokens]
    while tokens:
        try:
            return tokenizer().decode(tokens)
        except ValueError:  # the last token is a part of a character
            tokens.pop()
    return ""


def _load_extension() -> object:
    package = importlib.util.find_spec(_PACKAGE)
    folders = package.submodule_search_locations if package else None
    spec = PathFinder.find_spec(_EXTENSION, folders)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules[_EXTENSION] = module  # a compiled module is loaded once: the package finds it here
        spec.loader.exec_module(module)
        return module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the package reads its files by a deprecated way
        return importlib.import_module(_EXTENSION)
