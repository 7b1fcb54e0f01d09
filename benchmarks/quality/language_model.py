"""Measure what can be known of a model's summaries without trusting it: length, language, support, what survives; and boundaries.

The same figures for extracts and for any service: `MODELS=openai` adds what repairs cost and how far `each` and `window` agree.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.quality import report
from benchmarks.quality.data import load_stories
from benchmarks.quality.languages import language_of
from benchmarks.quality.lenient import Lenient
from benchmarks.quality.plan import Plan
from benchmarks.quality.pricing import Work
from benchmarks.quality.summary_metrics import KEY_TERMS, SURVIVING, Spread, agreement, survives
from benchmarks.quality.trees import Source, chunks_of, grow_directories, grower, level_starts, nodes, read_sources
from tree_builder.model import Tree
from tree_builder.models import RunLedger, open_models
from tree_builder.models.verify import unsupported
from tree_builder.settings import Boundaries, Settings
from tree_builder.testing.fakes import MemoryMemo, MemoryVectors

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHARS_A_SET = 200_000
TOO_LONG = 1.25
"""Of the length asked for; the prompt asks for `about` so many characters."""

NOTES = f"""At most {CHARS_A_SET} characters of each set, drawn by seed. *Longer than asked*: by more than a quarter. *In the language of its text*: by
script and commonest words, of the summaries where both can be told. *Without support*: numbers and names which do not occur in
what the summary covers, down to the passages, by the program's own rules and after its repairs; extracts are verbatim, so every one there is a false alarm.
*Covered items which survive*: the items below a summary of which it has {SURVIVING} of the {KEY_TERMS} words which set the item apart (TF-IDF);
*by chance*: the same of the next summary of the same document or directory, which does not cover them.
"""


@dataclass(frozen=True, slots=True)
class Covered:
    """A summary which a model made, the items it covers, and another summary, which does not cover them."""

    summary: str
    items: tuple[str, ...]
    below: tuple[str, ...]  # the passages, or documents' tops, at the bottom
    other: str
    flags: tuple[str, ...]
    spread: Spread


@dataclass(frozen=True, slots=True)
class Room:
    """What was grown of one set of documents."""

    name: str
    sources: list[Source]
    covered: list[Covered]
    ledger: RunLedger
    stood_in: int


def data_sets(plan: Plan) -> dict[str, list[Source]]:
    """Draw the texts: contracts, manuals, stories, and the examples of this project; those which are not there are left out."""
    rooms = {"contracts": plan.folder / "contracts", "manuals": plan.folder / "manuals", "examples": EXAMPLES}
    found = {name: read_sources(path) for name, path in rooms.items() if path.is_dir()}
    found["stories"] = [Source(f"{story.name}.txt", story.text) for story in load_stories(plan.folder)]
    return {name: plan.within(sources, CHARS_A_SET) for name, sources in found.items() if sources}


async def grow_room(name: str, sources: list[Source], settings: Settings, memo: MemoryMemo) -> Room:
    """Grow the documents of a set and the directories above them."""
    ledger = RunLedger(prices=settings.prices)
    async with open_models(settings, memo, MemoryVectors(), ledger) as (embedder, language):
        lenient = Lenient(language, chars=settings.summary_chars)
        growing = grower(lenient, embedder, settings)
        trees = await asyncio.gather(*(growing.grow_document(chunks_of(s, settings)) for s in sources))
        directories = await grow_directories(growing, {s.doc_path: t for s, t in zip(sources, trees, strict=True)})
    covered = [one for tree in (*trees, *directories.values()) for one in covered_in(tree)]
    return Room(name, sources, covered, ledger, lenient.stood_in)


def covered_in(tree: Tree) -> list[Covered]:
    """List the summaries of a tree which stand for several items."""
    made = [node for node in nodes(tree) if len(node.children) > 1]
    leaves = [node.content for node in nodes(tree) if not node.children]
    spread = Spread(leaves)
    return [
        Covered(
            node.content,
            tuple(child.content for child in node.children),
            tuple(leaf.content for leaf in nodes(node) if not leaf.children),
            made[(at + 1) % len(made)].content if len(made) > 1 else "",
            node.flags,
            spread,
        )
        for at, node in enumerate(made)
    ]


# --- figures ---------------------------------------------------------------------------------------------------------


def figures(room: Room, settings: Settings) -> dict[str, Any]:
    """Give the figures of one set, by the name each has in the table."""
    covered, asked = room.covered, settings.summary_chars
    lengths = [len(one.summary) / asked for one in covered]
    wrong = [unsupported(one.summary, one.items + one.below) for one in covered]
    same = [language_of(one.summary) == language for one in covered if (language := _language(one)) is not None]
    terms = [(one, [one.spread.key_terms(item) for item in one.items]) for one in covered]
    alone = [(one, found) for one, found in terms if one.other]
    found = {
        "documents": len(room.sources),
        "summaries": len(covered),
        "length, of that asked": _mean(lengths),
        "longer than asked, %": _percent(length > TOO_LONG for length in lengths),
        "in the language of its text, %": _percent(same),
        "with a number without support, %": _percent(any(f.startswith("number") for f in flags) for flags in wrong),
        "with a name without support, %": _percent(any(f.startswith("name") for f in flags) for flags in wrong),
        "flagged in the node, %": _percent(bool(one.flags) for one in covered),
        "covered items which survive, %": _percent(
            survives(t, one.summary) for one, found in terms for t in found if t
        ),
        "the same by chance, %": _percent(survives(t, one.other) for one, found in alone for t in found if t),
    }
    return found | (costs(room) if settings.models == "openai" else {})


def costs(room: Room) -> dict[str, Any]:
    """Give what the room's calls took, and what verification had of it."""
    spent = room.ledger.report()
    verify, calls = spent["verify"], spent["model_calls"]
    language = calls["summarize"] + calls["boundary"]
    return {
        "calls of the language model": language,
        "repairs asked for": verify["repairs"],
        "repaired": verify["repaired"],
        "calls for repairs, % of all": round(100 * verify["calls"] / max(1, language), 1),
        "cost, US dollars": f"{spent['cost_usd']:.4f}",
        "of it for repairs": f"{verify['cost_usd']:.4f}",
        "summaries which could not be had": room.stood_in,
    }


def _language(one: Covered) -> str | None:
    """Give the language of what a summary covers, where that and the summary's own can be told."""
    return language_of(" ".join(one.items)) if language_of(one.summary) is not None else None


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(statistics.fmean(found), 2) if found else 0.0


def _percent(values: Iterable[bool]) -> float | str:
    found = list(values)
    return round(100 * sum(found) / len(found), 1) if found else "–"


# --- each and window ---------------------------------------------------------------------------------------------------


async def first_level(
    sources: Sequence[Source], settings: Settings, method: Boundaries, memo: MemoryMemo
) -> tuple[list[list[int]], int]:
    """Find the boundaries among the chunks of each text by one method, and count the questions; `memo` holds answers had before."""
    settings = settings.but(boundaries=method)
    ledger = RunLedger(prices=settings.prices)
    async with open_models(settings, memo, MemoryVectors(), ledger) as (embedder, language):
        lenient = Lenient(language, chars=settings.summary_chars, silent=method != "each")
        growing = grower(lenient, embedder, settings)
        found = await asyncio.gather(*(level_starts(growing, chunks_of(s, settings)) for s in sources))
    return list(found), ledger.report()["model_calls"]["boundary"] + ledger.memo_hits["boundary"]


async def measure_agreement(rooms: Sequence[Room], settings: Settings, memo: MemoryMemo) -> str:
    """Compare the first level's groups by `each` with those by `window` and by `embedding`, document by document."""
    rows: list[list[object]] = []
    for room in rooms:
        sources = [s for s in room.sources if len(chunks_of(s, settings)) >= 4]
        if not sources:
            continue
        sizes = [len(chunks_of(s, settings)) for s in sources]
        by_each, asked = await first_level(sources, settings, "each", memo)
        for method in ("window", "embedding"):
            other, questions = await first_level(sources, settings, method, memo)
            pairs = [agreement(n, a, b) for n, a, b in zip(sizes, by_each, other, strict=True)]
            same, near, pk = (statistics.fmean(column) for column in zip(*pairs, strict=True))
            groups = [sum(len(starts) + 1 for starts in found) for found in (by_each, other)]
            rows.append(
                [
                    f"{room.name}, `{method}`",
                    len(sources),
                    same,
                    near,
                    pk,
                    sum(sizes) / groups[0],
                    sum(sizes) / groups[1],
                    asked / sum(sizes),
                    questions / sum(sizes),
                ]
            )
    header = [
        "with `each`",
        "documents",
        "same boundaries, F1",
        "at most one chunk away, F1",
        "Pk",
        "chunks a group, `each`",
        "chunks a group, other",
        "questions a chunk, `each`",
        "questions a chunk, other",
    ]
    return report.table(header, rows)


# --- all of it -------------------------------------------------------------------------------------------------------


async def _measure(plan: Plan) -> str:
    settings, memo = plan.settings, MemoryMemo()
    rooms = [await grow_room(name, sources, settings, memo) for name, sources in data_sets(plan).items()]
    columns = [figures(room, settings) for room in rooms]
    rows = [[name, *(str(column[name]) for column in columns)] for name in columns[0]]
    body = report.table(["", *(room.name for room in rooms)], rows)
    if plan.paid:
        body += f"\n### The same boundaries by another method\n\n{await measure_agreement(rooms, settings, memo)}"
    return body


def works(plan: Plan) -> list[Work]:
    """Say what measuring will ask of the models: each text grown once, and its first level found by windows."""
    chars = sum(len(source.text) for sources in data_sets(plan).values() for source in sources)
    return [Work("language model", chars, 1.5, (plan.settings.boundary_method, "window"))]


def measure(plan: Plan) -> None:
    """Measure and write the section `language-model`, or `language-model-openai`."""
    settings = plan.settings
    body = asyncio.run(_measure(plan))
    print(body, flush=True)
    facts = report.settings_line(
        models=settings.summary_model_name,
        boundaries=settings.boundary_method,
        length=f"{settings.summary_chars} characters",
        verify=settings.verify,
        **plan.facts,
    )
    report.write_section(
        f"language-model{plan.suffix}",
        f"## What is known of summaries without trusting the model, models = {settings.models}\n\n{facts}\n{NOTES}\n{body}",
    )
