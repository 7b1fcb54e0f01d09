"""What speculation may cost, over all trees of a run, and how densely it is worth to guess."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_builder.grow.budget import Account
from tree_builder.grow.desk import Desk
from tree_builder.grow.purses import Purse, Purses

if TYPE_CHECKING:
    from tree_builder.grow.chains import Speculation

MANY_SHARE = 0.02
"""Extra calls allowed, as a share of all, where documents grow side by side and slots are seldom idle."""
CAUTION, CAUTION_MANY = 0.75, 0.85
"""The part of what may be wasted which is planned for documents, as chains may waste more than those before; more
of the few calls which there are where documents grow side by side."""
ABOVE_SHARE = 0.35
"""Of what may be wasted, the part kept for the levels above and for directories, for which everything waits in the end."""
EARLY_LOST, CAUTION_EARLY = 0.5, 0.8
"""Share of the questions asked before their turn which is lost, about; the part of what may be wasted which they may use up."""
EARLY_IDLE, EARLY_IDLE_MANY = 0.5, 0.7
"""Share of the slots which must be idle for them: chains gain more by the same waste."""
SPARING = 1.3
"""Part by which chains of many documents lie farther apart than the slots could follow: guesses are left for those which take
longest, which are known only when the others have ended."""
LEAST_SPACING, LEAST_SPACING_MANY, LEAST_SPACING_ABOVE = 5, 12, 4
"""Items between two chains, at least, while a level's items are still coming; later its places are few and every one is worth a
guess, as the tree waits for little else."""


class Budgeting:
    """Lets speculation have the share of all calls which the settings allow, or a small one where documents grow side by side.

    many: whether several documents are known to come.
    """

    def __init__(self, desk: Desk, share: float, *, many: bool = False) -> None:
        self.desk = desk
        self.share = share
        self.purses = Purses()
        self.growths: list[Speculation] = []
        self.alive = 0
        self._many = many
        self._used = 0  # in growths which have ended
        self._expected = 0.0
        self._stale = True
        desk.on_idle = self.offer
        desk.may_guess = self.keeps
        desk.purse_of_early = self.early

    @property
    def allowed(self) -> float:
        """Calls which may be wasted in all, as far as can be told now."""
        if self._stale:
            self._expected = self._used + sum(g.account.expected for g in self.growths)
            self._stale = False
        return self._share * self._expected

    @property
    def wasted(self) -> int:
        return self.purses.base.wasted + self.purses.above.wasted + self.purses.early.wasted

    @property
    def has_room(self) -> bool:
        """Say whether a slot is idle for another chain."""
        return self.alive < self.desk.idle + self.desk.speculative

    @property
    def _share(self) -> float:
        return min(self.share, MANY_SHARE) if self._many else self.share

    def join(self, growth: Speculation) -> None:
        if growth.is_document and any(g.is_document for g in self.growths):
            self._many = True
        self.growths.append(growth)
        self._stale = True

    def leave(self, growth: Speculation) -> None:
        self.growths.remove(growth)
        self._used += growth.account.used
        self._stale = True
        self.desk.let_in()

    def news(self) -> None:
        self._stale = True

    def early(self) -> Purse | None:
        """Give the purse of questions asked before their turn, while many slots are idle and it holds what one more may waste."""
        if self.desk.idle < self.desk.slots * (EARLY_IDLE_MANY if self._many else EARLY_IDLE):
            return None
        purses = self.purses
        planned = purses.base.planned + purses.above.planned + purses.early.wasted + EARLY_LOST * purses.early.undecided
        return purses.early if planned + 1 <= CAUTION_EARLY * self.allowed else None

    def keeps(self) -> bool:
        """Say whether no more was wasted so far than is allowed."""
        return self.wasted <= self.allowed

    def allowance(self, account: Account, *, is_document: bool) -> float:
        """Give the calls which one tree may waste at most.

        A directory's few calls are what everything waits for in the end: it may have what is left of the whole run.
        """
        own = 2 * self.share * max(0, account.items - 1)
        return own if is_document else max(own, self.allowed - self.wasted)

    def affords(self, *, above: bool, is_document: bool) -> bool:
        """Say whether one more chain may be started; the last part is kept for directories, which come last."""
        purses, allowed = self.purses, self.allowed
        if is_document:
            allowed *= CAUTION_MANY if self._many else CAUTION
        purse = purses.above if above else purses.base
        if purses.base.planned + purses.above.planned + purses.early.wasted + purse.waste_a_chain > allowed:
            return False
        if not above:
            return purse.planned + purse.waste_a_chain <= (1 - ABOVE_SHARE) * allowed
        growing = any(g.is_document and not g.is_settled for g in self.growths)
        return not growing or purse.planned + purse.waste_a_chain <= ABOVE_SHARE * allowed

    def spacing(self, account: Account) -> int:
        """Give the number of chunks between two chains at which the budget lasts."""
        if self._many:
            left = sum(g.account.remaining for g in self.growths)
            return max(LEAST_SPACING_MANY, int(SPARING * left / self.desk.slots))
        share = (1 - ABOVE_SHARE) * CAUTION * self._share
        return max(LEAST_SPACING, int(self.purses.base.waste_a_chain / max(share * account.rate, 1e-9)))

    def spacing_above(self, ahead: int, *, complete: bool) -> int:
        """Give the number of items between two chains where `ahead` items wait, all of the level when complete."""
        fair = ahead // max(1, self.desk.idle)
        return max((1 if ahead <= 8 else 2) if complete else LEAST_SPACING_ABOVE, fair)

    def offer(self) -> None:
        """Let those use idle slots who have most left to do."""
        for growth in sorted(self.growths, key=lambda g: -g.account.remaining):
            if not self.has_room:
                break
            growth.consider()
