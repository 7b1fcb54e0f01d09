"""Who has a corpus: advisory locks, which die with their connection and so with their holder."""

from __future__ import annotations

import asyncio
import os
import socket
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType

from tree_builder.errors import RunInProgress, StoreError, StoreUnavailable
from tree_builder.store.database import Connection, Database, connect, execute, find, get
from tree_builder.store.retrying import retried
from tree_builder.store.statements import load

CORPUS_SPACE = 0x7472_6565  # "tree": keeps our advisory locks apart from other programs'
UPKEEP_SPACE = 0x7472_6566
RUNS_UNDER_WAY = 0


def new_holder() -> str:
    """Name this run's holder: host, process and a token which no other run has."""
    return f"{socket.gethostname()} pid {os.getpid()} ({uuid.uuid4().hex[:12]})"


@dataclass(frozen=True, slots=True)
class Running:
    run_id: int
    holder: str
    started_at: datetime


class CorpusLock:
    """The lock on one corpus, on a connection of its own; also says to others that a run is under way.

    Raises:
        RunInProgress: another run has the corpus (on entry, or when taken again after a lost connection).
    """

    def __init__(self, db: Database, url: str, corpus: str, corpus_id: int) -> None:
        self._db, self._url, self._corpus, self._corpus_id = db, url, corpus, corpus_id
        self._conn: Connection
        self._statements = load("store")
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> CorpusLock:
        await self._take()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def still_held(self) -> None:
        """Make sure that the lock is held still; after a lost connection take it again."""
        try:
            await execute(self._conn, "select 1")
        except StoreError:  # the lock is gone with its connection
            await self._retake()

    async def alone(self) -> bool:
        """Say whether no other run is under way; then nobody else begins to prune until this lock is given back."""
        await find(self._conn, self._statements["unlock_shared"], bool, space=UPKEEP_SPACE, number=RUNS_UNDER_WAY)
        if await self._try("try_lock", UPKEEP_SPACE, RUNS_UNDER_WAY):
            return True
        await self._share()
        return False

    @retried
    async def _retake(self) -> None:
        await self._stack.aclose()
        await self._take()

    @retried
    async def _take(self) -> None:
        stack = AsyncExitStack()
        try:
            self._conn = await stack.enter_async_context(connect(self._url, application_name="tree-builder lock"))
            if not await self._try("try_lock", CORPUS_SPACE, self._corpus_id):
                raise await self._in_progress()
            await self._share()
        except BaseException:
            await stack.aclose()
            raise
        self._stack = stack

    async def _share(self) -> None:
        for _ in range(600):
            if await self._try("lock_shared", UPKEEP_SPACE, RUNS_UNDER_WAY):
                return
            await asyncio.sleep(0.1)
        raise StoreUnavailable("another run has been pruning the database for a minute; try again later")

    async def _try(self, name: str, space: int, number: int) -> bool:
        return await get(self._conn, self._statements[name], bool, space=space, number=number)

    async def _in_progress(self) -> RunInProgress:
        running = await self._db.find(self._statements["find_running"], Running, corpus=self._corpus)
        who = (
            f"run {running.run_id} of {running.holder}, since {running.started_at:%Y-%m-%d %H:%M:%S %Z}"
            if running
            else "another run"
        )
        return RunInProgress(
            f"corpus {self._corpus!r} is taken by {who}; wait for it to end, or stop it",
            corpus=self._corpus,
            holder=running.holder if running else "",
        )
