"""`SummaryTree`: the same tree for code without asyncio. Every method is the asynchronous one, run on a thread of its own."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from tree_builder.query.tree import AsyncSummaryTree

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from tree_builder.protocols import Embedder

P = ParamSpec("P")
R = TypeVar("R")


class EventLoopThread:
    """An event loop on a thread of its own, so that waiting for it also works inside a notebook's running loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="tree-builder", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self._loop.run_forever()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine to its end and give what it gives. Interrupted, it is cancelled."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @contextmanager
    def entered(self, manager: AbstractAsyncContextManager[R]) -> Iterator[R]:
        """Enter an asynchronous context manager for the block. It is entered and left in one task, as some demand."""
        entered: asyncio.Future[R] = self._loop.create_future()
        leave = asyncio.Event()

        async def stay() -> None:
            async with manager as value:
                entered.set_result(value)
                await leave.wait()

        async def enter() -> R:
            done, _ = await asyncio.wait((staying, entered), return_when=asyncio.FIRST_COMPLETED)
            if staying in done:
                await staying  # raises what kept it from entering
            return entered.result()

        async def start() -> asyncio.Task[None]:
            return asyncio.create_task(stay())

        staying = self.run(start())
        value = self.run(enter())
        try:
            yield value
        finally:
            self._loop.call_soon_threadsafe(leave.set)
            self.run(asyncio.wait_for(staying, None))

    def close(self) -> None:
        """Stop the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


def _blocking(
    method: Callable[Concatenate[AsyncSummaryTree, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[SummaryTree, P], R]:
    @functools.wraps(method)
    def call(self: SummaryTree, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._thread.run(method(self._tree, *args, **kwargs))

    return call


def _iterating(
    method: Callable[Concatenate[AsyncSummaryTree, P], AsyncIterator[R]],
) -> Callable[Concatenate[SummaryTree, P], Iterator[R]]:
    @functools.wraps(method)
    def call(self: SummaryTree, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        items = method(self._tree, *args, **kwargs)
        end = object()

        async def step() -> R | object:
            return await anext(items, end)

        while (item := self._thread.run(step())) is not end:
            yield item  # type: ignore[misc]  # an item, since it is not the end

    return call


class SummaryTree:
    """One corpus's published tree of summaries: read, walked, searched. Made by `SummaryTree.open`.

    Each method sees one version of the tree, the one published when it began. Nodes are named by themselves or by their ids. May be
    shared between threads.
    """

    def __init__(self, tree: AsyncSummaryTree, thread: EventLoopThread) -> None:
        self._tree = tree
        self._thread = thread

    @classmethod
    @contextmanager
    def open(
        cls,
        database_url: str | None = None,
        corpus: str | None = None,
        *,
        embedder: Embedder | None = None,
        pool_size: int = 8,
        **settings: Any,
    ) -> Iterator[SummaryTree]:
        """Open a tree for the block; see `AsyncSummaryTree.open`."""
        thread = EventLoopThread()
        try:
            opened = AsyncSummaryTree.open(database_url, corpus, embedder=embedder, pool_size=pool_size, **settings)
            with thread.entered(opened) as tree:
                yield cls(tree, thread)
        finally:
            thread.close()

    def __repr__(self) -> str:
        return repr(self._tree).replace("Async", "", 1)

    summary = _blocking(AsyncSummaryTree.summary)
    get = _blocking(AsyncSummaryTree.get)
    children = _blocking(AsyncSummaryTree.children)
    ancestors = _blocking(AsyncSummaryTree.ancestors)
    leaves = _blocking(AsyncSummaryTree.leaves)
    subtree = _blocking(AsyncSummaryTree.subtree)
    outline = _blocking(AsyncSummaryTree.outline)
    nodes = _iterating(AsyncSummaryTree.nodes)
    documents = _blocking(AsyncSummaryTree.documents)
    corpora = _blocking(AsyncSummaryTree.corpora)
    diff = _blocking(AsyncSummaryTree.diff)
    search = _blocking(AsyncSummaryTree.search)
    similar = _blocking(AsyncSummaryTree.similar)
    walk = _blocking(AsyncSummaryTree.walk)
    merge = _blocking(AsyncSummaryTree.merge)
    context = _blocking(AsyncSummaryTree.context)
