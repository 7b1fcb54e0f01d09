"""A disk which fills up while a tree is built: a real one, of some megabytes, mounted in a namespace of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tree_builder.testing.endpoint import EndpointConfig, SimulatedEndpoint

from .support import prose

SCRIPT = """
mount -t tmpfs -o size=110m,mode=755 tmpfs "$PLACE"
"$@" >"$OUT/full.json"; echo $? >"$OUT/full"
mount -o remount,size=2000m "$PLACE"
"$@" >"$OUT/free.json"; echo $? >"$OUT/free"
"$PYTHON" -m tree_builder.cli check --data-dir "$PLACE/data" >"$OUT/check.txt"; echo $? >"$OUT/check"
"""


def may_mount() -> bool:
    return subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux" or not may_mount(), reason="needs the right to mount a small disk")
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """The run ends with code 5 and names the disk; with room again the next one pays for nothing twice, and all laws hold."""
    source, place, out = (tmp_path / name for name in ("source", "place", "out"))
    for folder in (source, place, out):
        folder.mkdir()
    for n in range(40):
        (source / f"{n}.txt").write_text("\n\n".join(prose(1000 * n + k, 8) for k in range(150)))
    with SimulatedEndpoint(EndpointConfig(scale=0.0, dimensions=1536)) as endpoint:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "TREE_BUILDER_"))}
        environment |= {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": endpoint.base_url}
        environment |= {"PLACE": str(place), "OUT": str(out), "PYTHON": sys.executable}
        build = [sys.executable, "-m", "tree_builder.cli", "build", str(source), "--models", "openai", "--json"]
        subprocess.run(
            ["unshare", "-m", "sh", "-c", SCRIPT, "sh", *build, "--data-dir", str(place / "data")],
            env=environment, capture_output=True, timeout=1200, check=True,
        )  # fmt: skip
        answered = [c.digest for c in endpoint.calls if c.kind == "chat" and c.status == 200]
    assert (out / "full").read_text().strip() == "5"
    assert "disk of the database is full" in json.loads((out / "full.json").read_text())["error"]
    assert (out / "free").read_text().strip() == "0"
    assert json.loads((out / "free.json").read_text())["documents"]["added"] == 40
    assert (out / "check").read_text().strip() == "0", (out / "check.txt").read_text()
    assert len(answered) - len(set(answered)) <= 64  # those in flight when the disk was full
