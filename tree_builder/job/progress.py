"""How far a run is: numbers which the job keeps and a terminal may look at."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tree_builder.model import Usage


@dataclass(slots=True)
class Progress:
    """Counts of the run under way. The job writes, whoever shows it reads; nothing is called back."""

    stage: str = "starting"
    documents_total: int = 0
    documents_done: int = 0
    bytes_total: int = 0
    bytes_done: int = 0
    spent: Callable[[], Usage] = Usage
    started: float = field(default_factory=time.monotonic)

    def begin(self, stage: str) -> None:
        self.stage = stage

    def expect(self, size_bytes: int) -> None:
        self.documents_total += 1
        self.bytes_total += size_bytes

    def done(self, size_bytes: int) -> None:
        self.documents_done += 1
        self.bytes_done += size_bytes

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.started
