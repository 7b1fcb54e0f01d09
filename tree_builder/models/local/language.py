"""The local stand-in for a language model: summaries by extraction. It is honest about what it is: extracts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tree_builder.errors import ConfigError
from tree_builder.model import Answer, Request, Summary, Usage, text_id
from tree_builder.models.local.embedder import EXTRACT_RANK
from tree_builder.models.local.pool import WorkerPool
from tree_builder.protocols import Priority, Verdict, WindowVerdict

if TYPE_CHECKING:
    from tree_builder.model import Tree
    from tree_builder.protocols import Ledger, Memo

EXTRACT_NAME = "extract"
VERSION = 1
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
        """Extract from the items' contents. The same contents give the same extract, on any machine; kept under the whole request.

        Raises:
            BadModelOutput: the items ended the worker three times.
            ProviderUnavailable: no worker can be started.
            BudgetExceeded: the run's time is over.
        """
        request = self.request(items)
        answer = await self._memo.find(request.key)
        if answer is not None:
            self._ledger.record("summarize", Usage(), from_memo=True)
            return Summary(answer.text)
        self._ledger.before_call("summarize")
        head = {
            "texts": [item.content for item in items],
            "overlaps": [item.overlap for item in items],
            "chars": self._chars,
        }
        reply, _ = await self._pool.run("extract", head, rank=EXTRACT_RANK)
        usage = Usage(calls=1)
        self._ledger.record("summarize", usage)
        answer = await self._memo.keep(request, Answer(str(reply["text"]), usage))
        return Summary(answer.text)

    def request(self, items: Sequence[Tree]) -> Request:
        """Describe the extraction exactly: all that may change the answer is in the key."""
        payload: dict[str, Any] = {
            "model": EXTRACT_NAME,
            "version": VERSION,
            "chars": self._chars,
            "items": [[str(text_id(item.content)), item.overlap] for item in items],
        }
        key = hashlib.sha256(json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()).digest()
        return Request("summarize", payload, key)

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


def _refuse(boundaries: str) -> NoReturn:
    raise ConfigError(
        f"boundaries = {boundaries!r} asks a language model, which models = 'local' has not; "
        "use boundaries = 'embedding', or models = 'openai'",
        name="boundaries",
    )
