"""The calls of a growth to its language model: what fits a prompt, and how many there may be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from tree_builder.grow.budget import Budget
from tree_builder.grow.items import Item
from tree_builder.model import Summary, Tree
from tree_builder.protocols import LanguageModel, Priority, Verdict, WindowVerdict

T = TypeVar("T")


class Asking:
    """Asks the model on behalf of one group."""

    def __init__(self, model: LanguageModel, budget: Budget) -> None:
        self._model = model
        self._budget = budget

    async def summarize(self, items: Sequence[Item]) -> Summary:
        trees = [item.tree for item in items]
        if len(items) > 1 and sum(item.size for item in items) > self._model.prompt_size:
            share = self._model.prompt_size // len(items)
            trees = [await self._condensed(item) if item.size > share else item.tree for item in items]
        return await self._call(lambda priority: self._model.summarize(trees, priority=priority))

    async def changes_topic(self, summary: Summary, item: Item) -> Verdict:
        tree = item.tree if item.size <= self._model.prompt_size * 3 // 4 else await self._condensed(item)
        return await self._call(lambda priority: self._model.changes_topic(summary.content, tree, priority=priority))

    async def first_new_topic(self, items: Sequence[Item]) -> WindowVerdict:
        trees = [item.tree for item in items]
        return await self._call(lambda priority: self._model.first_new_topic(trees, priority=priority))

    async def _call(self, ask: Callable[[Priority], Awaitable[T]]) -> T:
        self._budget.spend()
        return await ask(Priority.CRITICAL)

    async def _condensed(self, item: Item) -> Tree:
        """Give an item which leaves no room beside it as its summary. Parts are not counted by the budget."""
        summary = await self._model.summarize([item.tree])
        return replace(item.tree, content=summary.content, children=(), body=b"")
