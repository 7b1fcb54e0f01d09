"""A model's mind for tests: summaries, topics and vectors, all plain deterministic functions of the text.

A text may name its topics with words such as `topic-harbour`; summaries keep them, and a topic which the summary does not
name starts a new one. Texts without such words are compared by the words they share.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_TOPIC = re.compile(r"\btopic-\w+")
_WORD = re.compile(r"[^\W\d_]{4,}")
SHARED_WORDS = 0.12
"""Share of the item's words which the summary must hold for the item to continue it."""


def topics(text: str) -> tuple[str, ...]:
    """Give the topic words of a text, each once, in order."""
    return tuple(dict.fromkeys(_TOPIC.findall(text)))


def changes_topic(summary: str, item: str) -> bool:
    """Say whether the item starts a new topic: by topic words where both have some, else by the words they share."""
    had, new = set(topics(summary)), topics(item)
    if had and new:
        return new[0] not in had
    before, words = _words(summary), _words(item)
    if not before or not words:
        return False
    return len(before & words) / min(len(before), len(words)) < SHARED_WORDS


def first_new_topic(texts: Sequence[str]) -> int | None:
    """Give the index of the first text, from the third on, which the texts before it do not lead on to."""
    for at in range(2, len(texts)):
        if changes_topic(" ".join(texts[:at]), texts[at]):
            return at
    return None


def summarize(texts: Sequence[str], target_chars: int) -> str:
    """Shorten the texts to about `target_chars` in all: the topic words of all, then each text's beginning, whole words."""
    named = dict.fromkeys(t for text in texts for t in topics(text))
    room = max(20, (target_chars - sum(len(t) + 1 for t in named)) // max(1, len(texts)))
    parts = [_beginning(_TOPIC.sub("", text), room) for text in texts]
    return " ".join([*named, *(p for p in parts if p)]) or "nothing"


def vector(text: str, dimensions: int) -> npt.NDArray[np.float32]:
    """Give a unit vector of hashed words: (dimensions,) float32, never zero; texts which share words are near."""
    out = np.zeros(dimensions, dtype=np.float32)
    for word in re.findall(r"\w+", text.lower()) or [text or "empty"]:
        digest = _digest(word)
        out[digest % dimensions] += 1.0 if digest >> 63 else -1.0
    norm = float(np.linalg.norm(out))
    if norm == 0.0:  # words which cancel one another
        out[_digest(text) % dimensions] = norm = 1.0
    return out / np.float32(norm)


@lru_cache(maxsize=100_000)
def _digest(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _beginning(text: str, room: int) -> str:
    words: list[str] = []
    length = 0
    for word in text.split():
        length += len(word) + 1
        if length > room and words:
            break
        words.append(word[:room])
    return " ".join(words)
