"""The examples for operators: they parse, what they call exists in the program, and the nightly clock does what it says."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from tree_builder.cli import COMMANDS, cli
from tree_builder.settings import NAMES

DOCKER = Path(__file__).parent.parent / "docker"


def options_of(command: str) -> set[str]:
    context = click.Context(cli)
    found = cli.get_command(context, command)
    assert found is not None, command
    return {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}


def calls() -> list[tuple[str, set[str]]]:
    """All calls of the command in the files of docker/: the command and its options."""
    call = re.compile(
        r"(?:[/`]|rm |[*0-9] +|^ {4})(?:tree-)?builder ([a-z]+)(?![-a-z])((?: +[^\s`|>&;]+)*)", re.MULTILINE
    )
    found = [match.group(1, 2) for file in sorted(DOCKER.iterdir()) for match in call.finditer(file.read_text())]
    cron = yaml.safe_load((DOCKER / "cronjob.yaml").read_text())
    command, *words = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"]
    compose = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    found += [(command, " ".join(words)), ("build", " ".join(compose["services"]["nightly"]["command"]))]
    return [(command, set(re.findall(r"(?<!\S)--[a-z-]+", words))) for command, words in found]


def test_every_command_and_option_exists() -> None:
    """Each call in the examples is of a command of ours, with options which it has."""
    assert len(calls()) >= 12
    for command, options in calls():
        assert command in COMMANDS, command
        assert options <= options_of(command), (command, options)


def test_every_variable_is_a_setting() -> None:
    """TREE_BUILDER_... in the examples are names of settings: the program refuses others."""
    text = "".join(file.read_text() for file in DOCKER.iterdir())
    for name in re.findall(r"TREE_BUILDER_([A-Z_]+[A-Z])", text):
        assert name.lower() in NAMES, name


def test_yaml_says_what_the_readme_promises() -> None:
    """PostgreSQL comes with pgvector by a pinned tag; runs never overlap; the program runs without rights, on read-only files."""
    compose: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    assert re.fullmatch(r"pgvector/pgvector:\d+\.\d+\.\d+-pg\d+", compose["services"]["db"]["image"])
    assert compose["services"]["nightly"]["read_only"] is True
    cron: dict[str, Any] = yaml.safe_load((DOCKER / "cronjob.yaml").read_text())["spec"]
    assert cron["concurrencyPolicy"] == "Forbid"
    pod = cron["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
    assert cron["jobTemplate"]["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [3, 4, 75]
    assert "Persistent=true" in (DOCKER / "tree-builder.timer").read_text()
    assert "USER 10001" in (DOCKER / "Dockerfile").read_text()


def test_the_image_has_all_that_the_wheel_is_built_from() -> None:
    """Each folder and file which the Dockerfile copies exists, and the ignore file lets it through."""
    root = DOCKER.parent
    allowed = {line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in (DOCKER / "Dockerfile").read_text().splitlines():
        if line.startswith("COPY") and "--from" not in line:
            for source in [word for word in line.split()[1:-1] if not word.startswith("--")]:
                assert (root / source).exists(), source
                assert any(source == a or source.startswith(f"{a}/") for a in allowed), source


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    """Every line of the units is of a section; where systemd is, `systemd-analyze verify` finds nothing wrong."""
    for name in ("tree-builder.service", "tree-builder.timer"):
        text = (DOCKER / name).read_text().replace("/opt/tree-builder/bin/tree-builder", "/bin/true")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        assert all(re.fullmatch(r"\[\w+\]|[A-Z]\w+=.+", line) for line in lines)
        (tmp_path / name).write_text(text)
    if analyze := shutil.which("systemd-analyze"):
        units = map(str, sorted(tmp_path.iterdir()))
        done = subprocess.run([analyze, "verify", *units], capture_output=True, text=True, check=False)
        complaints = [line for line in done.stderr.splitlines() if "tree-builder" in line]
        assert (done.returncode, complaints) == (0, [])


def nightly(tmp_path: Path, code: int, *arguments: str) -> subprocess.Popen[str]:
    """Start the nightly clock with a stand-in for the builder which notes its arguments and exits with `code`."""
    stand_in = tmp_path / "tree-builder"
    stand_in.write_text(f'#!/bin/sh\necho "called $*"\nexit {code}\n')
    stand_in.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "NIGHTLY_NOW": "1", "NIGHTLY_AT": "02:30"}
    return subprocess.Popen(
        [DOCKER / "nightly.sh", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "published"),
        (3, "some documents failed"),
        (4, "wrong settings"),
        (5, "nothing published"),
        (75, "another run"),
    ],
)
def test_the_nightly_clock_survives_every_end_of_a_run(tmp_path: Path, code: int, words: str) -> None:
    """Whatever a run's exit code, it says what it means, waits for the next night, and ends at once on SIGTERM with 143."""
    with nightly(tmp_path, code, "/corpus", "--corpus", "a b") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "called build /corpus --corpus a b\n"
        assert words in process.stdout.readline()
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 143
