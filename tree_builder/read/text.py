"""Characters: what may not stay in a text, and words broken at the end of a line."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

HYPHEN = "\ufffe"
"""What pdfium puts in place of a hyphen and the line break after it."""

_FOREIGN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xa0\xad\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000"
    "\ud800-\udfff\ue000-\uf8ff\ufb00-\ufb06\ufdd0-\ufdef\ufeff\ufff0-\ufffd\uffff\U000f0000-\U0010ffff]"
)
_REPLACED = {
    **dict.fromkeys(map(chr, [0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000, 0x0B]), " "),
    **dict.fromkeys(["\x0c", "\x0d", "\x85", "\u2028", "\u2029"], "\n"),
    "\x02": HYPHEN,
    "\uf0b7": "\u2022",
    "\uf0a7": "\u2022",
    "\ufffd": "\ufffd",
    **{chr(0xFB00 + i): letters for i, letters in enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"))},
}
AND = frozenset(("and", "or", "und", "oder", "bzw", "et", "ou", "y", "e", "en", "of", "och", "eller"))
_JOINERS = "\u200c\u200d"  # part of the spelling in Persian and in Indic scripts
_LEADERS = re.compile(r"[._\u2024\u2025\u2026\u00b7](?: ?[._\u2024\u2025\u2026\u00b7]){4,}")
_TAIL = re.compile(r"[^\W\d_]+$")
_HEAD = re.compile(r"[^\W\d_]+")


def clean(text: str) -> str:
    """Give the text as it may be stored.

    That is NFC, lines ended by a line feed, ligatures expanded; control characters, lone surrogates, private and invisible
    characters gone. `HYPHEN` stays for `join_hyphens`.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.isprintable():
        return text
    if _FOREIGN.search(text):
        text = _FOREIGN.sub(_replacement, text)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def _replacement(match: re.Match[str]) -> str:
    found = match[0]
    return found if found in _JOINERS else _REPLACED.get(found, "")


def tame_leaders(text: str) -> str:
    """Shorten the dots which lead to a page number in a table of contents."""
    if ". . . ." not in text and "....." not in text and "_____" not in text and "\u2026\u2026" not in text:
        return text
    return _LEADERS.sub(" \u2026 ", text).replace("  \u2026", " \u2026").replace("\u2026  ", "\u2026 ")


def hyphenated_words(text: str) -> frozenset[tuple[str, str]]:
    """Give the halves around each hyphen inside a line, as (before, after) in small letters."""
    found: set[tuple[str, str]] = set()
    for before, after in pairwise(text.split("-")):
        if before[-1:].isalpha() and after[:1].isalpha():
            left, right = (
                _HEAD.match(before[:-31:-1]),
                _HEAD.match(after),
            )  # from its end: the search would start at each letter
            if left and right:
                found.add((left[0][::-1].lower(), right[0].lower()))
    return frozenset(found)


def join_hyphens(text: str, known: frozenset[tuple[str, str]]) -> str:
    """Join the words which `HYPHEN` breaks. known: of `hyphenated_words`."""
    if HYPHEN not in text:
        return text
    parts = text.split(HYPHEN)
    out = [parts[0]]
    for before, after in pairwise(parts):
        out.append(hyphen_between(before, after, known) + after)
    return "".join(out)


def hyphen_between(before: str, after: str, known: frozenset[tuple[str, str]]) -> str:
    """Say what remains of a hyphen at the end of a line.

    Nothing, as a rule. The hyphen itself before a capital or digit, and in words which carry it elsewhere in the document; with
    a space where it waits for its second word, as in pre- and post-war.
    """
    left, right = _TAIL.search(before[-30:]), _HEAD.match(after)
    if not left or not right or not right[0][0].islower() or (left[0].lower(), right[0].lower()) in known:
        return "-"
    return "- " if right[0] in AND else ""


def needs_cleaning(text: str) -> bool:
    """Whether `clean` may change more of a page than the ends of its lines, told without looking at each character."""
    bare = text.replace("\r\n", "").replace(HYPHEN, "")
    return not bare.isprintable() or not (bare.isascii() or unicodedata.is_normalized("NFKC", bare))
