"""Pacing, in virtual time: limits kept, slots full, urgent calls first."""

from __future__ import annotations

import asyncio
import random

import pytest

from tree_builder.models.pacing import Limiter, Ticket, Window, duration_s, retry_after_s
from tree_builder.protocols import Priority
from tree_builder.testing import clock


def most_within(times: list[float], window_s: float = 60.0) -> int:
    times = sorted(times)
    return max(sum(1 for t in times[: i + 1] if t > end - window_s) for i, end in enumerate(times))


class Service:
    """A service which counts what reaches it within a minute, and announces its limits; connections are of unequal speed."""

    def __init__(
        self, requests: int | None = None, tokens: int | None = None, *, announce: bool = True, seed: int = 0
    ) -> None:
        self.requests, self.tokens, self.announce = requests, tokens, announce
        self.arrived: list[tuple[float, int]] = []
        self.refused = 0
        self.rng = random.Random(seed)

    async def call(self, limiter: Limiter, model: str = "m", tokens: int = 500, ticket: Ticket | None = None) -> None:
        ticket = ticket or Ticket()
        while True:
            async with limiter.slot(model, tokens, ticket):
                await asyncio.sleep(self.rng.random() * 0.2)
                now = asyncio.get_running_loop().time()
                recent = [t for at, t in self.arrived if at > now - 60]
                over = (self.requests is not None and len(recent) >= self.requests) or (
                    self.tokens is not None and sum(recent) + tokens > self.tokens
                )
                if not over:
                    self.arrived.append((now, tokens))
                    recent.append(tokens)
                await asyncio.sleep(0.1 + self.rng.random())
                headers = {}
                if self.announce and self.requests is not None:
                    headers["x-ratelimit-limit-requests"] = str(self.requests)
                    headers["x-ratelimit-remaining-requests"] = str(max(0, self.requests - len(recent)))
                if self.announce and self.tokens is not None:
                    headers["x-ratelimit-limit-tokens"] = str(self.tokens)
                    headers["x-ratelimit-remaining-tokens"] = str(max(0, self.tokens - sum(recent)))
                limiter.answered(model, headers)
                if not over:
                    limiter.succeeded()
                    return
                self.refused += 1
                limiter.pause(1.0)


@pytest.mark.parametrize(("limit", "n"), [(500, 1200), (60, 130), (3, 7)])
def test_an_announced_limit_of_requests_is_never_exceeded(limit: int, n: int) -> None:
    """Of calls to two models nothing is sent above the announced limit, from the first call on, and no 429 is caused."""
    service = Service(requests=limit)

    async def main() -> float:
        limiter = Limiter(64)
        await asyncio.gather(*(service.call(limiter, "chat" if i % 9 else "embed") for i in range(n)))
        return asyncio.get_running_loop().time()

    took_s = clock.run(main())
    assert most_within([at for at, _ in service.arrived]) <= limit
    assert service.refused == 0
    assert took_s <= 1.1 * (n / limit) * 60


def test_an_announced_limit_of_tokens_is_never_exceeded() -> None:
    """Tokens a minute are kept to as well."""
    service = Service(tokens=20_000)

    async def main() -> None:
        limiter = Limiter(64)
        await asyncio.gather(*(service.call(limiter, tokens=100 + 37 * (i % 20)) for i in range(150)))

    clock.run(main())
    times = sorted(service.arrived)
    assert max(sum(t for at, t in times if end - 60 < at <= end) for end, _ in times) <= 20_000
    assert service.refused == 0


def test_limits_of_ones_own_are_kept() -> None:
    """requests_per_minute holds without any announcement."""
    service = Service(announce=False)

    async def main() -> None:
        limiter = Limiter(32, requests_per_minute=30, tokens_per_minute=100_000)
        await asyncio.gather(*(service.call(limiter) for _ in range(90)))

    clock.run(main())
    assert most_within([at for at, _ in service.arrived]) == 30


def test_what_others_use_is_heeded() -> None:
    """When others use the same key, what the service says remains is kept to, but for calls which crossed on the way."""
    service = Service(requests=100)

    async def main() -> None:
        limiter = Limiter(8)
        await service.call(limiter)
        now = asyncio.get_running_loop().time()
        service.arrived += [(now, 0)] * 60  # somebody else
        await asyncio.gather(*(service.call(limiter) for _ in range(80)))

    clock.run(main())
    assert service.refused <= 4


def test_an_unannounced_limit_is_approached_with_care() -> None:
    """A limit which only shows itself by 429s costs what was in flight, and then ever longer pauses with one call each."""
    service = Service(requests=300, announce=False)

    async def main() -> None:
        limiter = Limiter(64)
        await asyncio.gather(*(service.call(limiter) for _ in range(900)))

    clock.run(main())
    assert service.refused <= 3 * (64 + 40)


def test_slots_stay_full() -> None:
    """With 64 allowed in flight and work for them at least 90% of the slots are busy."""
    busy = 0.0

    async def main() -> float:
        limiter = Limiter(64)
        rng = random.Random(1)

        async def call() -> None:
            nonlocal busy
            async with limiter.slot("m", 100, Ticket()):
                needs_s = rng.choice([0.25, 1.2])
                await asyncio.sleep(needs_s)
                limiter.answered("m", {"x-ratelimit-limit-requests": "30000"})
                busy += needs_s

        await asyncio.gather(*(call() for _ in range(3000)))
        return asyncio.get_running_loop().time()

    assert busy_share(clock.run(main()), busy) > 0.9


def busy_share(span_s: float, busy_s: float) -> float:
    return busy_s / (64 * span_s)


def test_the_first_call_goes_alone() -> None:
    """Until the first answer tells the limits, one call is in flight; then as many as allowed."""

    async def main() -> list[int]:
        limiter = Limiter(16)
        seen = []

        async def call() -> None:
            async with limiter.slot("m", 1, Ticket()):
                seen.append(limiter.in_flight)
                await asyncio.sleep(1)
                limiter.answered("m", {})

        await asyncio.gather(*(call() for _ in range(17)))
        return seen

    seen = clock.run(main())
    assert seen[0] == 1
    assert max(seen) == 16


def test_idle_slots_are_those_nothing_else_needs() -> None:
    """Free slots are told, but none while a limit of requests is half used up or the service asked to wait."""

    async def main() -> list[int]:
        limiter = Limiter(16)
        told = [limiter.idle_slots()]

        async def call() -> None:
            async with limiter.slot("m", 1, Ticket()):
                await asyncio.sleep(1)
                limiter.answered("m", {"x-ratelimit-limit-requests": "20"})

        await call()
        calls = [asyncio.create_task(call()) for _ in range(4)]
        await asyncio.sleep(0.5)
        told.append(limiter.idle_slots())
        await asyncio.gather(*calls, *(call() for _ in range(6)))
        told.append(limiter.idle_slots())
        await asyncio.sleep(90)
        limiter.pause(5)
        told.append(limiter.idle_slots())
        return told

    assert clock.run(main()) == [16, 12, 0, 0]


def test_urgent_calls_go_first() -> None:
    """Critical calls pass speculative ones; a speculative one which becomes critical moves up; else first come, first served."""

    async def main() -> list[str]:
        limiter, order = Limiter(1), []
        tickets = {}

        async def call(name: str, priority: Priority) -> None:
            tickets[name] = Ticket(priority)
            async with limiter.slot("m", 1, tickets[name]):
                order.append(name)
                await asyncio.sleep(1)

        names = [
            ("first", Priority.CRITICAL),
            ("s1", Priority.SPECULATIVE),
            ("s2", Priority.SPECULATIVE),
            ("c1", Priority.CRITICAL),
            ("c2", Priority.CRITICAL),
        ]
        tasks = []
        for name, priority in names:
            tasks.append(asyncio.create_task(call(name, priority)))
            await asyncio.sleep(0)
        tickets["s2"].raise_to(Priority.CRITICAL)
        await asyncio.gather(*tasks)
        return order

    assert clock.run(main()) == ["first", "c1", "c2", "s2", "s1"]


def test_models_share_the_slots_fairly() -> None:
    """A long queue for one model does not starve another."""

    async def main() -> int:
        limiter, order = Limiter(1), []

        async def call(model: str) -> None:
            async with limiter.slot(model, 1, Ticket()):
                order.append(model)
                await asyncio.sleep(1)
                limiter.answered(model, {})

        tasks = [asyncio.create_task(call("chat")) for _ in range(10)]
        await asyncio.sleep(0)
        tasks += [asyncio.create_task(call("embed"))] + [asyncio.create_task(call("chat")) for _ in range(10)]
        await asyncio.gather(*tasks)
        return order.index("embed")

    assert clock.run(main()) <= 10


def test_cancelled_waiters_leave_no_trace() -> None:
    """However waiters are cancelled, the slots and limits are whole afterwards."""

    async def main() -> Limiter:
        limiter = Limiter(3, requests_per_minute=1000)
        rng = random.Random(7)

        async def call() -> None:
            async with limiter.slot("m", 10, Ticket(rng.choice(list(Priority)))):
                await asyncio.sleep(rng.random())
                limiter.answered("m", {})

        tasks = [asyncio.create_task(call()) for _ in range(200)]
        for _ in range(150):
            await asyncio.sleep(rng.random() / 10)
            rng.choice(tasks).cancel()
            rng.choice(tasks).cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await call()
        return limiter

    limiter = clock.run(main())
    assert limiter.in_flight == 0
    assert limiter.lane("m").in_flight == 0


def test_a_pause_holds_everybody() -> None:
    """After a 429 nobody sends until the time which the service asked for, and then not all at once."""

    async def main() -> list[float]:
        limiter, sent, loop = Limiter(20), [], asyncio.get_running_loop()

        async def call(i: int) -> None:
            async with limiter.slot("m", 1, Ticket()):
                sent.append(loop.time())
                await asyncio.sleep(0.1)
                limiter.answered("m", {})
                if i == 0:
                    limiter.pause(5.0)

        await asyncio.gather(*(call(i) for i in range(30)))
        return sent

    sent = clock.run(main())
    assert [t for t in sent if 0.1 < t < 5.1] == []
    assert sum(t < 5.15 for t in sent) <= 1 + 4


def test_a_call_larger_than_the_limit_goes_alone() -> None:
    """A call which needs more tokens than the limit holds is sent once nothing else counts, rather than never."""

    async def main() -> float:
        limiter = Limiter(4, tokens_per_minute=100)
        async with limiter.slot("m", 50, Ticket()):
            pass
        async with limiter.slot("m", 500, Ticket()):
            return asyncio.get_running_loop().time()

    assert clock.run(main()) == pytest.approx(60, abs=0.1)


def test_window_counts_from_the_end_of_a_call() -> None:
    """A call counts while it is in flight and for a minute after its end."""
    window = Window(2)
    window.sent(1)
    assert window.used(1000) == 1
    window.ended(1, 1000)
    assert window.used(1059.9) == 1
    assert window.used(1060.1) == 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1s", 1), ("6m0s", 360), ("120ms", 0.12), ("1h2m3.5s", 3723.5), ("", None), ("soon", None), ("1s later", None)],
)
def test_durations_are_read(text: str, seconds: float | None) -> None:
    """The service's way of writing durations is read; anything else is None."""
    assert duration_s(text) == seconds


def test_retry_after_is_read() -> None:
    """Milliseconds go before seconds; a reset counts when nothing remains; dates are understood, nonsense is None."""
    assert retry_after_s({"retry-after-ms": "250", "retry-after": "1"}) == 0.25
    assert retry_after_s({"retry-after": "7"}) == 7
    assert retry_after_s({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "8.64s"}) == 8.64
    assert retry_after_s({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert retry_after_s({"retry-after": "soon"}) is None
    assert retry_after_s({"retry-after": "nan"}) is None
    assert retry_after_s({}) is None
