"""Measure quality: `python -m benchmarks.quality [PART ...] [--models local|openai] [--corpora FOLDER] [--chars N]`."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Sequence

from benchmarks.quality.data import corpora
from benchmarks.quality.plan import Plan
from benchmarks.quality.pricing import announce
from tree_builder.settings import Settings

PARTS = ("boundaries", "extracts", "language_model", "injection")
"""Modules of this package with functions `works(plan) -> list[Work]`, which says what measuring will ask of models, and
`measure(plan) -> None`, which measures and writes its sections."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the parts named, or all. With a paid service the price of all of them is announced before the first call."""
    parser = argparse.ArgumentParser(description="Measure the quality of boundaries and summaries.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--models", choices=("local", "openai"), default=os.environ.get("MODELS") or "local")
    parser.add_argument(
        "--corpora",
        default=os.environ.get("CORPORA"),
        help="folder of documents; default: $CORPORA, else ../shared/corpora beside the checkout",
    )
    parser.add_argument(
        "--chars",
        type=int,
        default=os.environ.get("CHARS") or None,
        help="characters of text of each set, at most, for a slow or dear service; default: $CHARS, else all",
    )
    args = parser.parse_args(arguments)
    unknown = [p for p in args.parts if p not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; parts are {', '.join(PARTS)}")
    folder = corpora(args.corpora)
    if not folder.is_dir():
        parser.error(f"{folder} is no folder; name one with --corpora (make quality CORPORA=folder)")
    plan = Plan(folder, Settings.load({"models": args.models}), args.chars)
    modules = [importlib.import_module(f"benchmarks.quality.{part}") for part in args.parts or PARTS]
    if plan.paid:
        announce([work for module in modules for work in module.works(plan)], plan.settings)
    for module in modules:
        module.measure(plan)


if __name__ == "__main__":
    main()
