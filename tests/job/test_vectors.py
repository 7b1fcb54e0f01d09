"""When vectors are made: while the tree grows, so that none has to be held for the end."""

from __future__ import annotations

import uuid

import pytest

from tree_builder.errors import ProviderUnavailable
from tree_builder.store.staging import Staging

from .support import Corpus, OracleEmbedder


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts had no vector yet, each time that was asked."""
    counts: list[int] = []
    ask = Staging.texts_without_vector

    async def asked(self: Staging, model_id: int, after: uuid.UUID | None) -> list[tuple[uuid.UUID, str]]:
        texts = await ask(self, model_id, after)
        counts.append(len(texts))
        return texts

    monkeypatch.setattr(Staging, "texts_without_vector", asked)
    return counts


def write(corpus: Corpus) -> None:
    for index in range(12):
        corpus.write(
            f"d{index % 3}/{index}.txt", f"Note {index} of the topic-{index}. It tells of harbours and of tides."
        )


async def test_directories_have_their_vectors_before_the_end(corpus: Corpus, left: list[int]) -> None:
    """When all has grown, no text of documents or directories waits for its vector: memory does not grow with the corpus."""
    write(corpus)
    await corpus.build()
    assert left == [0]


async def test_vectors_which_failed_early_are_made_in_the_end(
    corpus: Corpus, left: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service which refuses the vectors of directories for a while costs no directory: they are made before publishing."""
    embed = OracleEmbedder.embed
    directories = 0

    async def failing(self: OracleEmbedder, texts: list[str], **priority: object) -> object:
        nonlocal directories
        if not left and all("Note" in text for text in texts) and len(texts) > 1:
            directories += 1
            raise ProviderUnavailable("busy")
        return await embed(self, texts)

    write(corpus)
    monkeypatch.setattr(OracleEmbedder, "embed", failing)
    report = await corpus.build()
    assert report.status == "published"
    assert directories
    assert left[0] > 0
    assert left[-1] == 0
