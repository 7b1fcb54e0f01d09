"""A call made before its turn: the last use of slots which would be idle, once no chain can be started any more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from tree_builder.grow.purses import Purse
from tree_builder.grow.runs import Run

T = TypeVar("T")


class EarlyCall(Generic[T]):
    """A call of a group whose answer it may not need. It is counted as pending until it is taken or dropped.

    sent: whether it was made, so that it is lost when it is dropped. ended: called when it is over, also before its turn.
    """

    def __init__(self, run: Run, purse: Purse, answer: Awaitable[T], ended: Callable[[], None]) -> None:
        self.sent = False
        self._run = run
        self._purse = purse
        self._task = asyncio.ensure_future(answer)
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())  # raised where it is taken
        self._task.add_done_callback(lambda _: ended())
        purse.undecided += 1
        run.account.speculate()

    async def take(self) -> T | None:
        """Give the answer, which is needed; None where it failed or has not had its turn: it is then to be asked in earnest."""
        if not self.sent:
            self.drop()
            return None
        try:
            answer = await self._task
        except Exception:  # noqa: BLE001
            self._lose()
            return None
        except asyncio.CancelledError:
            self._lose()
            raise
        self._decided()
        if self._run.confirmed:
            self._run.account.confirm(1)
        else:
            self._run.calls += 1
        return answer

    def drop(self) -> None:
        """Note that the answer is not needed."""
        self._lose()
        self._task.cancel()

    def _lose(self) -> None:
        self._decided()
        if self.sent:
            self._run.account.waste(1)
        else:
            self._run.account.withdraw(1)
        self._purse.wasted += self.sent

    def _decided(self) -> None:
        self._purse.undecided -= 1
        self._purse.decided += 1
