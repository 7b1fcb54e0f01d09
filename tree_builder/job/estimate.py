"""What a build would do and cost, found without asking any model: `build --dry-run`."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tree_builder.job.plan import Plan, compare, settle
from tree_builder.job.recipe import changed, ingredients, recipe_of
from tree_builder.job.run import Options, checked_folder, hashes_of
from tree_builder.model import DocumentStatus
from tree_builder.read import ReadPool
from tree_builder.scan import scan
from tree_builder.settings import PRICES_DATE, Settings
from tree_builder.store.corpora import Corpora
from tree_builder.store.database import Database, resolve_url
from tree_builder.store.migrate import migrate

CHARS_A_TOKEN = 3.7  # measured on English technical text: 3.67 to 3.90 with cl100k
INSTRUCTION_TOKENS = 220  # of a prompt, besides the texts
CALL_S, TOKEN_S = 0.25, 0.004  # of an answer: a call, and each token of output


@dataclass(frozen=True, slots=True)
class Range:
    """A number which depends on where topics change: least, expected, most."""

    low: float
    expected: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.expected + other.expected, self.high + other.high)

    def times(self, factor: float) -> Range:
        return Range(self.low * factor, self.expected * factor, self.high * factor)


ZERO = Range(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a build would do. Answers which the memo holds are not known beforehand and make it cheaper."""

    corpus: str
    documents: dict[str, int]
    problems: tuple[dict[str, str], ...]
    chunks: int
    summarize: Range
    boundary: Range
    input_tokens: Range
    output_tokens: Range
    embedding_tokens: Range
    usd: Range
    minutes: Range
    prices_date: str
    unpriced: tuple[str, ...]
    rebuilt: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        out = asdict(self)
        return {name: _rounded(value) for name, value in out.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: round(v, 4) if isinstance(v, float) else v for k, v in value.items()}
    return value


async def estimate(
    folder: Path | str, settings: Settings, *, corpus: str | None = None, options: Options | None = None
) -> Estimate:
    """Read and cut what changed, and work out calls, tokens, dollars and minutes. Writes nothing, asks no model.

    Raises:
        ConfigError: the folder cannot be used.
    """
    folder = checked_folder(Path(folder))
    corpus = corpus or folder.name or "corpus"
    options = options or Options()
    parts = ingredients(settings)
    async with resolve_url(settings) as url:
        await migrate(url)
        async with Database.open(url, application_name="tree-builder estimate") as db:
            stored = await Corpora(db).find(corpus)
            known = await Corpora(db).known_documents(stored.corpus_id) if stored else {}
    files = list(scan(folder, follow_symlinks=settings.follow_symlinks, max_file_mb=settings.max_file_mb))
    problems: list[dict[str, str]] = []
    sizes: list[tuple[int, int]] = []
    async with ReadPool(settings) as pool:
        look = compare(files, known, rehash=options.rehash)
        plan = settle(
            look,
            await hashes_of(folder, look.suspects, pool),
            known,
            {f.doc_path: f for f in files},
            recipe=recipe_of(parts),
        )
        for reading in plan.readings:
            document = await pool.read(folder, reading.files[0])
            if document.status is DocumentStatus.BUILT:
                sizes.append((len(document.chunks), document.n_chars))
            else:
                problems.append(
                    {"doc_path": document.doc_path, "status": str(document.status), "reason": document.reason}
                )
    before = stored.settings.get("ingredients") if stored else None
    rebuilt = tuple(changed(before, parts)) if before and before != parts else ()
    return _priced(corpus, plan, settings, problems=problems, sizes=sizes, rebuilt=rebuilt)


def calls_for(n_items: int, settings: Settings) -> tuple[Range, Range]:
    """Estimate the calls to summarize and to find boundaries over n items: groups of 10, of 4, and of 2 items.

    With mean group length L a tree over N items has N/(L-1) groups and, item by item, about N questions (measured in
    simulation); a group of more than two items is summarized twice where its probe saw only two.
    """
    if n_items < 2:
        return ZERO, ZERO
    method, probes = settings.boundary_method, settings.boundary_method == "each"
    twice = 2 if probes and settings.summary_scope == "group" else 1

    def at(length: float) -> tuple[float, float]:
        groups = n_items / (length - 1)
        summaries = groups * (twice if length > 2 else 1)
        questions = float(n_items) if method == "each" else groups if method == "window" else 0.0
        return summaries, min(questions, 2 * n_items - summaries)

    low, expected, high = at(10), at(4), at(2)
    return (
        Range(*sorted((low[0], expected[0], high[0]))),
        Range(*sorted((low[1], expected[1], high[1]))),
    )


def _priced(
    corpus: str,
    plan: Plan,
    settings: Settings,
    *,
    problems: list[dict[str, str]],
    sizes: list[tuple[int, int]],
    rebuilt: tuple[str, ...],
) -> Estimate:
    n_above = len(sizes) + len(plan.copies)
    summarize, boundary = calls_for(n_above, settings) if n_above else (ZERO, ZERO)
    for n_chunks, _ in sizes:
        more_summarize, more_boundary = calls_for(n_chunks, settings)
        summarize, boundary = summarize + more_summarize, boundary + more_boundary
    chars = sum(n_chars for _, n_chars in sizes)
    item = settings.chunk_size * 0.75 / CHARS_A_TOKEN
    summary = settings.summary_chars / CHARS_A_TOKEN
    asked = 2 * item if settings.boundary_method != "window" else settings.window_size * item
    remote = settings.models == "openai"
    input_tokens = summarize.times(4 * item + INSTRUCTION_TOKENS) + boundary.times(asked + INSTRUCTION_TOKENS)
    output_tokens = summarize.times(summary) + boundary.times(2 if settings.boundary_method == "each" else 12)
    embedding = Range(*(chars / CHARS_A_TOKEN + n * summary for n in asdict(summarize).values()))
    price = settings.prices.get(settings.summary_model_name)
    embedding_price = settings.prices.get(settings.embedding_model_name)
    usd = ZERO
    if remote and price:
        usd = usd + input_tokens.times(price.input / 1e6) + output_tokens.times(price.output / 1e6)
    if remote and embedding_price:
        usd = usd + embedding.times(embedding_price.input / 1e6)
    unpriced = [
        n for n, p in ((settings.summary_model_name, price), (settings.embedding_model_name, embedding_price)) if not p
    ]
    calls = summarize + boundary
    return Estimate(
        corpus=corpus,
        documents={
            "to_read": sum(len(r.files) for r in plan.readings),
            "to_copy": len(plan.copies),
            "deleted": len(plan.gone),
            "unchanged": len(plan.unchanged) + len(plan.touched),
        },
        problems=tuple(problems),
        chunks=sum(n for n, _ in sizes),
        summarize=_whole(summarize),
        boundary=_whole(boundary),
        input_tokens=_whole(input_tokens) if remote else ZERO,
        output_tokens=_whole(output_tokens) if remote else ZERO,
        embedding_tokens=_whole(embedding) if remote else ZERO,
        usd=usd,
        minutes=_minutes(calls, input_tokens + output_tokens, output_tokens, settings) if remote else ZERO,
        prices_date=PRICES_DATE,
        unpriced=tuple(unpriced) if remote else (),
        rebuilt=rebuilt,
    )


def _minutes(calls: Range, tokens: Range, output_tokens: Range, settings: Settings) -> Range:
    """Estimate the time at the limits which are known beforehand: calls in flight, and those of the settings."""
    bounds = [(calls.times(CALL_S) + output_tokens.times(TOKEN_S)).times(1 / settings.concurrency / 60)]
    if settings.requests_per_minute:
        bounds.append(calls.times(1 / settings.requests_per_minute))
    if settings.tokens_per_minute:
        bounds.append(tokens.times(1 / settings.tokens_per_minute))
    return Range(max(b.low for b in bounds), max(b.expected for b in bounds), max(b.high for b in bounds))


def _whole(value: Range) -> Range:
    return Range(math.floor(value.low), math.ceil(value.expected), math.ceil(value.high))
