"""The reading commands, run as the program runs them, on a planted corpus."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tree_builder.cli import main
from tree_builder.testing.planting import SAMPLE_FILES, Planted, plant

HOSTILE = "Sails \x1b[31mred\x1b[0m \u202eneerg\u202c and \x07bells ring. "


@pytest.fixture
def planted(database_url: str) -> Planted:
    return plant(
        database_url,
        {**SAMPLE_FILES, "odd/terminal.txt": HOSTILE * 30},
        titles={"boats/sails.pdf": "Sails\nand\tropes\x1b[2J"},
    )


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    database_url: str, planted: Planted, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run the program; gives exit code, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*argv: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*argv, "--database", database_url])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


def document(answer: tuple[int, str, str]) -> Any:
    code, out, _ = answer
    assert code == 0
    return json.loads(out)


def test_summary(run: Run) -> None:
    """summary prints the content of a path's top, and nothing else."""
    code, out, err = run("summary", "boats/sails.pdf")
    assert (code, err) == (0, "")
    assert out.strip() == document(run("summary", "boats/sails.pdf", "--json"))["content"].strip()
    whole = document(run("summary", "boats/sails.pdf", "--level", "0", "--json"))
    assert whole["content"] == SAMPLE_FILES["boats/sails.pdf"]
    fitting = document(run("summary", "boats/", "--budget", "300", "--json"))
    assert fitting["tokens"] <= 300
    assert len(fitting["nodes"]) > 1


def test_search_json_is_what_was_announced(run: Run) -> None:
    """search --json prints one document with hits of the announced fields."""
    answer = document(
        run("search", "yeast dough", "--json", "--mode", "text", "-k", "3", "--in", "kitchen/", "--type", "chunk")
    )
    assert len(answer["hits"]) == 3
    announced = {
        *("node_id", "node_type", "corpus", "doc_path", "dir_path", "page_start", "page_end", "char_start", "char_end"),
        *("score", "content"),
    }
    for hit in answer["hits"]:
        assert announced <= hit.keys()
        assert hit["doc_path"] == "kitchen/bread.md"
        assert SAMPLE_FILES[hit["doc_path"]][hit["char_start"] : hit["char_end"]] == hit["content"]
        assert hit["above"][0]["node_type"] == "root"


def test_search_on_a_terminal(run: Run) -> None:
    """search prints place, score, document and pages, and a node id which show accepts back."""
    code, out, _ = run("search", "piston fuel", "--mode", "text", "--type", "chunk", "-k", "2")
    assert code == 0
    assert re.search(r"^1\. \d+\.\d{3} boats/engines\.pdf, pp?\. \d", out, re.MULTILINE)
    assert re.search(r"papers › .*boats/ › .*engines\.pdf", out)
    node_id = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", out)[0]
    shown = document(run("show", node_id, "--json"))
    assert shown["doc_path"] == "boats/engines.pdf"
    assert shown["parents"][-1]["node_type"] == "root"
    assert node_id in run("show", node_id)[1]
    assert document(run("similar", node_id, "-k", "2", "--json"))["hits"]


def test_corpus_of_an_unknown_model_warns_on_stderr(run: Run) -> None:
    """Where no vector can be made, the search goes on with words and says so on standard error only."""
    code, out, err = run("search", "piston fuel", "--json")
    assert (code, json.loads(out)["mode"], err) == (0, "text", "")
    assert "by words alone" in json.loads(out)["warning"]
    assert "by words alone" in run("search", "piston fuel")[2]


def test_tree_picture(run: Run) -> None:
    """tree draws a line a node, none wider than asked, with bars which add up and pages."""
    code, out, _ = run("tree", "--depth", "3")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("████████ 100% papers")
    assert any("boats/" in line and "dir_top" in line for line in lines)
    assert any("Sails and ropes" in line for line in lines)
    assert any(re.search(r"pp?\. \d", line) for line in lines)
    nodes = document(run("tree", "--depth", "1", "--json"))["nodes"]
    assert nodes[0]["share"] == 1
    assert sum(node["share"] for node in nodes[1:]) == pytest.approx(1, abs=0.001)


def test_context_keeps_to_its_budget(run: Run) -> None:
    """context prints whole passages with their sources, within the budget."""
    answer = document(run("context", "onion broth", "--budget", "400", "--mode", "text", "--json"))
    assert 0 < answer["tokens"] <= 400
    assert answer["passages"][0]["header"].startswith("[kitchen/")
    code, out, err = run("context", "onion broth", "--budget", "400", "--mode", "text")
    assert code == 0
    assert "[kitchen/soup/onion.txt]" in out
    assert "of 400 tokens" in err


def test_diff(run: Run, database_url: str) -> None:
    """diff lists what was removed and added between two runs."""
    plant(database_url, {"boats/sails.pdf": SAMPLE_FILES["boats/sails.pdf"], "new/a.txt": "New here. " * 40})
    answer = document(run("diff", "--json"))
    assert ("added", "new/a.txt") in {(c["kind"], c["path"]) for c in answer["changes"]}
    code, out, _ = run("diff")
    assert code == 0
    assert "- kitchen/bread.md" in out
    assert "+ new/a.txt" in out


@pytest.mark.parametrize(
    "command", [("summary", "odd/terminal.txt"), ("tree", "--depth", "9"), ("search", "bells", "--mode", "text")]
)
def test_document_text_cannot_steer_a_terminal(run: Run, command: tuple[str, ...]) -> None:
    """No control or direction character of a document or title reaches the terminal."""
    code, out, _ = run(*command)
    assert code == 0
    assert "ells" in out or "odd" in out
    assert not set(out) & {"\x1b", "\x07", "\u202e", "\u202c"}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("summary", "no/such/path"), "no/such/path"),
        (("summary", "--corpus", "nobody's"), "nobody's"),
        (("summary", "--at", "yesterday"), "yesterday"),
        (("show", "not-an-id"), "not-an-id"),
        (("show", "00000000-0000-0000-0000-000000000000"), "00000000"),
        (("search", "x", "--type", "chapter"), "chapter"),
        (("search", "x", "--mode", "psychic"), "psychic"),
        (("search", "x", "--in", "nowhere"), "nowhere"),
        (("search", "x", "--pages", "a-b"), "a-b"),
        (("search", "x", "-k", "0"), "k = 0"),
        (("diff", "999"), "999"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_4(run: Run, argv: tuple[str, ...], message: str) -> None:
    """What cannot be answered ends with exit code 4, one line on standard error which names it, and no output."""
    code, out, err = run(*argv)
    assert (code, out) == (4, "")
    assert message in err
    assert err.count("\n") == 1
