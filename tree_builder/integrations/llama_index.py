"""`TreeRetriever` for LlamaIndex: `pip install tree-builder[llama-index]`.

    with SummaryTree.open(corpus="papers") as tree:
        nodes = TreeRetriever(tree, k=5).retrieve("who signed?")

An `AsyncSummaryTree` serves `aretrieve`, a `SummaryTree` both.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from tree_builder.errors import ConfigError
from tree_builder.integrations.documents import metadata
from tree_builder.query import AsyncSummaryTree, SummaryTree

if TYPE_CHECKING:
    from llama_index.core.schema import QueryBundle

    from tree_builder.query import Hit, Hits, Mode

_NOT_FOR_MODELS = ["node_id", "score", "summaries", "char_start", "char_end", "source", "dir_path", "page"]


class TreeRetriever(BaseRetriever):
    """Passages and summaries which answer a query, as LlamaIndex's nodes with scores.

    search: further arguments of `SummaryTree.search`. A node's metadata has its citation; of it a model is shown path, title and pages.
    """

    def __init__(
        self, tree: SummaryTree | AsyncSummaryTree, k: int = 10, *, mode: Mode = "hybrid", **search: Any
    ) -> None:
        self._tree = tree
        self._k = k
        self._mode: Mode = mode
        self._search = search
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if isinstance(self._tree, AsyncSummaryTree):
            raise ConfigError("an AsyncSummaryTree answers aretrieve only; give a SummaryTree for retrieve")
        return _nodes(self._tree.search(query_bundle.query_str, self._k, mode=self._mode, **self._search))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if isinstance(self._tree, AsyncSummaryTree):
            hits = await self._tree.search(query_bundle.query_str, self._k, mode=self._mode, **self._search)
            return _nodes(hits)
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _nodes(hits: Hits) -> list[NodeWithScore]:
    return [NodeWithScore(node=_node(hit), score=hit.score) for hit in hits]


def _node(hit: Hit) -> TextNode:
    about = metadata(hit)
    node = TextNode(
        id_=str(hit.node_id),
        text=hit.content,
        metadata=about,
        excluded_llm_metadata_keys=_NOT_FOR_MODELS,
        excluded_embed_metadata_keys=list(about),
        start_char_idx=hit.char_start,
        end_char_idx=hit.char_end,
    )
    if hit.parent_id is not None:
        node.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=str(hit.parent_id))
    return node
