"""Fitting texts into prompts: splitting, packing and shortening. Plain functions; the same texts give the same parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

FENCE_TOKENS = 40
"""What the marked lines around one text take, at most."""
MOST_TOKENS = 8
"""Tokens of one character, at most."""


def batches(texts: Sequence[str], room: int, size: Callable[[str], int]) -> list[list[str]]:
    """Pack consecutive texts into as few prompts as hold them, in order; a text which alone is too large is split.

    size: of a text, in the unit of `room`. Texts which fit together give one batch.
    """
    if _surely_fit(texts, room):
        return [list(texts)]
    out: list[list[str]] = [[]]
    used = 0
    for text in texts:
        for part in split(text, room, size):
            needed = size(part)
            if out[-1] and used + needed > room:
                out.append([])
                used = 0
            out[-1].append(part)
            used += needed
    return out


def split(text: str, room: int, size: Callable[[str], int]) -> list[str]:
    """Halve a text, at white space near the middle, until each part fits; a part of one character always does."""
    if size(text) <= room or len(text) <= 1:
        return [text]
    middle = len(text) // 2
    cut = _space_near(text, middle)
    return [part for half in (text[:cut], text[cut:]) for part in split(half, room, size)]


def shortened(text: str, room: int, size: Callable[[str], int]) -> str:
    """Give the text if it fits, else its beginning which does, ended by an ellipsis."""
    if _surely_fit([text], room) or (needed := size(text)) <= room:
        return text
    kept = text
    while len(kept) > 1 and needed > room:
        kept = kept[: max(1, min(len(kept) - 1, len(kept) * room // needed))]
        needed = size(kept)
    return kept[: _space_near(kept, len(kept))].rstrip() + " …"


def _surely_fit(texts: Sequence[str], room: int) -> bool:
    """Say whether texts are so short that nothing has to be counted: no script takes more than a few tokens a character."""
    return sum(MOST_TOKENS * len(text) + FENCE_TOKENS for text in texts) <= room


def _space_near(text: str, at: int) -> int:
    """Find where to cut: after the last white space in the tenth of the text before `at`, else at `at` itself."""
    tenth = max(1, len(text) // 10)
    for position in range(at, max(1, at - tenth), -1):
        if text[position - 1].isspace():
            return position
    return max(1, at)
