"""`make quality MODELS=openai`, from start to end against a simulated service: price first, then every part's figures."""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.quality import report
from benchmarks.quality.__main__ import PARTS, main
from tree_builder.testing import hostile
from tree_builder.testing.endpoint import EndpointConfig, SimulatedEndpoint

# The other parts need libraries of the group `quality`, which only `make quality` installs.
AT_HAND = [p for p in PARTS if p in ("language_model", "injection") or importlib.util.find_spec("rouge_score")]
TOPICS = ("bees", "clocks", "harbour")


@pytest.fixture
def endpoint() -> Iterator[SimulatedEndpoint]:
    with SimulatedEndpoint(EndpointConfig(scale=0, invent="It was in 1987.")) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, endpoint: SimulatedEndpoint, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder laid out as the report wants it, and an environment which points at the simulated service."""
    draw = random.Random(1)
    texts = ["\n\n".join(hostile.passage(draw.choice(TOPICS), i) for i in range(4)) for _ in range(3)]
    (tmp_path / "text").mkdir()
    turns = [{"speaker": "A", "content": hostile.passage(t, i)} for t in TOPICS for i in range(3)]
    topics = [{"relevant_text_span": [[str(3 * i), str(3 * i + 2)]]} for i in range(3)]
    meeting = {"meeting_transcripts": turns, "topic_list": topics}
    (tmp_path / "text" / "a-qmsum.jsonl").write_text(json.dumps(meeting))
    story = {"document": texts[0], "questions": [{"responses": [{"response_text": texts[0][:300]}]}]}
    (tmp_path / "text" / "a-squality.jsonl").write_text(json.dumps(story))
    (tmp_path / "contracts").mkdir()
    for number, text in enumerate(texts):
        (tmp_path / "contracts" / f"{number}.txt").write_text(text)
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("TREE_BUILDER_EMBEDDING_DIMENSIONS", "64")
    monkeypatch.setattr(report, "README", tmp_path / "README.md")
    return tmp_path


def _measure(folder: Path, *parts: str) -> str:
    main([*parts, "--models", "openai", "--corpora", str(folder), "--chars", "4000"])
    return (folder / "README.md").read_text()


def test_without_consent_nothing_is_asked(
    folder: Path, endpoint: SimulatedEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    """The price is announced before the first call, and without a yes there is none."""
    with pytest.raises(SystemExit, match="YES=1"):
        _measure(folder, *AT_HAND)
    assert "US dollars" in capsys.readouterr().out
    assert endpoint.stats()["calls"] == 0


def test_summaries_of_a_service_are_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch, endpoint: SimulatedEndpoint
) -> None:
    """Inventions are counted with the repairs they took, and the methods for boundaries are compared."""
    monkeypatch.setenv("YES", "1")
    text = _measure(folder, "language_model")
    rows = {cells[1].strip(): cells[2:] for line in text.splitlines() if len(cells := line.split("|")) > 3}
    assert int(rows["repairs asked for"][0]) > 0
    assert rows["repairs asked for"] == rows["repaired"]
    assert float(rows["with a number without support, %"][0]) == 0
    assert float(rows["covered items which survive, %"][0]) > float(rows["the same by chance, %"][0])
    assert "contracts, `window`" in rows
    assert endpoint.stats()["embed"] > 0


def test_orders_to_a_service_are_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch, endpoint: SimulatedEndpoint
) -> None:
    """The service is put to the test beside the two simulated ones, with fences and without."""
    monkeypatch.setenv("YES", "1")
    endpoint.configure(EndpointConfig(scale=0, obedience="unfenced"))
    text = _measure(folder, "injection")
    assert "| gpt-4.1-mini | visible | 100 % | 0 % |" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| gpt-4.1-mini | white |") and "of" in line]
    before, strayed, after, _ = (cell.split(" of ")[0].strip() for cell in row.split("|")[3:7])
    assert (before, strayed, after) == ("1", "0", "0")
    assert "visible: bees/1.txt; white: bees/1.txt; split: bees/1.txt" in text


@pytest.mark.skipif(list(PARTS) != AT_HAND, reason="needs the libraries which `make quality` installs")
@pytest.mark.parametrize("part", [p for p in PARTS if p not in ("language_model", "injection")])
def test_the_other_parts_run_with_a_service(part: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boundaries and likeness to references are measured for a service too."""
    monkeypatch.setenv("YES", "1")
    assert "-openai" in _measure(folder, part)
