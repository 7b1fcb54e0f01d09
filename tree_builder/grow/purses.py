"""What guesses wasted, kind by kind."""

from __future__ import annotations

from dataclasses import dataclass

PRIOR, PRIOR_MANY = (8, 2.5), (15, 1.5)
"""How many chains are taken to have wasted how many calls each before chains have shown it. A wrong start costs a probe and the
questions up to a boundary; where there are many documents, chains are few and start at better places."""


@dataclass(slots=True)
class Purse:
    """Chains of one kind: how many are undecided and decided, and the calls which they wasted."""

    prior: tuple[int, float] = PRIOR
    undecided: int = 0
    decided: int = 0
    wasted: int = 0

    @property
    def waste_a_chain(self) -> float:
        chains, waste = self.prior
        return (chains * waste + self.wasted) / (chains + self.decided)

    @property
    def planned(self) -> float:
        """What is wasted, with what the undecided chains probably will."""
        return self.wasted + self.undecided * self.waste_a_chain


class Purses:
    """Chains through a document's chunks, all those above, and questions asked before their turn."""

    def __init__(self, *, many: bool) -> None:
        prior = PRIOR_MANY if many else PRIOR
        self.base = Purse(prior)
        self.above = Purse(prior)
        self.early = Purse(prior)
