"""Say what measuring with a paid service will cost, before it does."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from benchmarks.quality.data import Segmented
from tree_builder.models.ledger import price_of
from tree_builder.settings import Settings

CHARS_A_TOKEN = 3.7
EMBEDDED_TIMES = 6.0
"""Chunks once; the semantic chunkers embed each sentence alone and in windows of three."""
TOKENS_A_CALL = {"each": 700, "window": 2800}
"""Of input, about: instructions, the probe and an item, or a window of ten items."""
CALLS_A_CHUNK = {"each": 0.85, "window": 0.2}
SUMMARY_INPUT_SHARE = 2.0  # probes, and groups again
SUMMARIES_A_CHUNK, TOKENS_A_SUMMARY = 0.5, 250


def announce(settings: Settings, documents: Sequence[Segmented], methods: Sequence[str]) -> None:
    """Print the price, from list prices and rough counts, and ask whether to go on; `YES=1` answers.

    Raises:
        SystemExit: the answer is no, or nobody is there to ask.
    """
    text_tokens = sum(len(d.text) for d in documents) / CHARS_A_TOKEN
    chunks = text_tokens * CHARS_A_TOKEN / (0.7 * settings.chunk_size)
    asking = [m for m in methods if m in TOKENS_A_CALL]
    read = sum(chunks * CALLS_A_CHUNK[m] * TOKENS_A_CALL[m] + text_tokens * SUMMARY_INPUT_SHARE for m in asking)
    written = len(asking) * chunks * SUMMARIES_A_CHUNK * TOKENS_A_SUMMARY
    embedding, language = (
        price_of(m, settings.prices) for m in (settings.embedding_model_name, settings.summary_model_name)
    )
    if embedding is None or language is None:
        print("The price is not known: give [prices] for both models in the settings to have it announced.")
    else:
        usd = (EMBEDDED_TIMES * text_tokens * embedding.input + read * language.input + written * language.output) / 1e6
        print(f"About {usd:.2f} US dollars: {text_tokens:,.0f} tokens of text, {', '.join(methods)}.")
    if os.environ.get("YES") == "1":
        return
    if not sys.stdin.isatty() or input("Go on? [y/N] ").strip().lower() != "y":
        raise SystemExit("Stopped before any call. Say YES=1 to go on without being asked.")
