"""Load documents with gold topic boundaries, and stories with reference summaries, from a folder laid out like the shared corpora.

    FOLDER/text/*qmsum*.jsonl      meetings: `meeting_transcripts` and `topic_list[i].relevant_text_span`, counted in turns
    FOLDER/text/*squality*.jsonl   stories: `document` and `questions[i].responses[j].response_text`
    FOLDER/manuals/**/*.pdf        PDFs with an outline; the outline is the gold and is hidden from what is measured
    FOLDER/contracts/**/*.pdf      PDFs without one

What is missing is skipped; what is there is taken in path order, so that the same folder gives the same data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

DEFAULT_FOLDER = Path(__file__).resolve().parents[3] / "shared" / "corpora"


@dataclass(frozen=True, slots=True)
class Segmented:
    """A text with the character offsets at which, after the first, its gold segments begin: ascending, inside the text."""

    name: str
    text: str
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A text with human summaries of all of it."""

    name: str
    text: str
    references: tuple[str, ...]


def corpora(folder: str | Path | None = None) -> Path:
    """Give the folder to measure on: the one named, else $QUALITY_CORPORA, else `../shared/corpora` beside the checkout."""
    return Path(folder or os.environ.get("QUALITY_CORPORA") or DEFAULT_FOLDER)


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def files(folder: Path, room: str, pattern: str) -> list[Path]:
    """List the files below folder/room which match the pattern, whatever their case, in path order."""
    return sorted(p for p in (folder / room).rglob("*") if fnmatch(p.name.lower(), pattern) and p.is_file())


def load_meetings(folder: Path) -> list[Segmented]:
    """Load meetings: a line a turn. A gold segment begins where a topic's first span does."""
    out = []
    for path in files(folder, "text", "*qmsum*.jsonl"):
        for number, line in enumerate(json_lines(path)):
            out.append(_meeting(f"{path.stem}/{number}", line))
    return out


def _meeting(name: str, line: dict[str, Any]) -> Segmented:
    turns = [f"{t['speaker']}: {t['content']}\n" for t in line["meeting_transcripts"]]
    offsets = [0]
    for turn in turns:
        offsets.append(offsets[-1] + len(turn))
    first_turns = {int(span[0]) for topic in line["topic_list"] for span in topic["relevant_text_span"]}
    starts = sorted({offsets[t] for t in first_turns if 0 < t < len(turns)})
    return Segmented(name, "".join(turns), tuple(starts))


def load_stories(folder: Path) -> list[Story]:
    """Load stories whose first question asks for a summary of the whole."""
    out = []
    for path in files(folder, "text", "*squality*.jsonl"):
        for number, line in enumerate(json_lines(path)):
            answers = tuple(r["response_text"] for r in line["questions"][0]["responses"])
            out.append(Story(f"{path.stem}/{number}", line["document"], answers))
    return out
