"""Measure quality: `python -m benchmarks.quality [PART ...] [--models local|openai] [--corpora FOLDER]`."""

from __future__ import annotations

import argparse
import importlib
import os

from benchmarks.quality.data import corpora

PARTS = ("boundaries", "extracts")
"""Modules of this package with a function `measure(folder: Path, models: str) -> None` which writes its sections."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the quality of boundaries and summaries.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--models", choices=("local", "openai"), default=os.environ.get("MODELS") or "local")
    parser.add_argument(
        "--corpora",
        default=os.environ.get("CORPORA"),
        help="folder of documents; default: $CORPORA, else ../shared/corpora beside the checkout",
    )
    args = parser.parse_args()
    unknown = [p for p in args.parts if p not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; parts are {', '.join(PARTS)}")
    folder = corpora(args.corpora)
    if not folder.is_dir():
        parser.error(f"{folder} is no folder; name one with --corpora (make quality CORPORA=folder)")
    for part in args.parts or PARTS:
        importlib.import_module(f"benchmarks.quality.{part}").measure(folder, args.models)


if __name__ == "__main__":
    main()
