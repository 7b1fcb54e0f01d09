"""What a run has spent, and when it stops."""

from __future__ import annotations

import pytest

from tree_builder.errors import BudgetExceeded
from tree_builder.model import Usage
from tree_builder.models import RunLedger, cost
from tree_builder.settings import PRICES, Price, Settings


def test_cost_is_by_the_table() -> None:
    """Input and output tokens have their prices; dated names have that of the plain one; unknown models cost nothing."""
    usage = Usage(1, 1_000_000, 500_000)
    assert cost("gpt-4.1-mini", usage, PRICES) == pytest.approx(0.40 + 0.80)
    assert cost("gpt-4.1-mini-2025-04-14", usage, PRICES) == pytest.approx(1.20)
    assert cost("text-embedding-3-small", usage, PRICES) == pytest.approx(0.02)
    assert cost("unheard-of", usage, PRICES) == 0
    assert cost("unheard-of", usage, {"unheard-of": Price(1.0)}) == 1.0


def test_money_stops_before_the_next_call() -> None:
    """No call starts once the money is spent; what is spent is told."""
    ledger = RunLedger(max_usd=0.5)
    ledger.before_call("summarize")
    ledger.record("summarize", Usage(1, 10, 10, 0.3))
    ledger.before_call("summarize")
    ledger.record("boundary", Usage(1, 10, 10, 0.2))
    with pytest.raises(BudgetExceeded, match="max_usd") as raised:
        ledger.before_call("embed")
    assert raised.value.spent_usd == pytest.approx(0.5)


def test_time_stops_before_the_next_call() -> None:
    """No call starts once the minutes are over."""
    now = [100.0]
    ledger = RunLedger(max_minutes=2, clock=lambda: now[0])
    now[0] = 219.9
    ledger.before_call("summarize")
    now[0] = 220.0
    with pytest.raises(BudgetExceeded, match="max_minutes"):
        ledger.before_call("summarize")


def test_answers_out_of_the_memo_cost_nothing() -> None:
    """A memo hit is counted, with what it saved, and spends nothing."""
    ledger = RunLedger(max_usd=0.1)
    ledger.record("summarize", Usage(1, 5, 5, 0.4), from_memo=True)
    ledger.before_call("summarize")
    report = ledger.report()
    assert report["model_calls"] == {"summarize": 0, "boundary": 0, "embed": 0, "memo_hits": 1}
    assert report["cost_usd"] == 0
    assert report["saved_usd"] == 0.4


def test_the_report_adds_up() -> None:
    """Calls, tokens and cost of all kinds add up; repairs are calls to summarize, and their cost is told apart."""
    ledger = RunLedger(prices=Settings().prices, models=["gpt-4.1-mini", "unheard-of"])
    ledger.record("summarize", Usage(2, 100, 20, 0.1))
    ledger.record("repair", Usage(1, 50, 10, 0.05))
    ledger.record("boundary", Usage(5, 500, 5, 0.2))
    ledger.record("embed", Usage(1, 900, 0, 0.01))
    ledger.count("repairs")
    ledger.count("repaired")
    ledger.count("undecided", 2)
    report = ledger.report()
    assert report["model_calls"] == {"summarize": 3, "boundary": 5, "embed": 1, "memo_hits": 0}
    assert report["tokens"] == {"input": 650, "output": 35, "embedding": 900}
    assert report["cost_usd"] == pytest.approx(0.36)
    assert report["verify"] == {"repairs": 1, "repaired": 1, "flagged": 0, "calls": 1, "cost_usd": 0.05}
    assert report["events"] == {"undecided": 2}
    assert report["unpriced"] == ["unheard-of"]
