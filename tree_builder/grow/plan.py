"""How the trees of a run grow: the model, the limits of a group, the way boundaries are found."""

from __future__ import annotations

from collections.abc import Callable

from tree_builder.grow.boundaries import Boundaries, Detect, Each, Embedding, Window
from tree_builder.grow.calls import Asking
from tree_builder.grow.desk import Desk
from tree_builder.grow.groups import Limits
from tree_builder.grow.runs import Run
from tree_builder.model import Tree
from tree_builder.protocols import Embedder, LanguageModel
from tree_builder.settings import Scope, Settings


class Plan:
    """What all growths of a run have in common."""

    def __init__(
        self, model: LanguageModel, embedder: Embedder, settings: Settings, detect: Detect, desk: Desk
    ) -> None:
        self._model = model
        self.embedder = embedder
        self.desk = desk
        self.boundaries = _boundaries(settings, embedder, detect)
        self.asks_for_boundaries = settings.boundary_method != "embedding"
        self.scope: Scope = settings.summary_scope
        self.limits = Limits(
            prompt_size=model.prompt_size if self.scope == "group" else None, max_items=settings.max_group_items
        )

    def size(self, tree: Tree) -> int:
        return self._model.size(tree)

    def asking(self, run: Run) -> Asking:
        return Asking(self._model, self.desk, run)


def _boundaries(settings: Settings, embedder: Embedder, detect: Detect) -> Callable[[], Boundaries]:
    """Give the maker of the chosen strategy; it is called once a level."""
    if settings.boundary_method == "each":
        return Each
    if settings.boundary_method == "window":
        return lambda: Window(settings.window_size)
    return lambda: Embedding(embedder, detect)
