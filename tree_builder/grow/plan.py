"""How one tree grows: the model, the limits of a group, the way boundaries are found. Shared by all its levels."""

from __future__ import annotations

from collections.abc import Callable

from tree_builder.grow.boundaries import Boundaries, Detect, Each, Embedding, Window
from tree_builder.grow.budget import Budget
from tree_builder.grow.calls import Asking
from tree_builder.grow.groups import Limits
from tree_builder.model import Tree
from tree_builder.protocols import Embedder, LanguageModel
from tree_builder.settings import Scope, Settings


def boundaries_of(settings: Settings, embedder: Embedder, detect: Detect) -> Callable[[], Boundaries]:
    """Give the maker of the chosen strategy; it is called once a level."""
    if settings.boundary_method == "each":
        return Each
    if settings.boundary_method == "window":
        return lambda: Window(settings.window_size)
    return lambda: Embedding(embedder, detect)


class Plan:
    """What the levels of one growth have in common."""

    def __init__(
        self, model: LanguageModel, settings: Settings, boundaries: Callable[[], Boundaries], budget: Budget
    ) -> None:
        self._model = model
        self._budget = budget
        self.boundaries = boundaries
        self.scope: Scope = settings.summary_scope
        self.limits = Limits(
            prompt_size=model.prompt_size if self.scope == "group" else None, max_items=settings.max_group_items
        )

    def size(self, tree: Tree) -> int:
        return self._model.size(tree)

    def asking(self) -> Asking:
        return Asking(self._model, self._budget)
