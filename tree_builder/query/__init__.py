"""Asking the tree: summaries by path, search, walks, contexts. Reads only, through the store's named queries."""

from tree_builder.query.blocking import SummaryTree
from tree_builder.query.results import (
    Change,
    Citation,
    Context,
    Corpus,
    Diff,
    Document,
    Hit,
    Hits,
    Mode,
    Node,
    Passage,
    Step,
    Summary,
    Walk,
    as_json,
)
from tree_builder.query.tree import AsyncSummaryTree

__all__ = [
    "AsyncSummaryTree",
    "Change",
    "Citation",
    "Context",
    "Corpus",
    "Diff",
    "Document",
    "Hit",
    "Hits",
    "Mode",
    "Node",
    "Passage",
    "Step",
    "Summary",
    "SummaryTree",
    "Walk",
    "as_json",
]
