"""Cutting: chunks cover the text in order, and an edit changes only the chunks around it."""

from __future__ import annotations

import random
from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_builder.cut import cut
from tree_builder.errors import ConfigError
from tree_builder.model import Chunk

WORDS = [
    "river",
    "boundary",
    "summary",
    "passage",
    "lighthouse",
    "committee",
    "measured",
    "seventeen",
    "slowly",
    "between",
    "every",
    "document",
    "council",
    "paper",
    "harvest",
    "engine",
    "letter",
    "garden",
    "winter",
    "signal",
    "quiet",
    "copper",
    "tower",
    "method",
    "evening",
    "question",
    "answer",
    "bridge",
    "salt",
]


def prose(seed: int, sentences: int) -> str:
    """Make text of sentences and paragraphs, with headings here and there."""
    chance = random.Random(seed)
    parts = []
    for _ in range(sentences):
        words = [chance.choice(WORDS) for _ in range(chance.randint(4, 24))]
        ending = chance.choices([". ", ".\n\n", "? ", ".\n\nOn " + chance.choice(WORDS) + "\n\n"], [12, 3, 1, 1])[0]
        parts.append(" ".join(words).capitalize() + ending)
    return "".join(parts)


def joined(chunks: list[Chunk]) -> str:
    return "".join(chunk.content[chunk.overlap :] for chunk in chunks)


texts = st.one_of(
    st.text(max_size=4000),
    st.text(alphabet="ab .\n", max_size=4000),
    st.integers(0, 10_000).map(lambda seed: prose(seed, 60)),
    st.text(alphabet="漢字仮名。！ ", max_size=3000),
    st.text(alphabet="e\u0301\U0001f3fd\U0001f44d", max_size=3000),
)


@settings(max_examples=150, deadline=None)
@given(text=texts, size=st.integers(50, 1200), share=st.floats(0, 0.5), method=st.sampled_from(["sentence", "fixed"]))
def test_chunks_cover_the_text(text: str, size: int, share: float, method: str) -> None:
    """Chunks in order, overlaps removed, are the text; each is a slice of it, none is longer than allowed."""
    overlap = int(size * share)
    starts = [0, len(text) // 3, 2 * len(text) // 3]
    chunks = cut(text, starts, size=size, overlap=overlap, method=method)
    if not text.strip():
        assert chunks == []
        return
    assert joined(chunks) == text
    for chunk in chunks:
        assert chunk.content == text[chunk.char_start : chunk.char_end]
        assert 0 < len(chunk.content) <= size
        assert chunk.page_start == max(1, bisect_right(starts, chunk.char_start))
        assert chunk.page_end == max(1, bisect_right(starts, chunk.char_end - 1))
    for before, after in pairwise(chunks):
        assert before.char_start < after.char_start
        assert before.char_end == after.char_start + after.overlap


def test_fixed_windows_are_plain() -> None:
    """Windows of exactly 1000 characters advance by 900; the last is shorter and never only a repetition."""
    text = prose(1, 400)[:5500]
    chunks = cut(text, [0], size=1000, overlap=100, method="fixed")
    assert [chunk.char_start for chunk in chunks] == [0, 900, 1800, 2700, 3600, 4500]
    assert [len(chunk.content) for chunk in chunks] == [1000] * 6
    assert cut(text[:1000], [0], size=1000, overlap=100, method="fixed")[-1].char_end == 1000
    assert len(cut(text[:1000], [0], size=1000, overlap=100, method="fixed")) == 1
    assert len(cut(text[:1001], [0], size=1000, overlap=100, method="fixed")) == 2


@pytest.mark.parametrize("seed", range(4))
def test_an_edit_changes_few_chunks(seed: int) -> None:
    """A sentence put in, or taken out, anywhere in a long text changes at most 3 chunks nearly always, and never over 5."""
    chance = random.Random(seed)
    text = prose(seed, 500)
    before = {chunk.content for chunk in cut(text, [0], size=1000, overlap=100)}
    changed = []
    for _ in range(60):
        at = text.index(". ", chance.randrange(len(text) - 400)) + 2
        if chance.random() < 0.5:
            edited = text[:at] + "A wholly new sentence about tides was put in here. " + text[at:]
        else:
            edited = text[:at] + text[text.index(". ", at) + 2 :]
        after = cut(edited, [0], size=1000, overlap=100)
        changed.append(sum(chunk.content not in before for chunk in after))
    assert max(changed) <= 5
    assert sum(count > 3 for count in changed) <= 1
    assert sum(changed) / len(changed) < 1.8


def test_chunks_are_reasonably_full() -> None:
    """Chunks have about two thirds of the size allowed, and but for the last none is a crumb."""
    chunks = cut(prose(7, 800), [0], size=1000, overlap=100)
    lengths = [len(chunk.content) for chunk in chunks]
    assert 600 <= sum(lengths) / len(lengths) <= 850
    assert min(lengths[:-1]) >= 250


def test_cuts_fall_at_ends_of_sentences() -> None:
    """Every chunk of prose ends where a sentence, a heading or a paragraph does."""
    for chunk in cut(prose(3, 300), [0], size=1000, overlap=100):
        assert chunk.content.rstrip()[-1] in ".?" or chunk.content.endswith("\n")


def test_a_heading_stays_with_its_text() -> None:
    """No chunk ends with a heading whose text is in the next one."""
    text = "".join(f"{prose(seed, 8).strip()}\n\nChapter {seed}\n\n" for seed in range(40)) + "The end comes here."
    ends = [chunk.content.rstrip().rpartition("\n")[2] for chunk in cut(text, [0], size=1000, overlap=0)]
    assert not [end for end in ends if end.startswith("Chapter")]


def test_abbreviations_end_no_sentence() -> None:
    """`Dr.`, initials and `e.g.` are no places to cut."""
    text = "We met Dr. Miller and J. Smith, e.g. In London, at noon vs. Berlin time, No. 5. " * 30
    for chunk in cut(text, [0], size=300, overlap=0)[:-1]:
        assert chunk.content.endswith("5. ")


def test_the_overlap_starts_with_a_word() -> None:
    """What a chunk repeats starts at the start of a word and has about the length asked for."""
    text = prose(5, 300)
    chunks = cut(text, [0], size=1000, overlap=100)
    assert all(text[chunk.char_start - 1].isspace() for chunk in chunks[1:])
    assert all(50 <= chunk.overlap <= 100 for chunk in chunks[1:])


@pytest.mark.parametrize(
    "text",
    [
        "a" * 50_000,
        "漢" * 20_000,
        "One two three. " * 5_000,
        "line\n" * 20_000,
        "\n" * 20_000 + "x",
        "e\u0301" * 20_000,
    ],
    ids=["one word", "no spaces", "the same again", "lines", "blank", "combining"],
)
def test_odd_text_does_not_crawl(text: str) -> None:
    """Text without boundaries, or with nothing else, gives chunks of a fair size, not thousands of crumbs."""
    chunks = cut(text, [0], size=1000, overlap=100)
    assert joined(chunks) == text
    assert len(chunks) <= len(text) / 240 + 2


def test_marks_stay_with_their_letter() -> None:
    """A hard cut does not part a letter from the mark combined with it."""
    chunks = cut("e\u0301" * 3_000, [0], size=1000, overlap=101)
    assert all(chunk.content[chunk.overlap] == "e" and chunk.content[0] == "e" for chunk in chunks)


def test_wrong_settings_are_refused() -> None:
    """An overlap as large as the size, and a way of cutting which does not exist, are errors of use."""
    with pytest.raises(ConfigError):
        cut("text", [0], size=100, overlap=100)
    with pytest.raises(ConfigError):
        cut("text", [0], size=100, overlap=10, method="words")
