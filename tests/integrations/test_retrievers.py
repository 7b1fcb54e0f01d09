"""The retrievers, with the real packages of LangChain and LlamaIndex, on a planted corpus."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():  # what other packages warn about while they load is theirs
    warnings.simplefilter("ignore")
    from langchain_core.retrievers import BaseRetriever as LangChainRetriever
    from llama_index.core.base.base_retriever import BaseRetriever as LlamaRetriever
    from llama_index.core.schema import MetadataMode, NodeRelationship

    from tree_builder.integrations import langchain, llama_index

from tree_builder.errors import ConfigError
from tree_builder.query import AsyncSummaryTree, SummaryTree
from tree_builder.testing.fakes import FakeEmbedder
from tree_builder.testing.planting import DIMENSIONS, SAMPLE_FILES, plant

QUERY = "flour and yeast"


@pytest.fixture
def tree(database_url: str) -> Iterator[SummaryTree]:
    plant(database_url, SAMPLE_FILES, titles={"kitchen/bread.md": "Bread"})
    with SummaryTree.open(database_url, embedder=FakeEmbedder(DIMENSIONS)) as tree:
        yield tree


def test_langchain(tree: SummaryTree) -> None:
    """LangChain's retriever gives the hits of a search with their citations."""
    retriever = langchain.TreeRetriever(tree=tree, k=3, search={"types": "chunk"})
    assert isinstance(retriever, LangChainRetriever)
    documents = retriever.invoke(QUERY)
    hits = tree.search(QUERY, 3, types="chunk")
    assert [d.page_content for d in documents] == [hit.content for hit in hits]
    assert [d.id for d in documents] == [str(hit.node_id) for hit in hits]
    first = documents[0].metadata
    assert first["citation"].startswith("kitchen/bread.md, p")
    assert SAMPLE_FILES[first["source"]][first["char_start"] : first["char_end"]] == documents[0].page_content
    assert first["summaries"][0] == tree.summary().content


def test_llama_index(tree: SummaryTree) -> None:
    """LlamaIndex's retriever gives the hits of a search with scores, parents and citations."""
    retriever = llama_index.TreeRetriever(tree, 3, types="chunk")
    assert isinstance(retriever, LlamaRetriever)
    nodes = retriever.retrieve(QUERY)
    hits = tree.search(QUERY, 3, types="chunk")
    assert [(n.node_id, n.score) for n in nodes] == [(str(hit.node_id), hit.score) for hit in hits]
    assert nodes[0].node.relationships[NodeRelationship.PARENT].node_id == str(hits[0].parent_id)
    shown = nodes[0].node.get_content(MetadataMode.LLM)
    assert "kitchen/bread.md" in shown
    assert "Bread" in shown
    assert str(hits[0].node_id) not in shown


@pytest.mark.parametrize("blocking", [True, False])
async def test_asynchronous_use(database_url: str, tree: SummaryTree, *, blocking: bool) -> None:
    """Both retrievers answer asynchronously, over a tree of either kind."""
    expected = [str(hit.node_id) for hit in tree.search(QUERY, 3)]
    async with AsyncSummaryTree.open(database_url, embedder=FakeEmbedder(DIMENSIONS)) as async_tree:
        used = tree if blocking else async_tree
        documents = await langchain.TreeRetriever(tree=used, k=3).ainvoke(QUERY)
        nodes = await llama_index.TreeRetriever(used, 3).aretrieve(QUERY)
        assert [d.id for d in documents] == [n.node_id for n in nodes] == expected


async def test_asynchronous_tree_cannot_block(database_url: str, tree: SummaryTree) -> None:
    """An AsyncSummaryTree asked synchronously says what to give instead."""
    async with AsyncSummaryTree.open(database_url) as async_tree:
        with pytest.raises(ConfigError, match="SummaryTree for invoke"):
            langchain.TreeRetriever(tree=async_tree).invoke(QUERY)
        with pytest.raises(ConfigError, match="SummaryTree for retrieve"):
            llama_index.TreeRetriever(async_tree).retrieve(QUERY)
