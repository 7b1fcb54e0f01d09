"""Write figures into `benchmarks/quality/README.md`: one section a part, replaced when that part is measured again."""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path

README = Path(__file__).with_name("README.md")
HEAD = """# Quality of boundaries and summaries

Written by `make quality [MODELS=local|openai]`; do not edit by hand. `CORPORA=folder` measures another folder laid out like the
default one: `text/*qmsum*.jsonl`, `text/*squality*.jsonl`, `manuals/**/*.pdf` (with outlines) and `contracts/**/*.pdf`.
`MODELS=openai` measures the service at `OPENAI_BASE_URL` with the models of the settings, announces its price first and waits for a yes
(`YES=1` gives it); `CHARS=200000` takes at most so much text of each set.
"""
ORDER = (
    "boundaries",
    "boundaries-meetings",
    "boundaries-manuals",
    "boundaries-pieces",
    "boundaries-sentences",
    "boundaries-tried",
    "detector",
    "extracts",
    "language-model",
    "injection",
    "samples",
)


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Format a Markdown table. Floats get three digits; numbers are set to the right."""
    right = [bool(rows) and all(isinstance(r[i], int | float) for r in rows) for i in range(len(headers))]
    lines = [_line(headers), "| " + " | ".join("---:" if r else "---" for r in right) + " |"]
    return "\n".join([*lines, *(_line([_cell(v) for v in row]) for row in rows)]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: object) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def settings_line(**settings: object) -> str:
    """Say when, on what class of machine and with which settings figures were made."""
    facts = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        **settings,
    }
    return "*" + "; ".join(f"{name}: {value}" for name, value in facts.items()) + "*\n"


def write_section(name: str, markdown: str, *, path: Path | None = None) -> None:
    """Put a section into the report, in place of the one of that name; the other sections stay."""
    path = path or README
    sections = _sections(path.read_text(encoding="utf-8")) if path.exists() else {}
    sections[name] = markdown.strip("\n")
    names = sorted(sections, key=_place)
    blocks = [f"<!-- section {n} -->\n{sections[n]}\n<!-- end {n} -->\n" for n in names]
    path.write_text("\n".join([HEAD, *blocks]), encoding="utf-8")


def _place(name: str) -> tuple[int, str]:
    """Put the sections of a service's figures behind those of the local models."""
    plain = name.removesuffix("-openai")
    return ORDER.index(plain) if plain in ORDER else len(ORDER), name


def _sections(text: str) -> dict[str, str]:
    found = re.finditer(r"<!-- section (\S+) -->\n(.*?)\n<!-- end \1 -->", text, re.DOTALL)
    return {match[1]: match[2] for match in found}
