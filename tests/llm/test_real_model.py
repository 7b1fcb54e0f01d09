"""Against llama.cpp's server with a small real model: the protocol, and the whole way from a PDF to a published tree.

It proves that real answers are borne, not that they are good: the model has 135 million parameters.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest

from tree_builder.errors import ProviderRejected
from tree_builder.model import NodeType, Tree
from tree_builder.models import RunLedger, open_models
from tree_builder.settings import Settings
from tree_builder.testing.fakes import MemoryMemo, MemoryVectors

from .server import KEY

pytestmark = [pytest.mark.llm, pytest.mark.timeout(3600)]
SETTINGS = {
    "models": "openai",
    "summary_model": "smollm2",
    "embedding_model": "smollm2",
    "summary_chars": 200,
    "call_timeout_s": 900,
}
PARAGRAPHS = [
    "The harbour of Ravensund was built in 1874 by the engineer Amelie Vogt. It has four quays and a lighthouse of 31 metres.",
    "Ships from all over the north lie at its quays. In 1901 a storm broke the old pier, and it took two years to mend it.",
    "Behind the town, beekeepers keep some 300 hives. Their heather honey is sold at the market every Saturday in autumn.",
]


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """The server, in a process of its own which ends with the tests."""
    command = [sys.executable, str(Path(__file__).with_name("server.py"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        line = next((line for line in process.stdout if line.startswith('{"base_url"')), "")
        assert line, "the server did not start"
        yield json.loads(line)["base_url"]
        process.communicate()


async def test_the_protocol_is_spoken(base_url: str) -> None:
    """Vectors, YES or NO, a JSON schema and a refused key come through the provider from a real server."""
    ledger = RunLedger(models=["smollm2"])
    chosen = Settings(**SETTINGS)  # type: ignore[arg-type]
    environ = {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": KEY}
    items = [Tree(NodeType.CHUNK, text, 0) for text in PARAGRAPHS]
    async with open_models(chosen, MemoryMemo(), MemoryVectors(), ledger, environ=environ) as (embedder, model):
        vectors = await embedder.embed([*PARAGRAPHS, PARAGRAPHS[0]])
        assert vectors.shape == (4, 576)
        assert embedder.dimensions == 576
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
        assert float(vectors[0] @ vectors[3]) == pytest.approx(1, abs=1e-3)
        assert (await model.changes_topic(PARAGRAPHS[0], items[2])).word in ("yes", "no", "undecided")
        window = await model.first_new_topic(items)
        assert window.first in (None, 2)
    report = ledger.report()
    assert report["tokens"]["input"] > 500
    assert report["unpriced"] == ["smollm2"]
    environ["OPENAI_API_KEY"] = "sk-wrong"
    async with open_models(chosen, MemoryMemo(), MemoryVectors(), RunLedger(), environ=environ) as (embedder, _):
        with pytest.raises(ProviderRejected, match="refuses the key"):
            await embedder.embed(["a"])


def test_a_pdf_becomes_a_published_tree(base_url: str, tmp_path: Path, database_url: str) -> None:
    """The command builds a PDF with the real model; the tree is published, whole, with vectors, and passes `check`."""
    from fpdf import FPDF

    folder = tmp_path / "corpus"
    folder.mkdir()
    pdf = FPDF()
    pdf.set_font("Helvetica", size=12)
    pdf.add_page()
    for paragraph in PARAGRAPHS:
        pdf.multi_cell(0, 7, paragraph + "\n\n")
    pdf.output(str(folder / "ravensund.pdf"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "TREE_BUILDER_"))}
    environment |= {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": KEY, "TREE_BUILDER_CALL_TIMEOUT_S": "900"}
    environment |= {"TREE_BUILDER_SUMMARY_MODEL": "smollm2", "TREE_BUILDER_EMBEDDING_MODEL": "smollm2"}
    environment |= {
        "TREE_BUILDER_CHUNK_SIZE": "160",
        "TREE_BUILDER_CHUNK_OVERLAP": "0",
        "TREE_BUILDER_SUMMARY_CHARS": "200",
    }

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "tree_builder.cli", *arguments, "--database", database_url, "--json"]
        return subprocess.run(program, env=environment, capture_output=True, text=True, timeout=3000, check=False)

    built = command("build", str(folder), "--corpus", "c", "--models", "openai")
    assert built.returncode in (0, 3), built.stderr  # 3: the model gave a summary which could not be used
    report = json.loads(built.stdout)
    assert report["status"] == "published"
    assert report["model_calls"]["boundary"] > 0
    assert report["model_calls"]["summarize"] > 0
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "select node_type, content, vector_dims(embedding) from tree_builder.nodes where corpus = 'c'"
        ).fetchall()
    kinds = [row[0] for row in rows]
    assert kinds.count("doc_top") == kinds.count("root") == 1
    assert kinds.count("chunk") >= 3
    assert all(content.strip() and dims == 576 for _, content, dims in rows)
    checked = command("check", "--corpus", "c")
    assert checked.returncode == 0, checked.stdout + checked.stderr
