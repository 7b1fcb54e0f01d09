"""An embedder in front of the vector store: the same text is embedded once, ever."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tree_builder.model import Usage, text_id
from tree_builder.protocols import Embedder, Ledger, Priority, VectorStore

Matrix = npt.NDArray[np.float32]


@runtime_checkable
class CountedEmbedder(Protocol):
    """An embedder which says what the texts took."""

    async def embed_counted(
        self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL
    ) -> tuple[Matrix, Usage]: ...


class CachedEmbedder:
    """Implements `protocols.Embedder`: vectors come out of the store where it has them; others are kept before use.

    What a call takes is entered in the ledger by the embedder itself. A text which is being embedded for somebody else is waited for. What is kept counts as a memo hit, once a call.
    """

    def __init__(self, embedder: Embedder, store: VectorStore, ledger: Ledger) -> None:
        self._embedder = embedder
        self._store = store
        self._ledger = ledger
        self._coming: dict[uuid.UUID, asyncio.Future[npt.NDArray[np.float32]]] = {}
        self._work: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str], *, priority: Priority = Priority.CRITICAL) -> Matrix:
        """Give the vectors of the texts: (n, dimensions) float32, unit length, in their order."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        keys = [text_id(text) for text in texts]
        wanted = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._coming}
        if wanted:
            self._begin(wanted, priority)
        shared = [self._coming[key] for key in keys]
        return np.stack(await asyncio.gather(*(asyncio.shield(future) for future in shared)))

    async def close(self, drain_s: float = 5.0) -> None:
        """Let what is being embedded be kept."""
        if self._work:
            await asyncio.wait(list(self._work), timeout=drain_s)
        for task in list(self._work):
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def _begin(self, wanted: dict[uuid.UUID, str], priority: Priority) -> None:
        loop = asyncio.get_running_loop()
        for key in wanted:
            self._coming[key] = future = loop.create_future()
            future.add_done_callback(lambda f: f.cancelled() or f.exception())  # seen, also when nobody waits
        task = loop.create_task(self._find_or_embed(wanted, priority))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _find_or_embed(self, wanted: dict[uuid.UUID, str], priority: Priority) -> None:
        futures = {key: self._coming[key] for key in wanted}
        try:
            kept = await self._store.find_vectors(list(wanted))
            for key, vector in kept.items():
                futures[key].set_result(vector)
            if kept:
                self._ledger.record("embed", Usage(), from_memo=True)
            missing = {key: text for key, text in wanted.items() if key not in kept}
            if missing:
                vectors, usage = await self._embed(list(missing.values()), priority)
                await self._store.keep_vectors(missing, vectors, usage)
                for key, vector in zip(missing, vectors, strict=True):
                    futures[key].set_result(vector)
        except asyncio.CancelledError:
            for future in futures.values():
                future.cancel()
            raise
        except Exception as error:  # noqa: BLE001  whoever waits gets it
            for future in futures.values():
                if not future.done():
                    future.set_exception(error)
        finally:
            for key in wanted:
                self._coming.pop(key, None)

    async def _embed(self, texts: list[str], priority: Priority) -> tuple[Matrix, Usage]:
        self._ledger.before_call("embed")
        if isinstance(self._embedder, CountedEmbedder):
            return await self._embedder.embed_counted(texts, priority=priority)
        return await self._embedder.embed(texts, priority=priority), Usage()
