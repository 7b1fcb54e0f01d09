from __future__ import annotations

import sys
import types
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from tree_builder.errors import BadModelOutput, BudgetExceeded, ConfigError, ProviderUnavailable
from tree_builder.models.local import LocalEmbedder, LocalModels, SentenceTransformersEmbedder
from tree_builder.models.local.pool import WorkerPool
from tree_builder.models.local.vectors import embed
from tree_builder.settings import Settings
from tree_builder.testing.fakes import MemoryMemo, NullLedger

TEXTS = [
    "Bread is made of flour, water, salt and yeast.",
    "A loaf needs flour, water and some yeast.",
    "Der Vertrag endet mit dem Ablauf des Jahres.",
    "The contract ends with the year.",
    "今日はとても良い天気です。",
]
ODD = [
    "",
    " ",
    "\n\n",
    "\x00",
    "😀",
    "\ud800 alone",
    "a",
    "5",
    "。",
    "x" * 2000,
    "word " * 2000,
    "\u202e\u200b",
    "<>&'\"",
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedder() -> AsyncIterator[LocalEmbedder]:
    pool = WorkerPool(2)
    yield LocalEmbedder(pool, NullLedger())
    await pool.close()


@pytest.mark.asyncio(loop_scope="module")
async def test_vectors_have_the_promised_shape(embedder: LocalEmbedder):
    """Vectors come as (n, 512) float32 of unit length, in the order of the texts, and none for no text."""
    vectors = await embedder.embed(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), embedder.dimensions), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (await embedder.embed([])).shape == (0, 512)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_vector_depends_on_its_text_alone(embedder: LocalEmbedder):
    """Alone, beside others, in any order and on any worker, a text's vector is the same to the bit."""
    together = await embedder.embed(TEXTS * 8)
    backwards = (await embedder.embed((TEXTS * 8)[::-1]))[::-1]
    alone = np.concatenate([await embedder.embed([text]) for text in TEXTS])
    here = embed(TEXTS)
    assert np.array_equal(together, backwards)
    assert np.array_equal(together[: len(TEXTS)], alone)
    assert np.array_equal(alone, here)


def test_odd_texts_have_unit_vectors():
    """Empty, blank, broken and endless texts have finite vectors of unit length, the same each time."""
    vectors = embed(ODD)
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert np.array_equal(vectors, embed(ODD))


def test_near_texts_have_near_vectors():
    """Texts of one meaning are nearer than others, in one language and across two."""
    cosines = embed(TEXTS) @ embed(TEXTS).T
    assert cosines[0, 1] > 0.7 > 0.3 > cosines[0, 3]
    assert cosines[2, 3] > cosines[2, 0] + 0.2


def test_coordinates_lie_on_a_grid():
    """Coordinates are whole steps over the root of the sum of their squares, so that last bits cannot differ by machine."""
    vector = embed(["A text."])[0].astype(np.float64)
    smallest = np.min(np.abs(vector[vector != 0]))
    steps = vector / smallest
    assert np.allclose(steps, np.rint(steps), atol=1e-3)


async def test_a_spent_budget_stops_before_a_process_starts():
    """When the run may spend no more, no worker starts."""

    class Spent(NullLedger):
        def before_call(self, kind: str) -> None:
            raise BudgetExceeded(f"no {kind}")

    pool = WorkerPool(1)
    with pytest.raises(BudgetExceeded):
        await LocalEmbedder(pool, Spent()).embed(["text"])
    assert pool.processes == 0
    await pool.close()


async def test_an_error_arrives_as_itself():
    """When one of several jobs fails, its own error is raised, and the others are no longer waited for."""

    class Failing(WorkerPool):
        async def run(self, job: str, head: dict[str, Any], *, rank: int = 0) -> tuple[dict[str, Any], bytes]:
            raise BadModelOutput("no vector for this")

    pool = Failing(2)
    with pytest.raises(BadModelOutput, match="no vector"):
        await LocalEmbedder(pool, NullLedger()).embed(["a", "b", "c"])
    await pool.close()


async def test_entering_starts_no_process():
    """A night with nothing to do enters and leaves the models without starting a process."""
    async with LocalModels(Settings(), MemoryMemo(), NullLedger()) as models:
        assert models.embedder.name == "use-multilingual-v3"
        assert models.language.name == "extract"
        assert models.processes == 0


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"embedding_model": "text-embedding-3-small"}, "embedding_model"),
        ({"summary_model": "gpt-4.1-mini"}, "summary_model"),
        ({"embedding_dimensions": 256}, "embedding_dimensions"),
    ],
)
def test_models_which_are_not_local_are_refused(changes: dict[str, object], named: str):
    """A model which `local` has not is refused at once, and the message names what it has."""
    with pytest.raises(ConfigError) as error:
        LocalModels(Settings(**changes), MemoryMemo(), NullLedger())
    assert error.value.name == named
    assert any(known in error.value.message for known in ("use-multilingual-v3", "extract"))


class _FakeTransformer:
    def __init__(self, name: str) -> None:
        if name == "missing":
            raise OSError("no such model")
        self.broken = name == "broken"

    def get_sentence_embedding_dimension(self) -> int:
        return 3

    def encode(self, texts: list[str], *, convert_to_numpy: bool) -> np.ndarray:
        return np.full((len(texts), 3), np.nan if self.broken else 2.0)


@pytest.fixture
def sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = _FakeTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


async def test_a_model_of_sentence_transformers_can_be_named(sentence_transformers: None):
    """`sentence-transformers:NAME` gives that model's vectors at unit length and its own dimensions."""
    settings = Settings(embedding_model="sentence-transformers:small")
    async with LocalModels(settings, MemoryMemo(), NullLedger()) as models:
        vectors = await models.embedder.embed(["a", ""])
    assert models.embedder.name == "sentence-transformers:small"
    assert (vectors.shape, vectors.dtype) == ((2, 3), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert (await models.embedder.embed([])).shape == (0, 3)


async def test_without_the_package_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    """Naming such a model without the package is a wrong setting, with the way out in the message."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match="pip install sentence-transformers"):
        await SentenceTransformersEmbedder.load("sentence-transformers:small", NullLedger())


async def test_an_unknown_model_of_sentence_transformers_is_a_wrong_setting(sentence_transformers: None):
    """A name which the package does not know is told with the setting's name."""
    with pytest.raises(ConfigError, match="missing"):
        await SentenceTransformersEmbedder.load("sentence-transformers:missing", NullLedger())


async def test_vectors_which_are_not_finite_are_refused(sentence_transformers: None):
    """Vectors of NaN never reach the store."""
    embedder = await SentenceTransformersEmbedder.load("sentence-transformers:broken", NullLedger())
    with pytest.raises(ProviderUnavailable, match="not finite"):
        await embedder.embed(["a"])
