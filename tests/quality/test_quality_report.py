"""The quality report and the data it is made from: sections, tables, gold."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.quality.data import files, load_meetings
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


def test_files_are_found_whatever_the_case_of_their_names(tmp_path: Path) -> None:
    """Contracts end in .PDF here and .pdf there; the order is that of their paths."""
    for name in ("manuals/b/two.pdf", "manuals/a/ONE.PDF", "manuals/a/note.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [p.name for p in files(tmp_path, "manuals", "*.pdf")] == ["ONE.PDF", "two.pdf"]
    assert files(tmp_path, "absent", "*.pdf") == []
