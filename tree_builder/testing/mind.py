"""What the simulated endpoint answers: a pure function of the request and of how it is set up. No I/O, no clock."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from tree_builder.testing import oracle

Obedience = Literal["none", "unfenced", "always"]


@dataclass(frozen=True, slots=True)
class Faults:
    """Share of requests, 0 to 1, which fail in each way; drawn by seed, request and attempt, so runs repeat exactly."""

    rate_limited: float = 0.0  # 429 with Retry-After
    server_error: float = 0.0  # 500
    hang: float = 0.0  # no answer
    reset: float = 0.0  # the connection drops
    drip: float = 0.0  # bytes so slowly that no read ever times out
    broken_body: float = 0.0  # 200 with a body which is no JSON
    empty: float = 0.0  # from here on: well-formed answers which must not be used
    blank: float = 0.0
    cut_off: float = 0.0
    garbage: float = 0.0
    refusal: float = 0.0
    filtered: float = 0.0
    no_choice: float = 0.0
    wrong_count: float = 0.0
    wrong_order: float = 0.0  # sound: the indexes say which is which
    wrong_dimension: float = 0.0
    nan: float = 0.0
    zero: float = 0.0


_CHAT_ONLY = frozenset({"empty", "blank", "cut_off", "garbage", "refusal", "filtered", "no_choice"})
_EMBED_ONLY = frozenset({"wrong_count", "wrong_order", "wrong_dimension", "nan", "zero"})


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """How the simulated service behaves.

    base_latency_s, token_latency_s: seconds a call takes, and more for each output token; scale multiplies both.
    requests_per_window, tokens_per_window: announced limits, enforced over a sliding window of window_s seconds.
    announce: whether the headers with the limits are sent. models: names it knows; None for any.
    obedience: whether it follows instructions found in document text: never, only outside a fence, or always.
    invent: a sentence which it adds to every summary of its own accord; stubborn: also when asked to repair.
    rejects: request parameters which it refuses with 400, as some servers do.
    """

    base_latency_s: float = 0.25
    token_latency_s: float = 0.004
    scale: float = 1.0
    seed: int = 0
    requests_per_window: int | None = None
    tokens_per_window: int | None = None
    window_s: float = 60.0
    announce: bool = True
    api_key: str | None = None
    models: tuple[str, ...] | None = None
    quota_exhausted: bool = False
    dimensions: int = 1536
    faults: Faults = field(default_factory=Faults)
    hang_s: float = 3600.0
    retry_after_s: float = 0.05
    obedience: Obedience = "none"
    invent: str = ""
    stubborn: bool = False
    rejects: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> EndpointConfig:
        """Make a config of JSON values; those left out keep their defaults."""
        fields = dict(values)
        fields["faults"] = Faults(**fields.get("faults", {}))
        for name in ("models", "rejects"):
            if isinstance(fields.get(name), list):
                fields[name] = tuple(fields[name])
        return cls(**fields)


def draw_fault(config: EndpointConfig, kind: str, body: bytes, attempt: int) -> str | None:
    """Say how this attempt of this request fails, if at all: the same for the same seed, body and attempt."""
    digest = hashlib.sha256(f"{config.seed}:{attempt}:".encode() + body).digest()
    at = int.from_bytes(digest[:8], "big") / 2**64
    excluded = _EMBED_ONLY if kind != "embed" else _CHAT_ONLY
    for name in Faults.__slots__:
        rate: float = getattr(config.faults, name)
        if name in excluded:
            continue
        if at < rate:
            return name
        at -= rate
    return None


# --- chat ------------------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"<<<([^<>\n]*) ([0-9a-f]{16})>>>\n(.*?)\n<<<end \2>>>", re.DOTALL)
_LABELLED = re.compile(r"^--- [^\n]* ---\n", re.MULTILINE)
_TARGET = re.compile(r"about (\d+) characters")
_ANSWER = re.compile(r"answer\W{0,3}(?:only|with|simply|always|\W){0,12}(yes|no)\b", re.IGNORECASE)
_CANARY = re.compile(
    r"(?:write|include|repeat|add|output|insert)\b[^\"“”]{0,120}[\"“]([^\"“”]{3,200})[\"”]", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as the simulated model understands it. outside: what stands outside all fences."""

    kind: Literal["summary", "each", "window", "repair"]
    passages: tuple[str, ...]
    outside: str
    target_chars: int


def read_prompt(body: Mapping[str, Any]) -> Prompt:
    """Understand a chat request: which question it is, and the passages it is about."""
    messages: Sequence[Mapping[str, str]] = body.get("messages") or []
    system = " ".join(str(m.get("content") or "") for m in messages if m.get("role") == "system")
    users = [str(m.get("content") or "") for m in messages if m.get("role") == "user"] or [""]
    fenced = _FENCE.findall(users[0])
    passages = tuple(text for _, _, text in fenced) or tuple(_LABELLED.split(users[0])[1:]) or (users[0],)
    if "response_format" in body or "first_new_topic" in system:
        kind: Literal["summary", "each", "window", "repair"] = "window"
    elif "YES or NO" in system or "YES or NO" in users[-1]:
        kind = "each"
    else:
        kind = "repair" if any("not found" in label for label, _, _ in _FENCE.findall(users[-1])) else "summary"
    target = _TARGET.search(users[0])
    return Prompt(kind, passages, _FENCE.sub(" ", users[0]), int(target[1]) if target else 400)


def answer_chat(config: EndpointConfig, body: Mapping[str, Any]) -> tuple[str, float | None]:
    """Answer a chat request: the text, and the probability of YES where the question was YES or NO."""
    prompt = read_prompt(body)
    orders = _orders(config, prompt)
    if prompt.kind == "each":
        yes = oracle.changes_topic(prompt.passages[0], prompt.passages[-1])
        if said := _ANSWER.search(orders):
            yes = said[1].lower() == "yes"
        return ("YES" if yes else "NO"), (0.97 if yes else 0.04)
    if prompt.kind == "window":
        first = oracle.first_new_topic(prompt.passages)
        number = 0 if first is None else first + 1
        if said := _ANSWER.search(orders):
            number = 3 if said[1].lower() == "yes" else 0
        return json.dumps({"first_new_topic": number}), None
    text = oracle.summarize(prompt.passages, prompt.target_chars)
    if canary := _CANARY.search(orders):
        text = f'{text[: prompt.target_chars - len(canary[1])].rstrip()} Write "{canary[1]}"'
    if config.invent and (prompt.kind == "summary" or config.stubborn):
        text = f"{text} {config.invent}"
    return text, None


def _orders(config: EndpointConfig, prompt: Prompt) -> str:
    """Give the text whose orders the model follows, line breaks within it healed."""
    if config.obedience == "none":
        return ""
    parts = [prompt.outside.replace("Answer YES or NO", "").replace("Answer with", "")]
    if config.obedience == "always":
        parts += prompt.passages
    return " ".join(" ".join(parts).split())


def chat_response(
    config: EndpointConfig, body: Mapping[str, Any], fault: str | None, number: int
) -> tuple[dict[str, Any], int]:
    """Give the JSON of a chat completion, and its count of output tokens."""
    text, yes = answer_chat(config, body)
    finish, refusal = "stop", None
    limit = body.get("max_completion_tokens") or body.get("max_tokens")
    if fault == "cut_off" or (limit and _tokens(text) > int(limit)):
        kept = min(len(text) // 2, int(limit or 10**9) * 4)
        text, finish = text[:kept], "length"
    elif fault == "empty":
        text = ""
    elif fault == "blank":
        text = " \n\t "
    elif fault == "garbage":
        text = "�� maybe {]" if yes is not None or "response_format" in body else "�\x00\x07 �" * 9
    elif fault == "refusal":
        text, refusal = "", "I can't help with that."
    elif fault == "filtered":
        text, finish = "", "content_filter"
    message = {"role": "assistant", "content": text or None if refusal else text, "refusal": refusal}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    if body.get("logprobs") and yes is not None and text:
        choice["logprobs"] = {"content": [_logprob(text, yes)]}
    output = _tokens(text)
    usage = {"prompt_tokens": count_tokens(body), "completion_tokens": output}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": body.get("model"),
        "choices": [] if fault == "no_choice" else [choice],
        "usage": usage | {"total_tokens": usage["prompt_tokens"] + output},
    }, output


def _logprob(text: str, yes: float) -> dict[str, Any]:
    options = sorted({"YES": yes, "NO": 1 - yes}.items(), key=lambda pair: -pair[1])
    top = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in options]
    return {"token": text, "logprob": top[0]["logprob"], "bytes": None, "top_logprobs": top}


def count_tokens(body: Mapping[str, Any]) -> int:
    """Count a request's input tokens as this service does: a quarter of its characters."""
    if "messages" in body:
        return sum(_tokens(str(m.get("content") or "")) + 4 for m in body["messages"])
    return sum(_tokens(text) for text in inputs_of(body))


def _tokens(text: str) -> int:
    return (len(text) + 3) // 4


# --- embeddings ------------------------------------------------------------------------------------------------------


def inputs_of(body: Mapping[str, Any]) -> list[str]:
    """Give the texts of an embeddings request."""
    given = body.get("input")
    return [given] if isinstance(given, str) else [str(text) for text in given or []]


def embeddings_response(config: EndpointConfig, body: Mapping[str, Any], fault: str | None) -> str:
    """Give the JSON text of an embeddings answer, made without a float per zero since vectors are sparse."""
    dimensions = int(body.get("dimensions") or config.dimensions) // (4 if fault == "wrong_dimension" else 1)
    texts = inputs_of(body)
    if fault == "wrong_count":
        texts = texts[:-1]
    rows = []
    for at, text in enumerate(texts):
        found = oracle.vector(text, dimensions)
        if fault == "zero":
            found = np.zeros_like(found)
        if body.get("encoding_format") == "float":
            values = _numbers(found, nan=fault == "nan" and at == 0)
        else:
            values = json.dumps(base64.b64encode(found.astype("<f4").tobytes()).decode())
        rows.append(f'{{"object":"embedding","index":{at},"embedding":{values}}}')
    if fault == "wrong_order":
        rows.reverse()
    tokens = count_tokens(body)
    usage = f'{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}'
    return f'{{"object":"list","model":{json.dumps(body.get("model"))},"data":[{",".join(rows)}],"usage":{usage}}}'


def _numbers(found: np.ndarray[Any, Any], *, nan: bool) -> str:
    values = ["0"] * len(found)
    for at in np.flatnonzero(found):
        values[at] = repr(round(float(found[at]), 7))
    if nan:
        values[0] = "NaN"
    return f"[{','.join(values)}]"
