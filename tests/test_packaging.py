"""What is installed from the wheel is whole: every sub-package, every SQL file, the command, quick to answer."""

from __future__ import annotations

import ast
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = {"tree_builder": "tree_builder", "db": "tree_builder/db", "queries": "tree_builder/queries"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources by the locked build tools, without the network."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in (*ROOMS, "pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "-w", str(out), str(source)], check=True)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the wheel's content; its dependencies come from this environment."""
    place = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def run(installed: Path, cwd: Path, code: str) -> str:
    """Run Python in another folder with the wheel's content and this environment's packages, the checkout left out."""
    bootstrap = (
        f"import sys; sys.path[:0] = [{str(installed)!r}, {sysconfig.get_paths()['purelib']!r}]\n"
        "import tree_builder; assert tree_builder.__file__.startswith(sys.path[0]), tree_builder.__file__\n"
    )
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    # -S: without it the .pth file of an editable install would bring the checkout in.
    done = subprocess.run(
        [sys.executable, "-S", "-c", bootstrap + code],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_file(wheel: Path) -> None:
    """Each Python, SQL and checksum file of the three rooms is in the wheel, under its place in the package."""
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    for room, place in ROOMS.items():
        for file in (ROOT / room).rglob("*"):
            if file.suffix in (".py", ".sql", ".sha256", ".typed") and "__pycache__" not in file.parts:
                assert f"{place}/{file.relative_to(ROOT / room).as_posix()}" in inside, file
    assert not any(name.startswith(("tests/", "benchmarks/", "db/", "queries/")) for name in inside)


def test_every_folder_with_python_is_a_listed_package() -> None:
    """Packages are listed by hand: one left out works in a checkout and is missing from the wheel."""
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    for room, place in ROOMS.items():
        for file in (ROOT / room).rglob("__init__.py"):
            folder = file.parent.relative_to(ROOT / room).as_posix()
            package = (place if folder == "." else f"{place}/{folder}").replace("/", ".")
            assert package in listed
            listed.discard(package)
    assert not listed, f"listed, but there is no such folder: {listed}"


def test_the_wheel_runs_from_another_folder(installed: Path, tmp_path: Path) -> None:
    """The command answers, migrations and queries are found, outside of any checkout."""
    code = (
        "import json; from tree_builder.store import migrate, statements\n"
        "names = [m.name for m in migrate.shipped()]\n"
        "n = sum(len(statements.load(s)) for s in statements.subjects())\n"
        "print(json.dumps([names, n]))"
    )
    names, n_queries = json.loads(run(installed, tmp_path, code))
    assert names[0] == "0001_foundation"
    assert n_queries > 0
    shown = run(installed, tmp_path, "from tree_builder.cli import main; main(['--help'])")
    assert "build" in shown
    assert "db" in shown


def test_every_module_of_the_wheel_imports(installed: Path, tmp_path: Path) -> None:
    """Each module imports on its own dependencies: nothing needs a test tool, save where a package is optional."""
    optional = ("tree_builder.integrations", "tree_builder.testing")
    code = (
        "import importlib, pkgutil\n"
        f"for m in pkgutil.walk_packages(tree_builder.__path__, 'tree_builder.'):\n"
        f"    if not m.name.startswith({optional!r}) and not m.name.endswith('__main__'):\n"
        "        importlib.import_module(m.name)\n"
        "print(sorted(n for n in ('pytest', 'hypothesis', 'langchain_core', 'llama_index') if n in sys.modules))"
    )
    assert run(installed, tmp_path, code).strip() == "[]"


def test_help_is_quick(tmp_path: Path) -> None:
    """`tree-builder --help` takes less than half a second of CPU, the least of three tries."""
    command = [str(Path(sys.executable).with_name("tree-builder")), "--help"]
    taken = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(taken) < 0.5


def test_top_level_names_are_ours() -> None:
    """The package brings one top-level name only: `db` and `queries` would collide with other people's."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert {name.split(".")[0] for name in settings["packages"]} == {"tree_builder"}


def test_sql_lives_in_files() -> None:
    """No statement is glued from an f-string outside the store; marker files hold a docstring and nothing else."""
    for room in ("db", "queries"):
        tree = ast.parse((ROOT / room / "__init__.py").read_text())
        assert [type(node) for node in tree.body] == [ast.Expr]
