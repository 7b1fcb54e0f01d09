"""Fitting texts into prompts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tree_builder.models.packing import batches, shortened, split

TEXTS = st.lists(st.text(alphabet=" ab\n", max_size=120), min_size=1, max_size=8)


@given(TEXTS, st.integers(10, 60))
def test_batches_hold_everything_in_order_and_fit(texts: list[str], room: int) -> None:
    """Joined again, the batches are the texts; each batch fits its prompt."""
    parts = batches(texts, room, len)
    assert "".join(t for part in parts for t in part) == "".join(texts)
    assert all(sum(map(len, part)) <= room for part in parts)


def test_texts_which_fit_stay_together() -> None:
    """Texts which fit one prompt make one batch, untouched."""
    assert batches(["ab", "cd"], 4, len) == [["ab", "cd"]]
    assert batches(["ab", "cd", "e"], 4, len) == [["ab", "cd"], ["e"]]


@given(st.text(alphabet="ab ", min_size=1, max_size=300), st.integers(1, 50))
def test_split_parts_fit(text: str, room: int) -> None:
    """A text is split into parts which fit and join to the text."""
    parts = split(text, room, len)
    assert "".join(parts) == text
    assert all(len(part) <= room for part in parts)


def test_a_text_is_shortened_at_a_space() -> None:
    """What does not fit keeps its beginning, ended by an ellipsis; what fits stays."""
    assert shortened("word " * 40, 50, len).endswith("word …")
    assert len(shortened("word " * 40, 50, len)) <= 52
    assert shortened("short", 50, len) == "short"
