"""Measure summaries: likeness to human ones, what they keep, how they read, whether they cover what they stand for."""

from __future__ import annotations

import asyncio
import random
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality import report
from benchmarks.quality.data import Story, load_stories
from benchmarks.quality.extract_baselines import BASELINES, RANDOM_SEEDS, split
from benchmarks.quality.extract_metrics import READS_BADLY, flat, keys_kept, reads_badly, redundancy, rouge
from benchmarks.quality.plan import Plan
from benchmarks.quality.pricing import Work
from benchmarks.quality.trees import Source, chunks_of, grow_directories, grower, nodes, read_sources
from tree_builder.grow import Grower
from tree_builder.model import NodeType, Tree
from tree_builder.models import open_models
from tree_builder.protocols import Embedder, LanguageModel
from tree_builder.settings import Settings
from tree_builder.testing.fakes import MemoryMemo, MemoryVectors, NullLedger

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DIRECTORY_SEED, DIRECTORY_DRAWS, DIRECTORY_SIZE = 6, 30, 8
SAMPLE_SEED, SAMPLES, SHOWN_CHARS = 30, 30, 2500
LONGEST_FOR_RANKS = 80_000
"""LexRank and TextRank compare every sentence with every other; longer documents are left out of the tables beside them."""


@dataclass(frozen=True, slots=True)
class Grown:
    """A room of the corpora: its texts, and the trees over them."""

    name: str
    sources: dict[str, Source]
    tops: dict[str, Tree]
    directories: dict[str, Tree]


def sentences_of(summary: str) -> list[str]:
    return [s for line in summary.split("\n") for s in split(line)]


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return statistics.fmean(found) if found else 0.0


# --- stories with references ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ours:
    """Summaries of one story: through the levels, and extracted at once from all its chunks."""

    tree: str
    at_once: str


async def summarized(story: Story, growing: Grower, language: LanguageModel, settings: Settings) -> Ours:
    chunks = chunks_of(Source(story.name, story.text), settings)
    tree = await growing.grow_document(chunks)
    return Ours(tree.content, (await language.summarize(chunks)).content)


async def measure_stories(stories: Sequence[Story], settings: Settings, *, at_reference_length: bool) -> str:
    """Score all summarizers on the stories, each with as many words as all references have on average, or as ours has at its default length."""
    references = [[split(r) for r in story.references] for story in stories]
    if at_reference_length:
        settings = settings.but(summary_chars=round(mean(len(flat(r)) for story in stories for r in story.references)))
    budget = round(mean(len(r.split()) for story in stories for r in story.references))
    scores: dict[str, list[tuple[float, ...]]] = {}
    async with open_models(settings, MemoryMemo(), MemoryVectors(), NullLedger()) as (embedder, language):
        growing = grower(language, embedder, settings)
        all_ours = await asyncio.gather(*(summarized(story, growing, language, settings) for story in stories))
    for story, ours, gold in zip(stories, all_ours, references, strict=True):
        found = {"**ours, through the tree**": sentences_of(ours.tree), "ours, at once": sentences_of(ours.at_once)}
        words = budget if at_reference_length else len(ours.tree.split())
        found |= {name: summarize(story.text, words) for name, summarize in BASELINES.items()}
        for name, sentences in found.items():
            shown = "random sentences" if name.startswith("random") else name
            length = len(" ".join(sentences).split())
            kept = keys_kept(sentences, split(story.text)) or 0.0
            figures = (*rouge(sentences, gold), length, 100 * kept, 100 * redundancy(sentences))
            scores.setdefault(shown, []).append(figures)
    rows = [
        [name, *(round(mean(column), 1) for column in zip(*values, strict=True))] for name, values in scores.items()
    ]
    rows.sort(key=lambda row: -float(row[1]))
    header = ["summary", "ROUGE-1", "ROUGE-2", "ROUGE-Lsum", "words", "names and numbers kept, %", "said twice, %"]
    return _with_verdict(rows) + report.table(header, rows)


def _with_verdict(rows: Sequence[Sequence[object]]) -> str:
    ours = next(row for row in rows if str(row[0]).startswith("**ours"))
    others = [row for row in rows if "ours" not in str(row[0])]
    above = all(float(str(ours[n])) > max(float(str(row[n])) for row in others) for n in (1, 2, 3))
    return (
        "Above every baseline on each of the three.\n\n"
        if above
        else "**Not above every baseline on each of the three.**\n\n"
    )


# --- trees over folders ----------------------------------------------------------------------------------------------


async def grow_room(name: str, folder: Path, settings: Settings, embedder: Embedder, language: LanguageModel) -> Grown:
    sources = {s.doc_path: s for s in await asyncio.to_thread(read_sources, folder)}
    growing = grower(language, embedder, settings)
    trees = await asyncio.gather(*(growing.grow_document(chunks_of(s, settings)) for s in sources.values()))
    tops = dict(zip(sources, trees, strict=True))
    return Grown(name, sources, tops, await grow_directories(growing, tops))


def summaries_of(room: Grown) -> list[tuple[str, Tree]]:
    """List the nodes of a room whose content a model made, with the document or directory each belongs to."""
    made = [(path, n) for path, top in room.tops.items() for n in nodes(top) if len(n.children) > 1]
    return made + [(path, n) for path, top in room.directories.items() for n in nodes(top) if len(n.children) > 1]


def verbatim(rooms: Sequence[Grown]) -> tuple[int, int]:
    """Count the sentences of all summaries, and those which stand in a document below."""
    total = found = 0
    for room in rooms:
        texts = {path: flat(source.text) for path, source in room.sources.items()}
        for path, node in summaries_of(room):
            below = (
                [texts[path]]
                if path in texts
                else [t for p, t in texts.items() if path == "." or p.startswith(f"{path}/")]
            )
            for sentence in sentences_of(node.content):
                total += 1
                found += any(sentence in text for text in below)
    return total, found


def contributing(summary: str, below: Iterable[str], sources: dict[str, Source]) -> float:
    """Give the share of documents of which a sentence stands in the summary."""
    sentences = sentences_of(summary)
    texts = [flat(sources[path].text) for path in below]
    return mean(float(any(s in text for s in sentences)) for text in texts)


async def measure_contribution(rooms: Sequence[Grown], growing: Grower) -> str:
    """Look at every directory with up to eight documents, and at eight documents drawn by lot, again and again."""
    rows: list[list[object]] = []
    for room in rooms:
        shares = []
        for path, tree in room.directories.items():
            below = [p for p in room.sources if path == "." or p.startswith(f"{path}/")]
            if 1 < len(below) <= DIRECTORY_SIZE:
                shares.append((len(below), contributing(tree.content, below, room.sources)))
        if shares:
            rows.append(
                [
                    f"{room.name}, directories with 2 to 8 documents",
                    len(shares),
                    mean(n for n, _ in shares),
                    mean(s for _, s in shares),
                ]
            )
        if len(room.sources) >= DIRECTORY_SIZE:
            rows.append(await _drawn(room, growing))
    header = ["directories", "how many", "documents each", "share which contributes (wanted: 0.875)"]
    return report.table(header, rows)


async def _drawn(room: Grown, growing: Grower) -> list[object]:
    drawing = random.Random(DIRECTORY_SEED)
    shares = []
    for _ in range(DIRECTORY_DRAWS):
        paths = sorted(drawing.sample(sorted(room.sources), DIRECTORY_SIZE))
        tops = [Tree(NodeType.DOC_TOP, room.tops[p].content, 1, doc_path=p) for p in paths]
        tree = await growing.grow_directory(tops, top=NodeType.DIR_TOP, dir_path="drawn")
        shares.append(contributing(tree.content, paths, room.sources))
    return [
        f"{room.name}, {DIRECTORY_SIZE} documents drawn by seed {DIRECTORY_SEED}",
        len(shares),
        float(DIRECTORY_SIZE),
        mean(shares),
    ]


def measure_reading(rooms: Sequence[Grown]) -> str:
    """Count what reads badly in documents' summaries, beside the baselines at the same length."""
    counts: dict[str, Counter[str]] = {}
    figures: dict[str, list[tuple[float | None, ...]]] = {}
    for room in rooms:
        for path, source in room.sources.items():
            top = room.tops[path]
            if len(top.children) < 2 or len(source.text) > LONGEST_FOR_RANKS:
                continue
            budget = len(top.content.split())
            whole = split(source.text)
            readable = [s for s in whole if not reads_badly(s)]
            found = {"ours": sentences_of(top.content)} | {
                n: b(source.text, budget) for n, b in BASELINES.items() if n[-1] not in "12"
            }
            for name, sentences in found.items():
                shown = "random sentences" if name.startswith("random") else name
                counts.setdefault(shown, Counter()).update(["sentences"] * len(sentences))
                counts[shown].update(fault for faults in _read(sentences, flat(source.text)) for fault in faults)
                kept = keys_kept(sentences, whole), keys_kept(sentences, readable)
                figures.setdefault(shown, []).append((*kept, redundancy(sentences)))
    faults = [*READS_BADLY, "brackets do not close"]
    names = ("names and numbers kept, %", "the same, of sentences which read well, %", "said twice, %")
    rows: list[list[object]] = [
        [name, *(round(100 * mean(v for v in column if v is not None), 1) for column in columns)]
        for name, columns in zip(
            names, zip(*(zip(*f, strict=True) for f in figures.values()), strict=True), strict=True
        )
    ]
    rows += [
        [f"{fault}, % of sentences", *(round(100 * c[fault] / max(1, c["sentences"]), 1) for c in counts.values())]
        for fault in faults
    ]
    return report.table(["", *counts], rows)


def _read(sentences: Sequence[str], text: str) -> Iterable[list[str]]:
    """Name what reads badly in each sentence; to lean on the sentence before is none where that one is there too."""
    for before, sentence in zip(("", *sentences), sentences, strict=False):
        together = bool(before) and f"{before} {sentence}" in text
        yield [fault for fault in reads_badly(sentence) if not (together and fault.startswith("leans"))]


# --- samples to read -------------------------------------------------------------------------------------------------


def samples(rooms: Sequence[Grown]) -> str:
    """Draw summaries by seed and print each with what it covers."""
    drawn = random.Random(SAMPLE_SEED).sample(
        [(room, path, node) for room in rooms for path, node in summaries_of(room)], SAMPLES
    )
    parts = []
    for number, (room, path, node) in enumerate(drawn, 1):
        covered = "\n\n".join(
            child.content[child.overlap :] if n else child.content for n, child in enumerate(node.children)
        )
        shown = (
            covered
            if len(covered) <= SHOWN_CHARS
            else f"{covered[:SHOWN_CHARS]} [… {len(covered) - SHOWN_CHARS} characters more]"
        )
        place = f"pages {node.page_start} to {node.page_end}" if node.page_start else f"{len(node.children)} items"
        head = f"### {number}. {room.name}/{path}, {node.node_type}, level {node.level}, {place}"
        parts.append(
            f"{head}\n\n{_quoted(node.content)}\n\n<details><summary>what it covers</summary>\n\n{_fenced(shown)}\n\n</details>\n"
        )
    return "\n".join(parts)


def _quoted(text: str) -> str:
    return "\n".join(f"> - {_escaped(line)}" for line in text.split("\n"))


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def _fenced(text: str) -> str:
    return f"~~~~text\n{text.replace('~~~~', '~~~ ~')}\n~~~~"


# --- all of it ---------------------------------------------------------------------------------------------------------


async def _measure(plan: Plan) -> tuple[str, str]:
    parts = []
    settings = plan.settings
    stories = plan.within(load_stories(plan.folder))
    if stories:
        parts.append(
            f"### Stories, at the references' mean length\n\n{await measure_stories(stories, settings, at_reference_length=True)}"
        )
        parts.append(
            f"### Stories, at the default length\n\n{await measure_stories(stories, settings, at_reference_length=False)}"
        )
        print("\n".join(parts), flush=True)
    if plan.paid:
        return "\n".join(parts), ""
    async with open_models(settings, MemoryMemo(), MemoryVectors(), NullLedger()) as (embedder, language):
        folders = {"contracts": plan.folder / "contracts", "manuals": plan.folder / "manuals", "examples": EXAMPLES}
        rooms = [
            await grow_room(name, path, settings, embedder, language) for name, path in folders.items() if path.is_dir()
        ]
        total, found = verbatim(rooms)
        parts.append(
            f"### Word for word\n\n{found} of {total} sentences of all summaries stand in a document below: {100 * found / max(1, total):.2f} %.\n"
        )
        contribution = await measure_contribution(rooms, grower(language, embedder, settings))
        parts.append(f"### Documents in their directory's summary\n\n{contribution}")
        parts.append(f"### How documents' summaries read\n\n{await asyncio.to_thread(measure_reading, rooms)}")
        print("\n".join(parts[-3:]), flush=True)
    return "\n".join(parts), samples(rooms)


def works(plan: Plan) -> list[Work]:
    """Say what measuring will ask of the models: the stories, grown at two lengths."""
    chars = sum(len(story.text) for story in plan.within(load_stories(plan.folder)))
    return [Work("extracts", chars, 2.0, (plan.settings.boundary_method,) * 2)]


def measure(plan: Plan) -> None:
    """Measure and write the sections `extracts` and `samples`, or `extracts-openai`."""
    settings = plan.settings
    body, drawn = asyncio.run(_measure(plan))
    facts = report.settings_line(
        models=settings.summary_model_name,
        boundaries=settings.boundary_method,
        default_length=f"{settings.summary_chars} characters",
        seeds=f"random sentences {RANDOM_SEEDS.start} to {RANDOM_SEEDS.stop - 1}, directories {DIRECTORY_SEED}, samples {SAMPLE_SEED}",
        **plan.facts,
    )
    report.write_section(
        f"extracts{plan.suffix}", f"## Summaries, models = {settings.models}\n\n{facts}\n{NOTES}\n{body}"
    )
    if drawn:
        report.write_section(
            "samples", f"## {SAMPLES} summaries, drawn by seed, with what they cover\n\n{facts}\n{drawn}"
        )


NOTES = """ROUGE: F1 with stemming by rouge-score, the best of a story's references, averaged over stories; every baseline has as many
words as the references on average, ours as many characters. *Names and numbers kept*: of the document's ten most central sentences (TF-IDF); in contracts many of these are
blocks of signatures, tables and capitals, so the share is also given of the ten most central among those which read well. *Said twice*: pairs of neighbouring words which
the summary has said before. What reads badly is counted by patterns of the benchmark's own, not by the extractor's rules.
"""
