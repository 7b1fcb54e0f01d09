"""Numbers and names without support: found when invented, let pass when only written in another way."""

from __future__ import annotations

import time

import pytest

from tree_builder.models.verify import unsupported

SOURCE = """\
The Harbour Authority of Grünstadt was founded on 3 May 1874 by Captain Amélie O'Neill. In the fiscal year '98 it moved 1,234,567 tonnes
of grain, coal and steel, 12.47% more than before, for a fee of $2.5 million. Twenty-five ships, among them the MS Aurora-2 and three tugs, lie at
quays 4 to 17. The World Shipping Council praised IBM's software v3.14 in 2021-11-30; forty families live there. Two hundred thousand visitors came."""


@pytest.mark.parametrize(
    "summary",
    [
        "Founded in 1874 by Amelie O’Neill, the harbour of Gruenstadt … Grünstadt's authority moved 1 234 567 tonnes.",
        "It moved 1.234.567 tonnes, about 1.2 million, 12.5 % more than in 1997 was not said.".replace(
            "1997 was not said", "1998 alone"
        ),
        "The authority, founded in the 1870s, took 2,500,000 dollars; 25 ships and 3 tugs lie there.",
        "The WSC praised software of IBM. Some 40 families live in Grünstadt; 200,000 visitors came.",
        "In November 2021, version 3.14 was praised by the World Shipping Council.",
        "Aurora-2 lies at quays 4 to 17. There are 5 parts to this.",
        "The Authority's ships carry grain. Captains of O'Neill's kind founded it. However, Steel matters.",
        "Le port de Grünstadt, fondé en 1874, a reçu 200 000 visiteurs.",
        "Der Hafen von Grünstadt wurde 1874 von Kapitänin Amélie O'Neill gegründet; die Behörde bewegte Getreide, Kohle und Stahl, und ihre Schiffe liegen am Kai.",
        "グリュンシュタット港は1874年に設立され、1,234,567トンを扱った。",
        "It moved ١٢٣٤٥٦٧ tonnes.",
        'The authority moved coal.\n"Apparently grain too," said O\'Neill, and then: “Why not steel?”',
        "",
    ],
)
def test_other_ways_of_writing_are_let_pass(summary: str) -> None:
    """Separators, units, rounding, magnitudes, spelled-out numbers, accents, endings, acronyms and months raise no flag."""
    assert unsupported(summary, [SOURCE]) == ()


@pytest.mark.parametrize(
    ("summary", "flags"),
    [
        ("It was founded in 1987.", ("number:1987",)),
        ("It moved 1,324,567 tonnes, 47% more.", ("number:1,324,567", "number:47")),
        ("The fee was 3.5 million.", ("number:3.5",)),
        ("It was founded by Captain Peter Grimes of Grünstadt.", ("name:Peter Grimes",)),
        ("Ships of Hapag-Lloyd lie there, NASA said.", ("name:Hapag-Lloyd", "name:NASA")),
        ("The harbour of Rotterdam is small.", ("name:Rotterdam",)),
        ("It costs $ 9,999.", ("number:9,999",)),
    ],
)
def test_inventions_are_flagged(summary: str, flags: tuple[str, ...]) -> None:
    """Invented years, amounts, people, firms and places are flagged, once each."""
    assert unsupported(f"{summary} {summary}", [SOURCE]) == flags


def test_all_sources_together_support() -> None:
    """A name in one text and a number in another are both supported."""
    assert unsupported("In 1874 Amélie O'Neill came.", ["Amélie O'Neill", "1874"]) == ()


def test_verification_is_cheap() -> None:
    """A summary against twenty texts takes some milliseconds of CPU at most."""
    began = time.process_time()
    for _ in range(10):
        unsupported(SOURCE, [SOURCE] * 20)
    assert (time.process_time() - began) / 10 < 0.2
