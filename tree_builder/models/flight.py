"""One call for one question: askers of a question which is already being asked wait for the same answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from tree_builder.models.pacing import Ticket
from tree_builder.protocols import Priority

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Flight(Generic[V]):
    __slots__ = ("askers", "task", "ticket")

    def __init__(self, task: asyncio.Task[V], ticket: Ticket) -> None:
        self.task = task
        self.ticket = ticket
        self.askers = 0


class SingleFlight(Generic[K, V]):
    """Runs one call for a key at a time and hands its answer to all who ask meanwhile.

    A call which all askers have left (they were cancelled) is cancelled while it waits for its turn; once sent it is
    paid for, so it runs to its end and its answer is kept. A more urgent asker makes a waiting call more urgent.
    """

    def __init__(self) -> None:
        self._flights: dict[K, _Flight[V]] = {}

    async def run(
        self, key: K, start: Callable[[Ticket], Awaitable[V]], *, priority: Priority = Priority.CRITICAL
    ) -> tuple[V, bool]:
        """Give what `start` gives, and whether it was begun here (True) or by whoever asked first."""
        flight = self._flights.get(key)
        first = flight is None
        if flight is None:
            flight = self._begin(key, start, Ticket(priority))
        flight.ticket.raise_to(priority)
        flight.askers += 1
        try:
            return await asyncio.shield(flight.task), first
        finally:
            flight.askers -= 1
            if flight.askers == 0 and not flight.ticket.sent and not flight.task.done():
                self._flights.pop(key, None)  # whoever asks from here on starts anew
                flight.task.cancel()

    def _begin(self, key: K, start: Callable[[Ticket], Awaitable[V]], ticket: Ticket) -> _Flight[V]:
        async def call() -> V:
            return await start(ticket)

        flight = _Flight(asyncio.get_running_loop().create_task(call()), ticket)
        self._flights[key] = flight

        def landed(task: asyncio.Task[V]) -> None:
            if self._flights.get(key) is flight:
                del self._flights[key]
            if not task.cancelled():
                task.exception()  # seen, also when nobody waits any more

        flight.task.add_done_callback(landed)
        return flight

    async def close(self, drain_s: float = 5.0) -> None:
        """Let calls which are sent come back within `drain_s` seconds, so that what is paid is kept; cancel the rest."""
        for flight in list(self._flights.values()):
            if not flight.ticket.sent:
                flight.task.cancel()
        tasks = [flight.task for flight in self._flights.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=drain_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
