"""Run benchmarks and write their table: `python -m benchmarks [NAME ...]`; without names, those which take no more than a few minutes.

A benchmark which takes longer says so by a line `LONG = True`; it is run by name, or with all others by `--long`.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import time
import traceback
from pathlib import Path

from benchmarks import report


def names() -> list[str]:
    """List the modules of this package which are benchmarks: those with a function `main`, by their text."""
    folder = Path(__file__).parent
    found = [m.name for m in pkgutil.iter_modules([str(folder)]) if not m.ispkg and not m.name.startswith("_")]
    return [n for n in found if "\ndef main() -> list[Row]:" in (folder / f"{n}.py").read_text(encoding="utf-8")]


def is_long(name: str) -> bool:
    return "\nLONG = True\n" in (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")


def run(name: str) -> bool:
    """Run one benchmark and write its section; False when it broke, its section staying as it was."""
    print(f"{name} ...", flush=True)
    began = time.perf_counter()
    try:
        module = importlib.import_module(f"benchmarks.{name}")
        rows = module.main()
        notes = module.notes() if hasattr(module, "notes") else ""
    except Exception:
        traceback.print_exc()
        return False
    took_s = time.perf_counter() - began
    title = (module.__doc__ or name).strip().splitlines()[0].rstrip(".")
    table = report.table(rows)
    report.write_section(name, title, f"{table}\n*{report.machine()}; took {took_s:.0f} s*\n\n{notes}")
    print(f"{table}{name} took {took_s:.0f} s\n", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Run benchmarks, write benchmarks/README.md."
    )
    known = names()
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; default: all but the long ones"
    )
    parser.add_argument(
        "--long", action="store_true", help=f"run the long ones too: {', '.join(filter(is_long, known))}"
    )
    args = parser.parse_args()
    unknown = [n for n in args.names if n not in known]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(known)}")
    chosen = args.names or [name for name in known if args.long or not is_long(name)]
    results = [run(name) for name in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
