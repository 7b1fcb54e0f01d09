"""What a run has spent: counters, prices, and the limits at which no further call starts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tree_builder.errors import BudgetExceeded
from tree_builder.model import Usage
from tree_builder.settings import Price


def cost(model: str, usage: Usage, prices: Mapping[str, Price]) -> float:
    """Give the US dollars which the usage costs by the table of prices; 0 for a model without a known price.

    A name with a date, as `gpt-4.1-mini-2025-04-14`, has the price of the name without it.
    """
    price = price_of(model, prices)
    if price is None:
        return 0.0
    return (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1_000_000


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Find the price of a model, or None when the table has none."""
    if model in prices:
        return prices[model]
    stem = max((name for name in prices if model.startswith(f"{name}-2")), key=len, default=None)
    return prices[stem] if stem else None


def priced(model: str, usage: Usage, prices: Mapping[str, Price]) -> Usage:
    """Give the usage with its cost."""
    return replace(usage, cost_usd=cost(model, usage, prices))


class RunLedger:
    """The ledger of one run, implementing `protocols.Ledger`.

    Kinds are summarize, boundary, embed, and repair (a summary asked for again by verification).
    Once `max_usd` is spent or `max_minutes` have passed no further call starts, so that the overspend is at most the
    calls in flight. `models`: the paid models of the run; those without a price are named in the report.
    """

    def __init__(
        self,
        max_usd: float | None = None,
        max_minutes: float | None = None,
        prices: Mapping[str, Price] | None = None,
        *,
        models: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_usd = max_usd
        self.max_minutes = max_minutes
        self.prices: Mapping[str, Price] = prices or {}
        self.unpriced = tuple(sorted(m for m in models if price_of(m, self.prices) is None))
        self.usage: dict[str, Usage] = {}
        self.memo_hits: Counter[str] = Counter()
        self.saved_usd = 0.0
        self.counts: Counter[str] = Counter()
        self._clock = clock
        self._started_s = clock()

    @property
    def total(self) -> Usage:
        return sum(self.usage.values(), Usage())

    def before_call(self, kind: str) -> None:
        """Raise BudgetExceeded when the run's money or time is spent."""
        if self.max_usd is not None and (spent := self.total.cost_usd) >= self.max_usd:
            raise BudgetExceeded(
                f"the run has cost ${spent:.4f} and may cost ${self.max_usd:.4f}: raise max_usd, or run again to go on",
                kind=kind,
                spent_usd=spent,
            )
        if self.max_minutes is not None and (minutes := (self._clock() - self._started_s) / 60) >= self.max_minutes:
            raise BudgetExceeded(
                f"the run has taken {minutes:.1f} minutes and may take {self.max_minutes:g}: raise max_minutes, or run "
                "again to go on",
                kind=kind,
                minutes=minutes,
            )

    def record(self, kind: str, usage: Usage, *, from_memo: bool = False) -> None:
        """Add what a call took; for an answer out of the memo, what it would have cost counts as saved."""
        if from_memo:
            self.memo_hits[kind] += 1
            self.saved_usd += usage.cost_usd
        else:
            self.usage[kind] = self.usage.get(kind, Usage()) + usage

    def count(self, what: str, n: int = 1) -> None:
        """Count an event which is no call of its own."""
        self.counts[what] += n

    def report(self) -> dict[str, Any]:
        """Give the ledger's part of the run's report, JSON-serializable.

        model_calls: summarize includes repairs. verify: what verification did and cost. events: retries, undecided
        answers, texts shortened for embedding, and the like. unpriced: models whose cost is unknown and counted as 0.
        """
        used = {kind: self.usage.get(kind, Usage()) for kind in ("summarize", "boundary", "embed", "repair")}
        language = used["summarize"] + used["boundary"] + used["repair"]
        verify = ("repairs", "repaired", "flagged")
        return {
            "model_calls": {
                "summarize": used["summarize"].calls + used["repair"].calls,
                "boundary": used["boundary"].calls,
                "embed": used["embed"].calls,
                "memo_hits": self.memo_hits.total(),
            },
            "tokens": {
                "input": language.input_tokens,
                "output": language.output_tokens,
                "embedding": used["embed"].input_tokens,
            },
            "cost_usd": round(self.total.cost_usd, 6),
            "saved_usd": round(self.saved_usd, 6),
            "verify": {name: self.counts[name] for name in verify}
            | {"calls": used["repair"].calls, "cost_usd": round(used["repair"].cost_usd, 6)},
            "events": {name: n for name, n in sorted(self.counts.items()) if name not in verify},
            "unpriced": list(self.unpriced),
        }
