"""One limiter for model calls: how many are in flight, and how many requests and tokens a minute are sent.

A call is counted from the moment it is sent until a window's length after it has *ended*. It reached the service before it
ended, so whichever window of a minute the service looks at, it sees no more calls than the limit, in spite of bursts,
slow connections and clocks which differ.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime

from tree_builder.protocols import Priority

WINDOW_S = 60.0
_SLOW_START = 4
"""Calls in flight, at least, after the service said that it had too many."""
_LONGEST_DOUBLED_S = 30.0


class Ticket:
    """A call's place in the queue. `sent` is set when it gets its slot, and may have to be paid from then on."""

    __slots__ = ("lane", "number", "priority", "sent", "tokens", "turn")

    def __init__(self, priority: Priority = Priority.CRITICAL) -> None:
        self.priority = priority
        self.sent = False
        self.number = 0  # in the order of asking, from 1
        self.lane: Lane | None = None
        self.tokens = 0
        self.turn: asyncio.Future[None] | None = None

    def raise_to(self, priority: Priority) -> None:
        """Make the call more urgent, also while it waits; never less."""
        if priority >= self.priority:
            return
        if self.turn is not None and self.lane is not None:
            self.lane.waiting[self.priority].remove(self)
            self.lane.waiting[priority].append(self)
        self.priority = priority


class Window:
    """How much of a limit is used: by calls in flight, and by calls which ended within the last window."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self._in_flight = 0
        self._recent = 0
        self._ended: deque[tuple[float, int]] = deque()

    def used(self, now: float) -> int:
        while self._ended and self._ended[0][0] <= now - WINDOW_S:
            self._recent -= self._ended.popleft()[1]
        return self._in_flight + self._recent

    def fits(self, amount: int, now: float) -> bool:
        """Whether so much may be sent now. More than the whole limit may go when nothing else counts."""
        if self.limit is None:
            return True
        used = self.used(now)
        return used + amount <= self.limit or used == 0

    def fits_at(self, amount: int) -> float | None:
        """Give the time at which so much will fit, were no more sent; None when calls in flight have to end first."""
        if self.limit is None:
            return None
        excess = self._in_flight + self._recent + amount - self.limit
        for ended, n in self._ended:
            excess -= n
            if excess <= 0:
                return ended + WINDOW_S
        return self._ended[-1][0] + WINDOW_S if self._ended and not self._in_flight else None

    def sent(self, amount: int) -> None:
        self._in_flight += amount

    def ended(self, amount: int, now: float, *, counted: int | None = None) -> None:
        """Note the end of a call; `counted` is what it took in the end, where that is known."""
        self._in_flight -= amount
        self._note(amount if counted is None else counted, now)

    def announced(self, remaining: int, now: float) -> None:
        """Take in what the service says remains: what others with the same key used counts as ours."""
        if self.limit is not None:
            foreign = (self.limit - self.used(now)) - remaining
            if foreign > 0:
                self._note(foreign, now)

    def _note(self, amount: int, now: float) -> None:
        if self.limit is None:
            return  # the first answers tell of limits, if there are any
        self._ended.append((now, amount))
        self._recent += amount


class Lane:
    """The calls to one model: its queue, and the tokens which the service allows it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tokens = Window()
        self.requests = Window()
        self.known = False  # whether any answer came yet: until then one call probes
        self.in_flight = 0
        self.waiting: dict[Priority, deque[Ticket]] = {priority: deque() for priority in Priority}

    def head(self) -> Ticket | None:
        for queue in self.waiting.values():
            if queue:
                return queue[0]
        return None


class Limiter:
    """Gives slots to calls: critical ones first, then in the order of asking; none while a limit would be broken.

    concurrency: calls in flight. requests_per_minute, tokens_per_minute: limits of one's own over all models; those which
    the service announces are learned from its headers. Until a model's first answer shows them, one call alone probes.
    Time is the event loop's.
    """

    def __init__(
        self, concurrency: int, *, requests_per_minute: int | None = None, tokens_per_minute: int | None = None
    ) -> None:
        self.concurrency = concurrency
        self.in_flight = 0
        self.pauses = 0
        self._open = concurrency  # calls in flight which the service seems to bear
        self._own_limit = requests_per_minute
        self._requests = Window(requests_per_minute)
        self._tokens = Window(tokens_per_minute)
        self._asked = 0
        self._lanes: dict[str, Lane] = {}
        self._paused_until = 0.0
        self._refused_in_a_row = 0
        self._timer: asyncio.TimerHandle | None = None

    def lane(self, name: str) -> Lane:
        if name not in self._lanes:
            self._lanes[name] = Lane(name)
        return self._lanes[name]

    @asynccontextmanager
    async def slot(self, model: str, tokens: int, ticket: Ticket) -> AsyncIterator[None]:
        """Wait for the call's turn and hold its slot. tokens: what the service will count for it, estimated."""
        lane = self.lane(model)
        await self._turn(lane, tokens, ticket)
        try:
            yield
        finally:
            now = _now()
            self.in_flight -= 1
            lane.in_flight -= 1
            for window in (self._requests, lane.requests):
                window.ended(1, now)
            for window in (self._tokens, lane.tokens):
                window.ended(tokens, now)
            self._dispatch()

    def idle_slots(self) -> int:
        """How many more calls would start at once without keeping needed ones waiting; none while requests a minute are short."""
        now = _now()
        windows = [self._requests, *(lane.requests for lane in self._lanes.values())]
        short = any(w.limit is not None and 2 * w.used(now) > w.limit for w in windows)
        if short or now < self._paused_until or any(lane.head() for lane in self._lanes.values()):
            return 0
        return max(0, min(self.concurrency, self._open) - self.in_flight)

    def answered(self, model: str, headers: Mapping[str, str]) -> None:
        """Learn from the headers of any answer. Call it while the slot is held."""
        lane, now = self.lane(model), _now()
        for window, word in ((lane.requests, "requests"), (lane.tokens, "tokens")):
            limit = _number(headers.get(f"x-ratelimit-limit-{word}"))
            if limit:
                window.limit = limit
                remaining = _number(headers.get(f"x-ratelimit-remaining-{word}"))
                if remaining is not None:
                    window.announced(remaining, now)
        # Models may share one limit, and nothing tells: the least announced one holds for all. Embedding takes few requests.
        limits = [self._own_limit, *(other.requests.limit for other in self._lanes.values())]
        self._requests.limit = min((limit for limit in limits if limit is not None), default=None)
        lane.known = True

    def succeeded(self) -> None:
        """Note a good answer: after a slow start more calls may be in flight."""
        self._refused_in_a_row = 0
        if self._open < self.concurrency:
            self._open += 1

    def pause(self, seconds: float) -> None:
        """Send nothing for a while: the service said that it had too many calls. Then start with fewer in flight.

        When the first calls after a pause are refused too, the next pause is twice as long, and ends with one call.
        """
        now = _now()
        if now >= self._paused_until:  # calls which were in flight together cut the flow once
            self.pauses += 1
            self._refused_in_a_row += 1
            least = 1 if self._refused_in_a_row > 1 else min(_SLOW_START, self.concurrency)
            self._open = max(least, min(self._open, self.in_flight) // 2)
        doubled_s = min(_LONGEST_DOUBLED_S, seconds * 2 ** min(10, self._refused_in_a_row - 1))
        self._paused_until = max(self._paused_until, now + max(seconds, doubled_s))

    async def _turn(self, lane: Lane, tokens: int, ticket: Ticket) -> None:
        ticket.lane, ticket.tokens = lane, tokens
        ticket.turn = asyncio.get_running_loop().create_future()
        if ticket.number:  # asked before: it goes on where it was, at the head
            lane.waiting[ticket.priority].appendleft(ticket)
        else:
            self._asked += 1
            ticket.number = self._asked
            lane.waiting[ticket.priority].append(ticket)
        self._dispatch()
        try:
            await ticket.turn
        except asyncio.CancelledError:
            if ticket.turn.done() and not ticket.turn.cancelled():  # had its slot at the very moment
                self._give_back(lane, tokens)
            elif ticket in lane.waiting[ticket.priority]:
                lane.waiting[ticket.priority].remove(ticket)
            raise
        finally:
            ticket.turn = None

    def _give_back(self, lane: Lane, tokens: int) -> None:
        self.in_flight -= 1
        lane.in_flight -= 1
        for window, amount in self._windows(lane, tokens):
            window.ended(amount, _now(), counted=0)
        self._dispatch()

    def _windows(self, lane: Lane, tokens: int) -> list[tuple[Window, int]]:
        return [(self._requests, 1), (lane.requests, 1), (self._tokens, tokens), (lane.tokens, tokens)]

    def _dispatch(self) -> None:
        """Give slots to whoever may go now, and set a timer for when the next one may."""
        now = _now()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if now < self._paused_until:
            self._wake_at(self._paused_until)
            return
        while self.in_flight < min(self.concurrency, self._open):
            ticket = self._next(now)
            if ticket is None:
                break
            self._send(ticket)
        if self.in_flight < min(self.concurrency, self._open):
            self._wake_when_a_window_opens(now)

    def _next(self, now: float) -> Ticket | None:
        """Find the most urgent call which may go: the head of a lane whose limits it fits."""
        best: Ticket | None = None
        for lane in self._lanes.values():
            ticket = lane.head()
            if ticket is None or (not lane.known and lane.in_flight):
                continue
            if best is not None and (best.priority, best.number) < (ticket.priority, ticket.number):
                continue
            if all(window.fits(amount, now) for window, amount in self._windows(lane, ticket.tokens)):
                best = ticket
        return best

    def _send(self, ticket: Ticket) -> None:
        lane, turn = ticket.lane, ticket.turn
        if lane is None or turn is None:  # pragma: no cover - a waiting ticket has both
            return
        lane.waiting[ticket.priority].popleft()
        if turn.cancelled():
            return
        self.in_flight += 1
        lane.in_flight += 1
        for window, amount in self._windows(lane, ticket.tokens):
            window.sent(amount)
        ticket.sent = True
        turn.set_result(None)

    def _wake_when_a_window_opens(self, now: float) -> None:
        times = []
        for lane in self._lanes.values():
            if (ticket := lane.head()) is not None:
                opens = [
                    at
                    for window, amount in self._windows(lane, ticket.tokens)
                    if not window.fits(amount, now) and (at := window.fits_at(amount)) is not None
                ]
                if opens:
                    times.append(max(opens))
        if times:
            self._wake_at(min(times))

    def _wake_at(self, when: float) -> None:
        self._timer = asyncio.get_running_loop().call_at(when + 0.001, self._dispatch)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read how long the service asks to wait, in seconds, from `retry-after-ms` or `retry-after`; None when it does not."""
    if (ms := _float(headers.get("retry-after-ms"))) is not None:
        return max(0.0, ms / 1000)
    if (seconds := _float(headers.get("retry-after"))) is not None:
        return max(0.0, seconds)
    if (until := _date(headers.get("retry-after"))) is not None:
        return max(0.0, until - time.time())
    if (reset := headers.get("x-ratelimit-reset-requests")) and headers.get("x-ratelimit-remaining-requests") == "0":
        return duration_s(reset)
    return None


def duration_s(text: str) -> float | None:
    """Read a duration as the service writes it: `1s`, `6m0s`, `120ms`, `1h2m3.5s`."""
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|h|m|s)", text)
    if not parts or "".join(n + u for n, u in parts) != text.strip():
        return None
    return sum(float(n) * {"h": 3600, "m": 60, "s": 1, "ms": 0.001}[unit] for n, unit in parts)


def _date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None


def _now() -> float:
    return asyncio.get_running_loop().time()


def _number(text: str | None) -> int | None:
    value = _float(text)
    return None if value is None else int(value)


def _float(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and abs(value) < 1e12 else None
