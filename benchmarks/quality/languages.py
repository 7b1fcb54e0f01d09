"""Tell the language of a text by its script and its commonest words. Enough for paragraphs in languages which are widely read."""

from __future__ import annotations

import re
from collections import Counter

_COMMON = {
    "en": "the of and to in is that for it as was with be by on not this are or from at an which",
    "de": "der die und das den von zu mit sich des auf ist im dem nicht ein eine als auch es werden aus",
    "fr": "le la les des et une du est que dans pour qui sur au par pas plus avec ce sont cette ou",
    "es": "el los las del una que por con para es se su al lo como más pero sus ya este entre y",
    "it": "il di che la per una sono non del con si della gli dei nel al alla le è ha anche più",
    "pt": "o os do da em um uma para com não que na por mais dos das como mas ao ele seu são",
    "nl": "de het een van en is dat op te zijn met voor niet aan er om ook als bij maar dan wordt",
    "pl": "i w na z do nie się jest że to jak od za przez po oraz który dla są tego może lub",
    "sv": "och att det som en på är av för den till med de inte om ett han var jag så kan från",
}
_WORDS = {language: frozenset(words.split()) for language, words in _COMMON.items()}
_SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "Cyrillic": re.compile("[\u0400-\u04ff]"),
    "Greek": re.compile("[\u0370-\u03ff]"),
    "Arabic": re.compile("[\u0600-\u06ff]"),
    "Hebrew": re.compile("[\u0590-\u05ff]"),
    "Devanagari": re.compile("[\u0900-\u097f]"),
}
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_WORDS = 4
_LEAD = 1.5
"""The first language must have so many times the words of the second, or there is no telling."""


def language_of(text: str) -> str | None:
    """Give the language of a text, or the script where that is all which is told; None where there is no telling."""
    letters = sum(map(str.isalpha, text))
    for name, letter in _SCRIPTS.items():
        if letters and 5 * len(letter.findall(text)) > letters:
            return name
    found = Counter(word for word in _WORD.findall(text.lower()))
    counts = sorted(((sum(found[word] for word in words), name) for name, words in _WORDS.items()), reverse=True)
    (most, best), (second, _) = counts[:2]
    return best if most >= _LEAST_WORDS and most >= _LEAD * second else None
