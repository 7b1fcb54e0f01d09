"""Add, edit, delete, rename, crash, run: whatever came before, the tree is that of a first build of the same folder."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from tree_builder.store.migrate import migrate

from .support import Corpus, prose
from .test_crashes import Failpoint, fill, reset

PATHS = ["a.txt", "b.txt", "d/a.txt", "d/b.txt", "d/e/a.txt", "f/a.txt", "f/b.txt"]
_numbers = itertools.count()


@pytest.fixture
def oracle(database_url: str, tmp_path: Path, corpus: Corpus) -> Iterator[Corpus]:
    """The same folder with a database of its own, in which nothing has ever been built."""
    name = f"tree_builder_oracle_{id(corpus)}_{next(_numbers)}"
    parts = urlsplit(database_url)
    url = urlunsplit(parts._replace(path=f"/{name}"))
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"create database {name} template template0")
    asyncio.run(migrate(url))
    fresh = Corpus(corpus.folder, url)
    yield fresh
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


def step(corpus: Corpus, rng: random.Random) -> None:
    """Do one thing to the folder."""
    files = sorted(p for p in corpus.folder.rglob("*.txt"))
    action = rng.choice(["add", "add", "edit", "edit", "copy", "delete", "rename", "rename directory"])
    if action == "add" or not files:
        corpus.write(rng.choice(PATHS), prose(rng.randrange(50), rng.randrange(1, 12)))
    elif action == "edit":
        file = rng.choice(files)
        sentences = file.read_text().split(". ")
        sentences.insert(rng.randrange(len(sentences) + 1), f"The topic-new{rng.randrange(9)} is here")
        file.write_text(". ".join(sentences))
    elif action == "copy":
        corpus.write(rng.choice(PATHS), rng.choice(files).read_text())
    elif action == "delete":
        rng.choice(files).unlink()
    elif action == "rename":
        target = corpus.folder / rng.choice(PATHS)
        target.parent.mkdir(parents=True, exist_ok=True)
        rng.choice(files).rename(target)
    else:
        folders = [p for p in corpus.folder.iterdir() if p.is_dir()]
        target = corpus.folder / f"g{rng.randrange(3)}"
        if folders and not target.exists():
            shutil.move(rng.choice(folders), target)


async def run(corpus: Corpus, rng: random.Random) -> None:
    """Build, half of the time after a crash at a random moment."""
    if rng.random() < 0.5:
        point = Failpoint(rng.randrange(2, 40), after=rng.random() < 0.5)
        with point.installed(), contextlib.suppress(Exception):
            await corpus.build()
    await corpus.build()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("seed", "runs"),
    [pytest.param(1, 4, id="short"), *(pytest.param(s, 50, id=f"long{s}", marks=pytest.mark.soak) for s in range(10))],
)
def test_any_history_gives_the_tree_of_a_first_build(corpus: Corpus, oracle: Corpus, seed: int, runs: int) -> None:
    """Random histories, crashes among them: 0 different trees."""
    rng = random.Random(seed)
    fill(corpus)
    for _ in range(runs):
        for _ in range(rng.randrange(1, 5)):
            step(corpus, rng)
        if not list(corpus.folder.rglob("*.txt")):
            corpus.write("a.txt", prose(1, 5))
        asyncio.run(run(corpus, rng))
        reset(oracle)
        asyncio.run(oracle.build())
        assert corpus.tree() == oracle.tree()
