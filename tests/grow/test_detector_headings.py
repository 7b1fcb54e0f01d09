"""Headings in plain text: which lines are taken for one, and at which start they count."""

from __future__ import annotations

import pytest

from tree_builder.grow.detector_headings import LONE, NUMBERED, SINGLE, heading_kind, headings_at

PARAGRAPH = "The walls of the harbour were built of granite, and they have to be looked after each spring. " * 3


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("4.2 Scope of work", NUMBERED),
        ("10.3.1. Einbau der Pumpe", NUMBERED),
        ("A.1 Configuration files", NUMBERED),
        ("5.8 How can I check which version I have?", NUMBERED),
        ("Article IV", NUMBERED),
        ("Section 12. Definitions.", NUMBERED),
        ("Kapitel 3 Die Stimmen", NUMBERED),
        ("## Installing", NUMBERED),
        ("4 Scope of work", SINGLE),
        ("II. Background", SINGLE),
        ("Scope of work", LONE),
        ("Installing", LONE),
    ],
)
def test_headings_are_seen(line: str, kind: int) -> None:
    """A line alone before a paragraph is known for a heading, and for how sure that is."""
    assert heading_kind(line, alone=True, following_chars=300) == kind


@pytest.mark.parametrize(
    "line",
    [
        "4.2 Scope of work ........ 17",
        "4.2 Scope of work 17",
        "He paid 3.5 million for it.",
        "1.5",
        "and so on,",
        "This sentence ends as sentences do.",
        "for (i = 0; i < n; i++)",
        "3.14 15 92 65 35 89 79 32 38 46",
        "",
        "x" * 200,
    ],
)
def test_other_lines_are_not(line: str) -> None:
    """Entries of a table of contents, running headers, sentences, code and numbers are no headings."""
    assert heading_kind(line, alone=True, following_chars=300) is None


def test_a_line_within_a_paragraph_needs_its_number() -> None:
    """Without blank lines around it, a short line is a heading only by its number."""
    assert heading_kind("Scope of work", alone=False, following_chars=300) is None
    assert heading_kind("4 Scope of work", alone=False, following_chars=300) is None
    assert heading_kind("4.2 Scope of work", alone=False, following_chars=300) == NUMBERED


def test_a_short_line_before_short_lines_is_an_entry_of_a_list() -> None:
    """Lines of a list or a table stand alone too, but no paragraph follows them."""
    assert heading_kind("Scope of work", alone=True, following_chars=12) is None


def test_a_heading_counts_at_the_start_it_is_nearest_to() -> None:
    """In a text's first half it counts for that text's start, in its second half for the next one's."""
    early = f"{PARAGRAPH[:40]}\n\n4.1 Walls\n\n{PARAGRAPH}"
    late = f"{PARAGRAPH}\n\n4.2 Cranes\n\n{PARAGRAPH[:40]}"
    found = headings_at([PARAGRAPH, early, PARAGRAPH, late, PARAGRAPH])
    assert [row for row in range(5) if found[row, NUMBERED] > 0] == [1, 4]
    assert found[1, NUMBERED] > 0.5


def test_a_heading_at_the_very_start_counts_fully() -> None:
    """The nearer the start, the more a heading counts: 1 at it."""
    assert headings_at([PARAGRAPH, f"4.1 Walls\n\n{PARAGRAPH}"])[1, NUMBERED] == 1


def test_a_heading_at_the_end_of_the_last_text_counts_nowhere() -> None:
    """There is no start behind it."""
    assert not headings_at([PARAGRAPH, f"{PARAGRAPH}\n\n4.1 Walls"]).any()


def test_the_first_line_stands_alone_when_the_text_before_ended_a_paragraph() -> None:
    """Whether a text's first line stands alone is seen from the end of the one before."""
    assert headings_at([f"{PARAGRAPH}\n\n", f"Walls\n\n{PARAGRAPH}"])[1, LONE] == 1
    assert headings_at([f"{PARAGRAPH} of", f"Walls\n\n{PARAGRAPH}"])[1, LONE] == 0
