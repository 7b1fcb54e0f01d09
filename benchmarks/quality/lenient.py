"""Language models wrapped for measuring."""

from __future__ import annotations

from collections.abc import Sequence

from tree_builder.errors import BadModelOutput
from tree_builder.model import Summary, Tree
from tree_builder.protocols import LanguageModel, Priority, Verdict, WindowVerdict


class Lenient:
    """A model which goes on where a summary cannot be had: the beginnings of the items stand in, and are counted.

    silent: write no summaries at all. For boundaries which are found without them, nothing is then paid for summaries.
    """

    def __init__(self, model: LanguageModel, *, chars: int, silent: bool = False) -> None:
        self._model = model
        self._chars = chars
        self._silent = silent
        self.stood_in = 0

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def prompt_size(self) -> int:
        return self._model.prompt_size

    def size(self, item: Tree) -> int:
        return self._model.size(item)

    async def summarize(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> Summary:
        if not self._silent:
            try:
                return await self._model.summarize(items, priority=priority)
            except BadModelOutput:
                self.stood_in += 1
        share = max(1, self._chars // len(items))
        return Summary(" ".join(item.content[:share] for item in items), ("stood in",))

    async def changes_topic(self, summary: str, item: Tree, *, priority: Priority = Priority.CRITICAL) -> Verdict:
        return await self._model.changes_topic(summary, item, priority=priority)

    async def first_new_topic(self, items: Sequence[Tree], *, priority: Priority = Priority.CRITICAL) -> WindowVerdict:
        return await self._model.first_new_topic(items, priority=priority)
