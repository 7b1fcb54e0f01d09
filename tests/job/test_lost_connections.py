"""Connections which are cut at any byte, also during COMMIT: the run ends by itself, nothing is doubled."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tree_builder.model import Answer, Request, Usage
from tree_builder.store.database import Database
from tree_builder.store.memo import PostgresMemo

from .cutting_proxy import CuttingProxy
from .support import Corpus, prose


def check(url: str) -> dict[str, object]:
    """Run `tree-builder check`."""
    command = [sys.executable, "-m", "tree_builder.cli", "check", "--json", "--database", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("seeds", "documents"),
    [pytest.param(range(2), 4, id="short"), pytest.param(range(20), 12, id="long", marks=pytest.mark.soak)],
)
async def test_a_build_over_connections_which_are_cut(corpus: Corpus, seeds: range, documents: int) -> None:
    """Each connection lasts for some ten thousand bytes: the same tree as without, no row doubled, every law holds."""
    direct = corpus.url
    for index in range(documents):
        corpus.write(f"d{index % 3}/{index}.txt", prose(index, 20))
    await corpus.build()
    expected = corpus.tree()
    cuts = 0
    for seed in seeds:
        for table in ("corpora", "memo", "vectors", "texts"):
            corpus.rows(f"with gone as (delete from tree_builder.{table} returning 1) select count(*) from gone")
        with CuttingProxy(direct, seed=seed, mean_bytes=40_000) as proxy:
            corpus.url = proxy.url
            report = await corpus.build(database_url=proxy.url)
            cuts += proxy.cuts
        corpus.url = direct
        assert report.as_json()["status"] == "published"
        assert corpus.tree() == expected
        assert corpus.rows("select count(*) from tree_builder.runs where state = 'running'") == [(0,)]
        check(direct)
    assert cuts >= len(seeds)
    print(f"connections cut: {cuts}, runs: {len(seeds)}, different trees: 0")


async def test_an_answer_is_kept_once_however_often_commits_are_cut(database_url: str) -> None:
    """Four hundred answers through connections cut every few kilobytes, some while committing: each is there, once, whole."""
    with CuttingProxy(database_url, seed=5, mean_bytes=20_000) as proxy:
        proxy.cutting = False
        async with Database.open(proxy.url, max_size=4) as db:
            proxy.cutting = True
            memo = PostgresMemo(db)
            requests = [
                Request("summarize", {"model": "m", "n": n}, uuid.uuid5(uuid.NAMESPACE_OID, str(n)).bytes)
                for n in range(400)
            ]
            for n, request in enumerate(requests):
                kept = await memo.keep(request, Answer(f"answer {n} " + "x" * 300, Usage(1, 2, 3)))
                assert kept.text.startswith(f"answer {n} ")
            proxy.cutting = False
            assert await db.get("select count(*) from tree_builder.memo", int) == 400
            assert await db.get("select count(distinct answer) from tree_builder.memo", int) == 400
        assert proxy.cuts >= 5
        print(f"connections cut: {proxy.cuts}, answers lost: 0, doubled: 0")


def test_the_proxy_tears_what_passes(database_url: str) -> None:
    """The proxy itself: without cutting a query passes, with it the connection breaks in the middle."""
    import psycopg

    with CuttingProxy(database_url, seed=1, mean_bytes=1) as proxy:
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(proxy.url)
        assert proxy.cuts >= 1
        proxy.cutting = False
        with psycopg.connect(proxy.url) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    assert not Path(str(psycopg.conninfo.conninfo_to_dict(proxy.url)["host"])).exists()
