"""What a sentence says, in whole numbers: weights of its words and pairs of words, and the greedy choice among sentences.

The measure is coverage: a sentence is worth the pairs of neighbouring words in it, each as much as the text makes of it, less for pairs
which are covered already (a submodular objective; greedy choice under a budget is near the best, Lin & Bilmes 2011, and pairs of words as
concepts are Gillick & Favre's, 2009). Whole numbers throughout, so that ties and sums come out the same on every machine.
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

TOKEN = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
    r"|[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+(?:['’-][^\W_]+)*"
)
_NAME = re.compile(r"(?<=[\w,;] )[^\W\d_a-zß-öø-ÿ][\w'’-]+")
GAIN = (1000, 400, 160, 64, 26, 10, 4)
"""What a pair is worth, in thousandths, when it is covered for the first, second, ... time; measured best between .3 and .5."""
LENGTH_SLACK = 24
LENGTH_POWER = 0.8
"""A sentence's cost is (characters + slack) ** power: below 1, so that short sentences do not win by being short."""
WORD_SHARE, SHORT_PAIR_SHARE = 30, 60
"""Per cent of a pair's weight which a single word has, and a pair of two short words, as `of the`."""
NAME_SHARE = 60
"""The same of a single word which is a name: who a text is about."""
SHORT_WORD = 3
COMMON_SHARE = 25
"""Per cent of its weight which a unit keeps that more than half of the documents below a directory share."""

Unit = tuple[str, ...]


def tokens(text: str) -> list[str]:
    """Split into words; scripts without spaces into characters, whose pairs then stand for words."""
    return TOKEN.findall(text.lower())


@dataclass(frozen=True, slots=True)
class Weights:
    """What a text makes much of: units are single words and pairs of neighbouring words."""

    units: dict[Unit, int]
    names: frozenset[str]

    def of(self, unit: Unit) -> int:
        return self.units.get(unit, 0)


def weigh(text: str) -> Weights:
    """Weigh the units of a text by how often they occur, more slowly than in proportion; those which occur once weigh nothing."""
    words = tokens(text)
    units: dict[Unit, int] = {}
    for pair, count in Counter(itertools.pairwise(words)).items():
        if count > 1:
            short = len(pair[0]) <= SHORT_WORD and len(pair[1]) <= SHORT_WORD and pair[0].isascii()
            units[pair] = _slower(count) * (SHORT_PAIR_SHARE if short else 100)
    counts = Counter(words)
    names = _names(text, counts)
    for word, count in counts.items():
        if count > 1 and len(word) > SHORT_WORD:
            units[(word,)] = _slower(count) * (NAME_SHARE if word in names else WORD_SHARE)
    return Weights(units, names)


def distinguish(weights: Weights, texts: Sequence[str]) -> Weights:
    """Lower the weights of what most of several texts share: it says nothing about any one of them."""
    shared: Counter[Unit] = Counter()
    for text in texts:
        words = tokens(text)
        shared.update({*itertools.pairwise(words), *((word,) for word in words)})
    common = {unit for unit, n in shared.items() if n > 2 and n * 2 > len(texts)}
    units = {unit: weight * COMMON_SHARE // 100 if unit in common else weight for unit, weight in weights.units.items()}
    return Weights(units, weights.names)


def _slower(count: int) -> int:
    """Give 16 * count ** 0.75, exactly rounded down."""
    return math.isqrt(math.isqrt(count**3 * 65536))


def _names(text: str, counts: Counter[str]) -> frozenset[str]:
    capitalized = Counter(name.lower() for name in _NAME.findall(text))
    return frozenset(n for n, c in capitalized.items() if c >= 3 and c * 2 > counts[n])


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence which may be chosen: its units, its characters, its item, and its standing in per cent.

    standing_after: the same once the sentence before it is chosen, where there is one beside it: then nothing dangles.
    """

    units: tuple[Unit, ...]
    chars: int
    item: int
    standing: int
    standing_after: int = 0


def units_of(text: str, weights: Weights) -> tuple[Unit, ...]:
    """List the weighty units of a sentence, each once, in order."""
    words = tokens(text)
    pairs: Iterable[Unit] = itertools.pairwise(words)
    return tuple(dict.fromkeys(u for u in (*pairs, *((w,) for w in words)) if weights.of(u)))


def cost(chars: int) -> int:
    """Give the cost of so many characters, in thousandths."""
    return round(math.pow(chars + LENGTH_SLACK, LENGTH_POWER) * 1000)


class Choice:
    """Chooses candidates one by one, by what each adds to those chosen."""

    def __init__(self, candidates: Sequence[Candidate], weights: Weights, *, share_chars: int) -> None:
        """Prepare. share_chars: an item's fair share of the whole; the more of it is taken, the less the item's next sentence counts."""
        self._candidates = candidates
        self._weights = weights
        self._covered: Counter[Unit] = Counter()
        self._taken: Counter[int] = Counter()
        self._share_chars = max(1, share_chars)
        self.chosen: list[int] = []

    def value(self, index: int) -> int:
        """Say what a candidate would add now, for its cost."""
        candidate = self._candidates[index]
        gain = sum(
            self._weights.of(unit) * GAIN[covered] if (covered := self._covered[unit]) < len(GAIN) else 0
            for unit in candidate.units
        )
        crowding = 100 + 50 * self._taken[candidate.item] // self._share_chars
        standing = (
            candidate.standing_after if candidate.standing_after and index - 1 in self.chosen else candidate.standing
        )
        return gain * standing * 100 * 1000 // (cost(candidate.chars) * crowding)

    def take(self, index: int) -> None:
        """Choose a candidate."""
        candidate = self._candidates[index]
        self._covered.update(candidate.units)
        self._taken[candidate.item] += candidate.chars
        self.chosen.append(index)

    def fill(self, among: Iterable[int], fits: Callable[[int], bool]) -> None:
        """Take the best which fits, again and again. Ties go to the earlier one."""
        # Values only fall as others are taken, so a value which is still the best after being computed anew is the best. The
        # sentence after a chosen one may rise, and is put into the heap again.
        allowed = set(among)
        heap = [(-self.value(index), index) for index in allowed]
        heapq.heapify(heap)
        while heap:
            _, index = heapq.heappop(heap)
            if index in self.chosen or not fits(index):
                continue
            now = -self.value(index)
            if heap and (now, index) > heap[0]:
                heapq.heappush(heap, (now, index))
            elif now < 0:
                self.take(index)
                if index + 1 in allowed and self._candidates[index + 1].standing_after:
                    heapq.heappush(heap, (-self.value(index + 1), index + 1))
