"""Summarizers to compare extracts with: the first words, sentences by lot, and sumy's LexRank and TextRank over the whole document."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache

from nupunkt import sent_tokenize
from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
from sumy.nlp.stemmers import Stemmer
from sumy.summarizers.lex_rank import LexRankSummarizer
from sumy.summarizers.text_rank import TextRankSummarizer
from sumy.utils import get_stop_words

from benchmarks.quality.extract_metrics import words

Summarizer = Callable[[str, int], list[str]]
"""Takes a text and a number of words; gives sentences of it, in order, which have together at most so many."""

RANDOM_SEEDS = range(3)


@cache
def split(text: str) -> tuple[str, ...]:
    return tuple(s for found in sent_tokenize(" ".join(text.split())) if (s := str(found).strip()))


def lead(text: str, budget: int) -> list[str]:
    """Give the first words, the last sentence cut off."""
    return list(split(" ".join(text.split()[:budget])))


def by_lot(seed: int) -> Summarizer:
    def summarize(text: str, budget: int) -> list[str]:
        order = list(range(len(split(text))))
        random.Random(f"{seed}/{len(text)}").shuffle(order)
        return fill(split(text), order, budget)

    return summarize


def lex_rank(text: str, budget: int) -> list[str]:
    return fill(split(text), _ranked(text, "lex"), budget)


def text_rank(text: str, budget: int) -> list[str]:
    return fill(split(text), _ranked(text, "text"), budget)


def fill(sentences: Sequence[str], order: Sequence[int], budget: int) -> list[str]:
    """Take sentences in the order of their rank while they fit; give them in the order of the text."""
    chosen: list[int] = []
    left = budget
    for number in order:
        size = len(sentences[number].split())
        if size <= left:
            chosen.append(number)
            left -= size
    return [sentences[n] for n in sorted(chosen)]


class _Words:
    def to_words(self, sentence: str) -> list[str]:
        return words(sentence)


@cache
def _ranked(text: str, kind: str) -> tuple[int, ...]:
    summarizer = (LexRankSummarizer if kind == "lex" else TextRankSummarizer)(Stemmer("english"))
    summarizer.stop_words = get_stop_words("english")
    sentences = [Sentence(s, _Words()) for s in split(text)]
    document = ObjectDocumentModel([Paragraph(sentences)])
    # sumy gives the best n in the order of the text; to get their ranking its rating is asked for through `_get_best_sentences`.
    ranking: dict[int, float] = {}

    def keep(found: Sequence[Sentence], _: object, rating: object, *args: object) -> tuple[Sentence, ...]:
        for number, sentence in enumerate(found):
            ranking[number] = rating(sentence, *args) if callable(rating) else rating[sentence]  # type: ignore[index]
        return ()

    summarizer._get_best_sentences = keep  # noqa: SLF001
    summarizer(document, len(sentences))
    return tuple(sorted(ranking, key=lambda n: (-ranking[n], n)))


BASELINES: dict[str, Summarizer] = {
    "first words": lead,
    "LexRank (sumy)": lex_rank,
    "TextRank (sumy)": text_rank,
} | {f"random sentences {seed}": by_lot(seed) for seed in RANDOM_SEEDS}
