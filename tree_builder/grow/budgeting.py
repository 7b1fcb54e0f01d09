"""What speculation may cost, over all trees of a run, and how densely it is worth to guess."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_builder.grow.budget import Account, Tally
from tree_builder.grow.desk import Desk
from tree_builder.grow.purses import Purse, Purses

if TYPE_CHECKING:
    from tree_builder.grow.chains import Speculation
    from tree_builder.grow.runs import Run

MANY_SHARE = 0.018
"""Extra calls allowed, as a share of all, where documents grow side by side and slots are seldom idle: at most a fiftieth is lost,
with what is in flight when the last of them are spent."""
CAUTION, CAUTION_MANY = 0.75, 0.65
"""The part of what may be wasted which is planned for documents, as chains may waste more than those before. Where documents
grow side by side, directories and the root need the rest: everything waits for them in the end."""
MANY_ALLOWANCE = 1.5
"""How often a long document among many may have what it could waste alone: its chains have far to go until they are confirmed."""
ABOVE_SHARE = 0.35
"""Of what may be wasted, the part kept for the levels above and for directories, for which everything waits in the end."""
EARLY_LOST, EARLY_SHARE, CAUTION_EARLY = 0.5, 0.25, 0.8
"""Share of the questions asked before their turn which is lost, about; the part of what may be wasted which is theirs, so that
enough is left for chains; the part up to which all together may have been used when one more is asked."""
EARLY_IDLE, EARLY_IDLE_MANY = 0.5, 0.7
"""Share of the slots which must be idle for them: chains gain more by the same waste."""
LONG = 14
"""Items after which a group of the most urgent of many documents may ask before its turn though no slot is idle."""
DENSITY = 0.7
"""Distance of the chains of many documents, as a part of what each slot has left to do."""
GUESSING, MOST_URGENT = 3 / 8, 0.6
"""Of the slots, the part whose chains may follow guesses while all are taken; how urgent a document must be for it, beside the
most urgent one. Guesses of a document which ends late are worth more than what one needs that ends early."""
ENDING = 0.9
"""Share of idle slots from which on the trees of many documents are near their end."""
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
        self.purses = Purses(many=many)
        self.tally = Tally()
        self.growths: list[Speculation] = []
        self.documents: list[Speculation] = []
        self.restless: dict[Speculation, None] = {}  # by when they told of news
        self.alive = 0
        self.many = many
        self._used = 0  # in growths which have ended
        self._expected = 0.0
        self._stale = True
        desk.on_turn = self.offer
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
        """Say whether a slot is idle for another chain, or should be for that of an urgent document."""
        least = GUESSING * self.desk.slots if self.many else 0
        return self.alive < max(self.desk.idle + self.desk.speculative, least)

    @property
    def is_ending(self) -> bool:
        """Whether the trees of many documents are near their end, so that most slots are idle."""
        return self.many and self.desk.idle >= ENDING * self.desk.slots

    @property
    def _share(self) -> float:
        return min(self.share, MANY_SHARE) if self.many else self.share

    def join(self, growth: Speculation) -> None:
        if growth.is_document:
            self.many = self.many or bool(self.documents)
            self.documents.append(growth)
        self.growths.append(growth)
        self._stale = True

    def leave(self, growth: Speculation) -> None:
        self.growths.remove(growth)
        if growth.is_document:
            self.documents.remove(growth)
        self.restless.pop(growth, None)
        self._used += growth.account.used
        self._stale = True
        self.desk.let_in()

    def news(self, growth: Speculation) -> None:
        """Note that there may be new places for chains."""
        self._stale = True
        if growth.enabled:
            self.restless[growth] = None

    def early(self, run: Run) -> Purse | None:
        """Give the purse of questions asked before their turn, while it holds what one more may waste.

        It is open while many slots are idle, and to a long group which an urgent document waits for.
        """
        idle = self.desk.idle >= self.desk.slots * (EARLY_IDLE_MANY if self.many else EARLY_IDLE)
        long = self.many and run.level == 0 and run.upto - run.start >= LONG
        if not idle and not (long and run.account.urgency >= self._urgent):
            return None
        purses = self.purses
        own = purses.early.wasted + EARLY_LOST * purses.early.undecided
        planned = purses.base.planned + purses.above.planned + own
        affords = planned + 1 <= CAUTION_EARLY * self.allowed and own + 1 <= EARLY_SHARE * self.allowed
        return purses.early if affords else None

    def keeps(self) -> bool:
        """Say whether no more was wasted so far than is allowed, nor will be by what is pending."""
        return self.wasted + self.tally.loss * self.tally.pending <= self.allowed

    def allowance(self, account: Account, *, is_document: bool) -> float:
        """Give the calls which one tree may waste at most.

        A directory's few calls are what everything waits for in the end: it may have what is left of the whole run.
        """
        own = 2 * self.share * max(0, account.items - 1)
        if is_document:
            return own * MANY_ALLOWANCE if self.many else own
        return max(own, self.allowed - self.wasted)

    def affords(self, *, above: bool, is_document: bool) -> bool:
        """Say whether one more chain may be started; the last part is kept for directories, which come last."""
        purses, allowed = self.purses, self.allowed
        if is_document:
            allowed *= CAUTION_MANY if self.many else CAUTION
        purse = purses.above if above else purses.base
        if purses.base.planned + purses.above.planned + purses.early.wasted + purse.waste_a_chain > allowed:
            return False
        if not above:
            return purse.planned + purse.waste_a_chain <= (1 - ABOVE_SHARE) * allowed
        growing = any(not growth.is_settled for growth in self.documents)
        return not growing or purse.planned + purse.waste_a_chain <= ABOVE_SHARE * allowed

    def spacing(self, account: Account) -> int:
        """Give the number of chunks between two chains at which the budget lasts."""
        if self.many:
            left = sum(g.account.remaining for g in self.growths)
            return max(LEAST_SPACING_MANY, int(DENSITY * left / self.desk.slots))
        share = (1 - ABOVE_SHARE) * CAUTION * self._share
        return max(LEAST_SPACING, int(self.purses.base.waste_a_chain / max(share * account.rate, 1e-9)))

    def spacing_above(self, ahead: int, *, complete: bool) -> int:
        """Give the number of items between two chains where `ahead` items wait, all of the level when complete."""
        least = (1 if ahead <= 8 else 2) if complete else LEAST_SPACING_ABOVE
        return least if self.many else max(least, ahead // max(1, self.desk.idle))

    def offer(self) -> None:
        """Let those start chains who have most left to do, one chain at a time, as each makes its document less urgent."""
        while self.restless and self.has_room:
            first = max(self.restless, key=lambda growth: growth.account.urgency)
            if self.many and first.account.urgency < self._urgent:
                break
            if not first.start_one():
                del self.restless[first]

    @property
    def _urgent(self) -> float:
        """From which urgency on a document belongs to the most urgent ones."""
        return MOST_URGENT * max((growth.account.urgency for growth in self.documents), default=0.0)
