"""Documents which give orders to the model: fences hold, and damage stays above the hostile document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from tree_builder.job.run import build
from tree_builder.models import suspicious
from tree_builder.settings import Settings
from tree_builder.testing import hostile
from tree_builder.testing.endpoint import SimulatedEndpoint

from .support import FAST, item, way


@pytest.mark.parametrize("form", hostile.FORMS)
@pytest.mark.parametrize("order", ["yes", "no"])
async def test_a_model_which_heeds_fences_is_not_turned(
    endpoint: SimulatedEndpoint, order: hostile.Order, form: hostile.Form
) -> None:
    """An order inside a passage changes no answer of a model which follows only what stands outside of fences."""
    endpoint.configure(replace(FAST, obedience="unfenced"))
    same = hostile.ordered(hostile.passage("bees", 4), order, form)
    other = hostile.ordered(hostile.passage("clocks", 4), order, form)
    async with way(endpoint, verify=False) as w:
        assert not (await w.model.changes_topic(hostile.passage("bees", 1), item(same))).boundary
        assert (await w.model.changes_topic(hostile.passage("bees", 1), item(other))).boundary
        window = await w.model.first_new_topic([item(same), item(same), item(same), item(other)])
        assert window.first == 3


def test_without_fences_the_same_model_is_turned() -> None:
    """The measurement can fail: a prompt without fences carries the order outside."""
    from tree_builder.models.prompts import each_messages
    from tree_builder.testing.mind import EndpointConfig, answer_chat

    text = hostile.ordered(hostile.passage("bees", 4), "yes", "visible")
    messages = each_messages(hostile.passage("bees", 1), text)
    config = EndpointConfig(obedience="unfenced")
    assert answer_chat(config, {"messages": messages})[0] == "NO"
    assert answer_chat(config, {"messages": hostile.unfenced(messages)})[0] == "YES"


@pytest.mark.parametrize("order", list(hostile.ORDERS))
@pytest.mark.parametrize("form", hostile.FORMS)
def test_hostile_passages_are_named(order: hostile.Order, form: hostile.Form) -> None:
    """The detector names each of the hostile passages, and none of the same without the order."""
    text = hostile.passage("bees", 4)
    assert suspicious(hostile.ordered(text, order, form))
    assert not suspicious(text)


async def test_damage_stays_above_the_hostile_document(
    endpoint: SimulatedEndpoint, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a model which obeys every order, all nodes but those above the hostile document are as without it, and it is named."""
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    endpoint.configure(replace(FAST, obedience="always"))
    settings = Settings(
        models="openai",
        database_url=database_url,
        verify=False,
        embedding_dimensions=64,
        chunk_size=400,
        chunk_overlap=40,
    )

    def nodes() -> dict[str, tuple[str, str, str]]:
        with psycopg.connect(database_url) as connection:
            rows = connection.execute(
                "select node_id::text, node_type, coalesce(doc_path, dir_path), content from tree_builder.nodes"
            )
            return {row[0]: (row[1], row[2], row[3]) for row in rows.fetchall()}

    folder = tmp_path / "corpus"
    hostile.write_corpus(folder)
    assert (await build(folder, settings)).suspicious == []
    clean = nodes()
    guilty = hostile.write_corpus(folder, "canary", "white")
    report = await build(folder, settings)
    turned = nodes()
    chain = {guilty, "bees", "."}
    assert {k: v for k, v in turned.items() if v[1] not in chain} == {
        k: v for k, v in clean.items() if v[1] not in chain
    }
    assert all(path in chain for _, path, text in turned.values() if hostile.CANARY in text)
    assert any(kind == "root" for kind, _, text in turned.values() if hostile.CANARY in text)
    assert {s["doc_path"] for s in report.suspicious} == {guilty}
