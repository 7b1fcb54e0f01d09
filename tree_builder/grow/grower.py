"""The public door of growing."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence

from tree_builder.grow.boundaries import Detect
from tree_builder.grow.detecting import detect_boundaries
from tree_builder.grow.growth import Growth
from tree_builder.grow.items import Arriving, Feed
from tree_builder.grow.plan import Plan, boundaries_of
from tree_builder.grow.tops import Top
from tree_builder.model import NodeType, Tree
from tree_builder.protocols import Embedder, LanguageModel
from tree_builder.settings import Settings


class Grower:
    """Grows the trees of one run: documents, directories, the root. Any number may grow side by side.

    detect: the boundaries of a level from its texts and vectors, used by `boundaries = "embedding"`.
    """

    def __init__(
        self,
        model: LanguageModel,
        embedder: Embedder,
        settings: Settings,
        *,
        detect: Detect = detect_boundaries,
    ) -> None:
        self._model = model
        self._settings = settings
        self._boundaries = boundaries_of(settings, embedder, detect)

    async def grow_document(self, chunks: Sequence[Tree]) -> Tree:
        """Grow a document's chunks into its `doc_top`. A lone chunk is promoted, without a model call.

        Costs at most 2 (N - 1) model calls for N chunks. The result does not depend on the order in which answers arrive.

        Raises:
            BadModelOutput: an answer which this document needs cannot be used.
            ProviderUnavailable, ProviderRejected, BudgetExceeded: the model's service.
            BuildError: there is no chunk; LevelDidNotShrink: growing would not end.
        """
        first = chunks[0] if chunks else None
        path = (first.doc_path, first.dir_path) if first else (None, None)
        return await self._growth().tree(list(chunks), Top(NodeType.DOC_TOP, *path))

    async def grow_directory(
        self, items: AsyncIterable[Arriving] | Iterable[Tree], *, top: NodeType, dir_path: str
    ) -> Tree:
        """Grow the tops of documents and sub-directories, in path order, into a directory's top or the root.

        items: they may be given while they still grow, as awaitables; one which gives None drops out. The levels above
        start while items are missing. Raises as `grow_document`, and what an awaited item raises.
        """
        return await self._growth().tree(items, Top(top, dir_path=dir_path))

    async def build_level(self, items: AsyncIterable[Arriving] | Iterable[Tree]) -> AsyncIterator[Tree]:
        """Grow one level: give its nodes in order, each as soon as it is there. A lone last item is given as it is."""
        async for node in self._growth().level(items):
            yield node

    def _growth(self) -> Growth:
        model, settings, boundaries = self._model, self._settings, self._boundaries
        return Growth(Feed(model.size), lambda budget: Plan(model, settings, boundaries, budget))
