"""The walk over the corpus folder: iterative, by descriptors, so that neither depth nor length of paths matters."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from tree_builder.errors import ConfigError
from tree_builder.model import DocumentStatus, SourceFile
from tree_builder.paths import encode_name, open_below

SUFFIXES = (".pdf", ".txt", ".md")
"""What becomes a document, in any case of letters."""

_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def scan(folder: Path, *, follow_symlinks: bool = False, max_file_mb: int) -> list[SourceFile]:
    """List every file below the folder, in order of the bytes of `doc_path`. Blocking: call it in a thread.

    Hidden files and folders (a leading dot) are left out. Entries with a status are no documents: `unsupported` (another
    kind of file, a pipe, a symbolic link which is not followed), `too_large`, and `denied` (a file, or a whole directory
    under its own path, which could not be looked into: what lies below is unknown, not gone).
    With `follow_symlinks` a directory reached twice is walked once, under its real path where it has one below the folder.

    Raises:
        ConfigError: the folder itself is absent, is no folder, or cannot be read.
    """
    try:
        root_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be scanned: {error.strerror}; name a folder of documents", folder=str(folder)
        ) from error
    try:
        found = list(_Walk(root_fd, follow_symlinks, max_file_mb * 1_000_000).files())
    finally:
        os.close(root_fd)
    found.sort(key=attrgetter("doc_path"))  # code points sort as their bytes in UTF-8 do
    return found


class _Walk:
    """One walk. Directories wait in a list as (their real path below the root, their text path)."""

    def __init__(self, root_fd: int, follow_symlinks: bool, max_bytes: int) -> None:
        self._root_fd = root_fd
        self._follow = follow_symlinks
        self._max_bytes = max_bytes
        self._seen: set[tuple[int, int]] = set()
        self._waiting: list[tuple[bytes, str]] = [(b".", "")]
        self._linked: list[tuple[bytes, str]] = []  # walked after all real ones, which have the right to their own path

    def files(self) -> Iterator[SourceFile]:
        while self._waiting or self._linked:
            if not self._waiting:
                self._linked.sort(reverse=True)
                self._waiting.append(self._linked.pop())
            path, text_path = self._waiting.pop()
            try:
                yield from self._directory(path, text_path)
            except (FileNotFoundError, NotADirectoryError):
                continue  # went away, or was replaced, since its parent was listed
            except OSError as error:
                yield SourceFile(text_path or ".", 0, 0, DocumentStatus.DENIED, f"directory: {error.strerror}")

    def _directory(self, path: bytes, text_path: str) -> Iterator[SourceFile]:
        fd = open_below(self._root_fd, path, os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK)
        try:
            info = os.fstat(fd)
            if (info.st_dev, info.st_ino) in self._seen:
                return
            self._seen.add((info.st_dev, info.st_ino))
            prefix = f"{text_path}/" if text_path else ""
            with os.scandir(fd) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    text = prefix + encode_name(entry.name)
                    if text.lower().endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                        source = self._document(
                            entry, text
                        )  # told apart first: nearly all of a large corpus is of these
                        if source is not None:
                            yield source
                    elif entry.is_dir(follow_symlinks=False):
                        self._waiting.append((path + b"/" + os.fsencode(entry.name), text))
                    elif (source := self._file(entry, text, path)) is not None:
                        yield source
        finally:
            os.close(fd)

    def _document(self, entry: os.DirEntry[str], text: str) -> SourceFile | None:
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            return SourceFile(text, 0, 0, DocumentStatus.DENIED, str(error.strerror))
        if info.st_size > self._max_bytes:
            status, reason = self._judge(text, info)
            return SourceFile(text, info.st_size, info.st_mtime_ns, status, reason)
        return SourceFile(text, info.st_size, info.st_mtime_ns)

    def _file(self, entry: os.DirEntry[str], text: str, directory: bytes) -> SourceFile | None:
        try:
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(info.st_mode):
                if not self._follow:
                    return SourceFile(text, 0, 0, DocumentStatus.UNSUPPORTED, "a symbolic link, which is not followed")
                info = entry.stat(follow_symlinks=True)
                if stat.S_ISDIR(info.st_mode):
                    self._linked.append((directory + b"/" + os.fsencode(entry.name), text))
                    return None
        except FileNotFoundError:
            if not entry.is_symlink():
                return None
            return SourceFile(text, 0, 0, DocumentStatus.UNSUPPORTED, "a symbolic link which leads nowhere")
        except OSError as error:
            return SourceFile(text, 0, 0, DocumentStatus.DENIED, str(error.strerror))
        status, reason = self._judge(text, info)
        return SourceFile(text, info.st_size, info.st_mtime_ns, status, reason)

    def _judge(self, text: str, info: os.stat_result) -> tuple[DocumentStatus | None, str]:
        if not stat.S_ISREG(info.st_mode):
            kind = next((word for test, word in _KINDS if test(info.st_mode)), "no regular file")
            return DocumentStatus.UNSUPPORTED, kind
        if not text.lower().endswith(SUFFIXES):
            return DocumentStatus.UNSUPPORTED, "not a .pdf, .txt or .md file"
        if info.st_size > self._max_bytes:
            return (
                DocumentStatus.TOO_LARGE,
                f"{info.st_size / 1e6:.0f} MB, more than max_file_mb = {self._max_bytes // 1_000_000}",
            )
        return None, ""
