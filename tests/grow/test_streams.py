"""Directories and single levels: items which arrive one after another, out of order, late, or not at all."""

from __future__ import annotations

import asyncio
import random

import pytest

from tree_builder.errors import BadModelOutput
from tree_builder.grow import Grower
from tree_builder.model import NodeType, Tree
from tree_builder.settings import Settings
from tree_builder.testing import clock

from . import reference
from .support import KINDS, Model, Vectors, chunks, contents, oracle, plain, short_summary

SETTINGS = Settings(models="openai", boundaries="each")


def top(text: str, at: int = 0) -> Tree:
    return Tree(NodeType.DOC_TOP, text, level=2, char_start=0, char_end=9, page_start=1, page_end=1, doc_path=f"{at}")


def grower(changes=lambda s, i: True, **more) -> Grower:
    return Grower(Model(changes), Vectors(), SETTINGS.but(**more))


async def one_by_one(items):
    for item in items:
        yield item


async def test_lone_document_becomes_a_directory_of_its_own():
    """A directory of one document is a top of its own with the document's content, made without a model call."""
    model = Model(lambda s, i: True)
    tree = await Grower(model, Vectors(), SETTINGS).grow_directory(
        one_by_one([top("only")]), top=NodeType.ROOT, dir_path="."
    )
    assert (tree.node_type, tree.content, tree.level, tree.dir_path, tree.doc_path) == ("root", "only", 3, ".", None)
    assert [child.node_type for child in tree.children] == [NodeType.DOC_TOP]
    assert model.asked == []


async def test_lone_chunk_becomes_a_document_with_its_place():
    """A document of one chunk is a doc_top over that chunk with its offsets, pages and paths."""
    (chunk,) = chunks(["only"])
    tree = await grower().grow_document([chunk])
    assert (tree.node_type, tree.level, tree.children) == (NodeType.DOC_TOP, 1, (chunk,))
    assert (tree.char_start, tree.char_end, tree.page_start, tree.page_end) == (0, 4, 1, 1)
    assert (tree.doc_path, tree.dir_path) == ("a/b.pdf", "a")


async def test_place_of_nodes():
    """A document's nodes span their chunks; levels are one above the highest child; directories have no offsets."""
    tree = await grower().grow_document(chunks(contents(9, random.Random(1))))
    nodes = [tree]
    for node in nodes:
        nodes.extend(node.children)
        if node.children:
            assert (node.char_start, node.char_end) == (node.children[0].char_start, node.children[-1].char_end)
            assert node.level == 1 + max(child.level for child in node.children)
    assert {node.doc_path for node in nodes if node.node_type is NodeType.SUMMARY} == {None}
    directory = await grower().grow_directory(
        one_by_one([top("a"), top("b"), top("c")]), top=NodeType.DIR_TOP, dir_path="x"
    )
    assert (directory.char_start, directory.char_end, directory.page_start, directory.dir_path) == (
        None,
        None,
        None,
        "x",
    )


async def test_decisions_tell_why_a_group_ended():
    """Each decision names the item within its group; the last one closes it and stands at the group's length."""
    tree = await grower(lambda s, i: i.startswith("b")).grow_document(chunks(["a:1", "a:2", "a:3", "b:4", "b:5"]))
    first, second = tree.children
    told = [(d.at, d.boundary, d.method, d.verdict) for d in first.decisions]
    assert told == [(2, False, "each", "no"), (3, True, "each", "yes")]
    assert [(d.at, d.boundary, d.method) for d in second.decisions] == [(2, True, "end")]
    assert [(d.at, d.boundary, d.method) for d in tree.decisions] == [(2, True, "end")]


@pytest.mark.parametrize("kind", KINDS)
def test_items_which_arrive_in_any_order(kind):
    """A directory whose items arrive in any order, some of them coming to nothing, grows the reference's tree."""

    async def grow(seed: int) -> None:
        rng = random.Random(seed)
        texts, changes = contents(rng.randrange(1, 25), rng), oracle(kind, rng)
        gone = {at for at in range(1, len(texts)) if rng.random() < 0.2}
        left = [text for at, text in enumerate(texts) if at not in gone]
        expected = reference.build_tree(left, reference.Answers(short_summary, changes), reference.Rules("group"))

        async def arrive(at: int) -> Tree | None:
            await asyncio.sleep(rng.uniform(0, 9))
            return None if at in gone else top(texts[at], at)

        async def pause(_kind: str) -> None:
            await asyncio.sleep(rng.uniform(0.1, 2))

        tasks = [asyncio.create_task(arrive(at)) for at in range(len(texts))]
        model = Model(changes, pause=pause)
        growing = Grower(model, Vectors(), SETTINGS, many=rng.random() < 0.5)
        tree = await growing.grow_directory(one_by_one(tasks), top=NodeType.DIR_TOP, dir_path="d")
        assert plain(tree) == expected

    for seed in range(40):
        clock.run(grow(seed))


def test_levels_above_start_while_items_are_missing():
    """A level's summary is asked for before the last item of the level below is there."""

    async def grow() -> None:
        late: asyncio.Future[Tree] = asyncio.get_running_loop().create_future()
        model = Model(lambda s, i: True)

        async def items():
            for at in range(8):
                yield top(f"t{at}:", at)
            yield late

        task = asyncio.create_task(grower_of(model).grow_directory(items(), top=NodeType.ROOT, dir_path="."))
        await asyncio.sleep(5)
        summaries = [q for q in model.asked if q[0] == "summarize"]
        assert any(all(":" in t and len(t) > 12 for t in q[1:]) for q in summaries)  # a summary of summaries
        late.set_result(top("late:"))
        await task

    def grower_of(model: Model) -> Grower:
        return Grower(model, Vectors(), SETTINGS.but(speculation=0))

    clock.run(grow())


async def test_one_level():
    """build_level gives one level's nodes in order, a lone last item as it is."""
    items = [top(f"t{at}:", at) for at in range(5)]
    nodes = [node async for node in grower().build_level(one_by_one(items))]
    assert [len(node.children) for node in nodes] == [2, 2, 0]
    assert nodes[-1] is items[-1]


async def test_nothing_gives_nothing():
    """build_level of no items gives no nodes."""
    assert [node async for node in grower().build_level([])] == []


async def test_error_of_an_item():
    """What an awaited item raises ends the growth with that error."""

    async def failing() -> Tree:
        raise KeyError("the document broke")

    with pytest.raises(KeyError, match="the document broke"):
        await grower().grow_directory(one_by_one([top("a"), failing()]), top=NodeType.ROOT, dir_path=".")


async def test_error_of_the_stream():
    """What the stream of items raises ends the growth with that error."""

    async def broken():
        yield top("a")
        raise OSError("the stream broke")

    with pytest.raises(OSError, match="the stream broke"):
        await grower().grow_directory(broken(), top=NodeType.ROOT, dir_path=".")


def test_error_of_a_needed_answer():
    """An answer which the tree needs and which cannot be used ends the growth, and leaves no task behind."""

    class Failing(Model):
        async def summarize(self, items, **more):
            if any("bad" in item.content for item in items):
                raise BadModelOutput("this passage cannot be summarized")
            return await super().summarize(items, **more)

    async def grow() -> None:
        texts = [f"t{at // 5}:{at}" + (" bad" if at == 60 else "") for at in range(90)]
        with pytest.raises(BadModelOutput, match="cannot be summarized"):
            await Grower(Failing(lambda s, i: s[:3] != i[:3]), Vectors(), SETTINGS).grow_document(chunks(texts))
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1

    clock.run(grow())


def test_errors_of_guesses_do_not_matter():
    """An answer which fails while it is only a guess is asked for again when the tree needs it."""
    failures = 0

    class Shy(Model):
        async def changes_topic(self, summary, item, *, priority):
            nonlocal failures
            if priority and failures < 20:
                failures += 1
                raise BadModelOutput("not now")
            return await super().changes_topic(summary, item, priority=priority)

    rng = random.Random(5)
    texts, changes = contents(150, rng), oracle("topic", rng)

    async def pause(_kind: str) -> None:
        await asyncio.sleep(1)

    expected = reference.build_tree(texts, reference.Answers(short_summary, changes), reference.Rules("group"))
    tree = clock.run(Grower(Shy(changes, pause=pause), Vectors(), SETTINGS).grow_document(chunks(texts)))
    assert plain(tree) == expected
    assert failures > 0


def test_cancelling_leaves_nothing_behind():
    """A growth which is cancelled ends all its tasks and calls."""

    async def pause(_kind: str) -> None:
        await asyncio.sleep(1)

    async def grow() -> None:
        model = Model(lambda s, i: s[:3] != i[:3], pause=pause)
        texts = contents(200, random.Random(6))
        task = asyncio.create_task(Grower(model, Vectors(), SETTINGS).grow_document(chunks(texts)))
        await asyncio.sleep(7)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert model.in_flight == 0
        assert len(asyncio.all_tasks()) == 1

    clock.run(grow())
