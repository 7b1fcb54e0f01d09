"""What stands in when a directory's summary cannot be had: extracts, flagged, and grown again by the next run.

A document whose summary cannot be had fails alone. A directory cannot fail alone: everything below it would be unseen.
"""

from __future__ import annotations

from collections.abc import Sequence

from tree_builder.errors import BadModelOutput, BudgetExceeded, ProviderUnavailable
from tree_builder.model import Summary, Tree
from tree_builder.protocols import LanguageModel, Priority, Verdict, WindowVerdict

FLAG = "fallback"
_GIVEN_UP = (BadModelOutput, ProviderUnavailable, BudgetExceeded)


class WithFallback:
    """A LanguageModel which never fails for one bad answer, a silent service or a spent budget."""

    def __init__(self, model: LanguageModel, summary_chars: int) -> None:
        self._model = model
        self._summary_chars = summary_chars

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def prompt_size(self) -> int:
        return self._model.prompt_size

    def size(self, item: Tree) -> int:
        return self._model.size(item)

    async def summarize(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> Summary:
        try:
            return await self._model.summarize(items, priority=priority)
        except _GIVEN_UP as error:
            return Summary(beginnings(items, self._summary_chars), flags=(f"{FLAG}:{type(error).__name__}",))

    async def changes_topic(self, summary: str, item: Tree, *, priority: Priority = Priority.CRITICAL) -> Verdict:
        try:
            return await self._model.changes_topic(summary, item, priority=priority)
        except _GIVEN_UP:
            return Verdict(boundary=False, word="undecided")

    async def first_new_topic(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> WindowVerdict:
        try:
            return await self._model.first_new_topic(items, priority=priority)
        except _GIVEN_UP:
            return WindowVerdict(first=None, word="undecided")


def beginnings(items: Sequence[Tree], size: int) -> str:
    """Give the beginning of each item, cut at a space, together about `size` characters and never empty."""
    share = max(40, size // max(1, len(items)))
    parts = (_beginning(item.content.strip(), share) for item in items)
    return "\n".join(part for part in parts if part)[: max(size, 40)].strip() or items[0].content


def _beginning(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    head, _, _ = text[:size].rpartition(" ")
    return (head or text[:size]) + " …"
