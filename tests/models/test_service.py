"""The whole way of a question over HTTP: retries, refusals, deadlines, secrets (rows 12 to 20 of the table of faults)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import traceback
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tree_builder.errors import (
    BadModelOutput,
    BudgetExceeded,
    ConfigError,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
)
from tree_builder.model import Summary
from tree_builder.models import open_models
from tree_builder.models.language import SAME_ASKS
from tree_builder.models.openai.connection import Account
from tree_builder.models.openai.embedder import read_embeddings
from tree_builder.models.openai.language import _read_chat
from tree_builder.settings import Settings
from tree_builder.testing.endpoint import EndpointConfig, Faults, SimulatedEndpoint
from tree_builder.testing.fakes import MemoryMemo, MemoryVectors, NullLedger

from .support import FAST, Kept, item, way

ITEMS = [item("topic-harbour The harbour was built in 1874."), item("topic-harbour Ships of all lands lie there.")]


async def ask_all(
    endpoint: SimulatedEndpoint, n: int = 40, **settings: object
) -> tuple[list[object], dict[str, object]]:
    """Ask n summaries and n boundary questions; failures come back as their class."""
    async with way(endpoint, **settings) as w:
        asked = [w.model.summarize([item(f"topic-a{i} words of {i}"), item(f"more words of {i}")]) for i in range(n)]
        asked += [w.model.changes_topic(f"topic-a{i % 3} before", item(f"topic-a{i % 2} after {i}")) for i in range(n)]  # type: ignore[misc]
        found = await asyncio.gather(*asked, return_exceptions=True)
        return [type(f) if isinstance(f, BaseException) else f for f in found], w.ledger.report()


async def test_questions_are_answered(endpoint: SimulatedEndpoint) -> None:
    """Summaries, verdicts with a probability, and windows come through the real client."""
    async with way(endpoint) as w:
        summary = await w.model.summarize(ITEMS)
        verdict = await w.model.changes_topic("topic-harbour ships", item("topic-bees honey"))
        same = await w.model.changes_topic("topic-harbour ships", item("topic-harbour cranes"))
        window = await w.model.first_new_topic([*ITEMS, item("topic-harbour"), item("topic-bees")])
    assert "1874" in summary.content
    assert summary.flags == ()
    assert (verdict.boundary, verdict.word) == (True, "yes")
    assert verdict.score == pytest.approx(0.97, abs=0.01)
    assert (same.boundary, same.word) == (False, "no")
    assert window.first == 3


@pytest.mark.parametrize("faults", [Faults(rate_limited=0.3), Faults(server_error=0.2), Faults(reset=0.2), Faults(broken_body=0.2),
                                    Faults(rate_limited=0.2, server_error=0.15, reset=0.05, empty=0.04, cut_off=0.04, garbage=0.04)])  # fmt: skip
async def test_passing_errors_change_no_answer(endpoint: SimulatedEndpoint, faults: Faults) -> None:
    """With 20 to 50% of attempts failing in passing ways the answers are those without, or failed; none is asked twice."""
    clean, _ = await ask_all(endpoint, max_attempts=12)
    endpoint.configure(replace(FAST, faults=faults, retry_after_s=0.002))
    found, _ = await ask_all(endpoint, max_attempts=12)
    stats = endpoint.stats()
    assert sum(stats["faults"].values()) > 5
    different = [(a, b) for a, b in zip(clean, found, strict=True) if a != b]
    undecided = [b for _, b in different if getattr(b, "word", "") == "undecided"]
    assert all(b is BadModelOutput or b in undecided for _, b in different)
    assert len(different) <= 4
    assert stats["duplicates"] == 0


async def test_a_hanging_call_ends_at_its_deadline(endpoint: SimulatedEndpoint) -> None:
    """A call which never answers is given up after call_timeout_s, and tried again (row 14)."""
    endpoint.configure(replace(FAST, faults=Faults(hang=1.0)))
    async with way(endpoint, call_timeout_s=0.4, max_attempts=3) as w:
        with pytest.raises(ProviderUnavailable, match="3 attempts"):
            await w.model.summarize(ITEMS)
    assert endpoint.stats()["calls"] == 3


async def test_a_dripping_answer_ends_at_its_deadline(endpoint: SimulatedEndpoint) -> None:
    """The deadline is for the whole call: bytes which keep coming do not prolong it."""
    endpoint.configure(replace(FAST, faults=Faults(drip=1.0), hang_s=60.0))
    async with way(endpoint, call_timeout_s=0.2, max_attempts=1) as w:
        with pytest.raises(ProviderUnavailable, match=r"within 0\.2 s"):
            await w.model.summarize(ITEMS)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (EndpointConfig(scale=0, api_key="another"), "refuses the key"),
        (EndpointConfig(scale=0, models=("text-embedding-3-small",)), "knows no model 'gpt-4.1-mini'"),
        (EndpointConfig(scale=0, quota_exhausted=True), "quota"),
    ],
)
async def test_what_cannot_pass_is_not_tried_again(
    endpoint: SimulatedEndpoint, config: EndpointConfig, said: str
) -> None:
    """A wrong key, an unknown model and an exhausted quota stop at the first call, with exit code 4 (row 20)."""
    endpoint.configure(config)
    async with way(endpoint) as w:
        with pytest.raises(ProviderRejected, match=said) as raised:
            await w.model.summarize(ITEMS)
    assert raised.value.exit_code == 4
    assert endpoint.stats()["calls"] == 1
    assert not w.memo.answers


async def test_secrets_reach_no_error_and_no_log(endpoint: SimulatedEndpoint, caplog: pytest.LogCaptureFixture) -> None:
    """The key stands in no message, traceback, representation or log line, at any level (row 45)."""
    caplog.set_level(logging.DEBUG)
    endpoint.configure(replace(FAST, api_key="another"))
    key = "sk-proj-Secret_0123456789abcdef"
    async with way(endpoint, key=key) as w:
        with pytest.raises(ProviderError) as raised:
            await w.model.summarize(ITEMS)
    shown = "".join(traceback.format_exception(raised.value)) + caplog.text + repr(raised.value.facts)
    assert "Secret" not in shown
    assert "Secret" not in repr(Account("https://user:Secret@host/v1", key))


@pytest.mark.parametrize("fault", ["empty", "blank", "cut_off", "garbage", "refusal", "filtered", "no_choice"])
async def test_no_bad_summary_is_kept(endpoint: SimulatedEndpoint, fault: str) -> None:
    """A summary which stays empty, refused, cut off or garbled fails, after being asked again; nothing is kept (rows 15 to 17).

    What may pass is asked for in the same words first, so that the answer is the tree's own; a refusal is not.
    """
    asked = 2 if fault in {"refusal", "filtered"} else SAME_ASKS + 1
    endpoint.configure(replace(FAST, faults=Faults(**{fault: 1.0})))
    async with way(endpoint) as w:
        with pytest.raises(BadModelOutput):
            await w.model.summarize(ITEMS)
        assert not w.memo.answers
        assert w.ledger.report()["model_calls"]["summarize"] == asked
    assert endpoint.stats()["calls"] == asked


@pytest.mark.parametrize("fault", ["empty", "garbage", "refusal", "no_choice"])
async def test_undecided_is_no_boundary_and_kept(endpoint: SimulatedEndpoint, fault: str) -> None:
    """What is neither YES nor NO is asked again, counted, kept, and no boundary; a window likewise (row 18)."""
    asked = 2 if fault == "refusal" else SAME_ASKS + 1
    endpoint.configure(replace(FAST, faults=Faults(**{fault: 1.0})))
    async with way(endpoint) as w:
        verdict = await w.model.changes_topic("topic-a", item("topic-b"))
        window = await w.model.first_new_topic([item("topic-a"), item("topic-a"), item("topic-b")])
        assert (verdict.boundary, verdict.word) == (False, "undecided")
        assert (window.first, window.word) == (None, "undecided")
        assert w.ledger.counts["undecided"] == 2
        assert endpoint.stats()["calls"] == 2 * asked
        endpoint.configure(FAST)
        assert (await w.model.changes_topic("topic-a", item("topic-b"))).word == "undecided"
    assert endpoint.stats()["calls"] == 0


async def test_nothing_is_paid_twice(endpoint: SimulatedEndpoint) -> None:
    """A question asked again, at the same time or in a later run, is one call."""
    kept = Kept()
    async with way(endpoint, kept) as w:
        many = await asyncio.gather(*(w.model.summarize(ITEMS) for _ in range(20)))
    async with way(endpoint, kept) as w:
        again = await w.model.summarize(ITEMS)
        assert w.ledger.report()["model_calls"] == {"summarize": 0, "boundary": 0, "embed": 0, "memo_hits": 1}
    assert set(many) == {again}
    assert endpoint.stats()["calls"] == 1


async def test_a_lost_speculation_is_cancelled_unless_paid(endpoint: SimulatedEndpoint) -> None:
    """A cancelled question which waits for a slot is never sent; one which was sent is kept."""
    endpoint.configure(EndpointConfig(base_latency_s=0.7, token_latency_s=0))
    async with way(endpoint, concurrency=1) as w:
        sent = asyncio.create_task(w.model.changes_topic("topic-a", item("topic-b sent")))
        await asyncio.sleep(0.05)
        waits = asyncio.create_task(w.model.changes_topic("topic-a", item("topic-b waits")))
        await asyncio.sleep(0)
        sent.cancel()
        waits.cancel()
        await asyncio.gather(sent, waits, return_exceptions=True)
        answer = await w.model.changes_topic("topic-a", item("topic-b sent"))
    assert answer.boundary
    assert endpoint.stats()["calls"] == 1


async def test_the_budget_holds(endpoint: SimulatedEndpoint) -> None:
    """Once the money is spent no call is sent: the overspend is at most the calls in flight (row 49)."""
    endpoint.configure(replace(FAST, scale=0.01))
    async with way(endpoint, concurrency=4, max_usd=0.002) as w:
        asked = (w.model.changes_topic(f"topic-a{i}", item(f"topic-b {i} " + "word " * 50)) for i in range(60))
        found = await asyncio.gather(*asked, return_exceptions=True)
        spent = w.ledger.total
    assert sum(isinstance(f, BudgetExceeded) for f in found) > 20
    assert all(isinstance(f, BudgetExceeded) or not isinstance(f, BaseException) for f in found)
    one = spent.cost_usd / spent.calls
    assert 0.002 <= spent.cost_usd <= 0.002 + 4 * one


async def test_no_budget_no_call(endpoint: SimulatedEndpoint) -> None:
    """With nothing to spend, nothing is sent."""
    async with way(endpoint, max_usd=0) as w:
        with pytest.raises(BudgetExceeded):
            await w.model.summarize(ITEMS)
        with pytest.raises(BudgetExceeded):
            await w.embedder.embed(["a"])
    assert endpoint.stats()["calls"] == 0


@pytest.mark.parametrize("rejects", [("logprobs",), ("seed", "temperature"), ("response_format",), ("max_tokens",)])
async def test_servers_which_know_less_are_borne(endpoint: SimulatedEndpoint, rejects: tuple[str, ...]) -> None:
    """A parameter which the server refuses with 400 is left out from then on, and the answers are the same."""
    endpoint.configure(replace(FAST, rejects=rejects))
    async with way(endpoint) as w:
        assert (await w.model.summarize(ITEMS)).content
        assert (await w.model.changes_topic("topic-a", item("topic-b"))).boundary
        assert (await w.model.first_new_topic([item("topic-a"), item("topic-a"), item("topic-b")])).first == 2
        before = endpoint.stats()["statuses"]["400"]
        assert (await w.model.changes_topic("topic-a", item("topic-c"))).boundary
    assert endpoint.stats()["statuses"]["400"] == before <= len(rejects)


async def test_a_refused_prompt_fails_alone(endpoint: SimulatedEndpoint) -> None:
    """A 400 about anything else is the fault of this one question, not of the run."""
    endpoint.configure(replace(FAST, rejects=("messages",)))
    async with way(endpoint) as w:
        with pytest.raises(BadModelOutput, match="refuses the request"):
            await w.model.summarize(ITEMS)
    assert endpoint.stats()["calls"] == 1


async def test_a_text_too_long_for_a_prompt_is_summarized_by_parts(endpoint: SimulatedEndpoint) -> None:
    """One item which does not fit is summarized by parts, the same parts each time, and each once."""
    long = item(" ".join(f"word{i} of a long text" for i in range(1500)))
    async with way(endpoint, prompt_tokens=1000) as w:
        assert w.model.size(long) > w.model.prompt_size
        first = await w.model.summarize([long])
        calls = endpoint.stats()["calls"]
        assert await w.model.summarize([long]) == first
    assert calls > 4
    assert endpoint.stats()["calls"] == calls
    async with way(endpoint, prompt_tokens=1000) as w:
        assert await w.model.summarize([long]) == first


async def test_an_invention_is_repaired_once_then_flagged(endpoint: SimulatedEndpoint) -> None:
    """A number and a name without support trigger one repair; what stays is flagged; `verify` off asks nothing."""
    invented = "It was praised by Otto Grimmelshausen in 1623."
    endpoint.configure(replace(FAST, invent=invented))
    async with way(endpoint) as w:
        assert await w.model.summarize(ITEMS) == Summary((await w.model.summarize(ITEMS)).content)
        assert w.ledger.report()["verify"]["repaired"] == 2
        assert w.ledger.report()["verify"]["calls"] == 1
        assert w.ledger.report()["verify"]["cost_usd"] > 0
    endpoint.configure(replace(FAST, invent=invented, stubborn=True))
    async with way(endpoint) as w:
        assert (await w.model.summarize(ITEMS)).flags == ("number:1623", "name:Otto Grimmelshausen")
        assert w.ledger.report()["verify"]["flagged"] == 1
    async with way(endpoint, verify=False) as w:
        found = await w.model.summarize(ITEMS)
    assert invented in found.content
    assert found.flags == ()


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://host/v1", "gopher://x", "//host", "http://", "https://host:99999/v1", "javascript:1"],
)
def test_only_http_addresses_are_used(url: str) -> None:
    """Schemes other than http and https, and broken addresses, are refused before anything is sent (row 46)."""
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        Account.from_environment({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-x"})


def test_a_key_is_needed_unless_the_service_is_here() -> None:
    """Without a key only a service on this machine is asked."""
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        Account.from_environment({})
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        Account.from_environment({"OPENAI_BASE_URL": "http://127.0.0.1.example.org/v1"})
    with pytest.raises(ConfigError, match="characters"):
        Account.from_environment({"OPENAI_API_KEY": "sk-\u2013x"})
    assert Account.from_environment({"OPENAI_BASE_URL": "http://localhost:8080/v1"}).api_key == "none"


async def test_redirects_are_not_followed(endpoint: SimulatedEndpoint) -> None:
    """A service which points elsewhere gets no second request, and the run stops."""

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        target = f"{endpoint.base_url}/chat/completions"
        writer.write(f"HTTP/1.1 307 Temporary Redirect\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(elsewhere, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    environ = {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "k"}
    opened = open_models(Settings(models="openai"), MemoryMemo(), MemoryVectors(), NullLedger(), environ=environ)
    async with server, opened as (_, model):
        with pytest.raises(ProviderRejected, match="307"):
            await model.summarize(ITEMS)
    assert endpoint.stats()["calls"] == 0


async def test_money_needs_prices(endpoint: SimulatedEndpoint) -> None:
    """A limit of money with a model whose price is unknown is refused, with what to write; without a limit it is said."""
    with pytest.raises(ConfigError, match=r'\[prices\."some-model"\]'):
        async with way(endpoint, max_usd=1, summary_model="some-model"):
            pass
    async with way(endpoint, summary_model="some-model") as w:
        await w.model.summarize(ITEMS)
        assert w.ledger.report()["unpriced"] == ["some-model"]
        assert w.ledger.report()["cost_usd"] == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "usage",
                    "logprobs",
                    "prompt_tokens",
                    "data",
                    "embedding",
                    "index",
                    "token",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_answers_of_any_form_are_read_or_refused(value: object) -> None:
    """JSON of any form is an answer, or an error which counts as a broken answer; never anything else (row 19)."""
    for body in (value, {"choices": [value]}, {"choices": [{"message": value, "logprobs": value}], "usage": value}):
        content = json.dumps(body).encode()
        for read in (lambda c: _read_chat(c, {}), lambda c: read_embeddings(c, 1)):
            with contextlib.suppress(ValueError, TypeError, KeyError, IndexError, AttributeError):
                read(content)
