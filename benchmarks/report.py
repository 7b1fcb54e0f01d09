"""The table of `make bench`: what a benchmark hands back, and how it gets into `benchmarks/README.md`.

A benchmark is a module of this package with a docstring, whose first line is its title, and a function

    def main() -> list[Row]: ...

`python -m benchmarks` finds it, runs it and puts its rows into the report, in place of those of the last time. Details
below the table come from an optional `notes() -> str`, in Markdown, which is called after `main`.
"""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).with_name("README.md")
HEAD = """# Benchmarks

Written by `make bench` (`python -m benchmarks [NAME ...]`); do not edit by hand. Each figure stands beside what is wanted of it
and, where there is one, beside the physical limit or the plain way measured in the same run.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    figure: as it is to be read, with its unit ("12.3 s", "0.84", "4.1 %"). wanted: the bound it is held to, "" for none.
    met: whether it holds, None where nothing is asked. beside: what it was measured against in the same run.
    """

    what: str
    figure: str
    wanted: str = ""
    met: bool | None = None
    beside: str = ""


def machine() -> str:
    """Say on what class of machine, when and with which Python figures were made."""
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{today}; {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}"
    )


def table(rows: Sequence[Row]) -> str:
    """Format rows as a Markdown table."""
    lines = ["| what | figure | wanted | met | beside |", "| --- | ---: | ---: | --- | --- |"]
    for row in rows:
        met = {True: "yes", False: "**no**", None: ""}[row.met]
        cells = [row.what, row.figure, row.wanted, met, row.beside]
        lines.append("| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |")
    return "\n".join(lines) + "\n"


def write_section(name: str, title: str, body: str, *, path: Path = README) -> None:
    """Put a benchmark's section into the report, in place of the one of that name; the other sections stay."""
    sections = _sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    sections[name] = f"## {title}\n\n{body.strip()}\n"
    parts = [HEAD] + [f"<!-- {key} -->\n{sections[key]}" for key in sorted(sections)]
    path.write_text("\n".join(parts), encoding="utf-8")


def _sections(text: str) -> dict[str, str]:
    found = re.split(r"^<!-- ([\w-]+) -->\n", text, flags=re.MULTILINE)
    return {name: body.rstrip("\n") + "\n" for name, body in zip(found[1::2], found[2::2], strict=True)}
