"""The questions of one group to the language model, made to fit a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tree_builder.grow.desk import Desk
from tree_builder.grow.early import EarlyCall
from tree_builder.grow.items import Item
from tree_builder.grow.runs import Run
from tree_builder.model import Summary, Tree
from tree_builder.protocols import LanguageModel, Priority, Verdict, WindowVerdict


class Asking:
    """Asks the model on behalf of one group, through the desk."""

    def __init__(self, model: LanguageModel, desk: Desk, run: Run) -> None:
        self._model = model
        self._desk = desk
        self._run = run

    async def summarize(self, items: Sequence[Item]) -> Summary:
        async def ask(priority: Priority) -> Summary:
            trees = [item.tree for item in items]
            if len(items) > 1 and sum(item.size for item in items) > self._model.prompt_size:
                share = self._model.prompt_size // len(items)
                trees = [await self._fitting(item, share, priority) for item in items]
            return await self._model.summarize(trees, priority=priority)

        return await self._desk.call(self._run, ask)

    async def changes_topic(self, summary: Summary, item: Item) -> Verdict:
        self._run.upto = item.start
        return await self._desk.call(self._run, lambda priority: self._changes_topic(summary, item, priority))

    def changes_topic_early(self, summary: Summary, item: Item) -> EarlyCall[Verdict] | None:
        return self._desk.call_early(self._run, lambda priority: self._changes_topic(summary, item, priority))

    async def _changes_topic(self, summary: Summary, item: Item, priority: Priority) -> Verdict:
        tree = await self._fitting(item, self._model.prompt_size * 3 // 4, priority)
        return await self._model.changes_topic(summary.content, tree, priority=priority)

    async def first_new_topic(self, items: Sequence[Item]) -> WindowVerdict:
        trees = [item.tree for item in items]
        return await self._desk.call(self._run, lambda priority: self._model.first_new_topic(trees, priority=priority))

    async def _fitting(self, item: Item, size: int, priority: Priority) -> Tree:
        """Give an item which leaves no room beside it as its own summary. Such parts are not counted."""
        if item.size <= size:
            return item.tree
        summary = await self._model.summarize([item.tree], priority=priority)
        return replace(item.tree, content=summary.content, children=(), body=b"")
