"""Growing with chains at several places at once against the plain sequential reference, in simulated time."""

from __future__ import annotations

import asyncio
import random

import pytest

from tree_builder.grow import Grower
from tree_builder.protocols import Priority
from tree_builder.settings import Settings
from tree_builder.testing import clock

from . import reference
from .support import KINDS, Model, Vectors, chunks, contents, leaves, oracle, plain, short_summary


def settings(rules: reference.Rules, *, speculation: float, concurrency: int) -> Settings:
    return Settings(
        models="openai",
        boundaries=rules.method,
        summary_scope=rules.scope,
        max_group_items=rules.max_items,
        window_size=rules.window,
        speculation=speculation,
        concurrency=concurrency,
    )


async def grow_one(seed: int) -> int:
    """Grow one random document under random circumstances and compare; give the number of speculative calls."""
    rng = random.Random(seed)
    n = rng.choice([rng.randrange(2, 30), rng.randrange(20, 120)])
    texts, kind = contents(n, rng), rng.choice(KINDS)
    changes = oracle(kind, rng)
    rules = reference.Rules(
        rng.choice(["pair", "group"]),
        rng.choice(["each", "each", "window"]),
        prompt_size=rng.choice([10**9, 10**9, 400]),
        max_items=rng.choice([None, None, None, 5]),
    )
    answers = reference.Answers(short_summary, changes)
    expected = reference.build_tree(texts, answers, rules)
    slowest = rng.choice([0.0, 0.3, 3.0])

    async def pause(_kind: str) -> None:
        await asyncio.sleep(rng.uniform(0.1, 0.1 + slowest))

    model = Model(changes, prompt_size=rules.prompt_size, pause=pause)
    share = rng.choice([0.05, 0.25, 1.0, 2.0])
    config = settings(rules, speculation=share, concurrency=rng.choice([1, 2, 8, 32, 64]))
    tree = await Grower(model, Vectors(rng.choice([0.0, 1.0, 50.0])), config).grow_document(chunks(texts))
    assert plain(tree) == expected, seed
    assert [leaf.content for leaf in leaves(tree)] == texts
    assert set(answers.asked) <= set(model.asked), f"seed {seed}: an answer came from elsewhere"
    assert len(answers.asked) <= 2 * (n - 1), seed
    assert len(model.asked) <= 2 * (n - 1) * (1 + share), f"seed {seed}: {len(model.asked)} calls for {n} items"
    assert model.in_flight == 0, seed
    return model.priorities.count(Priority.SPECULATIVE)


def grow_many(seeds: range) -> int:
    return sum(clock.run(grow_one(seed)) for seed in seeds)


def test_random_levels():
    """Whatever the oracle, the concurrency and the order of answers: the sequential tree, its answers, calls within bounds."""
    assert grow_many(range(1000)) > 1000  # speculation did take place


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_thousand_random_levels():
    """The long form of the above: 10,000 random levels, no tree differs."""
    assert grow_many(range(1000, 11_000)) > 10_000
