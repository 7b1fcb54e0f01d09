"""Crashes at commit points: whatever was committed when a run died, the next one ends with the same tree and pays nothing twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from tree_builder.job.check import check
from tree_builder.store.database import Database

from .support import Corpus, prose


class Crash(Exception):
    """The process dies here."""


class Failpoint:
    """Lets the n-th use of a connection crash, before or after it took effect, and every later one with it."""

    def __init__(self, at: int | None, *, after: bool) -> None:
        self.at, self.after, self.uses, self.dead = at, after, 0, False

    @contextmanager
    def installed(self) -> Iterator[None]:
        real = Database.connection
        point = self

        @asynccontextmanager
        async def connection(db: Database) -> AsyncIterator[Any]:
            if point.dead:
                raise Crash
            async with real(db) as conn:
                yield conn
                point.uses += 1
                if point.at == point.uses:
                    point.dead = True
                    if not point.after:
                        raise Crash
            if point.dead and point.after:
                raise Crash

        Database.connection = connection  # type: ignore[method-assign]
        try:
            yield
        finally:
            Database.connection = real  # type: ignore[method-assign]


def reset(corpus: Corpus) -> None:
    corpus.rows("delete from tree_builder.corpora returning corpus")
    for table in ("memo", "vectors", "texts"):
        corpus.rows(f"with x as (delete from tree_builder.{table} returning 1) select count(*) from x")


def fill(corpus: Corpus) -> None:
    for index in range(6):
        corpus.write(f"d{index % 2}/{index}.txt", prose(index, 8 + index))


async def crash_at(corpus: Corpus, n: int, *, after: bool) -> None:
    """Build until the n-th use of a connection; a run whose answers came in fewer batches ends before it."""
    point = Failpoint(n, after=after)
    with point.installed():
        try:
            await corpus.build()
        except Exception:
            if not point.dead:
                raise


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "every", [pytest.param(9, id="short"), pytest.param(1, id="exhaustive", marks=pytest.mark.soak)]
)
async def test_a_crash_at_any_commit_point_changes_nothing(corpus: Corpus, every: int) -> None:
    """Points of crash, all of a run's or every n-th: 0 different trees, 0 answers paid twice beyond those in flight."""
    fill(corpus)
    count = Failpoint(None, after=True)
    with count.installed():
        await corpus.build()
    expected = corpus.tree()
    for n in range(1, count.uses + 1, every):
        for after in (False, True):
            reset(corpus)
            await crash_at(corpus, n, after=after)
            kept = set(corpus.models.paid_keys) - corpus.models.in_flight
            await corpus.build()
            assert corpus.tree() == expected, f"crash at {n}, after={after}"
            again = kept & set(corpus.models.paid_keys)
            assert not again, f"crash at {n}: {len(again)} kept answers paid twice"
    results = await check(corpus.settings)
    assert not [f for r in results for f in r.findings if f.broken]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_crash_while_changing_a_published_tree_serves_the_old_one(corpus: Corpus) -> None:
    """Until the swap readers see the old tree, whatever a dead run had written; the next run cleans up."""
    fill(corpus)
    count = Failpoint(None, after=True)
    await corpus.build()
    before = corpus.tree()
    corpus.write("d0/0.txt", prose(77, 12))
    (corpus.folder / "d1/1.txt").unlink()
    with count.installed():
        await corpus.build()
    expected = corpus.tree()
    n_uses = count.uses
    for n in range(3, n_uses, max(1, n_uses // 5)):
        reset(corpus)
        fill(corpus)
        await corpus.build()
        assert corpus.tree() == before
        corpus.write("d0/0.txt", prose(77, 12))
        (corpus.folder / "d1/1.txt").unlink()
        await crash_at(corpus, n, after=False)
        published = corpus.rows("select published_run from tree_builder.corpora")[0][0]
        assert corpus.tree() == (before if published == _first_run(corpus) else expected)
        await corpus.build()
        assert corpus.tree() == expected


def _first_run(corpus: Corpus) -> int:
    return int(corpus.rows("select min(run_id) from tree_builder.runs")[0][0])
