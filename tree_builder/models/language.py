"""A language model by prompts: memo first, then the model; answers are checked, kept, and only then used."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tree_builder.errors import BadModelOutput
from tree_builder.model import Answer, Request, Summary, Tree, Usage
from tree_builder.models import prompts
from tree_builder.models.answers import RawAnswer, clean_summary, fault_of_summary, read_window, read_yes_no
from tree_builder.models.flight import SingleFlight
from tree_builder.models.ledger import priced
from tree_builder.models.pacing import Ticket
from tree_builder.models.packing import FENCE_TOKENS, batches, shortened
from tree_builder.models.prompts import Message
from tree_builder.models.transport import Transport
from tree_builder.models.verify import unsupported
from tree_builder.protocols import Ledger, Memo, Priority, Verdict, WindowVerdict
from tree_builder.settings import Price

UNDECIDED = "undecided"
SHORT_ANSWER_TOKENS = 16
"""Some gateways refuse less for a one-word answer."""
SAME_ASKS = 4
"""How often the same question is asked while what comes back is a passing fault, as an empty or garbled answer: a repeated
question has the tree's own answer, a changed one may have another."""
LONG_ANSWER_TOKENS = 2048
"""For asking again a model which spent its tokens on thinking aloud."""


_LASTING = ("refused", "filtered")


class PromptedModel:
    """Implements `protocols.LanguageModel` over a transport.

    summary_chars: length of a summary, about. verify: check numbers and names, and ask once for a repair.
    prompt_size: tokens of document text which one prompt holds. count_tokens: of a text, by the model or nearly.
    Identical requests in flight are asked once. Each answer is kept in the memo before it is used; failures never are.
    """

    def __init__(
        self,
        name: str,
        transport: Transport,
        memo: Memo,
        ledger: Ledger,
        *,
        count_tokens: Callable[[str], int],
        summary_chars: int = 900,
        verify: bool = True,
        prompt_size: int = 16_000,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        self.name = name
        self.prompt_size = prompt_size
        self._transport = transport
        self._memo = memo
        self._ledger = ledger
        self._count_tokens = count_tokens
        self._summary_chars = summary_chars
        self._verify = verify
        self._prices: Mapping[str, Price] = prices or {}
        self._flights: SingleFlight[bytes, Answer] = SingleFlight()

    def size(self, item: Tree) -> int:
        return self._size(item.content)

    def idle_slots(self) -> int:
        """How many more calls would start at once, without keeping others waiting: room for guesses."""
        return self._transport.idle_slots()

    async def close(self, drain_s: float = 5.0) -> None:
        """Wait for calls already sent, so that their answers are kept."""
        await self._flights.close(drain_s)

    # --- summarize ---

    async def summarize(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> Summary:
        """Summarize the items together; what does not fit one prompt is summarized by parts, the same parts every time."""
        texts = sources = [item.content for item in items]
        while len(parts := batches(texts, self.prompt_size, self._size)) > 1:
            texts = list(await asyncio.gather(*(self._draft(part, priority) for part in parts)))
            if len(texts) >= len(parts) and sum(map(self._size, texts)) > self.prompt_size:
                texts = [shortened(text, self.prompt_size // len(texts), self._size) for text in texts]
        draft = await self._draft(parts[0], priority)
        if not self._verify:
            return Summary(draft)
        return await self._verified(parts[0], draft, sources, priority)

    async def _draft(self, texts: Sequence[str], priority: Priority) -> str:
        messages = prompts.summarize_messages(texts, target_chars=self._summary_chars)
        return (await self._summary_of(messages, prompts.SUMMARIZE_VERSION, "summarize", priority)).text

    async def _verified(self, texts: Sequence[str], draft: str, sources: Sequence[str], priority: Priority) -> Summary:
        flags = unsupported(draft, sources)
        if not flags:
            return Summary(draft)
        self._ledger.count("repairs")
        asked = prompts.summarize_messages(texts, target_chars=self._summary_chars)
        messages = prompts.repair_messages(asked, draft, [flag.partition(":")[2] for flag in flags])
        try:
            repaired = (await self._summary_of(messages, prompts.REPAIR_VERSION, "repair", priority)).text
        except BadModelOutput:
            repaired = draft
        left = unsupported(repaired, sources)
        if len(left) >= len(flags):
            repaired, left = draft, flags
        self._ledger.count("flagged" if left else "repaired")
        return Summary(repaired, left)

    async def _summary_of(self, messages: list[Message], version: str, kind: str, priority: Priority) -> Answer:
        max_tokens = max(256, self._summary_chars)

        async def ask(ticket: Ticket) -> Answer:
            raw, usage = await self._ask_again(messages, fault_of_summary, kind, ticket, max_tokens=max_tokens)
            if fault := fault_of_summary(raw):
                self._ledger.count("asked_again")
                reminder = f"Write the summary again, whole and in no more than {self._summary_chars} characters."
                asked = prompts.again(messages, "" if fault != "cut off" else raw.text, reminder)
                raw = await self._ask(asked, kind, ticket, max_tokens=max_tokens * 2, seed=1)
                usage += raw.usage
                if again := fault_of_summary(raw):
                    raise BadModelOutput(
                        f"the summary by {self.name} was {fault}, and asked again {again}", first=fault, second=again
                    )
            return Answer(clean_summary(raw.text), usage, meta=_meta(raw))

        return await self._answer(
            "summarize", kind, self._request("summarize", version, messages, max_tokens), ask, priority
        )

    # --- boundaries ---

    async def changes_topic(self, summary: str, item: Tree, *, priority: Priority = Priority.CRITICAL) -> Verdict:
        """Ask about one item: YES or NO; what is neither, also when asked again, is `undecided`, and no boundary."""
        room = self.prompt_size // 2
        fitted = [shortened(text, room, self._size) for text in (summary, item.content)]
        messages = prompts.each_messages(fitted[0], fitted[1])
        request = self._request("boundary", prompts.EACH_VERSION, messages, SHORT_ANSWER_TOKENS)

        async def ask(ticket: Ticket) -> Answer:
            def read(raw: RawAnswer) -> str | None:
                said = read_yes_no(raw.text)
                return None if said is None else "yes" if said else "no"

            return await self._decide(messages, read, prompts.ASK_AGAIN_EACH, ticket, yes_no=True)

        answer = await self._answer("boundary", "boundary", request, ask, priority)
        score = answer.meta.get("yes")
        return Verdict(answer.text == "yes", answer.text, None if score is None else float(score))

    async def first_new_topic(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> WindowVerdict:
        """Ask about a window of items at once; an answer out of range counts as `undecided`, and no boundary."""
        n = len(items)
        if n < 3:
            return WindowVerdict(None, "no")
        room = self.prompt_size // n
        messages = prompts.window_messages([shortened(item.content, room, self._size) for item in items])
        request = self._request("boundary", prompts.WINDOW_VERSION, messages, SHORT_ANSWER_TOKENS * 2)

        async def ask(ticket: Ticket) -> Answer:
            def read(raw: RawAnswer) -> str | None:
                number = read_window(raw.text, n)
                return None if number is None else str(number)

            return await self._decide(messages, read, prompts.ASK_AGAIN_WINDOW, ticket, schema=prompts.WINDOW_SCHEMA)

        answer = await self._answer("boundary", "boundary", request, ask, priority)
        if answer.text == UNDECIDED:
            return WindowVerdict(None, UNDECIDED)
        number = int(answer.text)
        return WindowVerdict(number - 1, "yes") if number else WindowVerdict(None, "no")

    async def _decide(
        self,
        messages: list[Message],
        read: Callable[[RawAnswer], str | None],
        reminder: str,
        ticket: Ticket,
        **how: Any,
    ) -> Answer:
        """Ask until the answer can be read, at last with a reminder; undecided is an answer too, kept like any other."""

        def fault(raw: RawAnswer) -> str | None:
            return None if read(raw) is not None else "refused" if raw.refusal else "unreadable"

        max_tokens = SHORT_ANSWER_TOKENS if "yes_no" in how else SHORT_ANSWER_TOKENS * 2
        raw, usage = await self._ask_again(messages, fault, "boundary", ticket, max_tokens=max_tokens, **how)
        word = read(raw)
        if word is None:
            self._ledger.count("asked_again")
            thinks = raw.finish_reason == "length" and (not raw.text.strip() or "<think" in raw.text)
            max_tokens = LONG_ANSWER_TOKENS if thinks else max_tokens * 4
            asked = prompts.again(messages, raw.text[:200], reminder)
            raw = await self._ask(asked, "boundary", ticket, max_tokens=max_tokens, seed=1, **how)
            word, usage = read(raw), usage + raw.usage
        if word is None:
            self._ledger.count(UNDECIDED)
        return Answer(word or UNDECIDED, usage, meta=_meta(raw))

    async def _ask_again(
        self,
        messages: list[Message],
        fault_of: Callable[[RawAnswer], str | None],
        kind: str,
        ticket: Ticket,
        *,
        max_tokens: int,
        **how: Any,
    ) -> tuple[RawAnswer, Usage]:
        """Ask the same question while the answer has a fault which may pass; give the last answer, and what all took."""
        raw = await self._ask(messages, kind, ticket, max_tokens=max_tokens, **how)
        usage = raw.usage
        for _ in range(SAME_ASKS - 1):
            fault = fault_of(raw)
            spent = raw.finish_reason == "length" and raw.usage.output_tokens >= 0.9 * max_tokens
            if fault is None or fault in _LASTING or spent:
                break
            self._ledger.count("asked_again")
            raw = await self._ask(messages, kind, ticket, max_tokens=max_tokens, **how)
            usage += raw.usage
        return raw, usage

    # --- the way of every request ---

    async def _answer(
        self,
        kind: str,
        ledger_kind: str,
        request: Request,
        ask: Callable[[Ticket], Awaitable[Answer]],
        priority: Priority,
    ) -> Answer:
        async def find_or_ask(ticket: Ticket) -> Answer:
            kept = await self._memo.find(request.key)
            if kept is not None:
                self._ledger.record(ledger_kind, kept.usage, from_memo=True)
                return kept
            self._ledger.before_call(kind)
            return await self._memo.keep(request, await ask(ticket))

        answer, first = await self._flights.run(request.key, find_or_ask, priority=priority)
        if not first:
            await self._memo.find(request.key)  # so that the memo knows of this use too
        return answer

    async def _ask(self, messages: Sequence[Message], kind: str, ticket: Ticket, **how: Any) -> RawAnswer:
        """Call the model and enter what it took, whether or not the answer will do."""
        raw = await self._transport.ask(messages, kind=kind, ticket=ticket, **how)
        usage = priced(self.name, raw.usage, self._prices)
        self._ledger.record(kind, usage)
        return RawAnswer(raw.text, raw.finish_reason, usage, raw.request_id, raw.yes, raw.refusal)

    def _request(self, kind: str, version: str, messages: Sequence[Message], max_tokens: int) -> Request:
        payload = {
            "model": self.name,
            "prompt": version,
            "messages": list(messages),
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": 0,
        }
        return Request(kind, payload, request_key(payload))

    def _size(self, text: str) -> int:
        return self._count_tokens(text) + FENCE_TOKENS


def request_key(payload: Mapping[str, Any]) -> bytes:
    """Give the memo's key of a request: sha256 of its payload as canonical JSON."""
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _meta(raw: RawAnswer) -> dict[str, Any]:
    found = {"finish_reason": raw.finish_reason, "request_id": raw.request_id, "yes": raw.yes}
    return {name: value for name, value in found.items() if value not in (None, "")}
