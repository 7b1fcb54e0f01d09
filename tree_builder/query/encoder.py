"""Vectors of queries, from the very model which made the corpus's vectors.

The local encoder runs in this process: a second or two to load, once, then a tenth of a second a query. A service is asked
only where the settings name it: a question may say as much as a document, and nothing leaves the machine by surprise.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from tree_builder.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tree_builder.model import Usage
    from tree_builder.protocols import Embedder
    from tree_builder.settings import Settings

    QueryVector = npt.NDArray[np.float32]

LOCAL = "use-multilingual-v3"
SENTENCE_TRANSFORMERS = "sentence-transformers:"
MAX_CHARS = 8000


class Encoder:
    """Gives vectors of queries, from the corpus's model; from `embedder`, where one is given, which must be that model."""

    def __init__(self, settings: Settings, embedder: Embedder | None = None) -> None:
        self._settings = settings
        self._given = embedder
        self._loaded: dict[str, Embedder] = {}
        self._services = AsyncExitStack()
        self._warming: asyncio.Task[QueryVector] | None = None
        self._one_at_a_time = asyncio.Lock()

    def warm_up(self) -> None:
        """Begin to load the local encoder beside whatever comes next. Loading takes a second or two."""
        if self._given is None:
            self._warming = asyncio.create_task(self._encode("warm", LOCAL))

    async def close(self) -> None:
        """Wait for what `warm_up` began, and leave the services which were asked."""
        await self._services.aclose()
        if self._warming is not None:
            await asyncio.gather(self._warming, return_exceptions=True)

    def why_not(self, model: str | None) -> str | None:
        """Say why there can be no vector of a query, or None when there can."""
        if model is None:
            return "this corpus has no vectors"
        if self._given is not None:
            return (
                None if self._given.name == model else f"the corpus has vectors of {model}, not of {self._given.name}"
            )
        if model == LOCAL or model.startswith(SENTENCE_TRANSFORMERS) or self._settings.models == "openai":
            return None
        return f"the corpus has vectors of {model}, a model of a service, which is asked only with models = 'openai'"

    async def encode(self, query: str, model: str, dimensions: int | None) -> QueryVector:
        """Give the query's vector: (dimensions,) float32, unit length.

        Raises:
            ConfigError: `why_not`, or the model's vectors have other dimensions than the corpus's.
            ProviderError: the service did not answer.
        """
        if reason := self.why_not(model):
            raise ConfigError(reason, name="models")
        vector = await self._encode(query[:MAX_CHARS], model)
        if dimensions is not None and vector.shape != (dimensions,):
            raise ConfigError(
                f"the corpus has vectors of {dimensions} dimensions, {model} gave {vector.shape[0]}: "
                "set embedding_dimensions as it was when the corpus was built",
                name="embedding_dimensions",
            )
        return vector

    async def _encode(self, query: str, model: str) -> QueryVector:
        if self._given is None and model == LOCAL:
            from tree_builder.models.local.vectors import embed

            async with self._one_at_a_time:  # one thread: loading twice at once would cost twice
                vectors = await asyncio.to_thread(embed, [query])
        else:
            embedder = await self._embedder(model)
            vectors = await embedder.embed([query])
        vector: QueryVector = vectors[0]
        return vector

    async def _embedder(self, model: str) -> Embedder:
        if self._given is not None:
            return self._given
        async with self._one_at_a_time:
            if model not in self._loaded:
                self._loaded[model] = await self._load(model)
            return self._loaded[model]

    async def _load(self, model: str) -> Embedder:
        if model.startswith(SENTENCE_TRANSFORMERS):
            from tree_builder.models.local.embedder import SentenceTransformersEmbedder

            return await SentenceTransformersEmbedder.load(model, _NoLedger())
        from tree_builder.models import open_embedder

        return await self._services.enter_async_context(open_embedder(self._settings, model))


class _NoLedger:
    """Queries are not part of a run and enter no ledger."""

    def before_call(self, kind: str) -> None: ...

    def record(self, kind: str, usage: Usage, *, from_memo: bool = False) -> None: ...

    def count(self, what: str, n: int = 1) -> None: ...
