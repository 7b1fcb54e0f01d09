"""Figures about summaries and segmentations which trust no model."""

from __future__ import annotations

import pytest

from benchmarks.quality.languages import language_of
from benchmarks.quality.plan import within
from benchmarks.quality.summary_metrics import Spread, agreement, survives
from benchmarks.quality.trees import Source


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The tides are raised by the Moon and, to a lesser degree, by the Sun.", "en"),
        ("Der Leuchtturm ist ein Turm, der den Schiffen den Weg zeigt und nicht zu übersehen ist.", "de"),
        ("Le phare est une tour qui montre la route aux navires dans la nuit et par le brouillard.", "fr"),
        ("灯台は船に道を示す塔である。", "ja"),
        ("Маяк показывает кораблям дорогу.", "Cyrillic"),
        ("set xrange [0:10]", None),
    ],
)
def test_languages_are_told_apart(text: str, language: str | None) -> None:
    """By script, or by the commonest words; where there are none, nothing is claimed."""
    assert language_of(text) == language


def test_an_item_survives_by_the_words_which_set_it_apart() -> None:
    """Words which all items share recognize none of them."""
    items = [
        "The contract ends when the lessee sells the tractor.",
        "The contract ends when the captain leaves harbour.",
    ]
    spread = Spread(items)
    first, second = (spread.key_terms(item) for item in items)
    assert survives(first, "The lessee may sell his tractors.")
    assert not survives(second, "The contract ends when the lessee sells the tractor.")


def test_agreement_counts_boundaries_at_the_same_item_and_near_it() -> None:
    """A boundary one item off counts for the milder figure alone."""
    same, near, pk = agreement(20, [5, 10], [5, 11])
    assert (same, near) == (0.5, 1.0)
    assert 0 < pk < 0.2
    assert agreement(20, [], []) == (1.0, 1.0, 0.0)


def test_a_bounded_set_has_several_documents_none_whole() -> None:
    """The bound is shared out, so that one long document does not take all of it; the draw is the same each time."""
    sources = [Source(f"{n}.txt", f"Sentence {n}. " * 8000) for n in range(12)]
    drawn = within(sources, 120_000)
    assert len(drawn) == 8
    assert 100_000 < sum(len(source.text) for source in drawn) <= 120_000
    assert drawn == within(sources, 120_000)
