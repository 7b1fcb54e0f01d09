"""Nights: budgets, locks, kept versions, readers, and many runs in a row."""

from __future__ import annotations

import asyncio
import json

import psycopg
import pytest

from tree_builder.errors import NothingPublished, ProviderRejected, RunInProgress
from tree_builder.job.check import check
from tree_builder.job.estimate import estimate
from tree_builder.job.metrics import write_metrics
from tree_builder.job.run import build
from tree_builder.store.corpora import Corpora
from tree_builder.store.database import Database
from tree_builder.store.locks import CorpusLock

from .support import PRICE_USD, Corpus, prose


def fill(corpus: Corpus, n: int = 5) -> None:
    for index in range(n):
        corpus.write(f"d{index % 3}/{index}.txt", prose(index, 12 + index))


async def broken(corpus: Corpus) -> dict[str, tuple[str, ...]]:
    return {f.law: f.examples for r in await check(corpus.settings) for f in r.findings if f.broken}


async def test_half_a_budget_publishes_what_is_whole(corpus: Corpus, tmp_path: object) -> None:
    """With half the price the overspend is at most the calls in flight, the laws hold, and the next run completes the tree."""
    fill(corpus, 8)
    whole = await corpus.build()
    price = whole.as_json()["cost_usd"]
    expected = corpus.tree()
    corpus.rows("delete from tree_builder.corpora returning corpus")
    corpus.rows("with x as (delete from tree_builder.memo returning 1) select count(*) from x")
    report = await corpus.build(max_usd=price / 2, concurrency=2)
    assert report.exit_code == 3
    assert report.as_json()["cost_usd"] <= price / 2 + corpus.settings.concurrency * PRICE_USD
    deferred = {p.doc_path for p in report.problems}
    assert deferred
    assert report.as_json()["documents"]["deferred"] == len(deferred)
    assert not await broken(corpus)
    paid = set(corpus.models.paid_keys)
    report = await corpus.build()
    assert report.exit_code == 0
    assert not paid & set(corpus.models.paid_keys), "nothing is paid twice"
    assert corpus.tree() == expected


async def test_a_taken_corpus_is_refused_at_once(corpus: Corpus) -> None:
    """A second run ends with code 75 and says who has the corpus; other corpora go on; the lock dies with its holder."""
    fill(corpus, 1)
    async with Database.open(corpus.url) as db:
        stored = await Corpora(db).upsert("c", "x")
        async with CorpusLock(db, corpus.url, "c", stored.corpus_id):
            await Corpora(db).begin_run(stored.corpus_id, "someone pid 1", {})
            with pytest.raises(RunInProgress, match="someone pid 1") as caught:
                await corpus.build()
            assert caught.value.exit_code == 75
            other = await build(corpus.folder, corpus.settings, corpus="other", models=corpus.models)
            assert other.exit_code == 0
    assert (await corpus.build()).exit_code == 0


async def test_two_runs_at_once_pay_nothing_twice(corpus: Corpus) -> None:
    """Of two runs of one corpus started together one does the work, the other is refused."""
    fill(corpus)
    results = await asyncio.gather(corpus.build(), corpus.build(), return_exceptions=True)
    assert sorted(type(r).__name__ for r in results) == ["Report", "RunInProgress"]
    assert len(corpus.models.paid_keys) == len(set(corpus.models.paid_keys))


async def test_nothing_to_publish_is_an_error(corpus: Corpus) -> None:
    """A folder without any text publishes nothing and says so."""
    corpus.write("blank.txt", "  \n ")
    with pytest.raises(NothingPublished):
        await corpus.build()
    assert corpus.rows("select state from tree_builder.runs") == [("failed",)]


async def test_a_wrong_key_stops_the_run(corpus: Corpus) -> None:
    """What no retry can help stops the run at once with exit code 4; the tree of the night before stays."""
    fill(corpus)
    await corpus.build()
    before = corpus.tree()
    corpus.write("d0/0.txt", prose(99, 30))
    corpus.models.fail_when = lambda kind, text: ProviderRejected("the key is wrong")
    with pytest.raises(ProviderRejected) as caught:
        await corpus.build()
    assert caught.value.exit_code == 4
    assert corpus.tree() == before


async def test_versions_are_kept_and_then_removed(corpus: Corpus) -> None:
    """The last `keep` published runs can be read as they were; older rows, texts, vectors and answers are gone."""
    fill(corpus, 3)
    seen: dict[int, list[tuple[object, ...]]] = {}
    for night in range(6):
        corpus.write("d0/0.txt", prose(100 + night, 14))
        report = await corpus.build(keep=3)
        assert report.run_id is not None
        seen[report.run_id] = corpus.rows("select node_id, content from tree_builder.nodes order by 1")
    kept = [row[0] for row in corpus.rows("select run_id from tree_builder.runs where state = 'published' order by 1")]
    assert kept == sorted(seen)[-3:]
    for run in kept:
        then = corpus.rows(
            "select n.node_id, t.content from tree_builder.node n join tree_builder.texts t using (text_id)"
            " where n.since_run <= %s and n.until_run > %s order by 1",
            run,
            run,
        )
        assert then == seen[run]
    assert not corpus.rows("select 1 from tree_builder.node where until_run <= %s", kept[0])
    assert not corpus.rows("select 1 from tree_builder.document_summaries where built_at is null")
    assert not corpus.rows(
        "select 1 from tree_builder.texts t where not exists (select 1 from tree_builder.node n where n.text_id = t.text_id)"
    )
    assert not await broken(corpus)


async def test_pruning_spares_what_a_kept_tree_needs(corpus: Corpus) -> None:
    """After many nights an edit of a document left alone all the while pays only for what the edit reaches."""
    corpus.write("a/old.txt", prose(1, 60))
    await corpus.build(keep=1)
    first_cost = corpus.models.paid.total()
    for night in range(4):
        corpus.write("b/busy.txt", prose(50 + night, 10))
        await corpus.build(keep=1)
    text = (corpus.folder / "a/old.txt").read_text()
    corpus.write("a/old.txt", text + " The topic-a1 has one more end.")
    await corpus.build(keep=1)
    assert 0 < corpus.models.paid.total() < first_cost / 3
    assert len(corpus.models.embedded) <= 8


async def test_readers_see_one_whole_version(corpus: Corpus) -> None:
    """While runs publish, every read sees one version: one root, and its document's text as of that run."""
    corpus.write("a.txt", "Version 0 of the topic-x. " + prose(1, 10))
    corpus.write("b.txt", "Version 0 of the topic-y. " + prose(2, 10))
    await corpus.build()
    stop = asyncio.Event()
    mixed: list[object] = []
    reads = 0

    async def read() -> None:
        nonlocal reads
        async with await psycopg.AsyncConnection.connect(corpus.url, autocommit=True) as connection:
            while not stop.is_set():
                cursor = await connection.execute(
                    "select array_agg(distinct substring(content from 'Version ([0-9]+) of'))"
                    " filter (where node_type = 'chunk' and char_start = 0),"
                    " count(*) filter (where node_type = 'root') from tree_builder.nodes"
                )
                row = await cursor.fetchone()
                reads += 1
                if row is None or len(row[0]) != 1 or row[1] != 1:
                    mixed.append(row)
                await asyncio.sleep(0)

    reader = asyncio.create_task(read())
    for night in range(1, 6):
        corpus.write("a.txt", f"Version {night} of the topic-x. " + prose(1, 10))
        corpus.write("b.txt", f"Version {night} of the topic-y. " + prose(2, 10))
        await corpus.build()
    stop.set()
    await reader
    assert reads > 5
    assert not mixed


async def test_a_dry_run_asks_no_model_and_writes_nothing(corpus: Corpus) -> None:
    """The estimate's range holds what the build then takes, and nothing is stored by estimating."""
    fill(corpus)
    found = await estimate(corpus.folder, corpus.settings, corpus="c")
    assert not corpus.rows("select 1 from tree_builder.corpora")
    report = (await corpus.build()).as_json()
    assert found.chunks == report["nodes"]["chunk"]
    calls = report["model_calls"]["summarize"] + report["model_calls"]["boundary"]
    assert found.summarize.low + found.boundary.low <= calls <= found.summarize.high + found.boundary.high
    assert found.usd.high > found.usd.low > 0
    again = await estimate(corpus.folder, corpus.settings, corpus="c")
    assert (again.chunks, again.usd.high) == (0, 0)


async def test_metrics_are_prometheus_text(corpus: Corpus, tmp_path: object) -> None:
    """Each line is a comment or `name{labels} number`; the file is replaced whole."""
    import re
    from pathlib import Path

    fill(corpus, 2)
    report = await corpus.build()
    file = Path(str(tmp_path)) / "m.prom"
    write_metrics(file, report)
    lines = file.read_text().splitlines()
    assert 'tree_builder_last_run_documents{corpus="c",outcome="added"} 2' in lines
    assert all(re.fullmatch(r"# (HELP|TYPE) .+|tree_builder_\w+\{[^}]*\} -?[\d.e+-]+", line) for line in lines)
    assert [p.name for p in file.parent.iterdir() if p.name.startswith(".m.prom")] == []


async def test_the_report_is_kept_with_the_run(corpus: Corpus) -> None:
    """The table `runs` holds the report which the command prints, and no secret."""
    fill(corpus, 2)
    report = await corpus.build()
    stored = corpus.rows("select state, report, settings::text from tree_builder.runs")[0]
    assert stored[0] == "published"
    assert stored[1]["nodes"] == json.loads(json.dumps(report.as_json()))["nodes"]
    assert corpus.url not in stored[2]


@pytest.mark.parametrize("nights", [pytest.param(5, id="short"), pytest.param(24, id="long", marks=pytest.mark.soak)])
async def test_many_nights_leave_the_database_flat(corpus: Corpus, nights: int) -> None:
    """Night after night with the same amount of change, rows, connections and memory do not grow."""
    import os

    import psutil

    fill(corpus, 6)
    sizes, memory, connections = [], [], []
    for night in range(nights):
        for index in range(3):
            corpus.write(f"d{index}/{index}.txt", prose(1000 + night * 10 + index, 15))
        await corpus.build(keep=2)
        sizes.append(
            corpus.rows(
                "select (select count(*) from tree_builder.node) + (select count(*) from tree_builder.texts)"
                " + (select count(*) from tree_builder.vectors) + (select count(*) from tree_builder.memo)"
                " + (select count(*) from tree_builder.memo_uses)"
            )[0][0]
        )
        memory.append(psutil.Process(os.getpid()).memory_info().rss / 1e6)
        connections.append(
            corpus.rows("select count(*) from pg_stat_activity where datname = current_database()")[0][0]
        )
    assert max(sizes[3:]) <= 1.25 * sizes[3]
    assert max(connections) <= 8, "each night closes its own; some may still be ending"
    assert memory[-1] - memory[3 - 1] < 40
