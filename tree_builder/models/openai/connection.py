"""One way to a service with the OpenAI API: paced, retried, timed, and its errors translated."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import openai
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from tree_builder.errors import BadModelOutput, ConfigError, ProviderRejected, ProviderUnavailable
from tree_builder.models.pacing import Limiter, Ticket, retry_after_s
from tree_builder.protocols import Ledger

T = TypeVar("T")

DEFAULT_BASE_URL = "https://api.openai.com/v1"
BACKOFF_S = 0.5
"""The first wait before trying again, doubled each time."""
LONGEST_WAIT_S = 600.0
"""A service which asks to wait longer is left for this run."""
_AS_IT_CAME: Any = {"headers": {"X-Stainless-Raw-Response": "true"}}
"""Asks the client for the body as it came: parsing it into its own types would cost 1 ms a call."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Account:
    """Where the service is, and who asks. The key is in no representation."""

    base_url: str
    api_key: str

    def __repr__(self) -> str:
        return f"Account({self.place!r})"

    @property
    def place(self) -> str:
        """The address without user, password and query, fit to be shown."""
        url = urlsplit(self.base_url)
        return f"{url.scheme}://{url.hostname}{f':{url.port}' if url.port else ''}{url.path}"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Account:
        """Read OPENAI_BASE_URL and OPENAI_API_KEY; a service on this very machine may go without a key.

        Raises:
            ConfigError: no key, or an address which is not http or https.
        """
        environ = os.environ if environ is None else environ
        base_url = (environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL).strip().rstrip("/")
        url = urlsplit("")
        try:
            url = urlsplit(base_url)
            usable = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
        except ValueError:
            usable = False
        if not usable:
            raise ConfigError("OPENAI_BASE_URL must be an address as http://host:port/v1 or https://host/v1")
        key = (environ.get("OPENAI_API_KEY") or "").strip()
        if not key and url.hostname in _LOOPBACK:
            key = "none"
        if not key:
            raise ConfigError("models = 'openai' needs a key: set OPENAI_API_KEY, or use models = 'local'")
        if not key.isascii() or not key.isprintable():
            raise ConfigError("OPENAI_API_KEY holds characters which no key has: was it copied whole?")
        return cls(base_url, key)


class _Passing(Exception):
    """An error which may pass when the call is made again. wait_s: as the service asked."""

    def __init__(self, message: str, *, limited: bool = False, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.limited = limited
        self.wait_s = wait_s


class Refused(Exception):
    """The service refuses this very request (400, 413, 422). param: the parameter it names, where it does."""

    def __init__(self, message: str, *, param: str | None, code: str | None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


@dataclass(frozen=True, slots=True)
class Call:
    """A request to be sent. kind: as in the ledger; tokens: what the service will count for it, estimated."""

    path: str
    body: dict[str, Any]
    kind: str
    tokens: int
    ticket: Ticket

    @property
    def model(self) -> str:
        return str(self.body.get("model"))


class Connection:
    """Sends requests to a service, as fast as its limits allow, and gives what `read` makes of the bodies.

    timeout_s: for one call from its sending to the last byte of its answer. max_attempts: for errors which may pass; being
    told to slow down counts a fifth.
    """

    def __init__(
        self,
        account: Account,
        limiter: Limiter,
        ledger: Ledger,
        *,
        timeout_s: float = 60.0,
        max_attempts: int = 6,
    ) -> None:
        self.account = account
        self.limiter = limiter
        self.ledger = ledger
        self._timeout_s = timeout_s
        self._max_attempts = max_attempts
        self._client: openai.AsyncOpenAI | None = None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def call(self, call: Call, read: Callable[[bytes, Mapping[str, str]], T]) -> T:
        """Send a request and read its answer; what `read` cannot read counts as broken, and is asked again.

        Raises:
            Refused, ProviderRejected, ProviderUnavailable, BudgetExceeded: see `protocols.LanguageModel`.
        """
        patience = _Patience(self._max_attempts, self.ledger)
        retrying = AsyncRetrying(
            stop=patience.spent, wait=patience.wait, retry=retry_if_exception_type(_Passing), reraise=True
        )
        try:
            return await retrying(self._once, call, read)
        except _Passing as error:
            raise ProviderUnavailable(
                f"{self.account.place} gave no answer for {call.model} in {patience.attempts} attempts: {error}; "
                "run again later",
                attempts=patience.attempts,
            ) from error

    async def _once(self, call: Call, read: Callable[[bytes, Mapping[str, str]], T]) -> T:
        model = call.model
        async with self.limiter.slot(model, call.tokens, call.ticket):
            self.ledger.before_call(call.kind)
            client = self._client = self._client or self._connect()
            try:
                async with asyncio.timeout(self._timeout_s):
                    response: Any = await client.post(call.path, body=call.body, cast_to=str, options=_AS_IT_CAME)
                content, headers = response.content, response.headers
            except openai.APIStatusError as error:
                self.limiter.answered(model, error.response.headers)
                translated = self._translated(error, model)
                if isinstance(translated, _Passing) and translated.limited:
                    self.limiter.pause(BACKOFF_S if translated.wait_s is None else translated.wait_s)
                raise translated from error
            except (openai.APIConnectionError, TimeoutError) as error:
                self.limiter.answered(model, {})
                raise _Passing(self._redacted(_cause_of(error, self._timeout_s))) from error
            except UnicodeEncodeError as error:
                raise BadModelOutput("the text cannot be sent: it holds half of a surrogate pair") from error
            self.limiter.answered(model, headers)
            self.limiter.succeeded()
        try:
            return read(content, headers)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:  # of whatever form it is
            raise _Passing(f"the answer cannot be read: {error}") from error

    def _connect(self) -> openai.AsyncOpenAI:
        """Open the client, over aiohttp: a call takes a third less CPU time than by the client's default way."""
        tls = not self.account.base_url.startswith("http:")  # without it, no certificates have to be loaded
        http_client = openai.DefaultAioHttpClient(follow_redirects=False, timeout=None, verify=tls)
        return openai.AsyncOpenAI(
            api_key=self.account.api_key,
            base_url=self.account.base_url,
            max_retries=0,
            timeout=None,  # `_once` has a limit for the whole call
            http_client=http_client,
        )

    def _translated(self, error: openai.APIStatusError, model: str) -> Exception:
        """Say in our own errors what a status means, without the key."""
        status, place = error.status_code, self.account.place
        detail = error.body if isinstance(error.body, dict) else {}
        code, param = str(detail.get("code") or ""), detail.get("param")
        said = self._redacted(str(detail.get("message") or error.message))[:300]
        error.args = (said,)  # what a traceback would show
        error.message = said
        if status == 429:
            if "insufficient_quota" in (code, detail.get("type")) or code == "billing_hard_limit_reached":
                return ProviderRejected(f"the quota at {place} is exhausted: {said}", status=status)
            return self._limited(error, said)
        if status in (401, 403):
            return ProviderRejected(f"{place} refuses the key: {said}; check OPENAI_API_KEY", status=status)
        if status == 404 or code == "model_not_found" or (status == 400 and param == "model"):
            return ProviderRejected(f"{place} knows no model {model!r}, or no such path: {said}", status=status)
        if status in (400, 413, 422):
            return Refused(f"{place} refuses the request: {said}", param=param, code=code or None)
        if status in (408, 409) or status >= 500:
            return _Passing(f"status {status}: {said}", wait_s=retry_after_s(error.response.headers))
        return ProviderRejected(f"{place} answers with status {status}: {said}", status=status)

    def _limited(self, error: openai.APIStatusError, said: str) -> Exception:
        wait_s = retry_after_s(error.response.headers)
        if wait_s is not None and wait_s > LONGEST_WAIT_S:
            return ProviderUnavailable(
                f"{self.account.place} asks to wait {wait_s:.0f} s: {said}; run again then", retry_after_s=wait_s
            )
        self.ledger.count("rate_limited")
        return _Passing(f"status 429: {said}", limited=True, wait_s=wait_s)

    def _redacted(self, text: str) -> str:
        """Leave out the key, and what looks like one."""
        text = text.replace(self.account.api_key, "[key]") if len(self.account.api_key) > 4 else text
        text = re.sub(r"\b(?:sk|pk|key)-[\w*.-]{4,}", "[key]", text)
        return re.sub(r"(?<=://)[^/\s@]+@", "", text)


class _Patience:
    """How long a call is tried, for tenacity: what it counts, when it stops, how long it waits."""

    def __init__(self, max_attempts: int, ledger: Ledger) -> None:
        self.attempts = 0
        self._limited = 0
        self._max_attempts = max_attempts
        self._ledger = ledger

    def spent(self, state: RetryCallState) -> bool:
        self.attempts = state.attempt_number
        self._limited += _passing(state).limited
        spent = self.attempts - self._limited >= self._max_attempts or self._limited >= 5 * self._max_attempts
        if not spent:
            self._ledger.count("retries")
        return spent

    def wait(self, state: RetryCallState) -> float:
        error = _passing(state)
        backoff_s = min(30.0, BACKOFF_S * 2 ** (state.attempt_number - 1)) * random.uniform(0.5, 1.0)  # noqa: S311
        return backoff_s if error.wait_s is None else min(LONGEST_WAIT_S, error.wait_s)


def _passing(state: RetryCallState) -> _Passing:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, _Passing) else _Passing("")


def _cause_of(error: BaseException, timeout_s: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    while error.__cause__ is not None:
        error = error.__cause__  # the client names what lies beneath more vaguely, as a timeout
    return f"{type(error).__name__}: {error}"


def parsed(content: bytes) -> dict[str, Any]:
    """Read a JSON object; ValueError when it is none."""
    value = json.loads(content)
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004  a broken answer, asked again as any ValueError
    return value
