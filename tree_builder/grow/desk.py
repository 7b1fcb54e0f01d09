"""The desk all calls of a run pass: as many at once as there are slots, those of the tree which will take longest first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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


@dataclass(slots=True, eq=False)
class _Waiting:
    """A call which waits for its turn. early: it is asked before its turn. turn: True when it starts as a guess, counted already."""

    run: Run
    early: bool
    turn: asyncio.Future[bool]

    @property
    def is_needed(self) -> bool:
        return self.run.confirmed and not self.early

    @property
    def order(self) -> tuple[float, bool, tuple[int, int]]:
        """The least goes first: of the tree with the longest way to go what it needs, then its guesses, upper levels before lower."""
        return -self.run.account.urgency, not self.is_needed, self.run.rank

    @property
    def may_be_lost(self) -> bool:
        """Whether it may start as a guess; a call before its turn was allowed when it was asked for."""
        return self.early or (
            (self.run.reached or self.run.calls < LONG_GUESS) and self.run.account.allows_speculative_call()
        )


class Desk:
    """Counts the calls in flight and gives each its turn.

    slots: calls allowed in flight. hint: a limiter which may know better, as when requests a minute are short.
    """

    def __init__(self, slots: int, hint: Slots | None = None) -> None:
        self.slots = slots
        self._hint = hint
        self._reserve = slots // 16
        self.in_flight = 0
        self.speculative = 0
        self.on_turn: Callable[[], None] = lambda: None
        self.may_guess: Callable[[], bool] = lambda: True
        self.purse_of_early: Callable[[Run], Purse | None] = lambda _: None
        self._waiting: list[_Waiting] = []

    @property
    def idle(self) -> int:
        """Slots which nothing waits for."""
        own = self.slots - self._reserve - self.in_flight
        return own if self._hint is None or own <= 0 else min(own, self._hint.idle_slots())

    async def call(self, run: Run, ask: Callable[[Priority], Awaitable[T]]) -> T:
        """Make a call for a group in its turn."""
        waiting = self._queue(run)
        try:
            if not await waiting.turn:
                run.account.spend()
            return await ask(Priority.CRITICAL if run.confirmed else Priority.SPECULATIVE)
        finally:
            self._leave(waiting)

    def call_early(self, run: Run, ask: Callable[[Priority], Awaitable[T]]) -> EarlyCall[T] | None:
        """Make a call before its turn; None where too few slots are idle, or no more calls may be lost."""
        if not (run.confirmed or run.reached) or not run.account.allows_speculative_call():
            return None
        if (purse := self.purse_of_early(run)) is None:
            return None
        waiting = self._queue(run, early=True)

        async def answer() -> T:
            await waiting.turn
            call.sent = True
            return await ask(Priority.SPECULATIVE)

        call = EarlyCall(run, purse, answer(), ended=lambda: self._leave(waiting))
        return call

    def confirm(self, run: Run) -> None:
        """Note that the tree uses a group: its waiting call is needed now."""
        run.confirm()
        if self._waiting:
            self.let_in()

    def let_in(self) -> None:
        """Let calls through while there are slots, then offer what is left to those who could use it."""
        while self._waiting and self.in_flight < self.slots:
            guess = self.may_guess() and (self._hint is None or self._hint.idle_slots() > 0)
            able = [waiting for waiting in self._waiting if self._is_able(waiting, guess=guess)]
            if not able:
                break
            first = min(able, key=lambda waiting: waiting.order)
            self._waiting.remove(first)
            if not first.turn.done():  # else it was called off
                self._admit(first)
        self.on_turn()

    def _is_able(self, waiting: _Waiting, *, guess: bool) -> bool:
        return waiting.is_needed or (guess and waiting.may_be_lost)

    def _queue(self, run: Run, *, early: bool = False) -> _Waiting:
        waiting = _Waiting(run, early, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self.let_in()
        return waiting

    def _admit(self, waiting: _Waiting) -> None:
        self.in_flight += 1
        self.speculative += not waiting.is_needed
        waiting.turn.set_result(not waiting.is_needed)
        if not waiting.is_needed and not waiting.early:
            waiting.run.guess()

    def _leave(self, waiting: _Waiting) -> None:
        """Give back the slot of a call which is over, or its place in the queue."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)
        elif waiting.turn.done() and not waiting.turn.cancelled():
            self.in_flight -= 1
            self.speculative -= waiting.turn.result()
        self.let_in()
