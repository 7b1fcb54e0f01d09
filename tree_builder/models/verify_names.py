"""Names in a text, and whether another text holds them. Plain functions; see verify.py for what they are for."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"[^\W_]+(?:['’&.-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’»)\]]*\s+$|\n\s*$|(?:^|[\s(])[\"“„«‘']$")
"""What stands before a word which may begin a sentence; an opening quotation mark is enough, since speech begins with a capital."""
_PARTICLES = frozenset(
    [
        "of",
        "de",
        "da",
        "di",
        "del",
        "la",
        "le",
        "van",
        "von",
        "der",
        "den",
        "the",
        "and",
        "und",
        "et",
        "y",
        "du",
        "des",
        "for",
        "für",
    ]
)
_GERMAN = frozenset(
    [
        "der",
        "die",
        "das",
        "und",
        "den",
        "dem",
        "des",
        "ist",
        "sind",
        "ein",
        "eine",
        "einen",
        "einer",
        "mit",
        "für",
        "wurde",
        "werden",
        "auf",
        "nicht",
        "im",
        "zu",
        "sich",
    ]
)
_ENGLISH = frozenset(
    ["the", "of", "and", "to", "is", "are", "was", "were", "an", "by", "with", "for", "that", "this", "its", "which"]
)
_FREE = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "januar",
        "februar",
        "märz",
        "mai",
        "juni",
        "juli",
        "oktober",
        "dezember",
        "janvier",
        "février",
        "mars",
        "avril",
        "juin",
        "juillet",
        "août",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "octubre",
        "noviembre",
        "diciembre",
        "i",
        "the",
        "a",
        "an",
        "it",
        "its",
        "they",
        "he",
        "she",
        "we",
        "this",
        "these",
        "those",
        "in",
        "on",
        "at",
        "as",
        "for",
        "and",
        "or",
        "but",
        "by",
        "of",
        "to",
        "from",
        "with",
        "english",
        "ok",
        "usa",
        "us",
        "uk",
        "eu",
    ]
)


def names_without_support(summary: str, source: str) -> tuple[str, ...]:
    """Give the names of the summary which the source does not hold, as `name:Foo Bar`; of each the words which are missing."""
    names = _names(summary)
    if not names:
        return ()
    folded = _folded(source)
    out = []
    for words in names:
        missing = [word for word in words if not _occurs(word, folded)]
        if missing:
            missing = [word for word in missing if not (word.isupper() and _folded(word) in _initials(source))]
        if missing:
            out.append(f"name:{' '.join(missing)}")
    return tuple(dict.fromkeys(out))


def _names(text: str) -> list[list[str]]:
    """Find what looks like a name: capitalized words in a row, and single ones where the language does not capitalize nouns."""
    nouns_too = _capitalizes_nouns(text)
    names: list[list[str]] = []
    run: list[str] = []
    previous_end = 0
    for token in _TOKEN.finditer(text):
        word = token.group()
        before, previous_end = previous_end, token.end()
        if not run and word.islower():  # as most are: no name begins or ends here
            continue
        joined = text[before : token.start()] in (" ", "\u00a0")
        start = not before or bool(_SENTENCE_END.search(text[max(0, token.start() - 6) : token.start()]))
        if start or not joined:
            names.append(run)
            run = []
        if word[:1].isupper() and not start:
            run.append(word)
        elif not (run and word in _PARTICLES):
            names.append(run)
            run = [word] if start and _odd(word) else []
    names.append(run)
    return [words for found in names if (words := _significant(found, nouns_too=nouns_too))]


def _capitalizes_nouns(text: str) -> bool:
    """Say whether a text is German, by its commonest words: there every noun has a capital."""
    words = text.split()
    return sum(w in _GERMAN for w in words) > 2 * sum(w in _ENGLISH for w in words)


def _significant(run: list[str], *, nouns_too: bool) -> list[str]:
    """Keep the words of a run which have to occur in the source; in languages which capitalize nouns, odd ones only."""
    words = [w for w in run if w.casefold() not in _FREE and (len(w) > 1)]
    if nouns_too:
        words = [w for w in words if _odd(w)]
    return [w for w in words if not w.isdigit()]


def _odd(word: str) -> bool:
    """Say whether a word is a name by its looks: two capitals, or letters together with digits."""
    letters = [c for c in word if c.isalpha()]
    capitals = sum(c.isupper() for c in letters)
    return capitals >= 2 or (capitals >= 1 and any(c.isdigit() for c in word))


def _occurs(word: str, folded: str) -> bool:
    parts = [part for part in re.split(r"['’&.-]", _folded(word)) if part]
    whole = "".join(parts)
    if whole in folded:
        return True
    return all(_stem(part) in folded for part in parts if len(part) > 1)


def _stem(word: str) -> str:
    """Leave out what plural, genitive and the like add: the word without its last third, four characters at least."""
    return word if len(word) <= 4 else word[: max(4, len(word) - max(2, len(word) // 4))]


def _initials(text: str) -> str:
    """Give the first letters of all words and, after a gap, of the capitalized ones, to find what an acronym stands for."""
    words = _WORD.findall(text)
    return "".join(w[0] for w in words).casefold() + " " + "".join(w[0] for w in words if w[0].isupper()).casefold()


def _folded(text: str) -> str:
    """Lower case, without accents, and umlauts alike in both ways of writing them."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in decomposed if not unicodedata.combining(c))
    text = text.casefold()
    return text.replace("ae", "a").replace("oe", "o").replace("ue", "u")
