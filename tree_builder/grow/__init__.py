"""Grow: items become groups, groups become nodes, level upon level, until one is left.

Knows protocols, not providers: a language model which summarizes and judges, an embedder. No I/O of its own.
"""

from tree_builder.grow.desk import Slots
from tree_builder.grow.grower import Grower
from tree_builder.grow.items import Arriving

__all__ = ["Arriving", "Grower", "Slots"]
