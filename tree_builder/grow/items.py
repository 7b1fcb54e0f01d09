"""Items by position: the base items of a growth, which may still be arriving, and the protocol every level reads them by."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tree_builder.model import Tree

END = -1
"""The position after the last item."""

Arriving = Tree | Awaitable[Tree | None]
"""A base item, or one which is still growing; one which comes to nothing (None) drops out of the level."""


@dataclass(frozen=True, slots=True)
class Item:
    """A node of the level below, placed: it covers the base items from `start` up to `next` (END for the last).

    size: what it takes of a prompt, in the model's own unit.
    """

    tree: Tree
    start: int
    next: int
    size: int


class Items(Protocol):
    """The items of one level. An item is known by the position of its first base item, the same at every level.

    So a group can be formed from any position before it is known what lies in front of it.
    """

    async def at(self, position: int) -> Item | None:
        """Give the item which begins at `position`, waiting until it is there; None after the last."""
        ...

    def there(self, position: int) -> Item | None:
        """Give the item which begins at `position` when it is there already."""
        ...


class Feed:
    """The base items of a growth, taken from a stream as it gives them. Position = place in the stream."""

    def __init__(self, size: Callable[[Tree], int]) -> None:
        self._size = size
        self._slots: list[Item | asyncio.Future[Tree | None] | None] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._error: BaseException | None = None
        self.closed = False
        self.on_arrival: Callable[[], None] = lambda: None

    @property
    def seen(self) -> int:
        """How many base items have come so far."""
        return len(self._slots)

    def fill(self, trees: Iterable[Tree]) -> None:
        """Take items which are all there."""
        for tree in trees:
            self._add(tree)
        self._close()

    async def take(self, stream: AsyncIterable[Arriving]) -> None:
        """Take items until the stream ends; its error becomes that of every item not yet there."""
        try:
            async for arriving in stream:
                self._add(arriving)
                self._wake()
                self.on_arrival()
        except Exception as error:  # noqa: BLE001  raised again where items are awaited
            self._error = error
        self._close()

    def known(self, position: int) -> Tree | None:
        """Give the base item at `position` when it is there already."""
        item = self.there(position)
        return None if item is None else item.tree

    def there(self, position: int) -> Item | None:
        slot = self._slots[position] if 0 <= position < len(self._slots) else None
        return slot if isinstance(slot, Item) else None

    async def at(self, position: int) -> Item | None:
        while position != END:
            if position >= len(self._slots):
                if self._error is not None:
                    raise self._error
                if self.closed:
                    return None
                await self._news()
                continue
            slot = self._slots[position]
            if isinstance(slot, Item):
                return slot
            if slot is None:
                position += 1  # it came to nothing
                continue
            await asyncio.shield(slot)
            if self._slots[position] is slot:
                self._arrived(position, slot)
        return None

    def _add(self, arriving: Arriving) -> None:
        position = len(self._slots)
        if isinstance(arriving, Tree):
            self._slots.append(self._item(arriving, position))
            return
        future = asyncio.ensure_future(arriving)
        self._slots.append(future)
        future.add_done_callback(lambda _: self._arrived(position, future))

    def _arrived(self, position: int, future: asyncio.Future[Tree | None]) -> None:
        """Put the item in its place; an error stays there, to be raised where the item is awaited."""
        if future.cancelled() or future.exception() is not None:
            return
        tree = future.result()
        self._slots[position] = None if tree is None else self._item(tree, position)
        self.on_arrival()

    def _item(self, tree: Tree, position: int) -> Item:
        return Item(tree, position, position + 1, self._size(tree))

    def _close(self) -> None:
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def _news(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future
