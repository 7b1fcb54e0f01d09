"""What a run decides to do, by plain functions."""

from __future__ import annotations

import hashlib

from tree_builder.job.place import ancestors_of, directories_of
from tree_builder.job.plan import compare, recorded_mtime, settle
from tree_builder.model import DocumentStatus, KnownDocument, SourceFile

RECIPE = b"r"


def digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def known(path: str, text: str, **facts: object) -> KnownDocument:
    values: dict[str, object] = {
        "doc_path": path, "status": DocumentStatus.BUILT, "reason": "", "stale": False, "size_bytes": len(text),
        "mtime_ns": 1, "content_hash": digest(text), "grown_hash": digest(text), "recipe": RECIPE,
    }  # fmt: skip
    return KnownDocument(**(values | facts))  # type: ignore[arg-type]


def file(path: str, text: str, mtime_ns: int = 1) -> SourceFile:
    return SourceFile(path, len(text), mtime_ns)


def plan(files: dict[str, str], documents: list[KnownDocument], *, mtime_ns: int = 2):  # type: ignore[no-untyped-def]
    sources = [file(path, text, mtime_ns) for path, text in files.items()]
    by_path = {d.doc_path: d for d in documents}
    look = compare(sources, by_path)
    hashes = {path: digest(text) for path, text in files.items()}
    return settle(look, hashes, by_path, {s.doc_path: s for s in sources}, recipe=RECIPE)


def test_a_moved_file_is_a_copy_of_the_gone_one() -> None:
    """New path, known bytes, old path gone: moved."""
    p = plan({"b": "x"}, [known("a", "x")])
    assert [(c.file.doc_path, c.source.doc_path, c.moved) for c in p.copies] == [("b", "a", True)]
    assert not p.readings


def test_two_files_swapped_are_copies_of_each_other() -> None:
    """Exchanged contents need no reading."""
    p = plan({"a": "y", "b": "x"}, [known("a", "x"), known("b", "y")])
    assert {(c.file.doc_path, c.source.doc_path) for c in p.copies} == {("a", "b"), ("b", "a")}


def test_same_bytes_are_one_reading() -> None:
    """Several new files of the same bytes are read once."""
    p = plan({"a": "x", "b": "x", "c": "y"}, [])
    assert sorted(len(r.files) for r in p.readings) == [1, 2]


def test_one_gone_file_moves_to_one_path_only() -> None:
    """A second new path with the bytes of a gone file is a copy, not a move."""
    p = plan({"b": "x", "c": "x"}, [known("a", "x")])
    assert [c.moved for c in p.copies] == [True, False]


def test_failures_which_may_pass_are_retried_others_not() -> None:
    """A time-out is tried again, a malformed file is left until it changes."""
    documents = [
        known("a", "x", status=DocumentStatus.TIMEOUT, grown_hash=None),
        known("b", "y", status=DocumentStatus.MALFORMED, grown_hash=None),
    ]
    p = plan({"a": "x", "b": "y"}, documents, mtime_ns=1)
    assert [r.files[0].doc_path for r in p.readings] == ["a"]
    assert [d.doc_path for d in p.unchanged] == ["b"]


def test_documents_below_a_denied_directory_are_hidden_not_gone() -> None:
    """What cannot be seen tonight is not deleted."""
    by_path = {"d/a": known("d/a", "x"), "e": known("e", "y")}
    look = compare([SourceFile("d", 0, 0, DocumentStatus.DENIED, "no right")], by_path)
    assert [d.doc_path for d in look.hidden] == ["d/a"]
    assert [d.doc_path for d in look.gone] == ["e"]


def test_a_file_changed_just_before_reading_is_looked_at_again() -> None:
    """A time stamp too near to the reading never counts as known."""
    assert recorded_mtime(1_000_000_000, 1_050_000_000) == 0
    assert recorded_mtime(1_000_000_000, 2_000_000_000) == 1_000_000_000


def test_directories_nest_up_to_the_corpus_folder() -> None:
    """Directories without documents of their own are there too, items in path order."""
    found = directories_of(["a/b/c/x.pdf", "a/y.pdf", "z.pdf"])
    assert set(found) == {".", "a", "a/b", "a/b/c"}
    assert found["a"].items == (("a/b", True), ("a/y.pdf", False))
    assert found["."].items == (("a", True), ("z.pdf", False))
    assert ancestors_of("a/b/c/x.pdf") == ["a/b/c", "a/b", "a", "."]
