"""The desk all calls of a run pass: calls which trees wait for at once, speculative ones while slots are idle."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar, runtime_checkable

from tree_builder.grow.early import EarlyCall
from tree_builder.grow.purses import Purse
from tree_builder.grow.runs import Run
from tree_builder.protocols import Priority

T = TypeVar("T")


@runtime_checkable
class Slots(Protocol):
    """What a limiter outside tells about its capacity."""

    def idle_slots(self) -> int:
        """How many more calls would start at once, without keeping others waiting."""
        ...


LONG_GUESS = 12
"""Calls after which a group at whose start no other has ended waits until one has: it may be long, and a wrong guess."""


class Desk:
    """Counts the calls in flight and lets speculative ones through while some slots are idle.

    slots: calls allowed in flight. hint: a limiter which may know better, as when requests a minute are short.
    """

    def __init__(self, slots: int, hint: Slots | None = None) -> None:
        self.slots = slots
        self._hint = hint
        self._reserve = slots // 16
        self.in_flight = 0
        self.speculative = 0
        self.on_idle: Callable[[], None] = lambda: None
        self.may_guess: Callable[[], bool] = lambda: True
        self.purse_of_early: Callable[[], Purse | None] = lambda: None
        self._waiting: dict[Run, asyncio.Future[bool]] = {}

    @property
    def idle(self) -> int:
        """Slots which speculation may take."""
        own = self.slots - self._reserve - self.in_flight
        return own if self._hint is None or own <= 0 else min(own, self._hint.idle_slots())

    async def call(self, run: Run, ask: Callable[[Priority], Awaitable[T]]) -> T:
        """Make a call for a group, at once when the tree uses it, else in its turn."""
        speculative = False
        if run.confirmed:
            self.in_flight += 1
        else:
            speculative = await self._turn(run)
        try:
            if not speculative:
                run.account.spend()
            return await ask(Priority.CRITICAL if run.confirmed else Priority.SPECULATIVE)
        finally:
            self.in_flight -= 1
            self.speculative -= speculative
            self.let_in()

    def call_early(self, run: Run, ask: Callable[[Priority], Awaitable[T]]) -> EarlyCall[T] | None:
        """Make a call before its turn; None where too few slots are idle, or no more calls may be lost."""
        if self.idle <= 0 or not (run.confirmed or run.reached):
            return None
        if not run.account.allows_speculative_call() or (purse := self.purse_of_early()) is None:
            return None

        def ended() -> None:
            self.in_flight -= 1
            self.speculative -= 1
            self.let_in()

        self.in_flight += 1
        self.speculative += 1
        return EarlyCall(run, purse, ask(Priority.SPECULATIVE), ended)

    def confirm(self, run: Run) -> None:
        """Let the waiting call of a group through, as the tree now uses it."""
        run.confirm()
        if (future := self._waiting.pop(run, None)) is not None and not future.done():
            self.in_flight += 1
            future.set_result(False)

    def let_in(self) -> None:
        """Let speculative calls through for which there is room, then offer what is left to those who could use it."""
        while self._waiting and self.idle > 0 and self.may_guess():
            able = [run for run in self._waiting if _may_speculate(run)]
            if not able:
                break
            first = min(able, key=lambda run: run.rank)
            future = self._waiting.pop(first)
            if not future.done():
                self._admit(first)
                future.set_result(True)
        if self.idle > 0:
            self.on_idle()

    async def _turn(self, run: Run) -> bool:
        """Wait until the group's call may start; True when it starts as a guess, which is then counted already."""
        if not self._waiting and self.idle > 0 and self.may_guess() and _may_speculate(run):
            self._admit(run)
            return True
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[run] = future
        self.let_in()
        try:
            return await future
        except asyncio.CancelledError:
            if self._waiting.pop(run, None) is None and not future.cancelled():  # let in and called off in one breath
                self.in_flight -= 1
                self.speculative -= future.result()
            raise

    def _admit(self, run: Run) -> None:
        self.in_flight += 1
        self.speculative += 1
        run.account.speculate()
        run.calls += 1
        if run.chain is not None:
            run.chain.calls += 1


def _may_speculate(run: Run) -> bool:
    return (run.reached or run.calls < LONG_GUESS) and run.account.allows_speculative_call()
