"""Load documents with gold topic boundaries, and stories with reference summaries, from a folder laid out like the shared corpora.

    FOLDER/text/*qmsum*.jsonl      meetings: `meeting_transcripts` and `topic_list[i].relevant_text_span`, counted in turns
    FOLDER/text/*squality*.jsonl   stories: `document` and `questions[i].responses[j].response_text`
    FOLDER/manuals/**/*.pdf        PDFs with an outline; the outline is the gold and is hidden from what is measured
    FOLDER/contracts/**/*.pdf      PDFs without one

What is missing is skipped; what is there is taken in path order, so that the same folder gives the same data.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from nupunkt import sent_spans

from benchmarks.quality.plan import end_of_line
from tree_builder.errors import UnreadableDocument
from tree_builder.model import ReadText
from tree_builder.read import read_file

DEFAULT_FOLDER = Path(__file__).resolve().parents[3] / "shared" / "corpora"


@dataclass(frozen=True, slots=True)
class Segmented:
    """A text with the character offsets at which, after the first, its gold segments begin: ascending, inside the text.

    coarse: another gold of fewer, larger segments, where there is one. items: where items begin, if they are no chunks; the first at 0.
    """

    name: str
    text: str
    starts: tuple[int, ...]
    coarse: tuple[int, ...] = ()
    items: tuple[int, ...] = ()

    def first(self, chars: int) -> Segmented:
        end = end_of_line(self.text, chars)
        kept = (tuple(at for at in found if at < end) for found in (self.starts, self.coarse, self.items))
        return Segmented(self.name, self.text[:end], *kept)


@dataclass(frozen=True, slots=True)
class Story:
    """A text with human summaries of all of it."""

    name: str
    text: str
    references: tuple[str, ...]

    def first(self, chars: int) -> Story:
        return Story(self.name, self.text[: end_of_line(self.text, chars)], self.references)


def corpora(folder: str | Path | None = None) -> Path:
    """Give the folder to measure on: the one named, else `../shared/corpora` beside the checkout."""
    return Path(folder or DEFAULT_FOLDER)


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


def load_manuals(folder: Path) -> list[Segmented]:
    """Load PDFs whose outline has at least four entries. A gold segment begins at each entry; the coarse ones at those of depth 1 and 2.

    The outline is read from the file's bookmarks and takes no part in the text.
    """
    out = []
    for path in files(folder, "manuals", "*.pdf"):
        read = _read(path)
        if read is not None and len(read.outline) >= 4:
            name = path.relative_to(folder).as_posix()
            out.append(Segmented(name, read.text, _starts(read, 99), _starts(read, 2)))
    return out


def _starts(read: ReadText, deepest: int) -> tuple[int, ...]:
    starts = {entry.char_start for entry in read.outline if entry.depth <= deepest}
    return tuple(sorted(start for start in starts if 0 < start < len(read.text)))


def load_concatenations(folder: Path, *, documents: int = 24, pieces: int = 10, seed: int = 6) -> list[Segmented]:
    """Put pieces of different stories and contracts together, as Choi (2000) did with shorter ones: 2,000 to 14,000 characters each."""
    draw = random.Random(seed)
    stories = [story.text for story in load_stories(folder)]
    contracts = [read.text for path in files(folder, "contracts", "*.pdf") if (read := _read(path)) is not None]
    pools = {"stories": stories, "contracts": contracts, "both": stories + contracts}
    kinds = [name for name, pool in pools.items() if len(pool) >= pieces]
    return [
        _concatenation(f"{kinds[i % len(kinds)]}/{i}", draw.sample(pools[kinds[i % len(kinds)]], pieces), draw)
        for i in range(documents if kinds else 0)
    ]


def _concatenation(name: str, sources: list[str], draw: random.Random) -> Segmented:
    text, starts = "", []
    for source in sources:
        length = draw.randint(2000, 14000)
        begin = draw.randrange(max(1, len(source) - length))
        begin = source.find(". ", begin) + 1
        end = source.find(". ", begin + length) + 1 or len(source)
        starts.append(len(text))
        text += source[begin:end].strip() + "\n\n"
    return Segmented(name, text, tuple(starts[1:]))


def load_sentences(folder: Path, *, documents: int = 60, pieces: int = 10, seed: int = 6) -> list[Segmented]:
    """Put pieces of 3 to 11 sentences of different stories together, as Choi (2000) did; each sentence is an item."""
    draw = random.Random(seed)
    stories = [(story.text, sent_spans(story.text)) for story in load_stories(folder)]
    stories = [(text, spans) for text, spans in stories if len(spans) > 11]
    if len(stories) < pieces:
        return []
    return [_of_sentences(f"sentences/{i}", draw.sample(stories, pieces), draw) for i in range(documents)]


def _of_sentences(name: str, sources: list[tuple[str, list[tuple[int, int]]]], draw: random.Random) -> Segmented:
    text, starts, items = "", [], []
    for source, spans in sources:
        count = draw.randint(3, 11)
        begin = draw.randrange(len(spans) - count + 1)
        starts.append(len(text))
        for a, b in spans[begin : begin + count]:
            items.append(len(text))
            text += " ".join(source[a:b].split()) + "\n"
    return Segmented(name, text, tuple(starts[1:]), items=tuple(items))


def _read(path: Path) -> ReadText | None:
    try:
        return read_file(path)
    except UnreadableDocument:
        return None
