"""An extract: the sentences of some items which say most, verbatim and in order. Pure functions; runs inside a worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from tree_builder.models.local.faults import SOFT, Fault
from tree_builder.models.local.ranking import Candidate, Choice, Weights, distinguish, tokens, units_of, weigh
from tree_builder.models.local.sentences import Sentence, ends_whole, opens, sentences, tells_of_the_whole

SLACK = 4
"""Per cent which an extract may be longer than asked, so that a last good sentence finds room."""
COVERING_SLACK = 30
"""The same where otherwise a document would have no sentence in its directory's summary."""
LEANING = Fault.DANGLING | Fault.PRONOUN
"""Faults which a sentence has only while the one before it is left out."""
LEAST_CHARS = 75
"""Where there is less room than this for each item, no item is sure of a sentence; the best are taken, of as many items as can be."""
DEBRIS = Fault.TABLE | Fault.CODE | Fault.BOILERPLATE | Fault.POINTER | Fault.BRACKETS | Fault.SHORT
"""What is taken only from a text which has nothing else."""
ENOUGH, ENOUGH_WHOLE = 40, 15
"""Per cent of the length asked; an extract which faultless sentences fill so far takes no faulty ones, and one which whole sentences
fill so far takes no halves."""
STANDING = {
    Fault.DANGLING: 35,
    Fault.PRONOUN: 85,
    Fault.SPEECH: 60,
    Fault.LONG: 65,
    Fault.LISTED: 60,
    Fault.CLAUSE: 40,
    Fault.DETAIL: 90,
}
"""Per cent of its value which a sentence with that fault keeps."""
OPENING_SENTENCES, OPENING_CHARS, OPENING_STANDING = 6, 200_000, (300, 180, 120, 80)
"""What comes first says what a text is: its first faultless sentences, looked for behind title pages and tables of contents. The
first which tells of the whole ("This manual describes ...") opens the extract of each node at a document's beginning, up to its top."""
TELLING_STANDING, LEANING_STANDING = 160, 30
"""Above documents a sentence which tells what something is counts for more, and one which leans on another for less; per cent."""
OPENING_SHARE = 60
"""Per cent of the length which the opening sentence may take."""
NAME_STANDING = 30
"""A name which the text repeats says who it is about; per cent more for each of up to two."""
ALIKE = 70
"""Per cent of a sentence's words which one chosen before may share; with more it repeats it."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to extract from. flowing: it is a chunk, which goes on in the chunk after it; `overlap` characters repeat the one before."""

    text: str
    overlap: int = 0
    flowing: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """A sentence, the run of text it stands in, and the item it belongs to."""

    sentence: Sentence
    run: int
    item: int


def extract(
    items: Sequence[Passage],
    context: Sequence[Passage] = (),
    *,
    chars: int,
    leads: bool = False,
    covering: bool = False,
) -> str:
    """Give about `chars` characters of sentences; never empty where there is any text.

    items: what is to be covered. context: the text below them, whose words decide what matters; without it, the items themselves.
    leads: whether the first item begins a document. covering: whether each item shall have a sentence, as each document in its
    directory's summary.
    Sentences which stood side by side share a line; a new line begins where something was left out.
    """
    weights = weigh(joined(context or items))
    if covering:
        weights = distinguish(weights, [item.text for item in items])
    places = list(_places(items))
    opening = _opening(context or items) if leads else []
    if opening:
        said = {sentence.text for sentence in opening}
        places = [_Place(s, -1, 0) for s in opening] + [p for p in places if p.sentence.text not in said]
    ranks = _ranks(places) if covering else dict.fromkeys(range(len(opening)), 0)
    candidates = [_candidate(places, n, weights, rank=ranks.get(n), covering=covering) for n in range(len(places))]
    choice = Choice(candidates, weights, share_chars=chars // max(1, len(items)))
    _Chooser(choice, candidates, places, chars).choose(covering=covering, n_items=len(items), n_opening=len(opening))
    return _in_order(choice.chosen, places) or _beginning(joined(items), chars)


def _opening(passages: Sequence[Passage]) -> list[Sentence]:
    """Find the first faultless sentences of a document."""
    text = joined(passages)[:OPENING_CHARS]
    found = sentences(text, wraps=passages[0].flowing)
    return list(islice((s for s in found if opens(s)), OPENING_SENTENCES))


def _ranks(places: Sequence[_Place]) -> dict[int, int]:
    """Count the faultless sentences of each item: the first tell what the document below is."""
    ranks: dict[int, int] = {}
    seen: Counter[int] = Counter()
    for number, place in enumerate(places):
        if _clean(place):
            ranks[number] = seen[place.item]
            seen[place.item] += 1
    return ranks


def joined(passages: Sequence[Passage]) -> str:
    """Join passages: chunks with each overlap once, others a paragraph each."""
    parts: list[str] = []
    for before, passage in zip((None, *passages), passages, strict=False):
        if before is not None and before.flowing and passage.flowing:
            parts.append(passage.text[passage.overlap :])
        else:
            parts += ["\n\n", passage.text] if parts else [passage.text]
    return "".join(parts)


def _places(items: Sequence[Passage]) -> Iterator[_Place]:
    """Split into sentences. Neighbouring chunks are one text, since a sentence may run from one to the next."""
    number = 0
    for run, size in enumerate(_run_sizes(items)):
        passages = items[number : number + size]
        first = passages[0]
        whole = not first.overlap or ends_whole(first.text[: first.overlap])
        text = joined([Passage(first.text[first.overlap :], 0, first.flowing), *passages[1:]])
        ends = _ends([len(p.text) - p.overlap for p in passages], total=len(text))
        seen = 0
        for sentence in sentences(text, begins_whole=whole, wraps=first.flowing):
            within = next((i for i, end in enumerate(ends) if seen < end), size - 1)
            yield _Place(sentence, run, number + within)
            seen += len(sentence.text) + 1
        number += size


def _run_sizes(items: Sequence[Passage]) -> list[int]:
    sizes: list[int] = []
    for before, item in zip((None, *items), items, strict=False):
        if before is not None and before.flowing and item.flowing:
            sizes[-1] += 1
        else:
            sizes.append(1)
    return sizes


def _ends(lengths: Sequence[int], *, total: int) -> list[int]:
    ends: list[int] = []
    for length in lengths:
        ends.append((ends[-1] if ends else 0) + length)
    ends[-1] = max(ends[-1], total)
    return ends


def _clean(place: _Place) -> bool:
    return not place.sentence.faults & ~SOFT


def _candidate(
    places: Sequence[_Place], number: int, weights: Weights, *, rank: int | None, covering: bool
) -> Candidate:
    """Weigh up a sentence. rank: how many come before it in what opens a text, None where it is not of those."""
    place = places[number]
    shares = {fault: share for fault, share in STANDING.items() if fault in place.sentence.faults}
    lifted = {fault: share for fault, share in shares.items() if fault not in LEANING}
    follows = number > 0 and _adjoining(places[number - 1], place) and len(lifted) < len(shares)
    names = len(weights.names.intersection(tokens(place.sentence.text)))
    base = OPENING_STANDING[min(rank, len(OPENING_STANDING) - 1)] if rank is not None else 100
    base = base * (100 + NAME_STANDING * min(2, names)) // 100
    if covering and tells_of_the_whole(place.sentence):
        base = base * TELLING_STANDING // 100
    after = _times(base, lifted.values()) if follows else 0
    if covering and len(lifted) < len(shares):
        base = base * LEANING_STANDING // 100
    units = units_of(place.sentence.text, weights)
    return Candidate(units, len(place.sentence.text), place.item, _times(base, shares.values()), after)


def _times(standing: int, shares: Iterable[int]) -> int:
    for share in shares:
        standing = standing * share // 100
    return standing


class _Chooser:
    """Fills the length asked: first, where each item counts, one sentence of each; then the best of all."""

    def __init__(self, choice: Choice, candidates: Sequence[Candidate], places: Sequence[_Place], chars: int) -> None:
        self._choice = choice
        self._candidates = candidates
        self._places = places
        self._chars = chars
        self._words = [frozenset(tokens(place.sentence.text)) for place in places]

    def choose(self, *, covering: bool, n_items: int, n_opening: int) -> None:
        clean = [n for n, place in enumerate(self._places) if _clean(place)]
        room = self._chars * OPENING_SHARE // 100
        self._open([n for n in range(n_opening) if self._candidates[n].chars <= room])
        if covering and n_items * LEAST_CHARS <= self._chars:
            self._one_of_each(clean, n_items)
        self._choice.fill(clean, self._fits)
        for worse, enough in ((DEBRIS | Fault.HALF, ENOUGH), (DEBRIS, ENOUGH_WHOLE)):
            if self._used() * 100 < self._chars * enough:
                self._choice.fill(self._without(worse), self._fits)
        if not self._choice.chosen:
            self._choice.fill(range(len(self._places)), self._fits)

    def _without(self, faults: Fault) -> list[int]:
        return [n for n, place in enumerate(self._places) if not place.sentence.faults & faults]

    def _open(self, opening: Sequence[int]) -> None:
        telling = [n for n in opening if tells_of_the_whole(self._places[n].sentence)]
        if telling:
            self._choice.take(telling[0])
        elif opening:
            self._choice.take(max(opening, key=lambda n: (self._choice.value(n), -n)))

    def _one_of_each(self, clean: Sequence[int], n_items: int) -> None:
        """Take of each item, in order, the best sentence which leaves room for the others, else its shortest."""
        limit = self._chars * (100 + COVERING_SLACK) // 100
        for item in range(n_items):
            of_it = [n for n in clean if self._places[n].item == item and not self._said(n)]
            mine = [n for n in of_it if not self._repeats(n)] or of_it
            room = (limit - self._used()) // (n_items - item)
            short = [n for n in mine if self._candidates[n].chars <= room]
            if short:
                self._choice.take(max(short, key=lambda n: (self._choice.value(n), -n)))
            elif mine:
                shortest = min(mine, key=lambda n: (self._candidates[n].chars, n))
                if self._used() + self._candidates[shortest].chars <= limit:
                    self._choice.take(shortest)

    def _used(self) -> int:
        return sum(self._candidates[n].chars + 1 for n in self._choice.chosen)

    def _fits(self, number: int) -> bool:
        room = self._chars * (100 + SLACK) // 100 - self._used()
        return self._candidates[number].chars <= room and self._used() < self._chars and not self._repeats(number)

    def _said(self, number: int) -> bool:
        return any(self._places[number].sentence.text == self._places[n].sentence.text for n in self._choice.chosen)

    def _repeats(self, number: int) -> bool:
        words = self._words[number]
        return any(
            100 * len(words & self._words[other]) > ALIKE * min(len(words), len(self._words[other]))
            for other in self._choice.chosen
        )


def _in_order(chosen: Sequence[int], places: Sequence[_Place]) -> str:
    lines: list[str] = []
    before: _Place | None = None
    for number in sorted(chosen):
        place = places[number]
        if before is not None and _adjoining(before, place):
            lines[-1] += f" {place.sentence.text}"
        else:
            lines.append(place.sentence.text)
        before = place
    return "\n".join(lines)


def _adjoining(before: _Place, place: _Place) -> bool:
    a, b = before.sentence, place.sentence
    return before.run == place.run and a.paragraph == b.paragraph and a.place + 1 == b.place


def _beginning(text: str, chars: int) -> str:
    """Give the beginning of a text which has no sentence at all, cut at a space where there is one."""
    text = " ".join(text.split())
    if len(text) <= chars:
        return text or "-"
    return text[: text.rfind(" ", chars // 2, chars) if " " in text[chars // 2 : chars] else chars]
