"""Chat completions as the transport of prompts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tree_builder.errors import BadModelOutput
from tree_builder.model import Usage
from tree_builder.models.answers import RawAnswer, read_yes_no
from tree_builder.models.openai.connection import Call, Connection, Refused, parsed
from tree_builder.models.pacing import Ticket
from tree_builder.models.prompts import Message

OPTIONAL = ("logprobs", "top_logprobs", "seed", "temperature", "response_format", "max_tokens")
"""Parameters which some servers refuse; what a server refuses is left out from then on."""


class OpenAITransport:
    """Implements `models.transport.Transport` by POST /chat/completions."""

    def __init__(self, connection: Connection, model: str) -> None:
        self.model = model
        self.left_out: set[str] = set()
        self._connection = connection

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        kind: str,
        max_tokens: int,
        seed: int = 0,
        yes_no: bool = False,
        schema: Mapping[str, Any] | None = None,
        ticket: Ticket,
    ) -> RawAnswer:
        tokens = sum(len(message["content"]) for message in messages) // 4 + max_tokens
        for _ in range(len(OPTIONAL) + 1):
            body = self._body(messages, max_tokens, seed, yes_no=yes_no, schema=schema)
            try:
                return await self._connection.call(Call("/chat/completions", body, kind, tokens, ticket), _read_chat)
            except Refused as error:
                name = _named(error, body)
                if name is None:
                    raise BadModelOutput(f"{error}", code=error.code) from error
                self.left_out.add(name)
        raise BadModelOutput(f"{self.model}: the service refuses every form of the request")  # pragma: no cover

    def idle_slots(self) -> int:
        return self._connection.limiter.idle_slots()

    def _body(
        self,
        messages: Sequence[Message],
        max_tokens: int,
        seed: int,
        *,
        yes_no: bool,
        schema: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        wanted: dict[str, Any] = {"temperature": 0, "seed": seed, "max_tokens": max_tokens}
        if yes_no:
            wanted |= {"logprobs": True, "top_logprobs": 5}
        if schema is not None:
            wanted["response_format"] = {"type": "json_schema", "json_schema": dict(schema)}
        if "logprobs" in self.left_out or "top_logprobs" in self.left_out:
            wanted.pop("logprobs", None)
            wanted.pop("top_logprobs", None)
        body = {name: value for name, value in wanted.items() if name not in self.left_out}
        if "max_tokens" in self.left_out:  # newer models know it by another name
            body["max_completion_tokens"] = max_tokens
        return {"model": self.model, "messages": list(messages), **body}


def _named(error: Refused, body: Mapping[str, Any]) -> str | None:
    """Find the optional parameter which the service refuses."""
    sent = [name for name in OPTIONAL if name in body]
    if error.param:
        stem = error.param.split(".")[0]
        return stem if stem in sent else None
    said = str(error)
    return next((name for name in sent if name in said), None)


def _read_chat(content: bytes, headers: Mapping[str, str]) -> RawAnswer:
    value = parsed(content)
    choices = value.get("choices")
    if not isinstance(choices, list):
        raise ValueError("it has no choices")  # noqa: TRY004  a broken answer, asked again as any ValueError
    counted = value.get("usage") or {}
    usage = Usage(1, int(counted.get("prompt_tokens") or 0), int(counted.get("completion_tokens") or 0))
    request_id = headers.get("x-request-id") or str(value.get("id") or "")
    if not choices or not isinstance(choices[0], dict):
        return RawAnswer("", "none", usage, request_id)
    choice = choices[0]
    message = choice.get("message") or {}
    return RawAnswer(
        _text_of(message.get("content")),
        str(choice.get("finish_reason") or "stop"),
        usage,
        request_id,
        _probability_of_yes(choice.get("logprobs")),
        str(message.get("refusal") or ""),
    )


def _text_of(content: Any) -> str:
    """Give the text of a message's content, which some servers send in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _probability_of_yes(logprobs: Any) -> float | None:
    """Give P(YES) / (P(YES) + P(NO)) at the first token which says either."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    for token in tokens or []:
        if not isinstance(token, dict) or read_yes_no(str(token.get("token") or "")) is None:
            continue
        shares = {True: 0.0, False: 0.0}
        for option in token.get("top_logprobs") or [token]:
            said = read_yes_no(str(option.get("token") or ""))
            if said is not None:
                shares[said] += math.exp(min(0.0, float(option.get("logprob") or 0.0)))
        total = shares[True] + shares[False]
        return round(shares[True] / total, 6) if total else None
    return None
