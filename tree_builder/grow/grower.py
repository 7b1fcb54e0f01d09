"""The public door of growing."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence

from tree_builder.grow.boundaries import Detect
from tree_builder.grow.budgeting import Budgeting
from tree_builder.grow.desk import Desk, Slots
from tree_builder.grow.detector import detect as detect_boundaries
from tree_builder.grow.growth import Growth
from tree_builder.grow.items import Arriving
from tree_builder.grow.plan import Plan
from tree_builder.grow.tops import Top
from tree_builder.model import NodeType, Tree
from tree_builder.protocols import Embedder, LanguageModel
from tree_builder.settings import Settings


class Grower:
    """Grows the trees of one run: documents, directories, the root. Any number may grow side by side.

    detect: the boundaries of a level from its items and vectors, used by `boundaries = "embedding"`.
    slots: tells how many more calls would start at once; default: settings.concurrency less the calls in flight.
    many: several documents are to come, so speculation is held to a small share from the first.
    """

    def __init__(
        self,
        model: LanguageModel,
        embedder: Embedder,
        settings: Settings,
        *,
        detect: Detect = detect_boundaries,
        slots: Slots | None = None,
        many: bool = False,
    ) -> None:
        self._embedder = embedder
        self._settings = settings
        self._detect = detect
        self._desk = Desk(settings.concurrency, slots)
        self._plan = Plan(model, embedder, settings, detect, self._desk)
        self._budgeting = Budgeting(self._desk, settings.speculation, many=many)

    def with_model(self, model: LanguageModel) -> Grower:
        """Give a grower which asks another model, but shares the slots and the budget of guesses with this one."""
        other = copy.copy(self)
        other._plan = Plan(model, self._embedder, self._settings, self._detect, self._desk)  # noqa: SLF001  its own kind
        return other

    async def grow_document(self, chunks: Sequence[Tree], *, ahead: bool = True) -> Tree:
        """Grow a document's chunks into its `doc_top`. A lone chunk is promoted, without a model call.

        Costs at most 2 (N - 1) model calls for N chunks. The result does not depend on the order in which answers arrive.
        ahead: slots which would be idle may ask what the tree may not need. Without it nothing is asked in vain: for items
        which have mostly been grown before, whose answers are kept, so that there is little to wait for.

        Raises:
            BadModelOutput: an answer which this document needs cannot be used.
            ProviderUnavailable, ProviderRejected, BudgetExceeded: the model's service.
            BuildError: there is no chunk; LevelDidNotShrink: growing would not end.
        """
        first = chunks[0] if chunks else None
        path = (first.doc_path, first.dir_path) if first else (None, None)
        return await self._growth(Top(NodeType.DOC_TOP, *path), ahead=ahead).tree(list(chunks))

    async def grow_directory(
        self, items: AsyncIterable[Arriving] | Iterable[Tree], *, top: NodeType, dir_path: str, ahead: bool = True
    ) -> Tree:
        """Grow the tops of documents and sub-directories, in path order, into a directory's top or the root.

        items: they may be given while they still grow, as awaitables; one which gives None drops out. The levels above
        start while items are missing. Raises as `grow_document`, and what an awaited item raises.
        """
        return await self._growth(Top(top, dir_path=dir_path), ahead=ahead).tree(items)

    async def build_level(self, items: AsyncIterable[Arriving] | Iterable[Tree]) -> AsyncIterator[Tree]:
        """Grow one level: give its nodes in order, each as soon as it is there. A lone last item is given as it is."""
        async for node in self._growth(None).level(items):
            yield node

    def _growth(self, top: Top | None, *, ahead: bool = True) -> Growth:
        return Growth(self._plan, self._budgeting, top, ahead=ahead)
