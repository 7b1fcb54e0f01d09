"""A night without change over ten thousand files, against `find` on the same folder."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from .support import Corpus


@pytest.mark.parametrize(
    "n_files", [pytest.param(300, id="short"), pytest.param(10_000, id="long", marks=pytest.mark.soak)]
)
async def test_nothing_changed_in_many_files(corpus: Corpus, n_files: int) -> None:
    """0 model calls, 0 nodes written; the long form prints its time beside that of `find`."""
    for index in range(n_files):
        corpus.write(f"d{index % 50}/{index}.txt", f"Note {index} of the topic-d{index % 50}.")
    await corpus.build(read_workers=2)
    report = await corpus.build()
    assert not corpus.models.paid
    assert not corpus.models.embedded
    assert (report.nodes_written, report.nodes_ended) == (0, 0)
    assert report.as_json()["documents"]["unchanged"] == n_files
    corpus.rows("update tree_builder.corpora set settings = settings returning 1")
    started = time.perf_counter()
    subprocess.run(["find", str(corpus.folder), "-printf", "%s %T@ %p\n"], stdout=subprocess.DEVNULL, check=True)
    find_s = time.perf_counter() - started
    sys.stderr.write(f"\n{n_files} files: run {report.as_json()['seconds']['total']} s, find {find_s:.3f} s\n")
