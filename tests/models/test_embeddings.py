"""Embeddings over HTTP: few requests, checked vectors, the same text once (rows 21 and 22 of the table of faults)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from tree_builder.errors import BadModelOutput, ProviderRejected, ProviderUnavailable
from tree_builder.models.openai import embedder as module
from tree_builder.models.openai.embedder import read_embeddings
from tree_builder.testing import oracle
from tree_builder.testing.endpoint import Faults, SimulatedEndpoint

from .support import FAST, Kept, way


async def test_vectors_are_of_the_texts_in_their_order(endpoint: SimulatedEndpoint) -> None:
    """Each text gets its own vector, unit length, float32, in the order asked, also when the answer is in another order."""
    endpoint.configure(replace(FAST, faults=Faults(wrong_order=1.0)))
    texts = [f"text number{i}" for i in range(30)]
    async with way(endpoint) as w:
        found = await w.embedder.embed(texts)
        assert w.embedder.dimensions == 1536
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found, np.stack([oracle.vector(t, 1536) for t in texts]), atol=1e-5)


async def test_askers_share_requests(endpoint: SimulatedEndpoint) -> None:
    """A hundred who ask at the same time share one request; those who ask while it is in flight share the next."""
    endpoint.configure(replace(FAST, scale=0.2))
    async with way(endpoint) as w:
        first = [asyncio.create_task(w.embedder.embed([f"a{i}", f"b{i}"])) for i in range(100)]
        await asyncio.sleep(0.03)
        later = [asyncio.create_task(w.embedder.embed([f"c{i}"])) for i in range(100)]
        found = await asyncio.gather(*first, *later)
    assert endpoint.stats()["calls"] <= 2
    np.testing.assert_allclose(found[7][1], oracle.vector("b7", 1536), atol=1e-5)
    np.testing.assert_allclose(found[107][0], oracle.vector("c7", 1536), atol=1e-5)


async def test_requests_are_as_few_as_the_limits_allow(
    endpoint: SimulatedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests hold at most 2,048 texts and 300,000 tokens (scaled down here), and are otherwise full."""
    monkeypatch.setattr(module, "MAX_INPUTS", 20)
    monkeypatch.setattr(module, "MAX_REQUEST_TOKENS", 90)
    async with way(endpoint) as w:
        await w.embedder.embed([f"text{i}" for i in range(100)])
        by_count = [c.n_inputs for c in endpoint.calls]
        await w.embedder.embed([f"{i} " + "word " * 28 for i in range(9)])
    assert by_count == [20] * 5
    assert [c.n_inputs for c in endpoint.calls[5:]] == [3, 3, 3]


async def test_the_real_limits_are_those_of_the_service() -> None:
    """2,048 inputs, 300,000 tokens a request, 8,192 tokens a text."""
    assert (module.MAX_INPUTS, module.MAX_REQUEST_TOKENS, module.MAX_TEXT_TOKENS) == (2048, 300_000, 8192)


async def test_a_long_text_is_embedded_from_its_beginning(endpoint: SimulatedEndpoint) -> None:
    """A text of more than 8,192 tokens is embedded from its first 8,192, and counted."""
    long = " ".join(f"w{i}" for i in range(9000))
    async with way(endpoint) as w:
        vector = (await w.embedder.embed([long, "short"]))[0]
        assert w.ledger.counts["shortened_for_embedding"] == 1
    assert float(vector @ oracle.vector(long[: len(long) // 3], 1536)) > 0.4


async def test_the_same_text_is_embedded_once(endpoint: SimulatedEndpoint) -> None:
    """Once in a call, once among askers at the same time, once in all runs."""
    kept = Kept()
    async with way(endpoint, kept) as w:
        await asyncio.gather(w.embedder.embed(["a", "b", "a"]), w.embedder.embed(["b", "c"]))
        assert endpoint.stats()["inputs"] == 3
    async with way(endpoint, kept) as w:
        found = await w.embedder.embed(["c", "d", "a"])
        assert w.ledger.report()["model_calls"]["embed"] == 1
    assert endpoint.stats()["inputs"] == 4
    np.testing.assert_allclose(found[2], oracle.vector("a", 1536), atol=1e-5)


@pytest.mark.parametrize("fault", ["wrong_count", "wrong_dimension", "nan", "zero", "broken_body"])
async def test_no_bad_vector_is_kept(endpoint: SimulatedEndpoint, fault: str) -> None:
    """Wrong count or dimension, NaN, zero and broken JSON are asked again; when they stay, the texts fail and nothing is kept."""
    endpoint.configure(replace(FAST, faults=Faults(**{fault: 1.0})))
    async with way(endpoint, max_attempts=2) as w:
        with pytest.raises((BadModelOutput, ProviderUnavailable)):
            await w.embedder.embed(["a b c", "d"])
        assert not w.vectors.vectors
        assert w.ledger.usage.keys() <= {"embed"}
    endpoint.configure(replace(FAST, faults=Faults(**{fault: 0.4}), seed=3))
    async with way(endpoint) as w:
        found = await asyncio.gather(*(w.embedder.embed([f"e{i}"]) for i in range(5)))
    np.testing.assert_allclose(found[3][0], oracle.vector("e3", 1536), atol=1e-5)


async def test_a_refused_text_fails_alone(endpoint: SimulatedEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a request is refused for one of its texts, the others get their vectors."""
    from tree_builder.testing import mind
    from tree_builder.testing.endpoint import _Service

    real = _Service._refusal

    def picky(self: _Service, call: object, headers: dict[str, str], body: dict[str, object]) -> object:
        if any("bad" in text for text in mind.inputs_of(body)):
            return 400, b'{"error": {"message": "input too long", "code": "context_length_exceeded"}}', {}
        return real(self, call, headers, body)  # type: ignore[arg-type]

    monkeypatch.setattr(_Service, "_refusal", picky)
    async with way(endpoint) as w:
        asked = (w.embedder.embed([f"good{i}" if i != 11 else "bad"]) for i in range(32))
        found = await asyncio.gather(*asked, return_exceptions=True)
    assert [i for i, f in enumerate(found) if isinstance(f, BaseException)] == [11]
    assert isinstance(found[11], BadModelOutput)
    assert endpoint.stats()["calls"] <= 12


async def test_unknown_models_tell_their_dimensions(endpoint: SimulatedEndpoint) -> None:
    """A model of another maker tells its dimensions by its first vectors; other vectors are refused from then on."""
    endpoint.configure(replace(FAST, dimensions=384))
    async with way(endpoint, embedding_model="other-model") as w:
        assert w.embedder.dimensions == 0
        assert (await w.embedder.embed(["a"])).shape == (1, 384)
        assert w.embedder.dimensions == 384
        endpoint.configure(replace(FAST, dimensions=512))
        with pytest.raises(BadModelOutput, match="512 dimensions instead of 384"):
            await w.embedder.embed(["b"])


async def test_dimensions_can_be_asked_for(endpoint: SimulatedEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """embedding_dimensions is sent; a server which ignores it is told apart from a faulty one, and stops the run."""
    async with way(endpoint, embedding_dimensions=256) as w:
        assert (await w.embedder.embed(["a"])).shape == (1, 256)
    monkeypatch.setattr("tree_builder.testing.mind.embeddings_response", _ignoring_dimensions)
    async with way(endpoint, embedding_dimensions=256) as w:
        with pytest.raises(ProviderRejected, match="leave embedding_dimensions out"):
            await w.embedder.embed(["a"])


def _ignoring_dimensions(config: object, body: dict[str, object], fault: object) -> str:
    return '{"data": [{"index": 0, "embedding": [' + ",".join(["0.5"] * 576) + "]}]}"


async def test_one_failing_asker_leaves_others_alone(endpoint: SimulatedEndpoint) -> None:
    """An asker who is cancelled takes nothing from those who share the request."""
    endpoint.configure(replace(FAST, scale=0.2))
    async with way(endpoint) as w:
        leaving = asyncio.create_task(w.embedder.embed(["x", "y"]))
        staying = asyncio.create_task(w.embedder.embed(["y", "z"]))
        await asyncio.sleep(0.02)
        leaving.cancel()
        found = await staying
    np.testing.assert_allclose(found[0], oracle.vector("y", 1536), atol=1e-5)
    assert len(w.vectors.vectors) == 3


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"{}", b'{"data": [{"embedding": [1, 2]}]}', b'{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}',
     b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}', b'{"data": [{"index": 0}, {"index": 1}]}',
     b'{"data": [1, 2]}', b'{"data": [{"index": 0, "embedding": "!!"}, {"index": 1, "embedding": "AA"}]}',
     b'{"data": [{"index": 0, "embedding": [[1]]}, {"index": 1, "embedding": [[1]]}]}', b'{"data": [{"index": null, "embedding": [1]}, {"index": "a", "embedding": [1]}]}',
     b'{"data": [{"index": 0, "embedding": ["a"]}, {"index": 1, "embedding": [{}]}]}'],
)  # fmt: skip
def test_broken_answers_are_told(content: bytes) -> None:
    """Whatever is not two vectors of one length with their indexes is a ValueError, never another error."""
    with pytest.raises(ValueError):
        read_embeddings(content, 2)


def test_base64_is_read_too() -> None:
    """A server which answers in base64 though floats were asked is understood."""
    import base64

    values = np.array([0.25, -1.5], dtype="<f4")
    coded = base64.b64encode(values.tobytes()).decode()
    rows, tokens = read_embeddings(
        f'{{"data": [{{"index": 0, "embedding": "{coded}"}}], "usage": {{"prompt_tokens": 3}}}}'.encode(), 1
    )
    np.testing.assert_array_equal(rows[0], values)
    assert tokens == 3
