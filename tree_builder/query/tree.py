"""`AsyncSummaryTree`: a corpus's tree, asked from Python. `SummaryTree` in `blocking` is the same for code without asyncio."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tree_builder.errors import ConfigError, NotFound, ProviderError
from tree_builder.model import ROOT_PATH, NodeType
from tree_builder.query import merging, reader, searching
from tree_builder.query.cuts import Cut
from tree_builder.query.encoder import Encoder
from tree_builder.query.passages import pack
from tree_builder.query.reader import Reader, snapshot
from tree_builder.query.results import Context, Corpus, Diff, Document, Hit, Hits, Mode, Node, Summary, Walk
from tree_builder.query.tokens import count_tokens
from tree_builder.settings import Settings
from tree_builder.store.database import Database, resolve_url

if TYPE_CHECKING:
    from tree_builder.protocols import Embedder
    from tree_builder.query.encoder import QueryVector

NodeRef = Node | uuid.UUID | str
Types = NodeType | str | Iterable[NodeType | str] | None

CONTEXT_HITS = 100
"""How many passages `context` chooses from."""
BLOCK = 500


class AsyncSummaryTree:
    """One corpus's published tree of summaries: read, walked, searched. Made by `AsyncSummaryTree.open`.

    Each method sees one version of the tree, the one published when it began. Nodes are named by themselves or by their ids.
    """

    def __init__(self, database: Database, corpus: str | None, encoder: Encoder) -> None:
        self._database = database
        self._corpus = corpus
        self._encoder = encoder

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        database_url: str | None = None,
        corpus: str | None = None,
        *,
        embedder: Embedder | None = None,
        pool_size: int = 8,
        warm_up: bool = False,
        **settings: Any,
    ) -> AsyncIterator[AsyncSummaryTree]:
        """Open a tree for the block. Without an address the settings' database is used, else the embedded server.

        corpus: may be left out where the database holds one. embedder: makes the vectors of queries instead of the corpus's own model,
        whose name it must have. warm_up: load the local encoder meanwhile, for who will search at once. settings: by their names, over
        those of file and environment.

        Raises:
            ConfigError, StoreUnavailable, SchemaOutOfDate: the database cannot be used, with the reason.
        """
        loaded = Settings.load({"database_url": database_url, **settings})
        encoder = Encoder(loaded, embedder)
        if warm_up:
            encoder.warm_up()
        try:
            async with resolve_url(loaded) as url, Database.open(url, max_size=pool_size) as database:
                yield cls(database, corpus, encoder)
        finally:
            await encoder.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(corpus={self._corpus!r})"

    # --- reading -----------------------------------------------------------------------------------------------------

    async def summary(
        self,
        path: str = ROOT_PATH,
        *,
        level: int | None = None,
        budget_tokens: int | None = None,
        at: int | datetime | None = None,
    ) -> Summary:
        """Give the summary of a document, of a directory or, by default, of the whole corpus.

        level: a cut through the tree at this level instead, 0 for the text itself. budget_tokens: the most detailed cut which fits.
        at: the tree of an earlier run, by its number, or as it was at a time (without a zone, UTC).

        Raises:
            NotFound: the path is not in that tree, or no run kept is that old.
            ConfigError: not even the shortest summary fits the budget.
        """
        if budget_tokens is not None and budget_tokens < 1:
            raise ConfigError(f"budget_tokens = {budget_tokens}: it must be at least 1", name="budget_tokens")
        async with self._snapshot() as tree:
            run_id = await _run_at(tree, at) if at is not None else None
            top = await (tree.top(path) if run_id is None else tree.top_at(path, run_id))
            cut = Cut(top, level or 0, budget_tokens, count_tokens)
            if level is not None or budget_tokens is not None:
                while wanting := cut.wanting():
                    cut.open(await tree.children(wanting, run_id))
        nodes, content, tokens = cut.finish()
        if tokens is not None and budget_tokens is not None and tokens > budget_tokens:
            raise ConfigError(
                f"the summary of {top.path!r} has {tokens} tokens, more than the budget of {budget_tokens}",
                tokens=tokens,
            )
        return Summary(top.path, top.corpus, run_id or tree.published_run, tuple(nodes), content, tokens)

    async def get(self, node: NodeRef) -> Node:
        """Give a node by its id.

        Raises:
            NotFound: no published node has it.
            ConfigError: it is no id.
        """
        async with self._snapshot() as tree:
            return await tree.get(_id(node))

    async def children(self, node: NodeRef) -> list[Node]:
        """Give the nodes which a node covers, in order."""
        async with self._snapshot() as tree:
            return (await tree.children([_id(node)])).get(_id(node), [])

    async def ancestors(self, node: NodeRef) -> list[Node]:
        """Give the summaries above a node, the nearest first, up to the root."""
        async with self._snapshot() as tree:
            return list(reversed((await tree.above([_id(node)])).get(_id(node), ())))

    async def leaves(self, node: NodeRef) -> list[Node]:
        """Give the passages which a node covers, in document order."""
        async with self._snapshot() as tree:
            return [below for _, below in await tree.below(_id(node)) if below.node_type is NodeType.CHUNK]

    async def subtree(self, node: NodeRef, depth: int | None = None) -> list[tuple[int, Node]]:
        """Give a node and all below it, each with its depth below the node, in document order, each before what it covers."""
        async with self._snapshot() as tree:
            return await tree.below(_id(node), depth)

    async def outline(self, path: str = ROOT_PATH, depth: int | None = 2) -> list[tuple[int, Node, int]]:
        """Give what lies below a path: the depth of each node, the node, and how many characters of document text it covers."""
        async with self._snapshot() as tree:
            rows = await tree.below((await tree.top(path)).node_id, depth)
            sizes = await tree.text_below([node.node_id for _, node in rows])
        return [(level, node, sizes.get(node.node_id, 0)) for level, node in rows]

    async def nodes(
        self,
        path: str = ROOT_PATH,
        *,
        types: Types = None,
        level: int | None = None,
        min_level: int | None = None,
        max_level: int | None = None,
    ) -> AsyncIterator[Node]:
        """Iterate over the nodes at or below a path, in document order, a summary before what it covers.

        All come from the version of the tree which was published at the start, whatever is published meanwhile.
        """
        low, high = (level, level) if level is not None else (min_level, max_level)
        async with self._snapshot() as tree:
            keys = await tree.keys(path, _types(types), low, high)
        for start in range(0, len(keys), BLOCK):
            for node in await reader.nodes_by_key(self._database, keys[start : start + BLOCK]):
                yield node

    async def documents(self, path: str = ROOT_PATH) -> list[Document]:
        """List the source files below a path as the last run left them, failed ones with their reasons."""
        async with self._snapshot() as tree:
            return await tree.documents(path)

    async def corpora(self) -> list[Corpus]:
        """List all corpora of the database."""
        return await reader.corpora(self._database)

    async def diff(self, run_a: int | None = None, run_b: int | None = None) -> Diff:
        """Say which documents and directories differ between two runs: by default the published one and the one before.

        Raises:
            NotFound: there is no such run, or its tree was not kept.
        """
        async with self._snapshot() as tree:
            runs = [run.run_id for run in await tree.runs()]
            b = _known(runs, run_b) if run_b is not None else runs[0]
            older = [run for run in runs if run < b]
            if run_a is None and not older:
                raise NotFound(
                    f"the run {b} is the first one which is kept: there is none to compare it with", run_id=b
                )
            a = _known(runs, run_a) if run_a is not None else older[0]
            return Diff(tree.corpus.corpus, a, b, tuple(await tree.changes(a, b)))

    # --- asking ------------------------------------------------------------------------------------------------------

    async def search(
        self,
        query: str,
        k: int = 10,
        *,
        mode: Mode = "hybrid",
        in_: str = ROOT_PATH,
        types: Types = None,
        level: int | None = None,
        min_level: int | None = None,
        max_level: int | None = None,
        pages: tuple[int | None, int | None] | None = None,
        since: datetime | None = None,
        min_score: float | None = None,
        offset: int = 0,
    ) -> Hits:
        """Find what answers a query best, among the chunks and the summaries of all levels.

        mode: `hybrid` adds up vector and full text, each score standardized; `vector`; `text`. in_: a directory or a document.
        types, level, pages, since (written by a run since then): of the nodes. min_score: of the mode's score. offset: hits to skip.

        Raises:
            ConfigError: an argument cannot be used.
            NotFound: there is no such corpus.
        """
        low, high = (level, level) if level is not None else (min_level, max_level)
        first, last = pages or (None, None)
        where = searching.Filter(in_, _types(types), low, high, first, last, since, min_score)
        _check_search(mode, k, offset)
        return await self._search(query, k, mode, where, offset)

    async def similar(self, node: NodeRef, k: int = 10, *, in_: str = ROOT_PATH, types: Types = None) -> Hits:
        """Find the nodes most similar to a node, itself and what has the same content left out."""
        _check_search("vector", k, 0)
        async with self._snapshot() as tree:
            near = await searching.similar(tree, await tree.get(_id(node)), k, searching.Filter(in_, _types(types)))
        return Hits(str(_id(node)), "vector", tuple(near))

    async def walk(self, query: str, beam: int = 3, *, path: str = ROOT_PATH) -> Walk:
        """Go from the top of a path down to passages, at each depth on to the `beam` most similar nodes.

        Raises:
            ConfigError: the corpus's model cannot be asked for the vector of the query.
            ProviderError: it did not answer.
        """
        if not 1 <= beam <= 100:
            raise ConfigError(f"beam = {beam}: it must be 1 to 100", name="beam")
        async with self._snapshot() as tree:
            model, dimensions = tree.corpus.model, tree.corpus.dimensions
        vector = await self._encoder.encode(query, model or "", dimensions)
        async with self._snapshot() as tree:
            steps, hits = await searching.walk(tree, await tree.top(path), vector, beam)
        return Walk(query, tuple(steps), tuple(hits))

    async def merge(self, hits: Iterable[Hit]) -> list[Hit]:
        """Replace hits by the nodes of whose chunks more than half are hits. Best first."""
        async with self._snapshot() as tree:
            placed = await searching.with_above(tree, list(hits))
            return merging.merge(placed, await searching.covers(tree, placed))

    async def context(
        self,
        query: str,
        budget_tokens: int = 2000,
        *,
        mode: Mode = "hybrid",
        in_: str = ROOT_PATH,
        k: int = CONTEXT_HITS,
    ) -> Context:
        """Gather what a language model should read to answer a query, in at most so many tokens.

        The best passages, whole, in document order, none twice, each with path, title, pages and citation; for those which do not fit
        a summary above them, where it fits. k: from how many passages to choose.
        """
        if budget_tokens < 0:
            raise ConfigError(f"budget_tokens = {budget_tokens}: it must not be negative", name="budget_tokens")
        _check_search(mode, k, 0)
        hits = await self._search(query, k, mode, searching.Filter(in_, (NodeType.CHUNK,)), 0)
        return pack(query, hits.hits, budget_tokens, count_tokens, warning=hits.warning)

    async def _search(self, query: str, k: int, mode: Mode, where: searching.Filter, offset: int) -> Hits:
        vector, warning = await self._vector(query, mode)
        used: Mode = mode if vector is not None else "text"
        async with self._snapshot() as tree:
            hits = await searching.search(tree, query, vector, used, where, k=k, offset=offset)
        return Hits(query, used, tuple(hits), warning)

    async def _vector(self, query: str, mode: Mode) -> tuple[QueryVector | None, str]:
        """Make the query's vector where the mode needs one; None with a warning where that cannot be."""
        if mode == "text" or not query.strip():
            return None, ""
        async with self._snapshot() as tree:
            model, dimensions = tree.corpus.model, tree.corpus.dimensions
        reason = self._encoder.why_not(model)
        if reason is None and model is not None:
            try:
                return await self._encoder.encode(query, model, dimensions), ""
            except ProviderError as error:
                reason = error.message
        return None, f"searched by words alone: {reason}"

    def _snapshot(self) -> AbstractAsyncContextManager[Reader]:
        return snapshot(self._database, self._corpus)


def _id(node: NodeRef) -> uuid.UUID:
    if isinstance(node, Node):
        return node.node_id
    if isinstance(node, uuid.UUID):
        return node
    try:
        return uuid.UUID(node)
    except ValueError as error:
        raise ConfigError(
            f"{node!r} is no node id: those of `tree-builder search` can be given", node_id=node
        ) from error


def _types(types: Types) -> tuple[str, ...] | None:
    if types is None:
        return None
    names = [types] if isinstance(types, str) else list(types)
    known = [kind.value for kind in NodeType]
    for name in names:
        if name not in known:
            raise ConfigError(f"there is no node type {name!r}; known are {', '.join(known)}", name="types")
    return tuple(str(name) for name in names)


def _check_search(mode: Mode, k: int, offset: int) -> None:
    if mode not in ("hybrid", "vector", "text"):
        raise ConfigError(f"mode = {mode!r}: it must be hybrid, vector or text", name="mode")
    if not 1 <= k <= 1000:
        raise ConfigError(f"k = {k}: it must be 1 to 1000", name="k")
    if not 0 <= offset <= 100_000:
        raise ConfigError(f"offset = {offset}: it must be 0 to 100000", name="offset")


async def _run_at(tree: Reader, at: int | datetime) -> int:
    runs = await tree.runs()
    if isinstance(at, int):
        return _known([run.run_id for run in runs], at)
    moment = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    for run in runs:
        if run.ended_at is not None and run.ended_at <= moment:
            return run.run_id
    raise NotFound(f"no run which is kept was published by {moment.isoformat()}", at=moment)


def _known(runs: Sequence[int], run_id: int) -> int:
    if run_id not in runs:
        kept = ", ".join(map(str, runs)) or "none"
        raise NotFound(f"there is no published run {run_id} which is kept; there are {kept}", run_id=run_id)
    return run_id
