"""Vectors by text and model, and the model's partial index over those of published trees."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tree_builder.model import Usage
from tree_builder.store.database import Database, execute
from tree_builder.store.retrying import retried
from tree_builder.store.rows import COPY_VECTORS
from tree_builder.store.statements import load

if TYPE_CHECKING:
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VectorRow:
    text_id: uuid.UUID
    embedding: Any  # pgvector gives a numpy array


class PostgresVectors:
    """protocols.VectorStore over the table `vectors`, for one model.

    A model whose dimension is not known beforehand is entered with its first vectors; `model_id` is None until then.
    """

    def __init__(self, db: Database, model: str, dimensions: int | None = None) -> None:
        self._db = db
        self._model = model
        self._dimensions = dimensions
        self.model_id: int | None = None
        self._statements = load("store")

    @retried
    async def find_vectors(self, text_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, npt.NDArray[np.float32]]:
        if not text_ids or await self._entered(self._dimensions) is None:
            return {}
        rows = await self._db.fetch(
            self._statements["find_vectors"], VectorRow, model_id=self.model_id, text_ids=list(text_ids)
        )
        return {row.text_id: _as_array(row.embedding) for row in rows}

    @retried
    async def keep_vectors(self, texts: Mapping[uuid.UUID, str], vectors: Matrix, usage: Usage) -> None:  # noqa: ARG002 the ledger has it
        if not texts:
            return
        await self._entered(vectors.shape[1])
        async with self._db.transaction() as conn:
            await execute(conn, self._statements["make_vector_staging"])
            async with conn.cursor() as cursor, cursor.copy(COPY_VECTORS) as copy:
                copy.set_types(["uuid", "vector"])
                for text_id, vector in zip(texts, vectors, strict=True):
                    await copy.write_row((text_id, vector))
            await execute(conn, self._statements["insert_vectors"], model_id=self.model_id)

    async def _entered(self, dimensions: int | None) -> int | None:
        if self.model_id is None and dimensions is not None:
            self._dimensions = dimensions
            self.model_id = await self._db.get(
                self._statements["upsert_embedding_model"], int, model=self._model, dimensions=dimensions
            )
        return self.model_id


def _as_array(value: Any) -> npt.NDArray[np.float32]:
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    return np.asarray(value, dtype=np.float32)
