"""A small published corpus, planted into the real schema."""

from __future__ import annotations

import random

import pytest

from tree_builder.testing.planting import Planted, plant

TOPICS = {
    "boats/sails.pdf": "sail mast rope canvas wind harbour deck anchor rudder keel hull tide",
    "boats/engines.pdf": "engine piston fuel diesel shaft propeller valve oil pump gauge exhaust spark",
    "kitchen/bread.md": "flour yeast dough oven crust salt water knead loaf bake rise crumb",
    "kitchen/soup/onion.txt": "onion broth pot butter simmer spoon ladle thyme pepper cheese bowl toast",
    "single.txt": "lantern",
}


def prose(words: list[str], sentences: int, seed: int) -> str:
    """Write sentences of some words, none like another."""
    rng = random.Random(seed)
    lines = []
    for number in range(sentences):
        picked = rng.sample(words, min(len(words), 5))
        lines.append(f"Note {number} tells how the {' and the '.join(picked)} belong together.")
    return " ".join(lines)


FILES = {
    path: prose(words.split(), 40 if path != "single.txt" else 1, seed)
    for seed, (path, words) in enumerate(TOPICS.items())
}


@pytest.fixture
def planted(database_url: str) -> Planted:
    return plant(database_url, FILES, titles={"boats/sails.pdf": "Sails\nand\tropes"})
