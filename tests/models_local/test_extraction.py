from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_builder.models.local.extraction import Passage, extract, joined
from tree_builder.models.local.faults import Fault
from tree_builder.models.local.ranking import Candidate, Choice, Weights, cost, units_of, weigh
from tree_builder.models.local.sentences import sentences

WHALES = (
    "The harbour of Nantucket lies to the south. Captain Ahab hunts the white whale across the southern ocean. "
    "It was cold. The white whale had taken the leg of Captain Ahab in an earlier hunt. Cooks peel potatoes in the galley. "
    "The crew of the ship fears the white whale and follows Captain Ahab. Rain fell on the deck in the evening. "
    "However, nobody said so. In the end the white whale sinks the ship of Captain Ahab with all of the crew."
)
TABLE = "1 | 2 | 3\n4 | 5 | 6\n7 | 8 | 9\n" * 20


def of(*texts: str, chars: int = 250, **options: bool) -> str:
    return extract([Passage(text) for text in texts], chars=chars, **options)


def stands_in(summary: str, *texts: str) -> bool:
    flat = [" ".join(text.split()) for text in texts]
    return all(any(line in text for text in flat) for line in summary.split("\n"))


def test_an_extract_says_what_the_text_repeats():
    """The sentences about what the text is about are taken, in order; asides are not."""
    summary = of(WHALES, chars=165)
    assert "white whale" in summary
    assert "Captain Ahab" in summary
    assert "potatoes" not in summary
    assert "However" not in summary
    assert stands_in(summary, WHALES)
    positions = [WHALES.index(line) for line in summary.split("\n")]
    assert positions == sorted(positions)


@pytest.mark.parametrize("chars", [100, 250, 400])
def test_an_extract_keeps_about_the_length_asked(chars: int):
    """An extract is at most a little longer than asked, and not much shorter where the text has enough."""
    assert 0.5 * chars <= len(of(WHALES, chars=chars)) <= 1.05 * chars


def test_the_same_texts_give_the_same_extract_in_every_process():
    """Hashes of strings differ from process to process; extracts do not."""
    program = (
        "from tree_builder.models.local.extraction import Passage, extract\n"
        f"print(extract([Passage({WHALES!r}), Passage({WHALES[::-1]!r})], chars=300))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1


def test_overlaps_are_joined_and_nothing_is_said_twice():
    """A sentence which two chunks share in their overlap, or which a cut runs through, is taken once and whole."""
    flowing = [WHALES[:200], WHALES[150:350], WHALES[300:]]
    passages = [Passage(text, 50 if n else 0, True) for n, text in enumerate(flowing)]
    assert joined(passages) == WHALES
    assert extract(passages, chars=400) == of(WHALES, chars=400)
    assert max(Counter(of(WHALES, WHALES, chars=900).split("\n")).values()) == 1


def test_a_half_sentence_at_the_beginning_is_not_taken():
    """A chunk which begins, behind its overlap, in the middle of a sentence gives no half of one."""
    chunk = Passage(
        "hunts the white whale. Ahab of Nantucket hunts the whale for oil. The white whale swims to the south.",
        10,
        True,
    )
    summary = extract([chunk], chars=300)
    assert not summary.startswith("whale")
    assert "Ahab of Nantucket hunts the whale for oil." in summary


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        "x",
        "def f(x):\n    return x == 1 && y\n" * 30,
        "?",
        "A" * 3000,
        "   word   ",
        "Only a heading",
        "1.\n2.\n3.\n",
        "你好" * 400,
    ],
)
def test_texts_which_are_nothing_but_debris_give_something(text: str):
    """Tables, code, headings and endless words still give a non-empty extract, verbatim, not longer than asked."""
    summary = of(text, chars=200)
    assert summary.strip()
    assert len(summary) <= 210
    assert stands_in(summary, text)


def test_an_empty_text_gives_a_dash():
    """Nothing at all gives one character, since a summary is never empty."""
    assert of("") == of(" \n ") == "-"


def test_debris_stays_out_while_there_is_better():
    """Beside sentences, neither tables nor headings, questions or notes of copyright are taken."""
    text = (
        f"{TABLE}\nCopyright 2019 by the owners of the white whale.\n\nThe Whale\n\nWhat is a white whale?\n\n{WHALES}"
    )
    summary = of(text, chars=300)
    assert all(
        not s.faults & (Fault.TABLE | Fault.BOILERPLATE | Fault.QUESTION | Fault.HALF) for s in sentences(summary)
    )


def test_words_of_the_context_decide():
    """What the text below makes much of wins over what the items themselves repeat."""
    items = [Passage("The old mill stands near the river bank. The tax law of the city was changed in spring.")]
    mills = extract(items, [Passage("The old mill. " * 20)], chars=60)
    taxes = extract(items, [Passage("The tax law. " * 20)], chars=60)
    assert ("mill" in mills, "tax law" in taxes) == (True, True)


def test_a_document_opens_with_what_it_is():
    """Behind a table of contents the first sentence which tells of the whole is found, and opens the extract."""
    contents = "\n".join(f"{n} Chapter of the whale … {n}" for n in range(60))
    text = f"{contents}\n\nThe author was tired. This handbook describes the hunt for whales.\n\n{WHALES}"
    summary = of(text, chars=400, leads=True)
    assert summary.startswith("This handbook describes the hunt for whales.")


def test_an_opening_comes_from_the_context_of_upper_levels():
    """At upper levels too, although no item below quotes it."""
    context = [Passage("Whaling is a trade of the coast. " + WHALES, 0, True)]
    summary = extract(
        [Passage("The white whale sinks the ship of the crew in the end.")], context, chars=300, leads=True
    )
    assert summary.split("\n")[0] == "Whaling is a trade of the coast."


DOCUMENTS = [
    f"The {name} report was written in {year} by the office. {name} sells {thing} in many towns of the country. "
    f"The office found that {thing} of {name} were late in {year} and that all of the towns had to wait for them."
    for name, year, thing in [
        ("Alder", 1999, "bolts"), ("Birch", 2003, "carpets"), ("Cedar", 2007, "engines"), ("Doum", 2011, "lamps"),
        ("Elm", 2012, "pianos"), ("Fir", 2015, "rulers"), ("Ginkgo", 2019, "stamps"), ("Hazel", 2021, "wheels"),
    ]
]  # fmt: skip


def test_every_document_has_its_say():
    """With up to eight documents below a directory each has a sentence in its summary, which stays near the length asked."""
    for n in range(2, 9):
        summary = of(*DOCUMENTS[:n], chars=900, covering=True)
        heard = [any(line in text for line in summary.split("\n")) for text in DOCUMENTS[:n]]
        assert all(heard), n
        assert len(summary) <= 1200


def test_whole_sentences_do_without_halves():
    """Where whole sentences fill a part of the length, an extract stays short rather than take halves of others."""
    items = "\n\n".join(f"must not depend on package number {n} of the contributed archive area, and" for n in range(6))
    whole = "Every package of the contributed archive area has to comply with the guidelines for free software of the project."
    assert of(f"{whole}\n\n{items}", chars=400) == whole
    assert "must not depend" in of(items, chars=400)


def test_above_documents_what_tells_of_a_thing_comes_first():
    """Of a document's sentences its directory takes the one which says what something is, not one which leans on another."""
    leaning = (
        "The message names the ferry and the harbour, the island and the line of the ferry between harbour and island."
    )
    telling = "The ferry is a ship which links the harbour with the island."
    other = "Bees are kept in hives. Bees and hives need a dry place. Hives are opened on warm days."
    assert telling in of(f"{leaning} {telling}", other, chars=200, covering=True)
    assert leaning not in of(f"{leaning} {telling}", other, chars=200, covering=True)


def test_many_documents_are_spread_over():
    """Where not all documents find room, the summary still takes from as many as it has sentences, not from the first alone."""
    many = [text.replace("office", f"office {n}") for n in range(6) for text in DOCUMENTS]
    summary = of(*many, chars=900, covering=True)
    sources = [next(n for n, text in enumerate(many) if line in text) for line in summary.split("\n")]
    assert len(set(sources)) >= 0.8 * len(sources)
    assert max(sources) > len(many) // 2


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.text(max_size=400) | st.sampled_from([WHALES, TABLE, *DOCUMENTS]), min_size=1, max_size=6),
    st.integers(100, 900),
    st.booleans(),
    st.booleans(),
)
def test_any_texts_give_a_verbatim_extract(texts: list[str], chars: int, leads: bool, covering: bool):
    """Whatever the texts: never empty, verbatim line by line, and never much longer than asked."""
    summary = of(*texts, chars=chars, leads=leads, covering=covering)
    assert summary.strip()
    assert len(summary) <= chars * 1.3 + 60
    assert summary == "-" or stands_in(summary, "\n\n".join(texts))


def test_neighbours_stay_on_a_line():
    """Sentences which stood side by side stay so, and a new line begins where something was left out."""
    text = "The red fox of the wood sleeps by day. At night the red fox leaves for the hen house of the farm."
    assert of(text, chars=200) == text


def test_a_leaning_sentence_follows_the_one_it_leans_on():
    """A sentence which begins with He stands better once the sentence before it is taken, and then joins it."""
    weights = weigh(WHALES * 3)
    leaning, plain = "He hunts the white whale across the southern ocean.", "Captain Ahab hunts the white whale."
    first = Candidate(units_of(plain, weights), len(plain), 0, 100)
    second = Candidate(units_of(leaning, weights), len(leaning), 0, 35, 100)
    choice = Choice([first, second], weights, share_chars=10_000)
    choice.take(0)
    covered_anyway = Choice([first, Candidate(second.units, second.chars, 0, 35)], weights, share_chars=10_000)
    covered_anyway.take(0)
    assert choice.value(1) > covered_anyway.value(1)


def test_lines_of_an_extract_are_not_joined():
    """The short lines of extracts, which upper levels choose among, are no wrapped text: each stays by itself."""
    lines = [f"{name} lies at the river of the south" for name in ("Alder", "Birch", "Cedar", "Doum", "Elm")]
    extracts = [Passage("\n".join(lines)), Passage("\n".join(lines[::-1]))]
    assert set(extract(extracts, chars=900).split("\n")) <= set(lines)


def test_weights_count_pairs_more_slowly_than_in_proportion():
    """A pair which occurs sixteen times weighs eight times one which would weigh one; what occurs once weighs nothing."""
    weights = weigh("tall ships " * 16 + "and small boats " * 1)
    assert weights.of(("tall", "ships")) == 16 * 8 * 100
    assert weights.of(("small", "boats")) == 0


def test_the_greedy_choice_is_the_exhaustive_one_step_by_step():
    """Taking from a heap gives what looking at every candidate at every step gives."""
    texts = [s.text for s in sentences(WHALES)]
    weights = weigh(WHALES)
    candidates = [Candidate(units_of(t, weights), len(t), n % 3, 100) for n, t in enumerate(texts)]
    lazy, eager = (Choice(candidates, weights, share_chars=100) for _ in range(2))
    lazy.fill(range(len(texts)), lambda _: True)
    while left := [n for n in range(len(texts)) if n not in eager.chosen and eager.value(n) > 0]:
        eager.take(max(left, key=lambda n: (eager.value(n), -n)))
    assert lazy.chosen == eager.chosen


def test_costs_grow_less_than_lengths():
    """A sentence twice as long costs more, but not twice as much."""
    assert cost(100) < cost(200) < 2 * cost(100)


def test_names_are_told_from_beginnings():
    """Words which begin with a capital inside sentences are names; those at the beginning of sentences are not."""
    weights = weigh("Then came Ahab. Then went Ahab. Then slept Ahab. Then sang Ahab, and then the ship sank.")
    assert weights.names == frozenset({"ahab"})


def test_weights_hold_no_reference_to_order():
    """The weights of a text do not depend on the order in which a set happens to be walked."""
    assert weigh(WHALES) == weigh(WHALES)
    assert isinstance(weigh(WHALES), Weights)
