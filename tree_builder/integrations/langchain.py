"""`TreeRetriever` for LangChain: `pip install tree-builder[langchain]`.

    with SummaryTree.open(corpus="papers") as tree:
        documents = TreeRetriever(tree=tree, k=5).invoke("who signed?")

An `AsyncSummaryTree` serves `ainvoke`, a `SummaryTree` both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from tree_builder.errors import ConfigError
from tree_builder.integrations.documents import metadata
from tree_builder.query import AsyncSummaryTree, Mode, SummaryTree

if TYPE_CHECKING:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun

    from tree_builder.query import Hits


class TreeRetriever(BaseRetriever):
    """Passages and summaries which answer a query, as LangChain's documents.

    search: further arguments of `SummaryTree.search`, as `{"types": "chunk", "in_": "reports/"}`. A document's metadata has its citation.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    tree: SummaryTree | AsyncSummaryTree
    k: int = 10
    mode: Mode = "hybrid"
    search: dict[str, Any] = {}  # noqa: RUF012 -- pydantic copies defaults

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 -- of the base class
    ) -> list[Document]:
        if isinstance(self.tree, AsyncSummaryTree):
            raise ConfigError("an AsyncSummaryTree answers ainvoke only; give a SummaryTree for invoke")
        return _documents(self.tree.search(query, self.k, mode=self.mode, **self.search))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if isinstance(self.tree, AsyncSummaryTree):
            return _documents(await self.tree.search(query, self.k, mode=self.mode, **self.search))
        return await super()._aget_relevant_documents(query, run_manager=run_manager)


def _documents(hits: Hits) -> list[Document]:
    return [Document(page_content=hit.content, id=str(hit.node_id), metadata=metadata(hit)) for hit in hits]
