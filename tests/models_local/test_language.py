from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tree_builder.errors import BudgetExceeded, ConfigError
from tree_builder.model import NodeType, Tree
from tree_builder.models.local.language import ExtractiveModel, request_of, task_of
from tree_builder.models.local.pool import WorkerPool
from tree_builder.testing.fakes import MemoryMemo, NullLedger

FIRST = "The mill of the village grinds the corn of the farmers. It rains. "
SECOND = "The farmers bring the corn of the village to the mill by boat. Nobody sings."


def chunk(content: str, *, start: int = 0, overlap: int = 0) -> Tree:
    return Tree(NodeType.CHUNK, content, 0, char_start=start, overlap=overlap)


def over(node_type: NodeType, content: str, *children: Tree) -> Tree:
    return Tree(node_type, content, 1 + max((c.level for c in children), default=0), children=children)


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(1)
    yield pool
    await pool.close()


async def test_a_summary_is_an_extract_and_is_kept(pool: WorkerPool):
    """A summary's lines stand in the chunks; asked again it comes from the memo, and both are counted."""
    memo, ledger = MemoryMemo(), NullLedger()
    model = ExtractiveModel(pool, memo, ledger, summary_chars=200)
    items = [chunk(FIRST), chunk(SECOND, start=len(FIRST))]
    first = await model.summarize(items)
    assert all(line in FIRST + SECOND for line in first.content.split("\n"))
    assert first.flags == ()
    again = await model.summarize(items)
    assert again == first
    assert (ledger.usage["summarize"].calls, ledger.memo_hits["summarize"], len(memo.answers)) == (1, 1, 1)


async def test_a_kept_answer_starts_no_process():
    """A night on which nothing changed asks the memo alone."""
    memo, ledger = MemoryMemo(), NullLedger()
    pool = WorkerPool(1)
    await ExtractiveModel(pool, memo, ledger, summary_chars=200).summarize([chunk(FIRST)])
    await pool.close()
    idle = WorkerPool(1)
    await ExtractiveModel(idle, memo, ledger, summary_chars=200).summarize([chunk(FIRST)])
    assert idle.processes == 0
    await idle.close()


async def test_a_spent_budget_starts_nothing():
    """When the run may spend no more, no extract is made, and nothing is kept."""

    class Spent(NullLedger):
        def before_call(self, kind: str) -> None:
            raise BudgetExceeded(f"no {kind}")

    memo, pool = MemoryMemo(), WorkerPool(1)
    with pytest.raises(BudgetExceeded):
        await ExtractiveModel(pool, memo, Spent(), summary_chars=200).summarize([chunk(FIRST)])
    assert (pool.processes, memo.answers) == (0, {})
    await pool.close()


async def test_questions_are_refused(pool: WorkerPool):
    """An extractor answers no questions; the error names the setting which needs none."""
    model = ExtractiveModel(pool, MemoryMemo(), NullLedger(), summary_chars=200)
    with pytest.raises(ConfigError, match="boundaries = 'embedding'"):
        await model.changes_topic("summary", chunk(FIRST))
    with pytest.raises(ConfigError, match="boundaries = 'embedding'"):
        await model.first_new_topic([chunk(FIRST)])


async def test_sizes_are_characters(pool: WorkerPool):
    """An item's size is its characters, and a prompt holds many."""
    model = ExtractiveModel(pool, MemoryMemo(), NullLedger(), summary_chars=200)
    assert model.size(chunk("abc")) == 3
    assert model.prompt_size >= 100_000


def key(items: list[Tree], chars: int = 200) -> bytes:
    return request_of(task_of(items, chars)).key


def test_the_key_is_of_the_whole_request():
    """Another text, order, length, overlap, place or text below gives another key; equal items give an equal one."""
    a, b = chunk(FIRST), chunk(SECOND, start=9)
    keys = [
        key([a, b]),
        key([b, a]),
        key([a]),
        key([a, b], 300),
        key([a, chunk(SECOND, start=9, overlap=5)]),
        key([chunk(FIRST, start=7), b]),
        key([over(NodeType.SUMMARY, "s", a), over(NodeType.SUMMARY, "t", b)]),
        key([over(NodeType.SUMMARY, "s", b), over(NodeType.SUMMARY, "t", b)]),
    ]
    assert len(set(keys)) == len(keys)
    assert key([a, b]) == key([chunk(FIRST), chunk(SECOND, start=9)])


def test_inside_a_document_the_chunks_below_are_the_context():
    """Upper levels choose among the items' sentences by the words of the chunks below, and know a document's beginning."""
    below = [chunk(FIRST), chunk(SECOND, start=len(FIRST), overlap=3)]
    task = task_of([over(NodeType.SUMMARY, "s", below[0]), over(NodeType.SUMMARY, "t", below[1])], 200)
    assert [text for text, _, _ in task["items"]] == ["s", "t"]
    assert task["context"] == [(FIRST, 0, True), (SECOND, 3, True)]
    assert (task["leads"], task["covering"]) == (True, False)
    assert task_of([below[1]], 200)["leads"] is False


def test_above_documents_each_document_is_an_item():
    """Summaries between a directory's documents and its top are seen through, and what lies below a document is not looked at."""
    tops = [over(NodeType.DOC_TOP, name, chunk(FIRST)) for name in "abc"]
    middle = over(NodeType.SUMMARY, "m", tops[0], tops[1])
    task = task_of([middle, tops[2]], 200)
    assert [text for text, _, _ in task["items"]] == ["a", "b", "c"]
    assert (task["context"], task["covering"]) == ([], True)
    bare = [Tree(NodeType.DOC_TOP, name, 1) for name in "abc"]
    assert key([middle, tops[2]]) == key([over(NodeType.SUMMARY, "m", bare[0], bare[1]), bare[2]])
