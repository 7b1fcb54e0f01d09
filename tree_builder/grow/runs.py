"""One group in the making."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tree_builder.grow.budget import Account
from tree_builder.grow.items import Item

if TYPE_CHECKING:
    from tree_builder.grow.chains import Chain


class Discarded(Exception):
    """The tree does not use this group."""


class Run:
    """One group in the making. Its extent is known before its node: the chain goes on while the summary is written.

    confirmed: the tree uses it. reached: another group ended where it begins, so that very likely the tree uses it.
    rank: orders the calls of one tree which wait for a slot; the least goes first.
    calls: how many it made before it was confirmed. upto: the item which it asks about.
    """

    def __init__(self, start: int, level: int, account: Account, chain: Chain | None) -> None:
        loop = asyncio.get_running_loop()
        self.start = start
        self.account = account
        self.chain = chain
        self.level = level
        self.rank = (-level, start)
        self.next: asyncio.Future[int] = loop.create_future()
        self.item: asyncio.Future[Item] = loop.create_future()
        self.wanted: asyncio.Future[None] = loop.create_future()
        self.task: asyncio.Task[None] | None = None
        self.n_items = 0
        self.upto = start
        self.calls = 0
        self.confirmed = False
        self.reached = False
        self.failed = False

    def confirm(self) -> None:
        """The tree uses this group: its calls so far are used, those to come go first."""
        self.confirmed = True
        self.account.confirm(self.calls)
        self.want()

    def reach(self) -> None:
        self.reached = True
        self.want()

    def guess(self) -> None:
        """Count a call which is made before it is known whether the tree uses this group."""
        self.account.speculate()
        self.calls += 1
        if self.chain is not None:
            self.chain.calls += 1

    def want(self) -> None:
        """Let the node be made, not only its extent be found."""
        if not self.wanted.done():
            self.wanted.set_result(None)

    def discard(self) -> None:
        """The tree does not use this group: what it waits for is called off."""
        self.account.waste(self.calls)
        if self.chain is not None:
            self.chain.purse.wasted += self.calls
        self.calls = 0
        if self.task is not None:
            self.task.cancel()
        self.fail(Discarded())

    def fail(self, error: BaseException) -> None:
        self.failed = True
        for future in (self.next, self.item):
            if not future.done():
                future.set_exception(error)
                future.exception()  # it is raised where it is awaited, if at all
