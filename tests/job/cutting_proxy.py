"""A way to PostgreSQL which cuts each connection after a random number of bytes, in the middle of whatever passes."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Self
from urllib.parse import quote

import psycopg


class CuttingProxy:
    """Forward connections to a server's socket or port; cut them while `cutting`. Counts connections and cuts.

    mean_bytes: of what passes, both ways, before a connection is cut; exponentially distributed, so that every transaction
    gets through in the end.
    """

    def __init__(self, url: str, *, seed: int, mean_bytes: int) -> None:
        self._target = psycopg.conninfo.conninfo_to_dict(url)
        self._chance = random.Random(seed)
        self._mean_bytes = mean_bytes
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._folder = Path(tempfile.mkdtemp(prefix="cut-", dir="/tmp"))
        self._tasks: set[asyncio.Task[None]] = set()
        self.cutting = True
        self.connections = self.cuts = 0

    @property
    def url(self) -> str:
        """The address which leads through here."""
        user, password = self._target.get("user", ""), self._target.get("password")
        secret = f":{quote(str(password), safe='')}" if password else ""
        return f"postgresql://{user}{secret}@/{self._target['dbname']}?host={quote(str(self._folder), safe='')}"

    def __enter__(self) -> Self:
        self._thread.start()
        start = asyncio.start_unix_server(self._accept, self._folder / ".s.PGSQL.5432")
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        shutil.rmtree(self._folder)

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        host, port = str(self._target.get("host", "localhost")), int(self._target.get("port") or 5432)
        if host.startswith("/"):
            ways = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        else:
            ways = await asyncio.open_connection(host, port)
        left = [int(self._chance.expovariate(1 / self._mean_bytes))]
        writers = (writer, ways[1])
        try:
            await asyncio.gather(self._forward(reader, ways[1], left), self._forward(ways[0], writer, left))
        except ConnectionError:
            pass
        finally:
            for one in writers:
                one.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: list[int]) -> None:
        """Pass bytes on until the allowance is used up; the last piece is torn where it ends."""
        while data := await reader.read(65536):
            if self.cutting and len(data) > left[0]:
                writer.write(data[: max(0, left[0])])
                await writer.drain()
                self.cuts += 1
                raise ConnectionResetError
            left[0] -= len(data)
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError
