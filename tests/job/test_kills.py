"""The command itself, killed, stopped, cut off: the next run ends with the same tree, and pays for no answer twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from tree_builder.store.embedded.server import serve
from tree_builder.testing.endpoint import EndpointConfig, Faults, SimulatedEndpoint

from .support import Corpus, prose

CONCURRENCY = 8


class Job:
    """`tree-builder build` as a process of its own, against a simulated service."""

    def __init__(self, corpus: Corpus, endpoint: SimulatedEndpoint) -> None:
        self.corpus, self.endpoint = corpus, endpoint

    def command(self) -> list[str]:
        return [
            sys.executable, "-m", "tree_builder.cli", "build", str(self.corpus.folder), "--corpus", "c",
            "--models", "openai", "--database", self.corpus.url, "--chunk-size", "300", "--chunk-overlap", "30",
            "--concurrency", str(CONCURRENCY), "--read-workers", "1", "--call-timeout-s", "5", "--json",
        ]  # fmt: skip

    def start(self) -> subprocess.Popen[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "TREE_BUILDER_"))}
        environment |= {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": self.endpoint.base_url}
        return subprocess.Popen(
            self.command(), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def run(self, timeout_s: float = 120) -> tuple[int, dict[str, Any]]:
        process = self.start()
        out, err = process.communicate(timeout=timeout_s)
        assert out.count("\n") == 1, (out, err)
        return process.returncode, json.loads(out)

    def answered_twice(self) -> int:
        """Count the chat answers which the service gave to a question it had answered before."""
        answered = Counter(
            c.digest for c in self.endpoint.calls if c.kind == "chat" and c.status == 200 and not c.fault
        )
        return sum(n - 1 for n in answered.values())


@pytest.fixture
def job(corpus: Corpus) -> Iterator[Job]:
    for index in range(5):
        corpus.write(f"d{index % 2}/{index}.txt", prose(index, 25 + 5 * index))
    with SimulatedEndpoint(EndpointConfig(scale=0.1)) as endpoint:
        yield Job(corpus, endpoint)


def forget(corpus: Corpus) -> None:
    corpus.rows("delete from tree_builder.corpora returning corpus")
    for table in ("memo", "vectors", "texts"):
        corpus.rows(f"with x as (delete from tree_builder.{table} returning 1) select count(*) from x")


def undisturbed(job: Job) -> dict[Any, tuple[Any, ...]]:
    code, report = job.run()
    assert (code, report["status"]) == (0, "published")
    tree = job.corpus.tree()
    forget(job.corpus)
    return tree


def check_clean(corpus: Corpus) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tree_builder.cli", "check", "--database", corpus.url],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("kills", [pytest.param(4, id="short"), pytest.param(200, id="long", marks=pytest.mark.soak)])
def test_kill_9_at_random_moments(job: Job, kills: int) -> None:
    """After kills at seeded moments one undisturbed run gives the undisturbed tree; only calls in flight were paid again."""
    rng = random.Random(11)
    for begun in range(0, kills, 4):
        job.endpoint.configure(EndpointConfig(scale=0.1, seed=begun))
        expected = undisturbed(job)
        job.endpoint.configure(EndpointConfig(scale=0.1, seed=begun))  # counts from here
        for _ in range(min(4, kills - begun)):
            process = job.start()
            time.sleep(rng.uniform(0.8, 3.5))
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        code, report = job.run()
        assert (code, report["status"]) == (0, "published")
        assert job.corpus.tree() == expected
        assert job.answered_twice() <= 4 * CONCURRENCY
        check_clean(job.corpus)
        forget(job.corpus)


@pytest.mark.parametrize(("word", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_drains_and_the_next_run_goes_on(job: Job, word: signal.Signals, code: int) -> None:
    """SIGTERM and Ctrl-C end within 10 s with their code, nothing published; what was paid for is not paid again."""
    expected = undisturbed(job)
    job.endpoint.configure(EndpointConfig(scale=0.1))
    process = job.start()
    while len(job.endpoint.calls) < 10 and process.poll() is None:
        time.sleep(0.05)
    told = time.monotonic()
    process.send_signal(word)
    out, _ = process.communicate(timeout=30)
    assert time.monotonic() - told < 10
    assert process.returncode == code
    assert json.loads(out)["status"] == "cancelled"
    assert job.corpus.tree() == {}
    assert job.corpus.rows("select state from tree_builder.runs") == [("cancelled",)]
    twice = job.answered_twice()
    assert job.run()[0] == 0
    assert job.corpus.tree() == expected
    assert job.answered_twice() - twice <= CONCURRENCY


def test_a_killed_reading_process_costs_nothing(job: Job) -> None:
    """A reading process killed in the middle is replaced; the run ends well or lists the file, and the next one heals."""
    expected = undisturbed(job)
    process = job.start()
    deadline = time.monotonic() + 20
    killed = False
    while not killed and process.poll() is None and time.monotonic() < deadline:
        for child in psutil.Process(process.pid).children(recursive=True):
            if "tree_builder.read" in " ".join(child.cmdline()):
                child.kill()
                killed = True
        time.sleep(0.02)
    process.communicate(timeout=60)
    assert killed
    assert job.run()[0] == 0
    assert job.corpus.tree() == expected


def test_a_server_which_restarts_again_and_again(job: Job, tmp_path: Path) -> None:
    """Backends killed every other second, so that the server recovers each time: the run ends by itself, with the same tree."""
    with serve(tmp_path / "pg", options={"fsync": "off"}) as url:  # its own: other tests must not lose theirs
        job.corpus.url = url
        expected = undisturbed(job)
        job.endpoint.configure(EndpointConfig(scale=0.3))
        process = job.start()
        restarts = 0
        while process.poll() is None and restarts < 4:
            time.sleep(2.0)
            restarts += _kill_a_backend(url)
        out, err = process.communicate(timeout=150)
        assert restarts > 0
        assert process.returncode == 0, err
        assert json.loads(out)["status"] == "published"
        assert job.corpus.tree() == expected
        check_clean(job.corpus)


def _kill_a_backend(url: str) -> int:
    """Kill one backend as a crash would: the server ends all others and recovers, as after a restart."""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            row = connection.execute(
                "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
                " and backend_type = 'client backend' limit 1"
            ).fetchone()
        if row is None:
            return 0
        os.kill(row[0], signal.SIGKILL)
    except (psycopg.OperationalError, ProcessLookupError):
        return 0
    return 1


def test_a_bad_service_gives_the_same_tree(job: Job) -> None:
    """Refusals, errors, hanging, empty, cut off and garbage answers: the same tree as without, no bad content stored."""
    expected = undisturbed(job)
    faults = Faults(rate_limited=0.3, server_error=0.2, hang=0.01, empty=0.05, cut_off=0.05, garbage=0.05)
    job.endpoint.configure(EndpointConfig(scale=0.02, faults=faults, hang_s=20, retry_after_s=0.02))
    for _ in range(4):
        code, report = job.run(timeout_s=170)
        assert code in {0, 3, 5}
        contents = [row[0] for row in job.corpus.rows("select content from tree_builder.texts")]
        assert all(content.strip() for content in contents)
        if code == 0:
            break
        assert report["status"] == "failed" or report["problems"]
    assert code == 0
    assert job.corpus.tree() == expected
    check_clean(job.corpus)


def test_secrets_stay_out_of_logs_and_rows(job: Job, tmp_path: Path) -> None:
    """Neither the key nor the database's password is printed, logged or stored."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "TREE_BUILDER_"))}
    environment |= {"OPENAI_API_KEY": "sk-secret-0123456789", "OPENAI_BASE_URL": job.endpoint.base_url}
    done = subprocess.run(
        [*job.command(), "--log-level", "debug", "--log-format", "json"],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert "secret-0123456789" not in done.stdout + done.stderr
    assert all(json.loads(line)["message"] for line in done.stderr.splitlines())
    rows = job.corpus.rows("select report::text || settings::text || coalesce(error, '') from tree_builder.runs")
    assert "secret" not in str(rows)
