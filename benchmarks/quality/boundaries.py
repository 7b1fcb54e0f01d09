"""Measure boundaries: Pk and WindowDiff of level-1 groups against gold, beside the segmenters which users would pick instead."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks.quality import baselines, report
from benchmarks.quality.data import Segmented, load_concatenations, load_manuals, load_meetings, load_sentences
from benchmarks.quality.plan import Plan
from benchmarks.quality.pricing import Work
from benchmarks.quality.segmentation import Prepared, Score, Vectors, score
from benchmarks.quality.trees import items_of, level_starts
from benchmarks.quality.tried import TRIED
from tree_builder.cut import cut
from tree_builder.grow import Grower
from tree_builder.grow.detector import DETECTOR_VERSION, MOST_ITEMS, Detector
from tree_builder.model import Chunk
from tree_builder.models import open_models
from tree_builder.protocols import Embedder, LanguageModel
from tree_builder.settings import Boundaries, Settings
from tree_builder.testing.fakes import MemoryMemo, MemoryVectors, NullLedger

Segmenter = Callable[["Prepared"], Awaitable[list[int]]]

LOADERS: Mapping[str, Callable[[Path], list[Segmented]]] = {
    "meetings": load_meetings,
    "manuals, every entry of the outline": load_manuals,
    "pieces of stories and contracts": load_concatenations,
    "sentences, pieces of stories": load_sentences,
}
EMBEDDED_TIMES = 7.5
"""Chunks once; the semantic chunkers embed each sentence alone and sentences in windows of three."""
COARSE = {"manuals, every entry of the outline": "manuals, outline to its second depth"}

NOTES = """Lower is better: both are shares of pairs of chunks, half the gold's mean segment apart (at least 2 chunks), about which a segmentation
is wrong: Pk whether they are in one segment, WindowDiff how many boundaries are between them. Averages over documents. The unit is
the chunk: the gold, and what TextTiling and the semantic chunkers find inside chunks, counts for the nearest chunk boundary. *even* and
*random* are told the gold's number of segments; no other row is. A group of ours has at least two items; a gold segment of one chunk is out of its reach.
"""


def data_sets(plan: Plan) -> Iterator[tuple[str, list[Segmented]]]:
    """Load one set after the other, by name; those which the folder has nothing for are left out."""
    for name, load in LOADERS.items():
        documents = plan.within(load(plan.folder))
        if documents:
            yield name, documents


async def prepare(document: Segmented, embedder: Embedder, settings: Settings) -> Prepared | None:
    """Cut and embed a document, or its items as they are; None where it is too short to have a boundary."""
    chunks = (
        [Chunk(document.text[a:b], a, b, 1, 1) for a, b in pairwise([*document.items, len(document.text)])]
        if document.items
        else cut(document.text, [0], size=settings.chunk_size, overlap=settings.chunk_overlap, method=settings.cut)
    )
    if len(chunks) < 4:
        return None
    vectors = await embedder.embed([chunk.content for chunk in chunks])
    return Prepared(document.name, document.text, tuple(chunks), vectors, document.starts)


async def detected(document: Prepared) -> list[int]:
    """Give where the level-1 groups of `boundaries = "embedding"` start: no model is asked, so none is needed."""
    overlaps = [chunk.overlap for chunk in document.chunks]
    found = Detector().boundaries([chunk.content for chunk in document.chunks], document.vectors, overlaps)
    return [one.at for one in found if one.boundary]


async def grown(document: Prepared, growing: Grower) -> list[int]:
    """Grow level 1 with a language model, as the program does, and give where its groups start."""
    return await level_starts(growing, items_of(document.chunks))


def segmenters(
    embedder: Embedder, language: LanguageModel, settings: Settings, methods: Sequence[Boundaries]
) -> dict[str, Segmenter]:
    """Give what is compared, by the name it has in the table: ours first."""
    loop = asyncio.get_running_loop()

    def ask(texts: Sequence[str]) -> Vectors:
        return asyncio.run_coroutine_threadsafe(embedder.embed(list(texts)), loop).result()

    embed = ask if settings.models == "openai" else baselines.batched

    def threaded(function: Callable[[Prepared], list[int]]) -> Segmenter:
        return lambda document: asyncio.to_thread(function, document)

    ours: dict[str, Segmenter] = {
        f"ours, `{m}`": detected
        if m == "embedding"
        else partial(grown, growing=Grower(language, embedder, settings.but(boundaries=m)))
        for m in methods
    }
    others: Mapping[str, Callable[[Prepared], list[int]]] = {
        "none": baselines.none,
        "TextTiling (NLTK)": baselines.text_tiling,
        "C99": baselines.c99,
        "SemanticChunker (chonkie), same embedder": partial(baselines.chonkie_semantic, embed=embed),
        "SemanticSplitter (LlamaIndex), same embedder": partial(baselines.llama_index_semantic, embed=embed),
    }
    return ours | {name: threaded(function) for name, function in others.items()}


async def measure_set(documents: Sequence[Prepared], compared: Mapping[str, Segmenter]) -> dict[str, list[list[int]]]:
    """Segment every document in every way; the lists are in the order of the documents. `random` has one list a seed."""
    found = {name: [await segment(document) for document in documents] for name, segment in compared.items()}
    return found | told_the_number(documents)


def told_the_number(documents: Sequence[Prepared]) -> dict[str, list[list[int]]]:
    """Segment in the ways which know how many segments the gold has."""
    found = {f"random {seed}": [baselines.random_cuts(d, seed) for d in documents] for seed in baselines.RANDOM_SEEDS}
    return {"even": [baselines.even(d) for d in documents]} | found


def rows_of(documents: Sequence[Prepared], found: Mapping[str, Sequence[Sequence[int]]]) -> list[list[object]]:
    """Average over documents, and `random` over its seeds; best Pk first."""
    means: dict[str, list[Score]] = {}
    for name, starts in found.items():
        shown = "random" if name.startswith("random ") else name
        means.setdefault(shown, []).extend(score(d, s) for d, s in zip(documents, starts, strict=True))
    rows = [
        [name, _mean(s.pk for s in all_), _mean(s.window_diff for s in all_), _mean(s.items for s in all_)]
        for name, all_ in means.items()
    ]
    return sorted(rows, key=lambda row: row[1])


def _mean(values: object) -> float:
    return statistics.fmean(values)  # type: ignore[call-overload, no-any-return]


def with_coarse_gold(documents: Sequence[Prepared], loaded: Sequence[Segmented]) -> list[Prepared]:
    coarse = {one.name: one.coarse for one in loaded}
    return [Prepared(d.name, d.text, d.chunks, d.vectors, coarse[d.name]) for d in documents]


def paragraph(name: str, documents: Sequence[Prepared], found: Mapping[str, Sequence[Sequence[int]]]) -> str:
    """Write one data set's table, with a word where predicting nothing wins."""
    rows = rows_of(documents, found)
    chunks = sum(len(d.chunks) for d in documents)
    segments = sum(len(d.gold) + 1 for d in documents)
    words = [f"{len(documents)} documents, {chunks} chunks; a gold segment has {chunks / segments:.1f} chunks."]
    best = {str(row[0]): float(str(row[1])) for row in rows}
    ours = min((value for key, value in best.items() if key.startswith("ours")), default=1.0)
    if best["none"] <= ours:
        words.append("**Predicting nothing wins here.**")
    better = [key for key, value in best.items() if value <= ours and not key.startswith(("ours", "none"))]
    if better:
        words.append(f"**Not below: {', '.join(better)}.**")
    return f"### Boundaries: {name}\n\n{' '.join(words)}\n\n" + report.table(
        ["segmenter", "Pk", "WindowDiff", "chunks a group"], rows
    )


def detector_cost(documents: Sequence[Prepared], *, most_chunks: int = 600) -> str:
    """Compare the detector's CPU time with the local embedder's on the same chunks, both on one thread of this process."""
    from tree_builder.models.local.vectors import embed

    sample: list[Prepared] = []
    for document in documents:
        if sum(len(d.chunks) for d in sample) < most_chunks:
            sample.append(document)
    texts = [[chunk.content for chunk in d.chunks] for d in sample]
    embed(texts[0][:2])  # loads the weights
    began = time.process_time()
    for some in texts:
        embed(some)
    embedding_s = time.process_time() - began
    began = time.process_time()
    for some, d in zip(texts, sample, strict=True):
        Detector().boundaries(some, d.vectors, [chunk.overlap for chunk in d.chunks])
    detecting_s = time.process_time() - began
    n = sum(map(len, texts))
    rows = [
        ["embedder (use-multilingual-v3)", f"{1000 * embedding_s / n:.2f}", ""],
        ["detector", f"{1000 * detecting_s / n:.2f}", f"{100 * detecting_s / embedding_s:.1f} %"],
    ]
    return f"### Cost of the detector\n\n{n} chunks, CPU time on one thread.\n\n" + report.table(
        ["", "ms a chunk", "of the embedder's (wanted: at most 5 %)"], rows
    )


async def _measure(plan: Plan, methods: Sequence[Boundaries]) -> None:
    """Measure set by set; each writes its own section as soon as it is there."""
    settings = plan.settings
    facts = _facts(plan)
    async with open_models(settings, MemoryMemo(), MemoryVectors(), NullLedger()) as (embedder, language):
        compared = segmenters(embedder, language, settings, methods)
        for name, loaded in data_sets(plan):
            began = time.perf_counter()
            prepared = [await prepare(d, embedder, settings) for d in loaded]
            documents = [d for d in prepared if d is not None]
            found = await measure_set(documents, compared)
            parts = [paragraph(name, documents, found)]
            if name in COARSE:
                coarse = with_coarse_gold(documents, loaded)
                parts.append(paragraph(COARSE[name], coarse, found | told_the_number(coarse)))
            section = f"boundaries-{name.split()[0].strip(',')}{plan.suffix}"
            report.write_section(section, f"{facts}\n" + "\n".join(parts))
            print(*parts, f"took {time.perf_counter() - began:.0f} s", sep="\n", flush=True)
            if not plan.paid and not loaded[0].items:
                report.write_section("detector", f"{facts}\n{detector_cost(documents)}")


def _facts(plan: Plan) -> str:
    settings = plan.settings
    return report.settings_line(
        models=f"{settings.embedding_model_name}, {settings.summary_model_name}"
        if plan.paid
        else settings.embedding_model_name,
        cut=f"{settings.cut} {settings.chunk_size}/{settings.chunk_overlap}",
        detector=f"version {DETECTOR_VERSION}, groups of 2 to {MOST_ITEMS}",
        seeds=f"random {baselines.RANDOM_SEEDS.start} to {baselines.RANDOM_SEEDS.stop - 1}, pieces 6",
        **plan.facts,
    )


def _methods(plan: Plan) -> list[Boundaries]:
    return ["embedding", "each", "window"] if plan.paid else ["embedding"]


def works(plan: Plan) -> list[Work]:
    """Say what measuring will ask of the models."""
    chars = sum(len(document.text) for _, loaded in data_sets(plan) for document in loaded)
    return [Work("boundaries", chars, EMBEDDED_TIMES, tuple(_methods(plan)))]


def measure(plan: Plan) -> None:
    """Measure the data sets of a folder and write a section each, and one about what the detector costs."""
    report.write_section("boundaries", f"## Boundaries\n\n{NOTES}")
    report.write_section("boundaries-tried", TRIED)
    asyncio.run(_measure(plan, _methods(plan)))
