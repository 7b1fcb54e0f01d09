"""What a run has to do: the folder as scanned against what is known. Plain functions, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tree_builder.model import DocumentStatus, KnownDocument, SourceFile

RETRIED = frozenset(
    {
        DocumentStatus.TIMEOUT,
        DocumentStatus.CRASHED,
        DocumentStatus.DENIED,
        DocumentStatus.VANISHED,
        DocumentStatus.FAILED,
        DocumentStatus.DEFERRED,
        DocumentStatus.TOO_LARGE,
    }
)
"""Ends which need not be the same next time although the file is. What is malformed stays so until its bytes change."""

UNSURE_NS = 100_000_000
"""A file changed within this time of being read may change again under the same time stamp; it is hashed next time."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """First look: by path, size and time. `suspects` need their hash to tell."""

    same: tuple[KnownDocument, ...]
    suspects: tuple[SourceFile, ...]
    refused: tuple[SourceFile, ...]  # the scan itself gave them a status: denied, too_large
    hidden: tuple[KnownDocument, ...]  # known ones below a directory which cannot be read tonight
    gone: tuple[KnownDocument, ...]
    n_unsupported: int


@dataclass(frozen=True, slots=True)
class Copy:
    """A file whose bytes have a published tree already, at another path."""

    file: SourceFile
    content_hash: bytes
    source: KnownDocument
    moved: bool  # the other path is gone


@dataclass(frozen=True, slots=True)
class Reading:
    """Bytes to read, cut and grow once, and all files which hold them."""

    files: tuple[SourceFile, ...]
    content_hash: bytes | None
    reason: str  # added, changed, settings, retry

    @property
    def size_bytes(self) -> int:
        return self.files[0].size_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run will do, decided before it does anything."""

    readings: tuple[Reading, ...] = ()
    copies: tuple[Copy, ...] = ()
    touched: tuple[KnownDocument, ...] = ()  # same bytes, other size or time on record: a row to update, no work
    unchanged: tuple[KnownDocument, ...] = ()
    refused: tuple[SourceFile, ...] = ()
    hidden: tuple[KnownDocument, ...] = ()
    gone: tuple[KnownDocument, ...] = ()
    moved_from: frozenset[str] = field(default_factory=frozenset)
    n_unsupported: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.readings or self.copies or self.touched or self.refused or self.hidden or self.gone)


def compare(files: Iterable[SourceFile], known: Mapping[str, KnownDocument], *, rehash: bool = False) -> Comparison:
    """Compare by path, size and time, and gather what needs a second look."""
    same: list[KnownDocument] = []
    suspects: list[SourceFile] = []
    refused: list[SourceFile] = []
    seen: set[str] = set()
    n_unsupported = 0
    for file in files:
        if file.status is DocumentStatus.UNSUPPORTED:
            n_unsupported += 1
            continue
        seen.add(file.doc_path)
        before = known.get(file.doc_path)
        if file.status is not None:
            refused.append(file)
        elif before and not rehash and (before.size_bytes, before.mtime_ns) == (file.size_bytes, file.mtime_ns):
            same.append(before)
        else:
            suspects.append(file)
    denied = tuple(f.doc_path + "/" for f in refused)
    missing = [document for path, document in known.items() if path not in seen]
    hidden = tuple(d for d in missing if denied and d.doc_path.startswith(denied))
    gone = tuple(d for d in missing if not (denied and d.doc_path.startswith(denied)))
    return Comparison(tuple(same), tuple(suspects), tuple(refused), hidden, gone, n_unsupported)


def settle(
    look: Comparison,
    hashes: Mapping[str, bytes],
    known: Mapping[str, KnownDocument],
    files: Mapping[str, SourceFile],
    *,
    recipe: bytes,
) -> Plan:
    """Decide what to do with each file, once the suspects' hashes are known.

    hashes: by doc_path; a suspect which could not be hashed has none and goes to the reader, which says why.
    files: all scanned files, by path.
    """
    unchanged: list[KnownDocument] = []
    touched: list[KnownDocument] = []
    to_read: list[tuple[SourceFile, bytes | None, str]] = []
    for document in look.same:
        reason = _reason_to_read(document, recipe)
        if reason:
            to_read.append((files[document.doc_path], document.content_hash, reason))
        else:
            unchanged.append(document)
    new: list[tuple[SourceFile, bytes | None]] = []
    for file in look.suspects:
        digest, before = hashes.get(file.doc_path), known.get(file.doc_path)
        if before is None:
            new.append((file, digest))
        elif digest is not None and digest == before.content_hash:
            reason = _reason_to_read(before, recipe)
            if reason:
                to_read.append((file, digest, reason))
            else:
                touched.append(replace(before, size_bytes=file.size_bytes, mtime_ns=file.mtime_ns))
        else:
            to_read.append((file, digest, "changed"))
    copies, rest = _copies([*new, *((f, h) for f, h, r in to_read if r == "changed")], known, look, recipe)
    copied = {copy.file.doc_path for copy in copies}
    to_read = [entry for entry in to_read if entry[0].doc_path not in copied]
    to_read += [(file, digest, "added") for file, digest in rest if file.doc_path not in known]
    return Plan(
        readings=_by_bytes(to_read),
        copies=tuple(copies),
        touched=tuple(touched),
        unchanged=tuple(unchanged),
        refused=look.refused,
        hidden=look.hidden,
        gone=look.gone,
        moved_from=frozenset(c.source.doc_path for c in copies if c.moved),
        n_unsupported=look.n_unsupported,
    )


def _reason_to_read(document: KnownDocument, recipe: bytes) -> str:
    if document.status in RETRIED or document.stale:
        return "retry"
    if document.recipe != recipe:
        return "settings"
    return ""


def _copies(
    candidates: Sequence[tuple[SourceFile, bytes | None]],
    known: Mapping[str, KnownDocument],
    look: Comparison,
    recipe: bytes,
) -> tuple[list[Copy], list[tuple[SourceFile, bytes | None]]]:
    """Find the candidates whose bytes have a published tree, made with these settings, at another path."""
    gone = {document.doc_path for document in look.gone}
    sources: dict[bytes, list[KnownDocument]] = {}
    for document in sorted(known.values(), key=lambda d: (d.doc_path not in gone, d.doc_path)):
        if document.grown_hash is not None and document.recipe == recipe:
            sources.setdefault(document.grown_hash, []).append(document)
    copies: list[Copy] = []
    rest: list[tuple[SourceFile, bytes | None]] = []
    moved: set[str] = set()
    for file, digest in sorted(candidates, key=lambda c: c[0].doc_path):
        having = [d for d in sources.get(digest or b"", ()) if d.doc_path != file.doc_path]
        if digest is None or not having:
            rest.append((file, digest))
            continue
        free = [d for d in having if d.doc_path in gone and d.doc_path not in moved]
        source = (free or having)[0]
        if free:
            moved.add(source.doc_path)
        copies.append(Copy(file, digest, source, moved=bool(free)))
    return copies, rest


def _by_bytes(entries: Sequence[tuple[SourceFile, bytes | None, str]]) -> tuple[Reading, ...]:
    """Gather files of the same bytes, which are read and grown once."""
    groups: dict[object, list[tuple[SourceFile, bytes | None, str]]] = {}
    for entry in sorted(entries, key=lambda e: e[0].doc_path):
        groups.setdefault(entry[1] or entry[0].doc_path, []).append(entry)
    return tuple(
        Reading(files=tuple(e[0] for e in group), content_hash=group[0][1], reason=group[0][2])
        for group in groups.values()
    )


def recorded_mtime(mtime_ns: int, read_at_ns: int) -> int:
    """Give the time to note for a file read at that moment; 0, which never matches, where it may still change unseen."""
    return 0 if mtime_ns > read_at_ns - UNSURE_NS else mtime_ns
