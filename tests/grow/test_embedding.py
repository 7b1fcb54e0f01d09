"""Boundaries by vectors: no language model is asked where topics change."""

from __future__ import annotations

import random

from tree_builder.grow import Grower
from tree_builder.model import Decision
from tree_builder.protocols import Priority
from tree_builder.settings import Settings

from .support import Model, Vectors, chunks, contents, leaves

SETTINGS = Settings(models="local", boundaries="embedding")


async def test_decisions_of_the_detector_form_the_groups():
    """Groups begin where the detector says, each decision kept with its score and reason, and only summaries are asked for."""
    given = []

    def detect(items, vectors):
        given.append((len(items), vectors.shape))
        starts = {3, 5} if len(items) == 8 else set()
        return [
            Decision(at, at in starts, "embedding", "yes" if at in starts else "no", at / 10, f"item {at}")
            for at in range(1, len(items))
        ]

    model = Model(lambda s, i: True)
    tree = await Grower(model, Vectors(), SETTINGS, detect=detect).grow_document(chunks([f"t:{i}" for i in range(8)]))
    assert [len(child.children) for child in tree.children] == [3, 2, 3]
    assert given == [(8, (8, 16)), (3, (3, 16))]
    first = tree.children[0].decisions
    assert [(d.at, d.boundary, d.score, d.reason) for d in first] == [
        (2, False, 0.2, "item 2"),
        (3, True, 0.3, "item 3"),
    ]
    assert {question[0] for question in model.asked} == {"summarize"}


async def test_a_detector_which_says_yes_everywhere():
    """A boundary before every item still makes groups of two, so that growing ends."""
    model = Model(lambda s, i: True)

    def detect(items, vectors):
        return [Decision(at, True, "embedding", "yes") for at in range(1, len(items))]

    tree = await Grower(model, Vectors(), SETTINGS, detect=detect).grow_document(chunks([f"t:{i}" for i in range(9)]))
    assert len(leaves(tree)) == 9
    assert len(model.asked) <= 16


async def test_the_detector_itself():
    """With the project's own detector a long document grows, in order, from its own vectors."""
    texts = contents(120, random.Random(1))
    model = Model(lambda s, i: True)
    tree = await Grower(model, Vectors(), SETTINGS).grow_document(chunks(texts))
    assert [leaf.content for leaf in leaves(tree)] == texts
    assert {question[0] for question in model.asked} == {"summarize"}


async def test_nothing_is_guessed():
    """Where boundaries cost no call nothing is guessed: every question is one the tree waits for, also with slots idle."""
    model = Model(lambda s, i: True)
    grower = Grower(model, Vectors(), SETTINGS.but(speculation=2.0, concurrency=64))
    await grower.grow_document(chunks(contents(200, random.Random(2))))
    assert set(model.priorities) == {Priority.CRITICAL}
    assert len(model.asked) == len(set(model.asked))
