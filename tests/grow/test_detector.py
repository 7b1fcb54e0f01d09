"""The boundary detector: what it finds, and what it promises about the groups."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_builder.grow.detector import LOOKAHEAD, MOST_ITEMS, MOST_NODES, Detector, detect, probabilities_of
from tree_builder.grow.detector_evidence import NAMES
from tree_builder.model import NodeType, Tree

SUBJECTS = ("harbour", "orchard", "railway", "glacier", "pottery", "eclipse", "beehive", "granite")


def topic_text(subject: str, draw: random.Random, n_words: int = 60) -> str:
    """Make a text of words of one subject among words which all subjects share."""
    own = [f"{subject}{chr(97 + i)}" for i in range(24)]
    common = [f"common{chr(97 + i)}" for i in range(20)]
    return " ".join(draw.choice(own if draw.random() < 0.5 else common) for _ in range(n_words))


def vector_of(subject: str, draw: np.random.Generator, *, noise: float = 0.6) -> np.ndarray:
    base = np.random.default_rng(sum(map(ord, subject))).standard_normal(64)
    vector = base / np.linalg.norm(base) + noise * draw.standard_normal(64) / 8
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def level(lengths: list[int], seed: int = 0) -> tuple[list[str], np.ndarray, list[int]]:
    """Make items of topics of these lengths; also where topics after the first start."""
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    texts, vectors, starts = [], [], []
    for i, length in enumerate(lengths):
        subject = SUBJECTS[i % len(SUBJECTS)]
        starts.append(len(texts))
        texts += [topic_text(subject, draw) for _ in range(length)]
        vectors += [vector_of(subject, numbers) for _ in range(length)]
    return texts, np.array(vectors), starts[1:]


def starts_of(texts: list[str], vectors: np.ndarray, overlaps: list[int] | None = None) -> list[int]:
    return [b.at for b in Detector().boundaries(texts, vectors, overlaps) if b.boundary]


def random_level(n: int, seed: int) -> tuple[list[str], np.ndarray]:
    lengths, draw = [], random.Random(seed)
    while sum(lengths) < n:
        lengths.append(draw.randint(2, 14))
    texts, vectors, _ = level(lengths, seed)
    return texts[:n], vectors[:n]


def test_topics_are_told_apart() -> None:
    """Groups begin where the topics do."""
    texts, vectors, gold = level([5, 9, 4, 7, 12, 6])
    assert starts_of(texts, vectors) == gold


def test_words_tell_where_vectors_do_not() -> None:
    """With the same vector for every item the words alone find the topics."""
    texts, vectors, gold = level([6, 8, 7, 6])
    found = starts_of(texts, np.repeat(vectors[:1], len(texts), axis=0))
    assert set(found) & set(gold) == set(gold)


def test_vectors_tell_where_words_do_not() -> None:
    """Texts without any word in common with each other leave the vectors to tell."""
    _, vectors, gold = level([6, 8, 7, 6])
    assert set(gold) <= set(starts_of(["–" for _ in vectors], vectors))


def test_one_topic_is_one_group() -> None:
    """Items of one topic stay together."""
    texts, vectors, _ = level([12])
    assert starts_of(texts, vectors) == []


def test_numbered_headings_start_groups() -> None:
    """Within one topic, headings with numbers open groups, since a reader would begin there too."""
    texts, vectors, _ = level([16])
    for at, number in ((5, "4.1"), (11, "4.2")):
        texts[at] = f"{number} Care of the harbour walls\n\n{texts[at]}"
    assert starts_of(texts, vectors) == [5, 11]


def test_the_same_evidence_weighs_more_where_topics_are_short() -> None:
    """What speaks for a boundary is judged by how many there are around it."""
    figures = np.zeros((80, len(NAMES)))
    figures[:, :3] = (0.5, 0.5, -4.0)
    figures[40, :3] = (0.9, 0.8, -0.5)
    lone = probabilities_of(figures, chunks=True)[40]
    figures[5::7, :3] = (0.9, 0.9, 4.0)
    assert probabilities_of(figures, chunks=True)[40] > 1.5 * lone


def test_headings_within_unlike_texts_start_no_groups() -> None:
    """Where texts which have nothing in common stand side by side, the headings inside each are not where a reader would cut."""
    texts, vectors, gold = level([6] * 8)
    for at in range(3, 48, 6):
        texts[at] = f"4.{at} Care of the harbour walls\n\n{texts[at]}"
    assert starts_of(texts, vectors) == gold


def test_overlaps_are_not_looked_at() -> None:
    """What a text repeats of the one before changes nothing when its length is told."""
    texts, vectors, _ = level([5, 6, 7, 5])
    tails = ["", *(text[-100:] for text in texts[:-1])]
    repeated = [tail + text for tail, text in zip(tails, texts, strict=True)]
    plain = Detector().boundaries(texts, vectors)
    assert Detector().boundaries(repeated, vectors, [len(tail) for tail in tails]) == plain


@pytest.mark.parametrize("n", range(6))
def test_tiny_levels_are_grouped_without_a_lone_item(n: int) -> None:
    """Levels of up to five items give at most one boundary and no group of one item."""
    texts, vectors, _ = level([2] * 3)
    starts = starts_of(texts[:n], vectors[:n])
    assert all(b - a >= 2 for a, b in pairwise([0, *starts, n]) if n > 1)
    assert len(Detector().boundaries(texts[:n], vectors[:n])) == max(0, n - 1)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 160), st.integers(0, 10_000))
def test_group_sizes_are_bounded(n: int, seed: int) -> None:
    """Whatever the items, groups have at least two and at most MOST_ITEMS."""
    texts, vectors = random_level(n, seed)
    sizes = [b - a for a, b in pairwise([0, *starts_of(texts, vectors), n])]
    assert all(2 <= size <= MOST_ITEMS for size in sizes)


def test_a_long_level_without_topics_still_shrinks() -> None:
    """Items all alike are put into full groups, not into one without end."""
    texts = ["the same words again and again"] * 300
    vectors = np.repeat(level([1])[1], 300, axis=0)
    sizes = [b - a for a, b in pairwise([0, *starts_of(texts, vectors), 300])]
    assert max(sizes) <= MOST_ITEMS
    assert len(sizes) <= 300 / (MOST_ITEMS / 2)


@settings(max_examples=15, deadline=None)
@given(st.integers(LOOKAHEAD + 5, LOOKAHEAD + 150), st.integers(0, 10_000))
def test_a_prefix_decides_alike(n: int, seed: int) -> None:
    """The first items, LOOKAHEAD of them left out, are decided the same whatever follows: a stream can be grouped as it comes."""
    texts, vectors = random_level(LOOKAHEAD + 200, seed)
    all_of_them = Detector().boundaries(texts, vectors)
    prefix = Detector().boundaries(texts[:n], vectors[:n])
    sure = n - LOOKAHEAD - 1
    assert prefix[:sure] == all_of_them[:sure]


@settings(max_examples=25, deadline=None)
@given(st.integers(60, 340), st.integers(0, 10_000), st.sampled_from(["insert", "delete", "change"]))
def test_an_edit_changes_groups_near_it_alone(at: int, seed: int, kind: str) -> None:
    """One item inserted, deleted or changed in a long level leaves the groups before it, and soon those behind it, as they were."""
    texts, vectors = random_level(400, seed)
    new_text, new_vector = topic_text("volcano", random.Random(seed)), vector_of("volcano", np.random.default_rng(seed))
    keep = at + (kind != "insert")
    added = [] if kind == "delete" else [new_text]
    edited = [*texts[:at], *added, *texts[keep:]]
    rows = [vectors[:at], np.array([new_vector] * len(added)).reshape(-1, 64), vectors[keep:]]
    shift = len(added) - (keep - at)
    before, after = set(starts_of(texts, vectors)), set(starts_of(edited, np.concatenate(rows).astype(np.float32)))
    moved = {start + shift if start >= keep else start for start in before}
    differing = sorted(moved ^ after)
    assert all(at - 100 <= start <= at + 100 for start in differing)
    assert len(differing) <= 12


def test_order_of_summation_does_not_matter() -> None:
    """Vectors whose last bits differ, as between machines, give the same decisions and scores to four digits."""
    texts, vectors = random_level(200, 3)
    other = (vectors.astype(np.float64) * (1 + 1e-7)).astype(np.float32)
    first, second = Detector().boundaries(texts, vectors), Detector().boundaries(texts, other)
    assert [b.boundary for b in first] == [b.boundary for b in second]
    assert np.allclose([b.score for b in first], [b.score for b in second], atol=1e-3)


def test_odd_texts_do_no_harm() -> None:
    """Empty texts, lone surrogates, control characters and texts without spaces are grouped like others."""
    odd = ["", "\ud800 broken", "\x00\x07", "   \n\n ", "語" * 500, "a" * 5000, "۱۲۳ ...", "# \n#\n##"] * 3
    vectors = random_level(len(odd), 1)[1]
    found = Detector().boundaries(odd, vectors)
    assert [b.at for b in found] == list(range(1, len(odd)))
    assert all(0 <= b.score <= 1 for b in found)


def test_languages_without_spaces_are_compared_by_their_characters() -> None:
    """Two topics in Japanese are told apart by their words though no space separates them."""
    left, right = "港の防波堤を修理する船が並ぶ", "果樹園で林檎を収穫する農家の朝"
    draw = random.Random(2)
    texts = ["".join(draw.sample([one[i : i + 5] for i in range(0, 10, 2)], 4)) for one in [left] * 6 + [right] * 6]
    found = Detector().boundaries(texts, np.repeat(random_level(1, 1)[1], len(texts), axis=0))
    assert max(found, key=lambda b: b.score).at == 6


def test_detect_gives_decisions_with_score_and_reason() -> None:
    """The door which growing uses gives a Decision an item but the first, of method `embedding`."""
    texts, vectors, gold = level([5, 6])
    decisions = detect([Tree(NodeType.CHUNK, text, 0) for text in texts], vectors)
    assert [d.at for d in decisions] == list(range(1, len(texts)))
    assert {d.method for d in decisions} == {"embedding"}
    assert [d.at for d in decisions if d.boundary] == [d.at for d in decisions if d.verdict == "yes"] == gold
    assert all(d.reason and d.score is not None for d in decisions)
    assert max(decisions, key=lambda d: d.score or 0).at in gold


def test_groups_of_nodes_are_smaller() -> None:
    """Summaries all alike fill groups of at most MOST_NODES, for each stands for much text already."""
    nodes = [Tree(NodeType.SUMMARY, "the same words again and again", 1) for _ in range(100)]
    decisions = detect(nodes, np.repeat(level([1])[1], 100, axis=0))
    sizes = [b - a for a, b in pairwise([0, *(d.at for d in decisions if d.boundary), 100])]
    assert 2 <= min(sizes) <= max(sizes) <= MOST_NODES


def test_detect_leaves_out_what_chunks_repeat() -> None:
    """The door knows from the items how much of each repeats the one before."""
    texts, vectors, _ = level([5, 6])
    tails = ["", *(text[-100:] for text in texts[:-1])]
    repeating = [Tree(NodeType.CHUNK, a + b, 0, overlap=len(a)) for a, b in zip(tails, texts, strict=True)]
    assert detect(repeating, vectors) == detect([Tree(NodeType.CHUNK, text, 0) for text in texts], vectors)
