"""Reading and cutting against pypdfium2 alone, scanning against find

Documents: the PDFs of the shared manuals where they are, else those of examples/, each several times. Both sides take the
same bytes in one process and are counted in CPU seconds, the least of several turns, taken in turn.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pypdfium2 as pdfium

from benchmarks.report import Row
from tree_builder.cut import cut
from tree_builder.model import DocumentStatus
from tree_builder.read import ReadPool, read_bytes
from tree_builder.scan import scan
from tree_builder.settings import Settings

ROOT = Path(__file__).parents[1]
TURNS = 3


def folder() -> Path:
    shared = ROOT.parent / "shared" / "corpora" / "manuals"
    return shared if shared.is_dir() else ROOT / "examples"


def alone(data: bytes) -> int:
    """Take the text of each page with pypdfium2 and do nothing with it."""
    document = pdfium.PdfDocument(data)
    pages = len(document)
    for index in range(pages):
        page = document[index]
        text_page = page.get_textpage()
        text_page.get_text_range()
        text_page.close()
        page.close()
    document.close()
    return pages


def ours(data: bytes) -> int:
    read = read_bytes(data, "document.pdf")
    return len(cut(read.text, read.page_starts, size=1000, overlap=100))


def without_tables(data: bytes) -> int:
    with patch("tree_builder.read.tables.TableSearch.set_tables"):
        return ours(data)


def least(functions: list[Callable[[], object]]) -> list[float]:
    """Give the least CPU seconds of each function over several turns."""
    best = [float("inf")] * len(functions)
    for _ in range(TURNS):
        for place, function in enumerate(functions):
            began = time.process_time()
            function()
            best[place] = min(best[place], time.process_time() - began)
    return best


def reading() -> list[Row]:
    files = [path.read_bytes() for path in sorted(folder().rglob("*.pdf"))]
    ours(files[0])  # imports are not counted
    pages, alone_s, plain_s, whole_s = 0, 0.0, 0.0, 0.0
    for data in files:
        pages += alone(data)
        turns = [lambda data=data: alone(data), lambda data=data: without_tables(data), lambda data=data: ours(data)]
        one, two, three = least(turns)
        alone_s, plain_s, whole_s = alone_s + one, plain_s + two, whole_s + three
    beside = f"pypdfium2 alone: {pages / alone_s:.0f} pages/s, {pages} pages"
    ratio = alone_s / plain_s
    return [
        Row(
            "read and cut, tables aside, share of pypdfium2 alone",
            f"{ratio:.2f}",
            "at least 0.75",
            ratio >= 0.75,
            beside,
        ),
        Row(
            "read and cut, tables too",
            f"{alone_s / whole_s:.2f}",
            beside=f"{pages / whole_s:.0f} pages/s",
        ),
    ]


def in_processes() -> Row:
    """The whole way of a run: spawned processes, pipes and all."""
    sources = [source for source in scan(folder(), max_file_mb=500) if source.doc_path.lower().endswith(".pdf")]

    async def read_all() -> tuple[int, float]:
        async with ReadPool(Settings()) as pool:
            began = time.perf_counter()
            documents = await asyncio.gather(*(pool.read(folder(), source) for source in sources))
            assert all(document.status == DocumentStatus.BUILT for document in documents)
            return sum(document.n_pages for document in documents), time.perf_counter() - began

    pages, seconds = asyncio.run(read_all())
    return Row(
        "read and cut in processes, start of these included",
        f"{pages / seconds:.0f} pages/s",
        beside=f"{os.cpu_count()} processes",
    )


def cutting() -> list[Row]:
    text = max((read_bytes(path.read_bytes(), path.name).text for path in folder().rglob("*.pdf")), key=len)
    [seconds] = least([lambda: cut(text, [0], size=1000, overlap=100)])
    speed = len(text) / seconds / 1e6
    text = text[:200_000]
    before = {chunk.content for chunk in cut(text, [0], size=1000, overlap=100)}
    chance = random.Random(1)
    changed = []
    for _ in range(200):
        at = text.index(". ", chance.randrange(len(text) - 2000)) + 2
        edited = text[:at] + "A sentence was put in here. " + text[at:]
        changed.append(sum(chunk.content not in before for chunk in cut(edited, [0], size=1000, overlap=100)))
    few = sum(count <= 3 for count in changed) / len(changed)
    return [
        Row(
            "cut, million characters a second",
            f"{speed:.1f}",
            "at least 5",
            speed >= 5,
            f"{len(before)} chunks of 200,000 characters",
        ),
        Row(
            "one sentence put in: edits which change at most 3 chunks",
            f"{few:.1%}",
            "at least 99 %",
            few >= 0.99,
            f"most {max(changed)}, mean {sum(changed) / len(changed):.2f}",
        ),
    ]


def scanning() -> Row:
    with tempfile.TemporaryDirectory() as name:
        for number in range(10_000):
            path = Path(name, str(number // 100), f"{number}.pdf")
            path.parent.mkdir(exist_ok=True)
            path.touch()

        def find() -> None:
            subprocess.run(["find", name, "-printf", "%s %T@ %p\n"], stdout=subprocess.DEVNULL, check=True)

        def timed(function: Callable[[], object]) -> float:
            began = time.perf_counter()
            function()
            return time.perf_counter() - began

        plain = min(timed(find) for _ in range(5))
        here = min(timed(lambda: scan(Path(name), max_file_mb=500)) for _ in range(5))
    return Row(
        "scan of 10,000 files",
        f"{1000 * here:.0f} ms",
        "3 times find + 1 s",
        here <= 3 * plain + 1,
        f"find: {1000 * plain:.0f} ms",
    )


def main() -> list[Row]:
    return [*reading(), in_processes(), *cutting(), scanning()]
