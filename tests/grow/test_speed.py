"""How fast growing is and what it costs, in simulated time: a question takes a quarter of a second, a summary four times that."""

from __future__ import annotations

import asyncio
import contextvars
import random

import pytest

from tree_builder.grow import Grower
from tree_builder.grow.budget import Account
from tree_builder.grow.differences import by_vectors
from tree_builder.model import NodeType
from tree_builder.protocols import Priority
from tree_builder.settings import Settings
from tree_builder.testing import clock

from . import reference
from .support import Model, Vectors, chunks, short_summary

TAKES_S = {"summarize": 1.15, "each": 0.25, "window": 0.28}


def topical(n: int, rng: random.Random) -> list[str]:
    """Texts in runs of one topic; topics are numbered."""
    out: list[str] = []
    topic = 0
    while len(out) < n:
        topic += 1
        out += [f"t{topic}:{len(out)}" for _ in range(rng.randint(3, 9))]
    return [f"{text.split(':')[0]}:{at}" for at, text in enumerate(out[:n])]


def last_topic(texts) -> str:
    """Summaries carry the topics of the first and last text, as a model's would."""
    return f"{texts[0].split(':')[0]}:{texts[-1].split(':')[0]} {short_summary(texts)[-8:]}"


def changes(summary: str, item: str) -> bool:
    return item.split(":", maxsplit=1)[0] not in (
        summary.split(":", maxsplit=1)[0],
        summary.split(":")[1].split(" ", maxsplit=1)[0],
    )


async def timed_pause(kind: str) -> None:
    await asyncio.sleep(TAKES_S[kind])


def plain_time(texts: list[str], method: str = "each") -> tuple[float, int]:
    answers = reference.Answers(last_topic, changes)
    reference.build_tree(texts, answers, reference.Rules("group", method))
    return sum(TAKES_S[question[0]] for question in answers.asked), len(answers.asked)


def grow(texts: list[str], **more) -> tuple[float, Model]:
    model = Model(changes, last_topic, pause=timed_pause)
    settings = Settings(models="openai", **{"boundaries": "each", "concurrency": 32, **more})

    async def work() -> float:
        await Grower(model, Vectors(), settings).grow_document(chunks(texts))
        return asyncio.get_running_loop().time()

    return clock.run(work()), model


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_long_document(seed):
    """A document of 550 chunks grows at least 8 times faster than one call after another, for at most a quarter more calls."""
    texts = topical(550, random.Random(seed))
    plain_s, plain_calls = plain_time(texts)
    took_s, model = grow(texts)
    assert took_s <= plain_s / 8
    assert len(model.asked) <= 1.25 * plain_calls
    assert model.max_in_flight <= 32


def test_less_speculation_costs_less():
    """Fewer extra calls are made where fewer are allowed, none where none are."""
    texts = topical(550, random.Random(4))
    _, plain_calls = plain_time(texts)
    extra = [len(grow(texts, speculation=share)[1].asked) / plain_calls - 1 for share in (0, 0.05, 0.25)]
    assert extra[0] == 0
    assert 0 < extra[1] <= 0.07
    assert extra[1] < extra[2]


def test_guesses_say_that_they_are():
    """Calls which the tree may not use carry the priority of guesses; without speculation there are none."""
    texts = topical(200, random.Random(5))
    assert Priority.SPECULATIVE in grow(texts)[1].priorities
    assert Priority.SPECULATIVE not in grow(texts, speculation=0)[1].priorities


def test_calls_keep_to_the_slots():
    """However much may be guessed, calls in flight stay within the slots."""
    _, model = grow(topical(400, random.Random(6)), speculation=2.0, concurrency=16)
    assert model.max_in_flight == 16


def test_hint_of_a_limiter():
    """A limiter which has no slot to spare stops all guesses."""

    class Full:
        def idle_slots(self) -> int:
            return 0

    model = Model(changes, last_topic, pause=timed_pause)
    settings = Settings(models="openai", boundaries="each")
    texts = topical(200, random.Random(7))
    clock.run(Grower(model, Vectors(), settings, slots=Full()).grow_document(chunks(texts)))
    assert Priority.SPECULATIVE not in model.priorities


def test_many_documents():
    """Where documents grow side by side, at most a fiftieth more calls are made in all."""
    documents = [topical(random.Random(seed).randrange(20, 150), random.Random(seed)) for seed in range(24)]
    plain_calls = sum(plain_time(texts)[1] for texts in documents)
    model = Model(changes, last_topic, pause=timed_pause)
    settings = Settings(models="openai", boundaries="each", concurrency=48)

    async def work() -> None:
        grower = Grower(model, Vectors(), settings)
        await asyncio.gather(*(grower.grow_document(chunks(texts)) for texts in documents))

    clock.run(work())
    assert 0 < len(model.asked) - plain_calls <= 0.02 * plain_calls


def grow_side_by_side(sizes: list[int], **more) -> tuple[float, float, int]:
    """Grow documents of these sizes; give the time it took, that of all calls one after another, and the extra calls."""
    documents = [topical(n, random.Random(n)) for n in sizes]
    model = Model(changes, last_topic, pause=timed_pause)
    settings = Settings(models="openai", **{"boundaries": "each", "concurrency": 16, **more})

    async def work() -> float:
        grower = Grower(model, Vectors(), settings, many=True)
        await asyncio.gather(*(grower.grow_document(chunks(texts)) for texts in documents))
        return asyncio.get_running_loop().time()

    took_s, plain = clock.run(work()), [plain_time(texts) for texts in documents]
    assert model.max_in_flight <= settings.concurrency
    return took_s, sum(time_s for time_s, _ in plain), len(model.asked) - sum(calls for _, calls in plain)


def test_longest_goes_first():
    """With few slots and no guesses, a long document is not kept waiting by short ones, so that all slots are busy to the end."""
    took_s, plain_s, extra = grow_side_by_side([*range(30, 38), 150], speculation=0, concurrency=3)
    assert extra == 0
    assert took_s <= 1.05 * plain_s / 3


def test_a_long_document_among_many_is_guessed_early():
    """Though all slots are taken, a document which would end late is grown from several places from the first."""
    sizes = [*range(40, 70), 240]
    took_s, plain_s, extra = grow_side_by_side(sizes, concurrency=24)
    assert 0 < extra <= 0.02 * plain_s
    assert took_s <= 1.1 * plain_s / 24


def test_little_speculation_is_spent_on_chains():
    """Questions before their turn leave enough of a small budget to chains, which gain more by it."""
    texts = topical(550, random.Random(1))
    assert grow(texts, speculation=0.1)[0] <= plain_time(texts)[0] / 4


def test_without_guesses_nothing_is_asked_in_vain():
    """A document which is known to be mostly grown before is asked about as the plain way does, with all slots idle."""
    texts = topical(200, random.Random(12))
    model = Model(changes, last_topic, pause=timed_pause)
    settings = Settings(models="openai", boundaries="each", concurrency=64)
    clock.run(Grower(model, Vectors(), settings).grow_document(chunks(texts), ahead=False))
    assert len(model.asked) == plain_time(texts)[1]


def test_questions_are_asked_in_the_context_of_their_document():
    """Whatever sets a guess off, who asks is the document which it is about: its answers are noted as its own."""
    owner: contextvars.ContextVar[str] = contextvars.ContextVar("owner")
    strangers = []

    class Watching(Model):
        async def changes_topic(self, summary, item, *, priority):
            if owner.get() != item.content.rpartition(" ")[2]:
                strangers.append(item.content)
            return await super().changes_topic(summary, item, priority=priority)

    model = Watching(changes, lambda texts: f"{last_topic(texts)} {texts[0].rpartition(' ')[2]}", pause=timed_pause)
    grower = Grower(model, Vectors(), Settings(models="openai", boundaries="each", concurrency=24))

    async def one(name: str, n: int) -> None:
        owner.set(name)
        await grower.grow_document(chunks([f"{text} {name}" for text in topical(n, random.Random(n))]))

    async def work() -> None:
        await asyncio.gather(*(asyncio.create_task(one(f"document{n}", 30 + 13 * n)) for n in range(8)))

    clock.run(work())
    assert Priority.SPECULATIVE in model.priorities
    assert strangers == []


def test_another_model_shares_the_slots():
    """A grower for another model keeps to the slots of the first."""
    model, other = (Model(changes, last_topic, pause=timed_pause) for _ in range(2))
    settings = Settings(models="openai", boundaries="each", concurrency=8)

    async def work() -> None:
        grower = Grower(model, Vectors(), settings)
        texts = topical(100, random.Random(8))
        above = grower.with_model(other).grow_directory(
            _stream(chunks(topical(100, random.Random(9)))), top=NodeType.ROOT, dir_path="."
        )
        await asyncio.gather(grower.grow_document(chunks(texts)), above)

    clock.run(work())
    assert model.max_in_flight + other.max_in_flight <= 16
    assert other.asked


async def _stream(items):
    for item in items:
        yield item


def test_account_keeps_the_bound():
    """Guesses stop where, were all lost, the bound and the allowance would be passed."""
    account = Account(lambda: 11)
    account.allowance = lambda: 5.0
    for _ in range(5):
        assert account.allows_speculative_call()
        account.speculate()
    assert not account.allows_speculative_call()
    account.merged = 1  # two calls' worth of the bound is behind it
    assert account.allows_speculative_call(2)


def test_differences_by_vectors():
    """The difference is greatest where the vectors' direction changes."""
    import numpy as np

    vectors = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    found = by_vectors(vectors)
    assert found[0] == 0.0
    assert sorted(range(12), key=lambda at: -found[at])[:2] == [4, 8]
