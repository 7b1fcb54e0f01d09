"""Say what measuring with a paid service will cost, before it does."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tree_builder.models.ledger import price_of
from tree_builder.settings import Settings

CHARS_A_TOKEN = 3.7
TOKENS_A_CALL = {"each": 700, "window": 2800}
"""Of input, about: instructions, the probe and an item, or a window of ten items."""
CALLS_A_CHUNK = {"each": 0.85, "window": 0.2}
SUMMARY_INPUT_SHARE = 2.0  # probes, and groups again
SUMMARIES_A_CHUNK, TOKENS_A_SUMMARY = 0.5, 250
TOKENS_A_QUESTION = 400
"""Of input, where documents are short and made up, with a word for an answer."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a part asks of models: characters of text, how often they are embedded, and the ways in which they are grown.

    methods: a text is grown once for each. questions: asked besides, about short texts.
    """

    what: str
    chars: int = 0
    embedded: float = 1.0
    methods: tuple[str, ...] = ()
    questions: int = 0


def tokens(work: Work, settings: Settings) -> tuple[float, float, float]:
    """Estimate the tokens which are embedded, read and written."""
    text = work.chars / CHARS_A_TOKEN
    chunks = work.chars / (0.7 * settings.chunk_size)
    asking = [m for m in work.methods if m in TOKENS_A_CALL]
    read = sum(chunks * CALLS_A_CHUNK[m] * TOKENS_A_CALL[m] + text * SUMMARY_INPUT_SHARE for m in asking)
    written = len(asking) * chunks * SUMMARIES_A_CHUNK * TOKENS_A_SUMMARY + work.questions
    return work.embedded * text, read + work.questions * TOKENS_A_QUESTION, written


def price(works: Sequence[Work], settings: Settings) -> str:
    """Say what some works will cost together, from list prices and rough counts."""
    estimates = [tokens(work, settings) for work in works]
    embedded, read, written = (sum(column) for column in zip(*estimates, strict=True)) if estimates else (0.0, 0.0, 0.0)
    counts = f"{embedded:,.0f} tokens to embed, {read:,.0f} to read, {written:,.0f} to write"
    lines = [f"{work.what}: {sum(estimate):,.0f} tokens" for work, estimate in zip(works, estimates, strict=True)]
    models = settings.embedding_model_name, settings.summary_model_name
    embedding, language = (price_of(model, settings.prices) for model in models)
    if embedding is None or language is None:
        lines.append(
            f"{counts}. The price is not known: give [prices] for {' and '.join(models)} to have it announced."
        )
    else:
        usd = (embedded * embedding.input + read * language.input + written * language.output) / 1e6
        lines.append(f"About {usd:.2f} US dollars: {counts}. CHARS=200000 takes less of each set.")
    return "\n".join(lines)


def announce(works: Sequence[Work], settings: Settings) -> None:
    """Print the price and ask whether to go on; `YES=1` answers.

    Raises:
        SystemExit: the answer is no, or nobody is there to ask.
    """
    print(price(works, settings), flush=True)
    if os.environ.get("YES") == "1":
        return
    if not sys.stdin.isatty() or input("Go on? [y/N] ").strip().lower() != "y":
        raise SystemExit("Stopped before any call. Say YES=1 to go on without being asked.")
