"""The local stand-in for a language model: summaries by extraction. It is honest about what it is: extracts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tree_builder.errors import ConfigError
from tree_builder.model import TOPS, Answer, NodeType, Request, Summary, Usage, text_id
from tree_builder.models.local.embedder import EXTRACT_RANK
from tree_builder.models.local.pool import WorkerPool
from tree_builder.protocols import Priority, Verdict, WindowVerdict

if TYPE_CHECKING:
    from tree_builder.model import Tree
    from tree_builder.protocols import Ledger, Memo

EXTRACT_NAME = "extract"
VERSION = 8
"""Part of every request: raise it with any change that may change an extract, so that kept answers of older code are not used."""
PROMPT_CHARS = 1_000_000
"""There is no prompt to fit; a group so large would only be slow."""


class ExtractiveModel:
    """`extract`: a summary is the sentences which say most, verbatim and in order, about `summary_chars` characters of them."""

    def __init__(self, pool: WorkerPool, memo: Memo, ledger: Ledger, *, summary_chars: int) -> None:
        self._pool = pool
        self._memo = memo
        self._ledger = ledger
        self._chars = summary_chars

    @property
    def name(self) -> str:
        return EXTRACT_NAME

    @property
    def prompt_size(self) -> int:
        return PROMPT_CHARS

    def size(self, item: Tree) -> int:
        """Size of an item, in characters."""
        return len(item.content)

    async def summarize(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> Summary:  # noqa: ARG002 - of the protocol
        """Extract from the items. The same items give the same extract, on any machine; kept under the whole request.

        Raises:
            BadModelOutput: the items ended the worker three times.
            ProviderUnavailable: no worker can be started.
            BudgetExceeded: the run's time is over.
        """
        task = task_of(items, self._chars)
        request = request_of(task)
        answer = await self._memo.find(request.key)
        if answer is not None:
            self._ledger.record("summarize", Usage(), from_memo=True)
            return Summary(answer.text)
        self._ledger.before_call("summarize")
        reply, _ = await self._pool.run("extract", task, rank=EXTRACT_RANK)
        usage = Usage(calls=1)
        self._ledger.record("summarize", usage)
        answer = await self._memo.keep(request, Answer(str(reply["text"]), usage))
        return Summary(answer.text)

    async def changes_topic(self, summary: str, item: Tree, *, priority: Priority = Priority.CRITICAL) -> Verdict:  # noqa: ARG002
        """Refuse: an extractor answers no questions.

        Raises:
            ConfigError: always; it names the setting to use.
        """
        _refuse("each")

    async def first_new_topic(
        self,
        items: Sequence[Tree],  # noqa: ARG002 - of the protocol
        *,
        priority: Priority = Priority.CRITICAL,  # noqa: ARG002
    ) -> WindowVerdict:
        """Refuse: an extractor answers no questions.

        Raises:
            ConfigError: always; it names the setting to use.
        """
        _refuse("window")


def task_of(items: Sequence[Tree], chars: int) -> dict[str, Any]:
    """Say what is to be extracted, as `extraction.extract` takes it.

    Inside a document the words of all the chunks below decide what matters, and the sentences come from the items: so each sentence of
    a summary stands in a summary or chunk below it too. Above documents each document below, or sub-directory, is an item of its own.
    """
    tops = [top for item in items for top in _tops(item)]
    covering = any(top.node_type in TOPS for top in tops)
    covered = tops if covering else items
    leaves = [] if covering else [leaf for item in items for leaf in _leaves(item)]
    return {
        "items": [_passage(item) for item in covered],
        "context": [_passage(leaf) for leaf in leaves] if any(item.children for item in items) else [],
        "chars": chars,
        "leads": bool(leaves) and leaves[0].char_start == 0,
        "covering": covering,
    }


def request_of(task: dict[str, Any]) -> Request:
    """Describe an extraction exactly, texts by their hashes: all that may change the answer is in the key."""
    payload = {"model": EXTRACT_NAME, "version": VERSION, **task}
    for name in ("items", "context"):
        payload[name] = [[str(text_id(text)), overlap, flowing] for text, overlap, flowing in task[name]]
    key = hashlib.sha256(json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()).digest()
    if payload["context"]:
        payload["context"] = hashlib.sha256(json.dumps(payload["context"]).encode()).hexdigest()
    return Request("summarize", payload, key)


def _passage(item: Tree) -> tuple[str, int, bool]:
    return item.content, item.overlap, item.node_type is NodeType.CHUNK


def _leaves(item: Tree) -> Iterator[Tree]:
    if not item.children:
        yield item
    for child in item.children:
        yield from _leaves(child)


def _tops(item: Tree) -> Iterator[Tree]:
    """Give the tops which a summary above documents covers; what lies below a top is not looked at, since it need not be at hand."""
    if item.node_type is NodeType.SUMMARY and any(child.node_type is not NodeType.CHUNK for child in item.children):
        for child in item.children:
            yield from _tops(child)
    else:
        yield item


def _refuse(boundaries: str) -> NoReturn:
    raise ConfigError(
        f"boundaries = {boundaries!r} asks a language model, which models = 'local' has not; "
        "use boundaries = 'embedding', or models = 'openai'",
        name="boundaries",
    )
