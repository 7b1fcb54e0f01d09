"""What guesses wasted, kind by kind."""

from __future__ import annotations

from dataclasses import dataclass, field

PRIOR_CHAINS, PRIOR_WASTE = 4, 3.0
"""What a chain is taken to waste before chains have shown it: a wrong start costs a probe and the questions up to a boundary."""


@dataclass(slots=True)
class Purse:
    """Chains of one kind: how many are undecided and decided, and the calls which they wasted."""

    undecided: int = 0
    decided: int = 0
    wasted: int = 0

    @property
    def waste_a_chain(self) -> float:
        return (PRIOR_CHAINS * PRIOR_WASTE + self.wasted) / (PRIOR_CHAINS + self.decided)

    @property
    def planned(self) -> float:
        """What is wasted, with what the undecided chains probably will."""
        return self.wasted + self.undecided * self.waste_a_chain


@dataclass(slots=True)
class Purses:
    """Chains through a document's chunks, all those above, and questions asked before their turn."""

    base: Purse = field(default_factory=Purse)
    above: Purse = field(default_factory=Purse)
    early: Purse = field(default_factory=Purse)
