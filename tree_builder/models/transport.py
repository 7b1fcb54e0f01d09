"""The seam between prompts and the wire: one question to one language model. Providers implement it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tree_builder.models.answers import RawAnswer
from tree_builder.models.pacing import Ticket
from tree_builder.models.prompts import Message


class Transport(Protocol):
    """Sends messages and brings back what was answered, unchecked."""

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        kind: str,
        max_tokens: int,
        seed: int = 0,
        yes_no: bool = False,
        schema: Mapping[str, Any] | None = None,
        ticket: Ticket,
    ) -> RawAnswer:
        """Ask at temperature 0.

        kind: as in the ledger, which is asked before each call that is sent. max_tokens: of the answer. yes_no: tell the
        probability of YES where the model can. schema: a JSON schema for the answer, where the model can.

        Raises:
            ProviderUnavailable: no answer in spite of retries.
            ProviderRejected: the service refuses for good.
            BadModelOutput: the service refuses this very prompt.
            BudgetExceeded: by the ledger.
        """
        ...

    def idle_slots(self) -> int:
        """How many more calls would start at once, without keeping others waiting."""
        ...
