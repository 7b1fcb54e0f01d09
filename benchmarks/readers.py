"""Many readers during a build: the same readers with and without one, in turns. Part of `benchmarks.search`.

The build is the program's own command over made-up documents, into another corpus of the same database, with a simulated service
which takes its time. The service stands for another machine and gives way to all else; so would a nightly job under `nice`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from benchmarks.made_up import document
from tree_builder.testing.endpoint import EndpointConfig, SubprocessEndpoint

QUIET_S = 20.0
DOCUMENTS, PASSAGES = 40, 20
THINKING_S = 2.0
"""How long a reader reads what was found before the next search, on average."""

STATEMENTS = (
    "select content from tree_builder.search_vector(%(vector)s::vector, corpus => %(corpus)s)",
    "select content from tree_builder.search(%(words)s, %(vector)s::vector, corpus => %(corpus)s)",
    "select content from tree_builder.parents(%(node)s)",
    "select summary from tree_builder.summary(%(path)s, %(corpus)s)",
)


@dataclass(slots=True)
class Times:
    """Milliseconds of each statement, and the errors."""

    ms: list[float] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)

    @property
    def p95(self) -> float:
        return float(np.percentile(self.ms, 95))


class _Readers:
    """So many connections, each asking one statement after another for as long as the block lasts."""

    def __init__(self, url: str, questions: list[dict[str, Any]], n_readers: int) -> None:
        self.times = Times()
        self._url, self._questions = url, questions
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(n,)) for n in range(n_readers)]

    def __enter__(self) -> Times:
        for thread in self._threads:
            thread.start()
        return self.times

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def _read(self, number: int) -> None:
        random = np.random.default_rng(number)
        try:
            with psycopg.connect(self._url, autocommit=True) as connection:
                register_vector(connection)
                while not self._done.wait(float(random.exponential(THINKING_S))):
                    question = self._questions[int(random.integers(len(self._questions)))]
                    statement: Any = STATEMENTS[int(random.integers(len(STATEMENTS)))]
                    started = time.perf_counter()
                    connection.execute(statement, question).fetchall()
                    self.times.ms.append((time.perf_counter() - started) * 1000)
        except Exception as error:
            self.times.errors.append(error)


def measure(url: str, corpus: str, n_readers: int) -> tuple[Times, Times, float]:
    """Give the times of the readers alone and of the readers beside a build, and how long the build took in seconds."""
    questions = _questions(url, corpus)
    with _Readers(url, questions, n_readers) as alone:
        time.sleep(QUIET_S)
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder))
        with _Readers(url, questions, n_readers) as beside:
            took_s = _build(Path(folder), url)
    return alone, beside, took_s


def _questions(url: str, corpus: str) -> list[dict[str, Any]]:
    with psycopg.connect(url, autocommit=True) as connection:
        register_vector(connection)
        rows = connection.execute(
            "select n.node_id, n.doc_path, t.content, v.embedding from tree_builder.published_node as n"
            " inner join tree_builder.texts as t using (text_id)"
            " inner join tree_builder.vectors as v using (model_id, text_id)"
            " where n.corpus = %s and n.level = 0 limit 300",
            (corpus,),
        ).fetchall()
    return [
        {"node": node, "path": path, "words": " ".join(content.split()[1:5]), "vector": vector, "corpus": corpus}
        for node, path, content, vector in rows
    ]


def _write(folder: Path) -> None:
    for n in range(DOCUMENTS):
        file = folder / f"shelf{n % 5}" / f"{n}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n\n".join(passage.content for passage in document(PASSAGES, seed=n, shelf=n % 5)))


def _build(folder: Path, url: str) -> float:
    """Build the folder with the program's own command; give the seconds it took."""
    command = [sys.executable, "-m", "tree_builder.cli", "build", str(folder), "--corpus", f"beside-{os.getpid()}"]
    started = time.perf_counter()
    with SubprocessEndpoint(EndpointConfig(scale=0.1)) as endpoint:
        os.setpriority(os.PRIO_PROCESS, endpoint.pid, 19)
        done = subprocess.run(
            [*command, "--models", "openai", "--database", url, "--json"],
            env=os.environ | {"OPENAI_API_KEY": "bench", "OPENAI_BASE_URL": endpoint.base_url},
            capture_output=True,
            text=True,
            check=True,
        )
    if json.loads(done.stdout)["status"] != "published":
        raise RuntimeError(f"the build beside the readers ended as {done.stdout}")
    return time.perf_counter() - started
