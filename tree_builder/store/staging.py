"""Writes a run's new nodes, unseen by readers until the run is published. Every method may be repeated without harm."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tree_builder.model import PlacedNode, Tree
from tree_builder.store.database import Connection, Database, execute
from tree_builder.store.retrying import retried
from tree_builder.store.rows import NodeRow, TextRow, TopRow, copy_nodes, copy_texts
from tree_builder.store.statements import load


@dataclass(frozen=True, slots=True)
class Link:
    """The place of a top below a directory's nodes."""

    node_id: uuid.UUID
    parent_id: uuid.UUID
    position: int


class Staging:
    """The door through which one run writes nodes of one corpus.

    Staged rows carry the run's number in since_run or until_run; publishing makes that number the one which readers use.
    """

    def __init__(self, db: Database, corpus_id: int, run_id: int) -> None:
        self._db, self._corpus_id, self._run_id = db, corpus_id, run_id
        self._statements = load("store")

    @retried
    async def replace_document(
        self, doc_path: str, nodes: Sequence[PlacedNode], *, language: str | None, fresh: bool = False
    ) -> None:
        """Stage a document's nodes in place of its published ones; equal rows stay as they are.

        fresh: the published tree has no node of this document, so that there is nothing to compare with.
        """
        async with self._unflushed() as conn:
            await self._run(conn, "undo_document", doc_path=doc_path, run_id=self._run_id)
            if not fresh:
                await self._run(conn, "undo_document_end", doc_path=doc_path, run_id=self._run_id)
            await self._stage(conn, nodes, language)
            if not fresh:
                await self._run(conn, "end_document", doc_path=doc_path, run_id=self._run_id)
            await execute(conn, self._statements["insert_staged"])

    @retried
    async def replace_directory(self, dir_path: str, nodes: Sequence[PlacedNode], links: Sequence[Link]) -> None:
        """Stage a directory's own nodes, and the place of its documents' and sub-directories' tops below them."""
        async with self._unflushed() as conn:
            await self._run(conn, "undo_directory", dir_path=dir_path, run_id=self._run_id)
            await self._run(conn, "undo_directory_end", dir_path=dir_path, run_id=self._run_id)
            await self._stage(conn, nodes, None)
            await self._run(conn, "end_directory", dir_path=dir_path, run_id=self._run_id)
            await execute(conn, self._statements["insert_staged"])
            await self._link(conn, links)

    @retried
    async def end(self, doc_paths: Sequence[str], dir_paths: Sequence[str]) -> None:
        """End every node of documents and directories which are gone."""
        async with self._unflushed() as conn:
            await self._run(conn, "end_documents", doc_paths=list(doc_paths), run_id=self._run_id)
            await self._run(conn, "end_directories", dir_paths=list(dir_paths), run_id=self._run_id)

    @retried
    async def document_tops(self, dir_path: str) -> list[Tree]:
        rows = await self._db.fetch(
            self._statements["document_tops"], TopRow, corpus_id=self._corpus_id, dir_path=dir_path, run_id=self._run_id
        )
        return [row.as_item() for row in rows]

    @retried
    async def directory_top(self, dir_path: str) -> Tree | None:
        row = await self._db.find(
            self._statements["directory_top"], TopRow, corpus_id=self._corpus_id, dir_path=dir_path, run_id=self._run_id
        )
        return row.as_item() if row else None

    @retried
    async def document_nodes(self, doc_path: str) -> list[PlacedNode]:
        """Give the published nodes of a document."""
        rows = await self._db.fetch(
            self._statements["document_rows"],
            NodeRow,
            corpus_id=self._corpus_id,
            doc_path=doc_path,
            run_id=self._run_id,
        )
        return [row.as_node() for row in rows]

    async def _run(self, conn: Connection, name: str, **parameters: object) -> None:
        await execute(conn, self._statements[name], corpus_id=self._corpus_id, **parameters)

    async def _stage(self, conn: Connection, nodes: Sequence[PlacedNode], language: str | None) -> None:
        texts: Mapping[uuid.UUID, str] = {n.text_id: n.content for n in nodes}
        await execute(conn, self._statements["make_staging"])
        await execute(conn, self._statements["make_text_staging"])
        await copy_texts(conn, dict(texts), language)
        await execute(conn, self._statements["insert_texts"])
        await copy_nodes(conn, nodes, corpus_id=self._corpus_id, run_id=self._run_id)

    async def _link(self, conn: Connection, links: Sequence[Link]) -> None:
        places = {
            "node_ids": [link.node_id for link in links],
            "parent_ids": [link.parent_id for link in links],
            "positions": [link.position for link in links],
        }
        await self._run(conn, "link_staged", run_id=self._run_id, **places)
        await self._run(conn, "relink_published", run_id=self._run_id, **places)

    @asynccontextmanager
    async def _unflushed(self) -> AsyncIterator[Connection]:
        """A transaction whose commit is not waited for: publishing flushes it, and a lost one is staged again."""
        async with self._db.transaction() as conn:
            await execute(conn, "set local synchronous_commit = off")
            yield conn

    @retried
    async def flagged_directories(self, pattern: str) -> list[str]:
        """Give the directories with a published node of their own whose flags are like the pattern."""
        return await self._db.fetch(
            self._statements["flagged_directories"],
            str,
            corpus_id=self._corpus_id,
            run_id=self._run_id,
            pattern=pattern,
        )

    @retried
    async def texts_without_vector(
        self, model_id: int, after: uuid.UUID | None, *, batch: int = 2000
    ) -> list[tuple[uuid.UUID, str]]:
        """Give texts of this run's tree which have no vector of the model yet, the next ones after a text_id."""
        rows = await self._db.fetch(
            self._statements["texts_without_vector"],
            TextRow,
            corpus_id=self._corpus_id,
            run_id=self._run_id,
            model_id=model_id,
            after=after or uuid.UUID(int=0),
            batch=batch,
        )
        return [(row.text_id, row.content) for row in rows]
