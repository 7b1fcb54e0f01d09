"""Groups: when one is full, and the node it becomes. Plain functions without I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tree_builder.grow.items import END, Item
from tree_builder.model import TOPS, Decision, NodeType, Summary, Tree


@dataclass(frozen=True, slots=True)
class Formation:
    """A group whose extent is known: its items, why it ended, and the summary of its first two where one was asked for."""

    group: tuple[Item, ...]
    next: int
    decisions: tuple[Decision, ...]
    probe: Summary | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What closes a group besides its topic.

    prompt_size: in units of `Item.size`; None where the summary covers two items only. max_items: None for no limit.
    """

    prompt_size: int | None = None
    max_items: int | None = None

    def closing(self, group: Sequence[Item], upcoming: Item | None) -> Decision | None:
        """Say whether the group closes before `upcoming` whatever its topic: nothing comes any more, or it is full.

        A group of fewer than two items never closes but at the end, so that every level shrinks.
        """
        at = len(group)
        if upcoming is None:
            return Decision(at, boundary=True, method="end", verdict="end")
        if at < 2:
            return None
        if self.max_items is not None and at >= self.max_items:
            return Decision(at, boundary=True, method="size", verdict="full", reason=f"{at} items")
        if self.prompt_size is not None:
            size = sum(item.size for item in group) + upcoming.size
            if size > self.prompt_size:
                reason = f"{size} of {self.prompt_size} with the next item"
                return Decision(at, boundary=True, method="size", verdict="full", reason=reason)
        return None


def formed(
    group: Sequence[Item], upcoming: Item | None, decisions: Sequence[Decision], probe: Summary | None = None
) -> Formation:
    """Close a group before `upcoming`."""
    return Formation(tuple(group), END if upcoming is None else upcoming.start, tuple(decisions), probe)


def node_over(
    children: Sequence[Tree],
    summary: Summary,
    *,
    node_type: NodeType = NodeType.SUMMARY,
    decisions: Sequence[Decision] = (),
    doc_path: str | None = None,
    dir_path: str | None = None,
) -> Tree:
    """Make the node which covers `children`: one level above the highest, its place from the first to the last.

    Offsets and pages are those of one file: a node over tops of documents or directories has none.
    """
    first, last = children[0], children[-1]
    within_file = not any(child.node_type in TOPS for child in children)
    return Tree(
        node_type,
        summary.content,
        level=1 + max(child.level for child in children),
        children=tuple(children),
        char_start=first.char_start if within_file else None,
        char_end=last.char_end if within_file else None,
        page_start=first.page_start if within_file else None,
        page_end=last.page_end if within_file else None,
        doc_path=doc_path,
        dir_path=dir_path,
        decisions=tuple(decisions),
        flags=summary.flags,
    )
