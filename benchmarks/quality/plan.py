"""What is to be measured, with which models, and on how much of the texts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TypeVar

from tree_builder.settings import Settings

SEED = 6
MOST_DRAWN = 8
LEAST_CHARS = 12_000
"""A document is cut off at so many characters, or at more where more is left for each of MOST_DRAWN."""


class Text(Protocol):
    """A document which can be cut off."""

    @property
    def text(self) -> str: ...
    def first(self, chars: int) -> Self: ...


T = TypeVar("T", bound=Text)


@dataclass(frozen=True, slots=True)
class Plan:
    """folder: laid out as `data` tells. chars: of a set of documents, at most; None for all."""

    folder: Path
    settings: Settings
    chars: int | None = None

    @property
    def paid(self) -> bool:
        return self.settings.models == "openai"

    @property
    def suffix(self) -> str:
        """What the names of sections end in, so that figures of one pair of models do not overwrite the other's."""
        return f"-{self.settings.models}" if self.paid else ""

    @property
    def facts(self) -> dict[str, object]:
        """What of the plan belongs beside the figures."""
        return {} if self.chars is None else {"texts": f"at most {self.chars} characters of each set, seed {SEED}"}

    def within(self, documents: Sequence[T], chars: int | None = None) -> list[T]:
        """Give the documents of a set which are measured, in their order: all, or a draw which `chars` of text bound."""
        bounds = [bound for bound in (self.chars, chars) if bound is not None]
        return within(documents, min(bounds)) if bounds else list(documents)


def within(documents: Sequence[T], chars: int) -> list[T]:
    """Draw documents by seed, each cut off at its share, until they have about so many characters together."""
    share = max(chars // MOST_DRAWN, min(chars, LEAST_CHARS))
    taken: dict[int, T] = {}
    left = chars
    for number in random.Random(SEED).sample(range(len(documents)), len(documents)):
        if 2 * left < share:
            break
        document = documents[number]
        most = min(share, left)
        taken[number] = document if len(document.text) <= most else document.first(most)
        left -= len(taken[number].text)
    return [taken[number] for number in sorted(taken)]


def end_of_line(text: str, chars: int) -> int:
    """Give where to cut a text off: at the end of a line or a sentence within the first `chars`, where there is one near."""
    at = max(text.rfind("\n", chars // 2, chars), text.rfind(". ", chars // 2, chars))
    return at + 1 if at > 0 else chars
