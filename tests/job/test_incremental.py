"""Cost follows change (law 6): each test changes one thing and counts what was paid, written and left alone."""

from __future__ import annotations

import os
import shutil

import pytest

from tree_builder.errors import BadModelOutput
from tree_builder.job.check import check
from tree_builder.job.run import Options

from .support import Corpus, prose


async def all_laws_hold(corpus: Corpus) -> bool:
    results = await check(corpus.settings)
    assert results
    assert not {f.law: f.examples for r in results for f in r.findings if f.broken}
    return True


def fill(corpus: Corpus) -> None:
    for n, path in enumerate(["top.txt", "a/one.txt", "a/two.txt", "a/deep/er/three.txt", "b/four.txt", "b/five.txt"]):
        corpus.write(path, prose(n, 20 + n))


async def test_first_build_makes_one_tree_with_all_tops(corpus: Corpus) -> None:
    """Each document has its doc_top, each directory its dir_top, the corpus its root, and the laws hold."""
    fill(corpus)
    report = await corpus.build()
    assert report.exit_code == 0
    assert report.as_json()["documents"]["added"] == 6
    tops = corpus.rows(
        "select node_type, coalesce(doc_path, dir_path) from tree_builder.nodes where node_type like '%%top'"
    )
    assert sorted(tops) == sorted(
        [
            ("doc_top", p)
            for p in ("top.txt", "a/one.txt", "a/two.txt", "a/deep/er/three.txt", "b/four.txt", "b/five.txt")
        ]
        + [("dir_top", p) for p in ("a", "a/deep", "a/deep/er", "b")]
    )
    assert await all_laws_hold(corpus)


async def test_leaves_joined_are_the_text(corpus: Corpus) -> None:
    """The chunks of a document, overlaps removed, are its text."""
    text = prose(3, 40)
    corpus.write("a.txt", text)
    await corpus.build()
    chunks = corpus.rows(
        "select content, overlap from tree_builder.nodes where node_type = 'chunk' order by char_start"
    )
    assert "".join(content[overlap:] for content, overlap in chunks) == text


async def test_nothing_changed_costs_nothing(corpus: Corpus) -> None:
    """A second run asks no model and writes no node."""
    fill(corpus)
    await corpus.build()
    before = corpus.tree()
    report = await corpus.build()
    assert not corpus.models.paid
    assert not corpus.models.embedded
    assert (report.nodes_written, report.nodes_ended) == (0, 0)
    assert report.as_json()["documents"]["unchanged"] == 6
    assert corpus.tree() == before


async def test_no_new_word_waits_outside_its_index(corpus: Corpus) -> None:
    """After a small change no page of words is left which every search would read whole."""
    fill(corpus)
    await corpus.build()
    corpus.write("a/one.txt", prose(40, 30))
    await corpus.build()
    waiting = corpus.rows("select gin_clean_pending_list('tree_builder.texts_words_idx')")
    assert waiting == [(0,)]


async def test_touched_files_are_hashed_and_left_alone(corpus: Corpus) -> None:
    """A file with a new time and the same bytes costs no call and no node."""
    fill(corpus)
    await corpus.build()
    os.utime(corpus.folder / "a/one.txt", ns=(1, 1))
    report = await corpus.build()
    assert (sum(corpus.models.paid.values()), report.nodes_written) == (0, 0)
    assert report.as_json()["documents"]["unchanged"] == 6


async def test_same_size_and_time_is_found_by_rehash(corpus: Corpus) -> None:
    """--rehash finds a change which size and time hide."""
    fill(corpus)
    file = corpus.folder / "b/four.txt"
    os.utime(file, ns=(10**18, 10**18))
    await corpus.build()
    file.write_text(file.read_text().replace("har", "tar"))
    os.utime(file, ns=(10**18, 10**18))
    assert (await corpus.build()).as_json()["documents"]["changed"] == 0
    assert (await corpus.build(options=Options(rehash=True))).as_json()["documents"]["changed"] == 1


async def test_an_edit_reaches_only_what_is_above_it(corpus: Corpus) -> None:
    """One changed document: other documents' nodes keep their ids, only its directories grow again."""
    fill(corpus)
    await corpus.build()
    before = corpus.tree()
    corpus.write("a/one.txt", prose(1, 21) + " One more sentence about the topic-a1 was added.")
    report = await corpus.build()
    after = corpus.tree()
    changed = {row[5] or row[4] for node_id, row in after.items() if node_id not in before}
    assert report.as_json()["documents"] | {"changed": 1, "unchanged": 5} == report.as_json()["documents"]
    assert {p[4] for p in after.values() if p[4]} == {p[4] for p in before.values() if p[4]}
    assert changed <= {"a/one.txt", "a", "."}
    assert all(node_id in after for node_id, row in before.items() if row[4] and row[4] != "a/one.txt")
    assert len(corpus.models.embedded) <= 8
    assert await all_laws_hold(corpus)


async def test_incremental_equals_from_scratch(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> None:
    """After edits, moves and deletions the tree is, id for id, that of a first build (law 3)."""
    fill(corpus)
    await corpus.build()
    corpus.write("a/one.txt", prose(1, 15))
    corpus.write("new/six.txt", prose(6, 9))
    (corpus.folder / "a/two.txt").unlink()
    shutil.move(corpus.folder / "b", corpus.folder / "c")
    await corpus.build()
    incremental = corpus.tree()
    with_fresh_name = corpus.rows("delete from tree_builder.corpora returning corpus")
    assert with_fresh_name == [("c",)]
    corpus.rows("with x as (delete from tree_builder.memo returning 1) select count(*) from x")
    await corpus.build()
    assert corpus.tree() == incremental


@pytest.mark.parametrize(("source", "target"), [("b", "c"), ("a", "z/y")])
async def test_renaming_a_directory_costs_no_document_call(corpus: Corpus, source: str, target: str) -> None:
    """Moved documents are not read, embedded or grown; only directories above may ask."""
    fill(corpus)
    await corpus.build()
    (corpus.folder / target).parent.mkdir(exist_ok=True)
    shutil.move(corpus.folder / source, corpus.folder / target)
    report = await corpus.build()
    n_moved = sum(1 for p in (corpus.folder / target).rglob("*.txt"))
    assert report.as_json()["documents"]["moved"] == n_moved
    assert report.as_json()["documents"]["deleted"] == 0
    assert report.as_json()["seconds"]["read"] == 0
    assert sum(corpus.models.paid.values()) <= 2 * len({"a", "a/deep", "a/deep/er", "b", "."})
    assert await all_laws_hold(corpus)


async def test_same_bytes_at_many_paths_are_grown_once(corpus: Corpus) -> None:
    """A hundred copies cost the calls of one, and each path has its own top."""
    text = prose(5, 30)
    corpus.write("one.txt", text)
    await corpus.build()
    alone = corpus.models.paid.total() + len(corpus.models.embedded)
    corpus.rows("delete from tree_builder.corpora returning corpus")
    corpus.rows("with x as (delete from tree_builder.memo returning 1) select count(*) from x")
    corpus.rows("with x as (delete from tree_builder.vectors returning 1) select count(*) from x")
    for n in range(100):
        corpus.write(f"copy/{n:03}.txt", text)
    await corpus.build()
    in_directories = corpus.rows("select count(*) from tree_builder.nodes where doc_path is null")[0][0]
    assert corpus.models.paid.total() + len(corpus.models.embedded) <= alone + 6 * in_directories + 200
    assert corpus.rows("select count(*) from tree_builder.nodes where node_type = 'doc_top'") == [(101,)]
    chunks = corpus.rows("select count(distinct text_id), count(*) from tree_builder.nodes where node_type = 'chunk'")[
        0
    ]
    assert chunks[1] == 101 * chunks[0]
    assert await all_laws_hold(corpus)


async def test_deleted_documents_leave_nothing_behind(corpus: Corpus) -> None:
    """After a deletion no row and no summary above holds anything of the document."""
    fill(corpus)
    corpus.write("b/secret.txt", prose(9, 25, topic="topic-secret"))
    await corpus.build()
    assert corpus.rows("select 1 from tree_builder.nodes where node_type = 'root' and content like '%%topic-secret%%'")
    (corpus.folder / "b/secret.txt").unlink()
    report = await corpus.build()
    assert report.as_json()["documents"]["deleted"] == 1
    assert not corpus.rows(
        "select 1 from tree_builder.nodes where content like '%%topic-secret%%' or doc_path = 'b/secret.txt'"
    )
    assert not corpus.rows("select 1 from tree_builder.documents where doc_path = 'b/secret.txt'")
    assert await all_laws_hold(corpus)


async def test_deleting_everything_publishes_an_empty_tree(corpus: Corpus) -> None:
    """Deleted is gone, also when it was the last one; a new document then grows a tree again."""
    file = corpus.write("a/one.txt", prose(1, 10))
    await corpus.build()
    file.unlink()
    await corpus.build()
    assert corpus.tree() == {}
    corpus.write("a/one.txt", prose(1, 10))
    report = await corpus.build()
    assert report.nodes["root"] == 1
    assert not corpus.models.paid, "what was paid for once is not paid for again"


async def test_unreadable_tonight_keeps_last_nights_tree(corpus: Corpus) -> None:
    """A file which cannot be read any more keeps its tree, stale with a reason, until it is readable or deleted."""
    fill(corpus)
    await corpus.build()
    before = corpus.tree()
    file = corpus.folder / "a/one.txt"
    good = file.read_bytes()
    file.unlink()
    (corpus.folder / "a/one.txt").write_bytes(b"")
    os.truncate(file, 600 * 1024 * 1024)
    report = await corpus.build()
    assert report.exit_code == 3
    assert corpus.tree() == before
    assert corpus.rows("select status, stale, reason <> '' from tree_builder.documents where stale") == [
        ("too_large", True, True)
    ]
    file.write_bytes(good)
    report = await corpus.build()
    assert report.exit_code == 0
    assert not corpus.rows("select 1 from tree_builder.documents where stale")
    assert corpus.tree() == before


async def test_one_bad_answer_fails_one_document(corpus: Corpus) -> None:
    """A document whose summary cannot be had fails alone; the next run tries it again."""
    fill(corpus)
    corpus.write("b/bad.txt", prose(8, 30, topic="topic-bad"))
    corpus.models.fail_when = lambda kind, text: BadModelOutput("empty twice") if "topic-bad" in text else None
    report = await corpus.build()
    assert (report.exit_code, report.as_json()["documents"]["failed"]) == (3, 1)
    assert report.problems[0].doc_path == "b/bad.txt"
    assert not corpus.rows("select 1 from tree_builder.nodes where doc_path = 'b/bad.txt'")
    assert await all_laws_hold(corpus)
    corpus.models.fail_when = lambda kind, text: None
    assert (await corpus.build()).exit_code == 0
    assert corpus.rows("select 1 from tree_builder.nodes where doc_path = 'b/bad.txt' and node_type = 'doc_top'")


async def test_a_directory_without_summary_is_grown_again(corpus: Corpus) -> None:
    """Extracts stand in for a directory's missing summary, flagged; the next run ends with the tree of a good one."""
    fill(corpus)
    await corpus.build()
    good = corpus.tree()
    corpus.rows("delete from tree_builder.corpora returning corpus")
    corpus.rows("with x as (delete from tree_builder.memo returning 1) select count(*) from x")
    in_directory = {row[6] for row in good.values() if row[0] == "doc_top"}
    corpus.models.fail_when = lambda kind, text: (
        BadModelOutput("refused") if kind == "summarize" and all(t in in_directory for t in text.split("\n")) else None
    )
    report = await corpus.build()
    assert report.warnings
    assert corpus.rows("select 1 from tree_builder.nodes where flags::text like '%%fallback%%'")
    assert await all_laws_hold(corpus)
    corpus.models.fail_when = lambda kind, text: None
    await corpus.build()
    assert corpus.tree() == good


async def test_settings_which_change_rebuild_what_they_touch(corpus: Corpus) -> None:
    """Another chunk size builds every document anew and says so; asked again it costs nothing."""
    fill(corpus)
    await corpus.build()
    report = await corpus.build(chunk_size=200)
    assert report.as_json()["documents"]["changed"] == 6
    assert any("cut" in change for change in report.rebuilt)
    report = await corpus.build(chunk_size=200)
    assert (corpus.models.paid.total(), report.nodes_written) == (0, 0)


async def test_a_new_embedding_model_embeds_anew_without_summaries(corpus: Corpus) -> None:
    """Another model is refused, and with --reembed every text has a vector of it, no summary being asked for."""
    from tree_builder.errors import Conflict

    fill(corpus)
    await corpus.build()
    before = corpus.tree()
    corpus.models.name, corpus.models.dimensions = "other-embedder", 48
    with pytest.raises(Conflict, match="--reembed"):
        await corpus.build(embedding_model="other-embedder")
    await corpus.build(embedding_model="other-embedder", options=Options(reembed=True))
    assert not corpus.models.paid
    assert corpus.tree() == before
    assert corpus.rows("select distinct vector_dims(embedding) from tree_builder.nodes") == [(48,)]
    assert await all_laws_hold(corpus)
