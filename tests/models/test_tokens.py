"""Counting tokens."""

from __future__ import annotations

from tree_builder.models.openai.tokens import beginning, tokenizer


def test_tokens_are_counted_as_the_service_does() -> None:
    """Counts are those of cl100k_base, for which the service's own examples are known."""
    assert tokenizer().count("tiktoken is great!") == 6
    assert tokenizer().count("antidisestablishmentarianism") == 6
    assert tokenizer().count("2 + 2 = 4") == 7
    assert tokenizer().count("お誕生日おめでとう") == 9


def test_a_beginning_never_cuts_a_character() -> None:
    """However few tokens are left, what they hold is a beginning of the text."""
    text = "日本語のテキスト 🐝🐝 naïve"
    for n in range(30):
        assert text.startswith(beginning(text, n))
    assert beginning(text, 1000) == text
