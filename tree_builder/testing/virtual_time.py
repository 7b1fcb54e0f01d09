"""An event loop whose clock jumps to the next timer instead of waiting: minutes of pacing pass in milliseconds."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits: tells the loop how long it would have."""

    waited_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise RuntimeError("the program would wait for ever: nothing is scheduled")
        self.waited_s += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time starts at 0 and passes only while nothing can run."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.waited_s


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time. For code without sockets, threads and processes."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
