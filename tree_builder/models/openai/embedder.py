"""Embeddings by POST /embeddings: texts of all who ask at the same time share requests, as few as the limits allow."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tree_builder.errors import BadModelOutput, ProviderRejected
from tree_builder.model import Usage
from tree_builder.models.ledger import priced
from tree_builder.models.openai.connection import Call, Connection, Refused
from tree_builder.models.openai.tokens import beginning, tokenizer
from tree_builder.models.pacing import Ticket
from tree_builder.protocols import Priority
from tree_builder.settings import Price

Matrix = npt.NDArray[np.float32]

MAX_INPUTS = 2048
MAX_REQUEST_TOKENS = 300_000
MAX_TEXT_TOKENS = 8192
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
LONGEST_GATHERING_S = 2.0
"""Texts wait so long, at most, for a request in flight to end before they go in one of their own."""
_NO_ROWS = np.zeros((0, 0), dtype=np.float32)
_BAD_ATTEMPTS = 3
_ARRAY = re.compile(rb'"embedding"\s*:\s*(\[[^\]]*\]|"[^"]*")')


@dataclass(slots=True)
class _Waiting:
    """A text which waits for its vector. done: resolves to the vector and the text's part of what the request took."""

    text: str
    tokens: int
    priority: Priority
    done: asyncio.Future[tuple[npt.NDArray[np.float32], Usage]]


class OpenAIEmbedder:
    """Implements `protocols.Embedder` over the OpenAI API.

    dimensions: asked of models which can shorten their vectors. A text of more than 8,192 tokens is embedded from its first
    8,192, and counted. What each request takes is recorded in the connection's ledger.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        *,
        dimensions: int | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        self.name = name
        self._connection = connection
        self._asked_dimensions = dimensions
        self._dimensions = dimensions or DIMENSIONS.get(name, 0)
        self._prices: Mapping[str, Price] = prices or {}
        self._waiting: deque[_Waiting] = deque()
        self._waiting_tokens = 0
        self._requests: set[asyncio.Task[None]] = set()
        self._gathering: asyncio.Handle | None = None

    @property
    def dimensions(self) -> int:
        """Dimensions of the vectors; 0 while they are unknown: a model of another maker tells with its first answer."""
        return self._dimensions

    async def embed(self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL) -> Matrix:
        """Embed the texts: (n, dimensions) float32, unit length, in the order of the texts."""
        return (await self.embed_counted(texts, priority=priority))[0]

    async def embed_counted(
        self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL
    ) -> tuple[Matrix, Usage]:
        """Embed the texts, and say what that took: their part of the requests which they shared with others."""
        if not texts:
            return np.zeros((0, self._dimensions), dtype=np.float32), Usage()
        loop = asyncio.get_running_loop()
        asked = []
        for at, text in enumerate(texts):
            if at % 256 == 255:
                await asyncio.sleep(0)  # counting tokens takes 40 µs a text
            sized, tokens = self._fitted(text)
            asked.append(_Waiting(sized, tokens, priority, loop.create_future()))
        self._waiting.extend(asked)
        self._waiting_tokens += sum(item.tokens for item in asked)
        self._gather()
        try:
            found = await asyncio.gather(*(item.done for item in asked))
        except BaseException:
            for item in asked:
                item.done.cancel()
            raise
        return np.stack([vector for vector, _ in found]), sum((usage for _, usage in found), Usage())

    async def close(self, drain_s: float = 5.0) -> None:
        """Wait for requests already sent, so that their vectors can be kept."""
        if self._gathering is not None:
            self._gathering.cancel()
        if self._requests:
            await asyncio.wait(list(self._requests), timeout=drain_s)
        for task in list(self._requests):
            task.cancel()
        await asyncio.gather(*self._requests, return_exceptions=True)

    # --- gathering texts into requests ---

    def _fitted(self, text: str) -> tuple[str, int]:
        text = text or " "  # the service refuses an empty text
        tokens = tokenizer().count(text)
        if tokens <= MAX_TEXT_TOKENS:
            return text, tokens
        self._connection.ledger.count("shortened_for_embedding")
        return beginning(text, MAX_TEXT_TOKENS), MAX_TEXT_TOKENS

    def _gather(self) -> None:
        """Send full requests at once; less than that as soon as everybody who can ask now has asked, and none is in flight."""
        loop = asyncio.get_running_loop()
        while len(self._waiting) >= MAX_INPUTS or self._waiting_tokens >= self._room():
            self._send()
        if self._waiting and self._gathering is None:
            if self._requests:
                self._gathering = loop.call_later(LONGEST_GATHERING_S, self._flush)
            else:
                # Twice round the loop: askers woken by the same event come to their turn first.
                self._gathering = loop.call_soon(lambda: self._again_soon(loop))

    def _again_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        self._gathering = loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._gathering = None
        while self._waiting:
            self._send()

    def _room(self) -> int:
        announced = self._connection.limiter.lane(self.name).tokens.limit
        return min(MAX_REQUEST_TOKENS, announced or MAX_REQUEST_TOKENS)

    def _send(self) -> None:
        batch: list[_Waiting] = []
        tokens, room = 0, self._room()
        while self._waiting and len(batch) < MAX_INPUTS and (not batch or tokens + self._waiting[0].tokens <= room):
            item = self._waiting.popleft()
            self._waiting_tokens -= item.tokens
            if not item.done.done():  # whoever asked may have been cancelled
                batch.append(item)
                tokens += item.tokens
        if not batch:
            return
        task = asyncio.get_running_loop().create_task(self._request(batch))
        self._requests.add(task)
        task.add_done_callback(self._landed)

    def _landed(self, task: asyncio.Task[None]) -> None:
        self._requests.discard(task)
        if not self._requests and self._waiting:
            if self._gathering is not None:
                self._gathering.cancel()
            self._gathering = asyncio.get_running_loop().call_soon(self._flush)

    # --- one request ---

    async def _request(self, batch: list[_Waiting]) -> None:
        """Get the vectors of a batch and hand them to whoever waits; halve it when something in it is refused."""
        try:
            vectors, usage = await self._vectors(batch)
        except asyncio.CancelledError:
            for item in batch:
                item.done.cancel()
            raise
        except Refused as error:
            if len(batch) > 1:
                middle = len(batch) // 2
                await self._request(batch[:middle])
                await self._request(batch[middle:])
                return
            self._fail(batch, BadModelOutput(f"a text cannot be embedded by {self.name}: {error}"))
        except Exception as error:  # noqa: BLE001  whoever waits gets it
            self._fail(batch, error)
        else:
            for item, vector, part in zip(batch, vectors, _shared(usage, [i.tokens for i in batch]), strict=True):
                if not item.done.done():
                    item.done.set_result((vector, priced(self.name, part, self._prices)))

    def _fail(self, batch: list[_Waiting], error: Exception) -> None:
        for item in batch:
            if not item.done.done():
                item.done.set_exception(error)

    async def _vectors(self, batch: list[_Waiting]) -> tuple[Matrix, Usage]:
        """Ask for a batch until the vectors are sound, a few times at most."""
        body: dict[str, Any] = {
            "model": self.name,
            "input": [item.text for item in batch],
            "encoding_format": "float",
        }
        if self._asked_dimensions is not None:
            body["dimensions"] = self._asked_dimensions
        tokens = sum(item.tokens for item in batch)
        spent = Usage()
        for attempt in range(1, _BAD_ATTEMPTS + 1):
            ticket = Ticket(min(item.priority for item in batch))
            content = await self._connection.call(
                Call("/embeddings", body, "embed", tokens, ticket), lambda got, _: got
            )
            # A thread: a request's worth of vectors is up to 40 MB of digits.
            read = read_embeddings if len(content) < 100_000 else _in_thread(read_embeddings)
            fault, rows = "", _NO_ROWS
            try:
                found = read(content, len(batch))
                rows, counted = await found if asyncio.iscoroutine(found) else found
            except ValueError as error:
                fault, counted = str(error), tokens
            usage = priced(self.name, Usage(1, counted if counted is not None else tokens), self._prices)
            self._connection.ledger.record("embed", usage)
            spent += usage
            if not fault:
                fault = self._fault(rows)
            if not fault:
                return rows / np.linalg.norm(rows, axis=1, keepdims=True), spent
            self._connection.ledger.count("bad_embeddings")
            if attempt == _BAD_ATTEMPTS:
                raise BadModelOutput(f"{self.name} gave {fault}, {attempt} times", attempts=attempt)
        raise AssertionError  # pragma: no cover - the loop returns or raises

    def _fault(self, rows: Matrix) -> str:
        if not np.isfinite(rows).all():
            return "vectors which are not numbers"
        if not np.linalg.norm(rows, axis=1).all():
            return "vectors of length zero"
        if self._dimensions and rows.shape[1] != self._dimensions:
            if self._asked_dimensions is not None and rows.shape[1] > self._asked_dimensions:
                raise ProviderRejected(
                    f"{self.name} gives vectors of {rows.shape[1]} dimensions, not the {self._asked_dimensions} which "
                    "were asked: it cannot shorten them; leave embedding_dimensions out"
                )
            return f"vectors of {rows.shape[1]} dimensions instead of {self._dimensions}"
        self._dimensions = rows.shape[1]
        return ""


def read_embeddings(content: bytes, n: int) -> tuple[Matrix, int | None]:
    """Read an answer of n embeddings, in the order of their indexes: (n, dimensions) float32, and the tokens counted.

    Each vector is read by itself, so that a large answer holds the interpreter's lock for a tenth of a millisecond at a time.

    Raises:
        ValueError: broken JSON, a count other than n, indexes other than 0 to n-1, or vectors of different length.
    """
    try:
        return _read(content, n)
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"an answer of another form: {error}") from error


def _read(content: bytes, n: int) -> tuple[Matrix, int | None]:
    arrays: list[bytes] = []

    def taken(found: re.Match[bytes]) -> bytes:
        arrays.append(found[1])
        return b'"embedding":%d' % (len(arrays) - 1)

    frame = json.loads(_ARRAY.sub(taken, content))
    data = frame.get("data") if isinstance(frame, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise ValueError("an answer without data")
    if len(data) != n:
        raise ValueError(f"{len(data)} vectors for {n} texts")
    places = [item.get("index", at) for at, item in enumerate(data)]
    if sorted(places) != list(range(n)):
        raise ValueError("vectors whose indexes do not fit the texts")
    rows: list[npt.NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * n
    for place, item in zip(places, data, strict=True):
        rows[place] = _vector(arrays[item["embedding"]])
    if len({len(row) for row in rows}) != 1 or not len(rows[0]):
        raise ValueError("vectors of different length")
    counted = (frame.get("usage") or {}).get("prompt_tokens")
    return np.stack(rows), counted if isinstance(counted, int) else None


def _vector(array: bytes) -> npt.NDArray[np.float32]:
    value = json.loads(array)
    if isinstance(value, str):  # base64, from a server which knows no other format
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
    return np.array(value, dtype=np.float32)


def _in_thread(work: Callable[[bytes, int], tuple[Matrix, int | None]]) -> Callable[[bytes, int], Any]:
    def start(content: bytes, n: int) -> Any:
        return asyncio.to_thread(work, content, n)

    return start


def _shared(usage: Usage, weights: Sequence[int]) -> list[Usage]:
    """Share a request's usage among its texts by weight, to the last token; the calls go to the first."""
    total = sum(weights) or 1
    out, given, seen = [], 0, 0
    for at, weight in enumerate(weights):
        seen += weight
        part = usage.input_tokens * seen // total - given
        given += part
        out.append(Usage(usage.calls if at == 0 else 0, part))
    return out
