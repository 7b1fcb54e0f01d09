"""What both integrations say about a hit beside its text."""

from __future__ import annotations

from typing import Any

from tree_builder.query.results import Hit


def metadata(hit: Hit) -> dict[str, Any]:
    """Give a hit's citation and place, JSON-serializable.

    `source` is the document's path, `page` its first page, `summaries` the contents of the summaries above it, from the root down.
    """
    return {
        "node_id": str(hit.node_id),
        "node_type": hit.node_type.value,
        "corpus": hit.corpus,
        "source": hit.path,
        "doc_path": hit.doc_path,
        "dir_path": hit.dir_path,
        "title": hit.title,
        "citation": str(hit.citation),
        "page": hit.page_start,
        "page_start": hit.page_start,
        "page_end": hit.page_end,
        "char_start": hit.char_start,
        "char_end": hit.char_end,
        "score": hit.score,
        "summaries": [node.content for node in hit.above],
    }
