"""Reading answers: what counts as YES, NO, the number of a passage, a summary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_builder.models.answers import RawAnswer, clean_summary, fault_of_summary, read_window, read_yes_no


@pytest.mark.parametrize(
    "text",
    ["YES", "Yes.", "yes\n", "  **Yes**", "YES because the topic moves on", '"Y"', "Y", "Yes, it starts a new one, no doubt",
     '{"answer": "YES"}', '{"boundary": true}', "true", "Answer: YES", "The answer is yes.", "Ja.", "Oui", "Sí", "да", "はい", "是的",
     "<think>Is it NO? The passage speaks of bees.</think>YES", "Well, hmm. In my view the answer: YES", '```json\n{"answer": "yes"}\n```',
     "The passage moves on. YES"],
)  # fmt: skip
def test_yes_is_read(text: str) -> None:
    """An answer which says yes in any usual form is yes."""
    assert read_yes_no(text) is True


@pytest.mark.parametrize(
    "text",
    ["NO", "No.", "NO, because", "n", "nope", "Nein", "non", "нет", "いいえ", "아니요", '{"answer": "no"}', "false",
     "The answer is NO.", "NO - there is no new topic, yes or otherwise", "reasoning aloud</think> NO"],
)  # fmt: skip
def test_no_is_read(text: str) -> None:
    """An answer which says no in any usual form is no."""
    assert read_yes_no(text) is False


@pytest.mark.parametrize(
    "text",
    ["", " \n", "maybe", "YES or NO", "Yes and no", "there is no change of topic", "I cannot say", "{}", '{"a": "yes", "b": "no"}',
     "<think>YES", "3", "[]", "\x00", "Notice", "Yesterday"],
)  # fmt: skip
def test_neither_is_undecided(text: str) -> None:
    """What is neither yes nor no, or both, is undecided."""
    said = read_yes_no(text)
    assert said is None


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    """No answer, however odd, breaks the readers."""
    assert read_yes_no(text) in (True, False, None)
    number = read_window(text, 9)
    assert number is None or number == 0 or 3 <= number <= 9
    fault_of_summary(RawAnswer(text))
    clean_summary(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [('{"first_new_topic": 4}', 4), ('{"first_new_topic": 0}', 0), ('{"first_new_topic": null}', 0), ("5", 5), (" 0\n", 0), ("Passage 7.", 7),
     ("none", 0), ('{"first_new_topic": "6"}', 6), ('{"passage": 3}', 3), ('```json\n{"first_new_topic": 3}\n```', 3), ('{"first_new_topic": 4.0}', 4),
     ('<think>3?</think>{"first_new_topic": 8}', 8), ('Here: {"first_new_topic": 3}', 3)],
)  # fmt: skip
def test_window_answers_are_read(text: str, number: int) -> None:
    """The number of a passage is read from JSON, from a bare number, and from the usual words around one."""
    assert read_window(text, 9) == number


@pytest.mark.parametrize(
    "text", ['{"first_new_topic": 10}', '{"first_new_topic": -1}', '{"first_new_topic": 2}', '{"first_new_topic": true}', "1", "", "4 or 5",
             "[]", '{"a": 3, "b": 4}', '{"first_new_topic": 99999999999}', '{"first_new_topic": [4]}', "{"],
)  # fmt: skip
def test_window_answers_out_of_range_are_undecided(text: str) -> None:
    """A number outside of 3 to n, or no number, is undecided."""
    assert read_window(text, 9) is None


@pytest.mark.parametrize(
    ("answer", "fault"),
    [(RawAnswer(""), "empty"), (RawAnswer(" \n\t"), "empty"), (RawAnswer("The half of", "length"), "cut off"), (RawAnswer("", "content_filter"), "filtered"),
     (RawAnswer("", refusal="no"), "refused"), (RawAnswer("I'm sorry, but I can't help with that."), "refused"), (RawAnswer("\ufffd\ufffd\x00\x07 \ufffd"), "garbage"),
     (RawAnswer("{]}--##"), "garbage"), (RawAnswer("<think>hm"), "empty"), (RawAnswer("As an AI language model, I cannot"), "refused"),
     (RawAnswer("The harbour was built in 1874."), None), (RawAnswer("港は1874年に建設された。"), None), (RawAnswer("Sorry Tales is a novel by Ann Lee. " * 12), None)],
)  # fmt: skip
def test_bad_summaries_are_told(answer: RawAnswer, fault: str | None) -> None:
    """Empty, refused, filtered, cut off and garbled answers are no summaries; others are."""
    assert fault_of_summary(answer) == fault


def test_summaries_are_cleaned() -> None:
    """Prefaces, thinking aloud, fences and control characters are left out, the text itself is kept."""
    assert clean_summary("Here is a concise summary of the passages:\n\nBees fly.") == "Bees fly."
    assert clean_summary("<think>short</think>\n**Summary:** Bees\x00 fly.") == "Bees fly."
    assert clean_summary("<<<passage 1 of 2 0123>>>\nBees fly.\n<<<end 0123>>>") == "Bees fly."
    assert clean_summary('<<<passage 3 of 2 a87dc79f15fb117a>>"Bees fly."') == "Bees fly."
    assert clean_summary('"One" and "two".') == '"One" and "two".'
    assert clean_summary("In summary: bees fly.") == "In summary: bees fly."
