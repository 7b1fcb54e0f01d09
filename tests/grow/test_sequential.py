"""Growing against the plain sequential reference."""

from __future__ import annotations

import random

import pytest

from tree_builder.errors import BuildError
from tree_builder.grow import Grower
from tree_builder.model import NodeType
from tree_builder.settings import Settings

from . import reference
from .support import KINDS, Model, Vectors, chunks, contents, leaves, oracle, plain, short_summary


async def compare(n: int, kind: str, rules: reference.Rules, rng: random.Random) -> None:
    texts = contents(n, rng)
    changes = oracle(kind, rng)
    answers = reference.Answers(short_summary, changes)
    expected = reference.build_tree(texts, answers, rules)
    model = Model(changes, prompt_size=rules.prompt_size)
    settings = Settings(
        models="openai",
        cut="fixed",
        boundaries=rules.method,
        summary_scope=rules.scope,
        max_group_items=rules.max_items,
        window_size=rules.window,
        speculation=0,
    )
    tree = await Grower(model, Vectors(), settings).grow_document(chunks(texts))
    assert plain(tree) == expected
    assert sorted(model.asked) == sorted(answers.asked)
    assert len(model.asked) <= max(0, 2 * (n - 1))
    assert tree.node_type is NodeType.DOC_TOP
    assert [leaf.content for leaf in leaves(tree)] == texts


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scope", ["pair", "group"])
async def test_short_lists(n, kind, scope):
    """Documents of one, two and three chunks grow into the reference's tree, with the reference's questions."""
    await compare(n, kind, reference.Rules(scope), random.Random(n))


async def test_no_chunks_are_refused():
    """A document without chunks is refused with a message, not grown into nothing."""
    with pytest.raises(BuildError, match="nothing to grow"):
        await Grower(Model(lambda s, i: True), Vectors(), Settings(models="openai")).grow_document([])


@pytest.mark.parametrize("scope", ["pair", "group"])
async def test_a_thousand_random_lists(scope):
    """A thousand random lists grow into the reference's tree node for node, with the reference's questions."""
    rng = random.Random(1)
    for _ in range(1000):
        await compare(rng.randrange(1, 40), rng.choice(KINDS), reference.Rules(scope), rng)


async def test_groups_which_are_full():
    """Groups close where a prompt or the allowed number of items is full, as the reference says."""
    rng = random.Random(2)
    for _ in range(300):
        rules = reference.Rules(
            rng.choice(["pair", "group"]),
            rng.choice(["each", "window"]),
            prompt_size=rng.choice([150, 300, 10**9]),
            max_items=rng.choice([None, 2, 3, 7]),
            window=rng.randrange(3, 12),
        )
        await compare(rng.randrange(1, 40), rng.choice(KINDS), rules, rng)


async def test_windows():
    """Boundaries by window grow the reference's tree, with the reference's questions."""
    rng = random.Random(3)
    for _ in range(300):
        rules = reference.Rules(rng.choice(["pair", "group"]), "window", window=rng.randrange(3, 13))
        await compare(rng.randrange(1, 60), rng.choice(KINDS), rules, rng)
