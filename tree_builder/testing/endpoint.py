"""A simulated service with the OpenAI API, over real HTTP on loopback: latency, limits, faults, counters.

In the process, on a thread of its own:

    with SimulatedEndpoint(EndpointConfig(scale=0)) as endpoint:
        ... endpoint.base_url ... endpoint.stats()

In another process, so that its CPU time is not counted with the program's:

    with SubprocessEndpoint(EndpointConfig()) as endpoint: ...

or by hand: `python -m tree_builder.testing.endpoint --port 8099 --config '{"scale": 0.1}'`, which also answers GET /stats and POST /config.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter, deque
from dataclasses import dataclass
from typing import IO, Any, Self, cast

from tree_builder.testing import mind
from tree_builder.testing.mind import EndpointConfig, Faults

__all__ = ["Call", "EndpointConfig", "Faults", "SimulatedEndpoint", "SubprocessEndpoint"]


@dataclass(slots=True)
class Call:
    """One request as the service saw it. Times in seconds of the monotonic clock; ended_s is 0 while it is in flight."""

    kind: str  # chat or embed
    digest: str
    started_s: float
    ended_s: float = 0.0
    status: int = 0
    fault: str | None = None
    tokens: int = 0
    n_inputs: int = 1


class _Service:
    """The service itself: what it was asked, and how it answers. Lives on one event loop."""

    def __init__(self, config: EndpointConfig) -> None:
        self.config = config
        self.calls: list[Call] = []
        self.attempts: Counter[str] = Counter()
        self.in_flight = 0
        self.max_in_flight = 0
        self.accepted: deque[tuple[float, int]] = deque()
        self.connections: set[asyncio.Task[None]] = set()

    def reset(self) -> None:
        self.calls.clear()
        self.attempts.clear()
        self.accepted.clear()
        self.max_in_flight = self.in_flight

    # --- HTTP ---

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self.connections.add(task)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = head[0].split(" ", 2)
                headers = {
                    k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)
                }
                body = await reader.readexactly(int(headers.get("content-length") or 0))
                if not await self._answer(method, path, headers, body, writer):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError, ValueError):
            pass  # the client went away, or speaks no HTTP
        except asyncio.CancelledError:
            pass  # the service is closing
        finally:
            self.connections.discard(task)
            writer.transport.abort()

    async def _answer(
        self, method: str, path: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; False when the connection is to be dropped."""
        if method == "GET" and path.endswith("/stats"):
            return await _send(writer, 200, json.dumps(self.stats()).encode())
        if method == "POST" and path.endswith("/config"):
            self.config = EndpointConfig.from_json(json.loads(body))
            self.reset()
            return await _send(writer, 200, b"{}")
        kind = {"/chat/completions": "chat", "/embeddings": "embed"}.get(path.removeprefix("/v1"))
        if kind is None or method != "POST":
            return await _send(writer, 404, _error("no such path", "not_found"))
        call = Call(kind, hashlib.sha256(body).hexdigest(), time.monotonic())
        self.calls.append(call)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            return await self._model_call(call, headers, body, writer)
        finally:
            self.in_flight -= 1
            call.ended_s = time.monotonic()

    async def _model_call(self, call: Call, headers: dict[str, str], raw: bytes, writer: asyncio.StreamWriter) -> bool:
        config = self.config
        body = json.loads(raw)
        call.tokens = mind.count_tokens(body)
        call.n_inputs = len(mind.inputs_of(body)) if call.kind == "embed" else 1
        if (refused := self._refusal(call, headers, body)) is not None:
            call.status, content, extra = refused
            return await _send(writer, call.status, content, extra)
        self.accepted.append((time.monotonic(), call.tokens))
        limits = self._limit_headers()
        self.attempts[call.digest] += 1
        call.fault = fault = mind.draw_fault(config, call.kind, raw, self.attempts[call.digest])
        if fault == "rate_limited":
            call.status = 429
            return await _send(writer, 429, _error("slow down", "rate_limit_exceeded"), limits | self._retry_after())
        if fault == "server_error":
            call.status = 500
            return await _send(writer, 500, _error("the service stumbled", "server_error"), limits)
        if fault == "reset":
            return False
        if fault == "hang":
            await asyncio.sleep(config.hang_s)
            return False
        output = 0
        if call.kind == "chat":
            answer, output = mind.chat_response(config, body, fault, len(self.calls))
            content = json.dumps(answer).encode()
        else:
            content = mind.embeddings_response(config, body, fault).encode()
        if fault == "broken_body":
            content = content[: len(content) // 2]
        # The latency is of the whole call: what this process spent on the answer is part of it.
        latency_s = (config.base_latency_s + config.token_latency_s * output) * config.scale
        await asyncio.sleep(max(0.0, call.started_s + latency_s - time.monotonic()))
        call.status = 200
        if fault == "drip":
            return await self._drip(writer, content)
        return await _send(writer, 200, content, limits | {"x-request-id": f"req-{len(self.calls)}"})

    async def _drip(self, writer: asyncio.StreamWriter, content: bytes) -> bool:
        writer.write(_head(200, len(content), {}))
        for at in range(len(content)):
            writer.write(content[at : at + 1])
            await writer.drain()
            await asyncio.sleep(self.config.hang_s / len(content))
        return True

    # --- refusals and limits ---

    def _refusal(
        self, call: Call, headers: dict[str, str], body: dict[str, Any]
    ) -> tuple[int, bytes, dict[str, str]] | None:
        config = self.config
        if config.api_key is not None and headers.get("authorization") != f"Bearer {config.api_key}":
            return 401, _error("Incorrect API key provided", "invalid_api_key"), {}
        if config.quota_exhausted:
            return 429, _error("You exceeded your current quota", "insufficient_quota"), {}
        if config.models is not None and body.get("model") not in config.models:
            return 404, _error(f"The model {body.get('model')!r} does not exist", "model_not_found"), {}
        for name in config.rejects:
            if name in body:
                return 400, _error(f"Unsupported parameter: {name!r}", "unsupported_parameter", param=name), {}
        if self._over_limit(call.tokens):
            return 429, _error("Rate limit reached", "rate_limit_exceeded"), self._limit_headers() | self._retry_after()
        return None

    def _over_limit(self, tokens: int) -> bool:
        config, now = self.config, time.monotonic()
        while self.accepted and self.accepted[0][0] <= now - config.window_s:
            self.accepted.popleft()
        if config.requests_per_window is not None and len(self.accepted) >= config.requests_per_window:
            return True
        if config.tokens_per_window is None:
            return False
        return sum(t for _, t in self.accepted) + tokens > config.tokens_per_window

    def _limit_headers(self) -> dict[str, str]:
        config = self.config
        out: dict[str, str] = {}
        if not config.announce:
            return out
        reset = f"{config.window_s - (time.monotonic() - self.accepted[-1][0]):.3f}s" if self.accepted else "0s"
        if (limit := config.requests_per_window) is not None:
            out["x-ratelimit-limit-requests"] = str(limit)
            out["x-ratelimit-remaining-requests"] = str(max(0, limit - len(self.accepted)))
            out["x-ratelimit-reset-requests"] = reset
        if (limit := config.tokens_per_window) is not None:
            out["x-ratelimit-limit-tokens"] = str(limit)
            out["x-ratelimit-remaining-tokens"] = str(max(0, limit - sum(t for _, t in self.accepted)))
            out["x-ratelimit-reset-tokens"] = reset
        return out

    def _retry_after(self) -> dict[str, str]:
        wait_s = self.config.retry_after_s
        return {"retry-after-ms": str(round(wait_s * 1000)), "retry-after": str(max(1, round(wait_s)))}

    # --- figures ---

    def stats(self) -> dict[str, Any]:
        """Count what was asked so far.

        duplicates: good answers given more than once to the same request. max_per_window: most requests received within
        any window_s seconds. busy_s: seconds in flight, summed over calls; span_s: from the first call to the last end.
        """
        calls = list(self.calls)
        good = Counter(c.digest for c in calls if c.status == 200 and c.fault in (None, "wrong_order"))
        starts = [c.started_s for c in calls]
        ends = [c.ended_s or time.monotonic() for c in calls]
        return {
            "calls": len(calls),
            "chat": sum(c.kind == "chat" for c in calls),
            "embed": sum(c.kind == "embed" for c in calls),
            "inputs": sum(c.n_inputs for c in calls if c.kind == "embed"),
            "tokens": sum(c.tokens for c in calls),
            "statuses": dict(Counter(str(c.status) for c in calls)),
            "faults": dict(Counter(c.fault for c in calls if c.fault)),
            "distinct": len({c.digest for c in calls}),
            "duplicates": sum(n - 1 for n in good.values()),
            "max_in_flight": self.max_in_flight,
            "max_per_window": _most_within(starts, self.config.window_s),
            "busy_s": sum(e - s for s, e in zip(starts, ends, strict=True)),
            "span_s": max(ends) - min(starts) if calls else 0.0,
        }


def _most_within(times: list[float], window_s: float) -> int:
    most, first = 0, 0
    for at, t in enumerate(times):
        while times[first] <= t - window_s:
            first += 1
        most = max(most, at - first + 1)
    return most


def _error(message: str, code: str, **more: Any) -> bytes:
    return json.dumps({"error": {"message": message, "type": code, "code": code, **more}}).encode()


def _head(status: int, length: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", "content-type: application/json", f"content-length: {length}"]
    lines += [f"{k}: {v}" for k, v in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _send(
    writer: asyncio.StreamWriter, status: int, content: bytes, headers: dict[str, str] | None = None
) -> bool:
    writer.write(_head(status, len(content), headers or {}) + content)
    await writer.drain()
    return True


class SimulatedEndpoint:
    """The service on a thread of this process. `calls` is its log; `configure` changes its ways and empties the log."""

    def __init__(self, config: EndpointConfig | None = None, *, port: int = 0) -> None:
        self._service = _Service(config or EndpointConfig())
        self._port = port
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name="simulated-endpoint", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def calls(self) -> list[Call]:
        return self._service.calls

    def stats(self) -> dict[str, Any]:
        return self._service.stats()

    def configure(self, config: EndpointConfig) -> None:
        def change() -> None:
            self._service.config = config
            self._service.reset()
            done.set()

        done = threading.Event()
        self._loop.call_soon_threadsafe(change)
        done.wait()

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._service.serve, "127.0.0.1", self._port, limit=2**26, backlog=1024)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(self._service.connections):
            task.cancel()
        await asyncio.gather(*self._service.connections, return_exceptions=True)
        await asyncio.sleep(0)


class SubprocessEndpoint:
    """The service in a process of its own, which ends with this one."""

    def __init__(self, config: EndpointConfig | None = None) -> None:
        self._config = config or EndpointConfig()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tree_builder.testing.endpoint", "--config", json.dumps(self._config.as_json())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        first_line = cast("IO[str]", self._process.stdout).readline()
        self.base_url: str = json.loads(first_line)["base_url"]
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # closes its stdin, on which it ends

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.base_url}/stats") as answer:  # noqa: S310  http on loopback only
            found: dict[str, Any] = json.load(answer)
        return found

    def configure(self, config: EndpointConfig) -> None:
        data = json.dumps(config.as_json()).encode()
        with urllib.request.urlopen(f"{self.base_url}/config", data=data):  # noqa: S310  http on loopback only
            pass


def main() -> None:
    """Serve until standard input ends; the first line printed is a JSON object with `base_url`."""
    parser = argparse.ArgumentParser(description="a simulated service with the OpenAI API")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--config", default="{}", help="JSON of EndpointConfig")
    options = parser.parse_args()
    with SimulatedEndpoint(EndpointConfig.from_json(json.loads(options.config)), port=options.port) as endpoint:
        print(json.dumps({"base_url": endpoint.base_url}), flush=True)  # noqa: T201  what the starter reads
        sys.stdin.read()


if __name__ == "__main__":
    main()
