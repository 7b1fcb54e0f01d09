"""Try again what a lost connection interrupted. Only for work which may safely be done twice."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

import tenacity

from tree_builder.errors import StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE_S = 120.0
"""How long a restarting server is waited for: recovery of a busy server takes seconds, a failover up to a minute."""


def retried(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Do the work again while the database cannot be reached; for work whose repetition changes nothing.

    Raises:
        StoreUnavailable: the database stayed away for PATIENCE_S.
    """

    @functools.wraps(work)
    async def again(*args: P.args, **kwargs: P.kwargs) -> T:
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception_type(StoreUnavailable),
            wait=tenacity.wait_random_exponential(multiplier=0.05, max=2.0),
            stop=tenacity.stop_after_delay(PATIENCE_S),
            reraise=True,
        )
        return await retrying(work, *args, **kwargs)

    return again
