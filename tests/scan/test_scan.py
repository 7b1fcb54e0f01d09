"""Scanning: every file once, none opened, and nothing in a folder stops or hangs it."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_builder.errors import ConfigError
from tree_builder.model import DocumentStatus, SourceFile
from tree_builder.paths import decode_name, encode_name, open_below, relative_bytes
from tree_builder.scan import scan, source_path


def paths(folder: Path, **options: bool) -> dict[str, DocumentStatus | None]:
    return {source.doc_path: source.status for source in scan(folder, max_file_mb=1, **options)}


def test_documents_come_in_order_with_size_and_time(tmp_path: Path) -> None:
    """Documents of any case of suffix come sorted by the bytes of their path, with what tells a change."""
    for name in ("b.pdf", "a/z.TXT", "a/b/c.Md", "a.PDF"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")
    found = scan(tmp_path, max_file_mb=1)
    assert [source.doc_path for source in found] == ["a.PDF", "a/b/c.Md", "a/z.TXT", "b.pdf"]
    info = (tmp_path / "b.pdf").stat()
    assert found[-1] == SourceFile("b.pdf", 5, info.st_mtime_ns)


def test_hidden_and_other_files(tmp_path: Path) -> None:
    """Hidden files and folders are left out; other kinds of files are unsupported; large ones too large."""
    (tmp_path / ".git").mkdir()
    for name in (".git/a.pdf", ".hidden.pdf", "image.png", "noending", "a.pdf~"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "big.pdf").write_bytes(b"x" * 1_000_001)
    assert paths(tmp_path) == {
        "image.png": DocumentStatus.UNSUPPORTED,
        "noending": DocumentStatus.UNSUPPORTED,
        "a.pdf~": DocumentStatus.UNSUPPORTED,
        "big.pdf": DocumentStatus.TOO_LARGE,
    }


def test_pipes_and_sockets_are_not_opened(tmp_path: Path) -> None:
    """A named pipe or a socket called .pdf is unsupported, and nobody waits for it."""
    os.mkfifo(tmp_path / "pipe.pdf")
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{short}/s.pdf")
        assert paths(Path(short)) == {"s.pdf": DocumentStatus.UNSUPPORTED}
    assert paths(tmp_path) == {"pipe.pdf": DocumentStatus.UNSUPPORTED}


def test_links_are_not_followed_by_default(tmp_path: Path) -> None:
    """Symbolic links to files, folders and nothing are told, not followed."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.pdf").write_bytes(b"x")
    (tmp_path / "folder").symlink_to("in")
    (tmp_path / "file.pdf").symlink_to("in/a.pdf")
    (tmp_path / "nothing.pdf").symlink_to("nowhere")
    found = paths(tmp_path)
    assert found.pop("in/a.pdf") is None
    assert set(found) == {"folder", "file.pdf", "nothing.pdf"}
    assert set(found.values()) == {DocumentStatus.UNSUPPORTED}


def test_followed_links_loop_no_more_than_once(tmp_path: Path) -> None:
    """With links followed, loops end, and a folder reached twice keeps its own path."""
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "a.pdf").write_bytes(b"x")
    (tmp_path / "z" / "up").symlink_to("..")
    (tmp_path / "a").symlink_to("z")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "file.pdf").symlink_to("z/a.pdf")
    found = paths(tmp_path, follow_symlinks=True)
    assert {path for path, status in found.items() if status is None} == {"z/a.pdf", "file.pdf"}
    assert set(found) <= {"z/a.pdf", "file.pdf", "self"}


def test_a_directory_which_cannot_be_opened_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the system refuses about a directory becomes a status for its path, and the walk goes on."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "b.pdf").write_bytes(b"x")
    real = open_below

    def refuse(root: int, relative: bytes, flags: int) -> int:
        if relative.endswith(b"closed"):
            raise PermissionError(13, "Permission denied")
        return real(root, relative, flags)

    monkeypatch.setattr("tree_builder.scan.walk.open_below", refuse)
    found = scan(tmp_path, max_file_mb=1)
    assert [(source.doc_path, source.status) for source in found] == [
        ("b.pdf", None),
        ("closed", DocumentStatus.DENIED),
    ]
    assert "Permission denied" in found[1].reason


def test_names_which_are_not_utf8_lead_back(tmp_path: Path) -> None:
    """An odd name becomes text with %XX, distinct from every other name, and leads back to its file."""
    names = [
        b"\xff%.pdf",
        b"%FF%25.pdf",
        b"50%.pdf",
        "ü.pdf".encode(),
        unicodedata.normalize("NFD", "ü.pdf").encode(),
        b"Q.pdf",
        b"q.pdf",
    ]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(name)
    found = [source.doc_path for source in scan(tmp_path, max_file_mb=1)]
    assert len(set(found)) == len(names)
    assert {"%FF%25.pdf", "50%.pdf", "Q.pdf", "q.pdf"} <= set(found)
    assert {source_path(tmp_path, path).read_bytes() for path in found} == set(names)
    for path in found:
        assert relative_bytes(path) == source_path(tmp_path, path).read_bytes()


@settings(max_examples=300, deadline=None)
@given(name=st.binary(min_size=1, max_size=20).filter(lambda raw: b"/" not in raw and b"\0" not in raw))
def test_any_name_becomes_text_and_back(name: bytes) -> None:
    """Encoding of names is one to one, and its results are proper text."""
    text = encode_name(os.fsdecode(name))
    text.encode()
    assert decode_name(text) == name


@pytest.fixture
def deep_path(tmp_path: Path) -> Iterator[Path]:
    """A folder for very deep trees, which only `rm` removes without recursion."""
    yield tmp_path
    subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)


def test_depth_beyond_the_longest_path(deep_path: Path) -> None:
    """A file below a path longer than the kernel takes at once is found and can be opened."""
    fd = os.open(deep_path, os.O_RDONLY)
    for _ in range(60):
        os.mkdir("d" * 100, dir_fd=fd)
        below = os.open("d" * 100, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("deep.pdf", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    [found] = scan(deep_path, max_file_mb=1)
    assert found.status is None
    assert len(found.doc_path) == 60 * 101 + 8
    root = os.open(deep_path, os.O_RDONLY)
    try:
        os.close(open_below(root, relative_bytes(found.doc_path), os.O_RDONLY))
    finally:
        os.close(root)


def test_many_directories_need_no_stack(deep_path: Path) -> None:
    """A chain of 1,200 directories is walked without recursion."""
    fd = os.open(deep_path, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("x.md", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    assert paths(deep_path) == {"d/" * 1200 + "x.md": None}


def test_a_missing_folder_is_an_error_of_use(tmp_path: Path) -> None:
    """A folder which is not there, or is a file, is a wrong argument and no empty corpus."""
    with pytest.raises(ConfigError, match="cannot be scanned"):
        scan(tmp_path / "none", max_file_mb=1)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigError):
        scan(tmp_path / "file", max_file_mb=1)


@pytest.mark.soak
def test_a_folder_of_100_000_files(tmp_path: Path) -> None:
    """A single folder of 100,000 files is listed whole."""
    for number in range(100_000):
        os.close(os.open(tmp_path / f"{number}.pdf", os.O_CREAT | os.O_WRONLY))
    assert len(scan(tmp_path, max_file_mb=1)) == 100_000
