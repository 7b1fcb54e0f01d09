"""Numbers and names of a summary which do not occur in what it covers. Plain functions, no model.

Better one invention missed than ten sound summaries flagged: forms are compared loosely (separators, units, rounding,
magnitudes, spelled-out words, endings, accents), and what a writer may add by himself (small counts, months) is let pass.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from tree_builder.models.verify_names import names_without_support

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
    return (*_numbers_without_support(summary, source), *names_without_support(summary, source))


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
