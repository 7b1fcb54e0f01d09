"""The quality report and the data it is made from: sections, tables, gold."""

from __future__ import annotations

import json
from itertools import groupby, pairwise
from pathlib import Path

from benchmarks.quality.data import files, load_meetings, load_sentences
from benchmarks.quality.report import table, write_section


def test_a_section_replaces_the_one_of_its_name(tmp_path: Path) -> None:
    """Measuring a part again changes its section and leaves the others."""
    path = tmp_path / "README.md"
    write_section("extracts", "first extracts", path=path)
    write_section("boundaries", "first boundaries", path=path)
    write_section("extracts", "second extracts", path=path)
    text = path.read_text()
    assert "first extracts" not in text
    assert text.index("first boundaries") < text.index("second extracts")


def test_a_section_keeps_its_lines_when_others_are_written(tmp_path: Path) -> None:
    """Tables survive the rewriting of the file line for line."""
    path = tmp_path / "README.md"
    rows = table(["what", "Pk"], [["ours | others", 0.12345]])
    write_section("boundaries", rows, path=path)
    write_section("detector", "x", path=path)
    assert rows in path.read_text()
    assert "ours \\| others | 0.123 |" in rows


def test_meetings_begin_a_segment_where_a_topic_begins(tmp_path: Path) -> None:
    """Spans count turns; the first turn is no boundary, and a topic told twice begins twice."""
    turns = [{"speaker": "A", "content": f"turn {i}"} for i in range(6)]
    topics = [{"relevant_text_span": [["0", "1"]]}, {"relevant_text_span": [["2", "2"], ["4", "5"]]}]
    (tmp_path / "text").mkdir()
    line = json.dumps({"meeting_transcripts": turns, "topic_list": topics})
    (tmp_path / "text" / "my-qmsum-part.jsonl").write_text(line + "\n")
    (meeting,) = load_meetings(tmp_path)
    assert [meeting.text[start:].splitlines()[0] for start in meeting.starts] == ["A: turn 2", "A: turn 4"]


def test_pieces_of_sentences_have_a_sentence_an_item(tmp_path: Path) -> None:
    """Runs of 3 to 11 sentences of different stories follow each other; each begins a segment, and each sentence an item."""
    (tmp_path / "text").mkdir()
    lines = [
        {
            "document": " ".join(f"Story {s} says this in its sentence {n}." for n in range(20)),
            "questions": [{"responses": []}],
        }
        for s in range(4)
    ]
    (tmp_path / "text" / "squality.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (document,) = load_sentences(tmp_path, documents=1, pieces=4)
    items = [document.text[a:b] for a, b in pairwise([*document.items, len(document.text)])]
    assert all(item.startswith("Story") and item.count("\n") == 1 for item in items)
    assert len(document.starts) == 3
    assert set(document.starts) <= set(document.items)
    pieces = [len(list(group)) for _, group in groupby(items, key=lambda item: item.split()[1])]
    assert len(pieces) == 4
    assert all(3 <= size <= 11 for size in pieces)


def test_files_are_found_whatever_the_case_of_their_names(tmp_path: Path) -> None:
    """Contracts end in .PDF here and .pdf there; the order is that of their paths."""
    for name in ("manuals/b/two.pdf", "manuals/a/ONE.PDF", "manuals/a/note.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [p.name for p in files(tmp_path, "manuals", "*.pdf")] == ["ONE.PDF", "two.pdf"]
    assert files(tmp_path, "absent", "*.pdf") == []
