"""Figures about summaries: likeness to references, what is kept, what is said twice, what reads badly. Plain functions."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from rouge_score.rouge_scorer import RougeScorer

ROUGE = ("rouge1", "rouge2", "rougeLsum")
CENTRAL = 10
_WORD = re.compile(r"\w[\w'’-]*")
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w'’-]+")
_NUMBER = re.compile(r"\d[\d.,]*\d|\d")

READS_BADLY = {
    "leans on what is not there (However, This, It ...)": re.compile(
        r"^(?:However|This|These|That|Those|It|Its|Such|Therefore|Thus|Hence|But|And|Or|So|Also|Moreover|Furthermore|Otherwise)\b"
        r"(?! (?:[^ ]+ ){0,5}?(?i:agreement|amendment|contract|schedule|form|manual|document|guide|standard|chapter|policy|text|report|"
        r"handbook|collection)\b)"
    ),
    "list marker": re.compile(r"^(?:[•·▪*–—-]\s|\(?\d{1,3}[.)]\s|\([a-z]{1,3}\)\s|\d+(?:\.\d+)+\s)"),
    "half sentence or heading": re.compile(r"^[a-z]|[^.!?。！？…\"”’')\]]$|[,;:]$"),
    "question": re.compile(r"\?[\"”’')\]]*$"),
    "table, leaders, blanks": re.compile(r"\|\s.*\||\.{4,}|_{3,}|\s[,;:]\s|(?:\s[\d.,%$]+){5,}"),
    "capitals throughout": re.compile(r"^[^a-z]{25,}$"),
    "copyright, licence, page furniture": re.compile(
        r"copyright|all rights reserved|free documentation license|table of contents|page \d+ of \d+|/s/", re.IGNORECASE
    ),
}
"""Written apart from the extractor's own rules, and coarser, so that these do not measure themselves."""


@cache
def _scorer() -> RougeScorer:
    return RougeScorer(list(ROUGE), use_stemmer=True)


def rouge(sentences: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[float, ...]:
    """Give ROUGE-1, -2 and -Lsum (F1, stemmed), each the best of the references, times 100. Texts come as sentences."""
    scores = _scorer().score_multi(["\n".join(r) for r in references], "\n".join(sentences))
    return tuple(100 * scores[name].fmeasure for name in ROUGE)


def words(text: str) -> list[str]:
    return [w.lower() for w in _WORD.findall(text)]


def keys(sentences: Iterable[str]) -> set[str]:
    """Give the names and numbers of some sentences."""
    return {key for s in sentences for key in (*_NAME.findall(s), *_NUMBER.findall(s))}


def central(sentences: Sequence[str], n: int = CENTRAL) -> list[str]:
    """Give the sentences nearest to all of them together: cosine of TF-IDF with the sum, sentences as documents."""
    counts = [Counter(words(s)) for s in sentences]
    spread = Counter(word for c in counts for word in c)
    weigh = {word: math.log(len(sentences) / df) for word, df in spread.items()}
    total: Counter[str] = Counter()
    for c in counts:
        total.update(c)

    def nearness(c: Counter[str]) -> float:
        norm = math.sqrt(sum((k * weigh[w]) ** 2 for w, k in c.items()))
        return sum(k * total[w] * weigh[w] ** 2 for w, k in c.items()) / norm if norm and len(c) > 4 else 0.0

    order = sorted(range(len(sentences)), key=lambda i: (-nearness(counts[i]), i))
    return [sentences[i] for i in sorted(order[:n])]


def keys_kept(summary: Sequence[str], sentences: Sequence[str]) -> float | None:
    """Give the share of the names and numbers of the most central sentences which a summary has; None where they have none."""
    wanted = keys(central(sentences))
    have = set(_WORD.findall(" ".join(summary))) | keys(summary)
    return len(wanted & have) / len(wanted) if wanted else None


def redundancy(summary: Sequence[str]) -> float:
    """Give the share of pairs of neighbouring words, within sentences, which the summary has said before."""
    pairs = [pair for s in summary for pair in itertools.pairwise(words(s))]
    return 1 - len(set(pairs)) / len(pairs) if pairs else 0.0


def reads_badly(sentence: str) -> list[str]:
    """Name what makes a sentence read badly by itself."""
    found = [name for name, pattern in READS_BADLY.items() if pattern.search(sentence)]
    if any(sentence.count(a) != sentence.count(b) for a, b in ("()", "[]", "{}")):
        found.append("brackets do not close")
    return found


def flat(text: str) -> str:
    return " ".join(text.split())
