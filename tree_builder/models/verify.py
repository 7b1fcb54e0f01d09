"""Numbers and names of a summary which do not occur in what it covers. Plain functions, no model.

Better one invention missed than ten sound summaries flagged: forms are compared loosely (separators, units, rounding,
magnitudes, spelled-out words, endings, accents), and what a writer may add by himself (small counts, months) is let pass.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

SMALL = 20
"""Whole numbers up to this are counts which a summary may make by itself."""

_NUMBER = re.compile(r"(?<![\d.,])\d+(?:[.,'’]\d+|[\u00a0\u202f ]\d{3}(?!\d))*")
_MAGNITUDES = {
    **dict.fromkeys(["thousand", "tausend", "mille", "mil", "k", "tsd"], 1e3),
    **dict.fromkeys(["million", "millions", "millionen", "mio", "mln", "m", "mm", "millones", "milioni"], 1e6),
    **dict.fromkeys(["billion", "billions", "bn", "milliarde", "milliarden", "mrd", "milliards", "b"], 1e9),
    **dict.fromkeys(["trillion", "trillions", "tn"], 1e12),
}
_UNITS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPELLED = {word: float(n) for n, word in enumerate(_UNITS.split(), 1)}
_SPELLED |= {word: 10.0 * n for n, word in enumerate(_TENS.split(), 2)}
_SPELLED |= {"hundred": 100.0, "dozen": 12.0, "half": 0.5, "hundert": 100.0, "cent": 100.0, "cien": 100.0}
_SPELLED |= {
    word: 10.0 * n
    for n, word in enumerate(
        ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"], 2
    )
}
_SPELLED |= {word: 10.0 * n for n, word in enumerate(["vingt", "trente", "quarante", "cinquante", "soixante"], 2)}
_SPELLED |= {
    word: 10.0 * n
    for n, word in enumerate(
        ["veinte", "treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"], 2
    )
}
_WORD = re.compile(r"[^\W\d_]+")


def unsupported(summary: str, sources: Sequence[str]) -> tuple[str, ...]:
    """Give what the summary names and no source holds, as `number:1987` or `name:Foo Bar`, in the order of the summary."""
    source = "\n".join(sources)
    return (*_numbers_without_support(summary, source), *_names_without_support(summary, source))


# --- numbers ---------------------------------------------------------------------------------------------------------


def _numbers_without_support(summary: str, source: str) -> tuple[str, ...]:
    asked = list(dict.fromkeys(m.group() for m in _NUMBER.finditer(_digits(summary))))
    if not asked:
        return ()
    text = _digits(summary)
    known = _values(_digits(source))
    left = [number for number in asked if not _known(number, text, known)]
    if left:  # words are read only where digits do not do: that takes longer
        known |= _spelled_values(source)
        left = [number for number in left if not _known(number, text, known)]
    return tuple(f"number:{number}" for number in left)


def _known(number: str, text: str, known: set[float]) -> bool:
    """Say whether a number of the summary `text` is small, or stands for one of the known values."""
    readings = _readings(number)
    if all(value <= SMALL and value.is_integer() for value, _ in readings):
        return True
    if any(_supported(value, decimals, known) for value, decimals in readings):
        return True
    return any(value in known or any(_close(value, other) for other in known) for value in _scaled(text, number))


def _values(text: str) -> set[float]:
    """Gather each number of a text in all its readings: with magnitudes, and parts of dates and versions."""
    values: set[float] = set()
    for found in _NUMBER.finditer(text):
        readings = {value for value, _ in _readings(found.group())}
        values |= readings
        values |= _parts(found.group())
        if times := _magnitude_after(text, found.end()):
            values |= {value * times for value in readings}
    values |= _spelled_values(text)
    return values


def _parts(number: str) -> set[float]:
    """Give the parts of a date or version, as 30.11.2021; none of a decimal or of a number in groups of three digits."""
    parts = re.findall(r"\d+", number)
    grouped = len(parts[0]) <= 3 and all(len(part) == 3 for part in parts[1:])
    return {float(part) for part in parts} if len(parts) > 2 and not grouped else set()


@lru_cache(maxsize=4096)
def _readings(number: str) -> frozenset[tuple[float, int]]:
    """Read a number in every way its separators allow: (value, decimals). `1,234` is 1234 and 1.234."""
    plain = re.sub(r"['’\u00a0\u202f ]", "", number)
    out = {(float(re.sub(r"\D", "", plain)), 0)}
    for mark in ".,":
        if plain.count(mark) == 1:
            whole, _, rest = plain.partition(mark)
            out.add((float(f"{re.sub(r'[^0-9]', '', whole) or '0'}.{re.sub(r'[^0-9]', '', rest) or '0'}"), len(rest)))
    if " " in number:  # two numbers side by side rather than one in groups
        out |= {(float(part), 0) for part in re.findall(r"\d+", number)[:1]}
    return frozenset(out)


def _supported(value: float, decimals: int, known: set[float]) -> bool:
    if value in known:
        return True
    if 1000 <= value <= 2999 and value.is_integer():  # years: '98 for 1998, 1990 for the 1990s
        return (value % 100 in known and value % 100 > SMALL) or (
            value % 10 == 0 and any(0 < k - value < 10 for k in known)
        )
    return any(round(other, decimals) == value for other in known if abs(other - value) < 1)


def _scaled(text: str, number: str) -> set[float]:
    """Give the values of a number of the summary with the magnitude written after it, as `1.2 million`."""
    out: set[float] = set()
    for found in re.finditer(rf"(?<!\d){re.escape(number)}(?!\d)", text):
        if times := _magnitude_after(text, found.end()):
            out |= {value * times for value, _ in _readings(number)}
    return out


def _close(value: float, other: float) -> bool:
    """Say whether a rounded large number may stand for another: within two per cent."""
    return other >= 1000 and abs(value - other) <= 0.02 * other


def _magnitude_after(text: str, end: int) -> float | None:
    found = re.match(r"[\s-]?([^\W\d_]+)", text[end : end + 16])
    return _MAGNITUDES.get(found[1].casefold()) if found else None


def _spelled_values(text: str) -> set[float]:
    """Read spelled-out numbers: single words, and chains as `two hundred and fifty thousand`."""
    values: set[float] = set()
    total = last = 0.0
    chain = False
    for word in _WORD.findall(text.casefold()):
        if (value := _SPELLED.get(word)) is not None:
            values.add(value)
            last = last * 100 if value == 100 and last else last + value
            chain = True
        elif chain and (times := _MAGNITUDES.get(word)) and len(word) > 2:
            total += (last or 1) * times
            last = 0.0
        elif word not in ("and", "und", "et", "y") or not chain:
            if chain:
                values.add(total + last)
            total = last = 0.0
            chain = False
    if chain:
        values.add(total + last)
    return values


def _digits(text: str) -> str:
    """Write the digits of all scripts as 0 to 9."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() and not c.isascii() else c for c in text)


# --- names -----------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"[^\W_]+(?:['’&.-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’»)\]]*\s+$|\n\s*$")
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


def _names_without_support(summary: str, source: str) -> tuple[str, ...]:
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
    tokens = list(_TOKEN.finditer(text))
    starts = [
        at == 0 or bool(_SENTENCE_END.search(text[max(0, t.start() - 6) : t.start()])) for at, t in enumerate(tokens)
    ]
    nouns_too = _capitalizes_nouns(text)
    names: list[list[str]] = []
    run: list[str] = []
    previous_end = 0
    for token, start in zip(tokens, starts, strict=True):
        word = token.group()
        joined = text[previous_end : token.start()] in (" ", "\u00a0")
        previous_end = token.end()
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
