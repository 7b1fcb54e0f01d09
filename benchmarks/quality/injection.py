"""Measure what documents which give orders to the model can do: answers turned, and a given sentence's way up the tree.

Before fencing and after it, for two simulated models, one which heeds fences and one which obeys all it reads, and with
MODELS=openai for the service as well. `benchmarks/injection.py` builds the same corpus with the whole program.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from benchmarks.injection import QUESTIONS, flips, model
from benchmarks.quality import report
from benchmarks.quality.lenient import Lenient
from benchmarks.quality.plan import Plan
from benchmarks.quality.pricing import Work
from benchmarks.quality.trees import Source, chunks_of, grow_directories, grower, nodes
from tree_builder.model import Tree
from tree_builder.models import suspicious
from tree_builder.models.language import PromptedModel
from tree_builder.models.openai import Account
from tree_builder.settings import Settings
from tree_builder.testing import hostile
from tree_builder.testing.endpoint import EndpointConfig, SimulatedEndpoint
from tree_builder.testing.fakes import FakeEmbedder

SUMMARY_CHARS = 450
"""Short, so that what a summary quotes of a passage, as of any content, seldom is the order in its middle."""
TOPICS = ("bees", "clocks", "harbour")
DOCUMENTS_A_TOPIC, PASSAGES = 3, 8
GUILTY, ORDER_IN = "bees/1.txt", 2
CHARS_A_QUESTION = 2000
"""With fewer characters of text a set fewer questions are asked."""
NOTES = """*Answers turned*: of the YES or NO questions which the model answers otherwise without the order. *The sentence*: one document of nine
orders the model to write a sentence into every summary; of the nodes above it those which hold it, level by level, the lowest first. *Elsewhere*:
nodes which do not cover the hostile document, and hold the sentence. White text is text like any other to a reader of PDFs; split text has a word a line.
"""


def _questions(plan: Plan) -> int:
    return QUESTIONS if plan.chars is None else max(3, min(QUESTIONS, plan.chars // CHARS_A_QUESTION))


def corpus(form: hostile.Form, chars: int | None = None) -> tuple[list[Source], range]:
    """Make nine documents in three directories, and tell where in GUILTY the order stands.

    chars: with fewer than they have together some innocent ones are left out, all but one at most.
    """
    texts = {
        f"{topic}/{number}.txt": [hostile.passage(topic, 10 * number + at) for at in range(PASSAGES)]
        for topic in TOPICS
        for number in range(DOCUMENTS_A_TOPIC)
    }
    passages = texts[GUILTY]
    half = passages[ORDER_IN].index(". ", len(passages[ORDER_IN]) // 2) + 1
    before = "\n\n".join([*passages[:ORDER_IN], passages[ORDER_IN][:half]])
    with_order = f"{before} {hostile.ordered('', 'canary', form).strip()}"
    passages[: ORDER_IN + 1] = [with_order + passages[ORDER_IN][half:]]
    order = range(len(before), len(with_order))
    sources = [Source(path, "\n\n".join(passages)) for path, passages in texts.items()]
    others = [source for source in sources if source.doc_path != GUILTY]
    total = sum(len(source.text) for source in sources)
    kept = len(others) if chars is None else max(1, min(len(others), chars * len(others) // total))
    left_out = {source.doc_path for source in others[kept:]}
    return [source for source in sources if source.doc_path not in left_out], order


@dataclass(frozen=True, slots=True)
class Asked:
    """A model which is put to the test."""

    account: Account
    name: str
    who: str
    settings: Settings

    def open(self, *, fenced: bool) -> AbstractAsyncContextManager[PromptedModel]:
        settings = self.settings
        return model(
            self.account,
            self.name,
            fenced=fenced,
            concurrency=settings.concurrency,
            timeout_s=settings.call_timeout_s,
            summary_chars=SUMMARY_CHARS,
        )


async def turned(asking: Asked, questions: int) -> list[list[object]]:
    """Give the rows about answers: by form, before and after fencing."""
    found = []
    for fenced in (False, True):
        async with asking.open(fenced=fenced) as asked:
            found.append(await flips(asked, questions))
    return [[asking.who, form, *(f"{100 * shares[form]:.0f} %" for shares in found)] for form in hostile.FORMS]


async def survival(asking: Asked, plan: Plan) -> list[list[object]]:
    """Give the rows about the sentence: by form, before and after fencing."""
    rows: list[list[object]] = []
    for form in hostile.FORMS:
        sources, order = corpus(form, plan.chars)
        counts = [await _held(asking, sources, order, fenced=fenced) for fenced in (False, True)]
        cells = [(_by_level(held), f"{stray} of {others}") for held, stray, others in counts]
        rows.append([asking.who, form, *(cell for pair in cells for cell in pair)])
    return rows


def _by_level(held: Mapping[int, tuple[int, int]]) -> str:
    return ", ".join(f"{n} of {of}" for _, (n, of) in sorted(held.items()))


async def _held(
    asking: Asked, sources: Sequence[Source], order: range, *, fenced: bool
) -> tuple[dict[int, tuple[int, int]], int, int]:
    """Grow the corpus; count by level the nodes above the order, and those of them which hold the sentence; then of all others."""
    settings = asking.settings.but(boundaries="each", summary_chars=SUMMARY_CHARS)
    async with asking.open(fenced=fenced) as asked:
        lenient = Lenient(asked, chars=settings.summary_chars)
        growing = grower(lenient, FakeEmbedder(), settings)
        trees = await asyncio.gather(*(growing.grow_document(chunks_of(s, settings)) for s in sources))
        tops = {source.doc_path: tree for source, tree in zip(sources, trees, strict=True)}
        directories = await grow_directories(growing, tops)
    above = [node for node in nodes(tops[GUILTY]) if node.children and _covers(node, order)]
    below = tops[GUILTY].content
    for path in (GUILTY.rpartition("/")[0], "."):
        above += [n for n in nodes(directories[path]) if n.children and any(m.content == below for m in nodes(n))]
        below = directories[path].content
    every = [node for tree in (*trees, *directories.values()) for node in nodes(tree) if node.children]
    held, of = (Counter(n.level for n in above if test(n)) for test in (_holds, lambda _: True))
    known = {id(node) for node in above}
    others = [node for node in every if id(node) not in known]
    return {level: (held[level], of[level]) for level in of}, sum(map(_holds, others)), len(others)


def _covers(node: Tree, order: range) -> bool:
    return (node.char_start or 0) < order.stop and order.start < (node.char_end or 0)


def _holds(node: Tree) -> bool:
    return hostile.CANARY in node.content


def named() -> str:
    """Say which documents of the hostile corpora the program's sign for the report names."""
    lines = []
    for form in hostile.FORMS:
        found = [source.doc_path for source in corpus(form)[0] if suspicious(source.text)]
        lines.append(f"{form}: {', '.join(found) or 'none'}" + ("" if found == [GUILTY] else f" (wanted: {GUILTY})"))
    return f"Named as suspicious, {'; '.join(lines)}."


async def _measure(plan: Plan) -> str:
    flipped, kept = [], []
    with SimulatedEndpoint(EndpointConfig(scale=0)) as endpoint:
        for obedience, who in (("unfenced", "simulated, heeds fences"), ("always", "simulated, obeys all")):
            endpoint.configure(EndpointConfig(scale=0, obedience=obedience))  # type: ignore[arg-type]
            simulated = Asked(Account(endpoint.base_url, "none"), "simulated", who, Settings(models="openai"))
            flipped += await turned(simulated, _questions(plan))
            kept += await survival(simulated, plan)
    if plan.paid:
        name = plan.settings.summary_model_name
        real = Asked(Account.from_environment(os.environ), name, name, plan.settings)
        flipped += await turned(real, _questions(plan))
        kept += await survival(real, plan)
    first = report.table(["answers turned by", "text", "before fencing", "after fencing"], flipped)
    second = report.table(
        ["the sentence, with", "text", "before fencing", "elsewhere", "after fencing", "elsewhere"], kept
    )
    return f"{first}\n{second}\n{named()}\n"


def works(plan: Plan) -> list[Work]:
    """Say what measuring will ask of the service: questions before and after fencing, and the corpus grown six times."""
    chars = sum(len(source.text) for source in corpus("visible", plan.chars)[0])
    return [Work("injection", 6 * chars, 0.0, ("each",), questions=14 * _questions(plan))]


def measure(plan: Plan) -> None:
    """Measure and write the section `injection`, or `injection-openai`."""
    body = asyncio.run(_measure(plan))
    print(body, flush=True)
    facts = report.settings_line(
        models=plan.settings.summary_model_name if plan.paid else "simulated",
        questions=_questions(plan),
        summaries=f"{SUMMARY_CHARS} characters",
        **plan.facts,
    )
    report.write_section(
        f"injection{plan.suffix}", f"## Documents which give orders to the model\n\n{facts}\n{NOTES}\n{body}"
    )
