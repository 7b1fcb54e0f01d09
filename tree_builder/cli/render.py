"""How results look in a terminal: plain functions from results to rich text. Document text is stripped of control characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from tree_builder.model import NodeType
from tree_builder.query.results import Context, Diff, Hit, Node, Span, Walk, one_line, pages

if TYPE_CHECKING:
    from tree_builder.query.results import Summary

SNIPPET_CHARS = 320
FIRST_CHARS = 300
BAR_CELLS = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"
_SPACES = re.compile(r"\s+")
_STYLES = {
    NodeType.ROOT: "bold magenta",
    NodeType.DIR_TOP: "bold blue",
    NodeType.DOC_TOP: "bold green",
    NodeType.SUMMARY: "cyan",
    NodeType.CHUNK: "dim",
}
_SIGNS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow"), "moved": (">", "blue")}


def console() -> Console:
    """Give the console of standard output: colours and its width on a terminal, plain unwrapped text in a pipe."""
    return Console(highlight=False, emoji=False, markup=False)


def show(out: Console, text: Text) -> None:
    """Print text; wrapped at words on a terminal, as it is in a pipe."""
    out.print(text, soft_wrap=not out.is_terminal)


def harmless(text: str) -> str:
    """Drop what could steer a terminal or turn text around: control and direction characters, but for tab and line break."""
    return "".join(
        c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    )


def flat(text: str) -> str:
    """Give harmless text on one line."""
    return " ".join(harmless(text.replace("\n", " ").replace("\t", " ")).split())


def summary_text(summary: Summary) -> Text:
    return Text(harmless(summary.content))


def node_label(node: Node) -> str:
    """Name a node: the last part of its path with its title or first words; its first words alone, where it is no top."""
    name, words = node_name(node), flat(node.content[:FIRST_CHARS])
    return f"{name}  {flat(node.title) if node.title else words}" if name else words


def node_name(node: Node) -> str:
    """Name a top by the last part of its path; any other node has no name."""
    if node.node_type is NodeType.ROOT:
        return flat(node.corpus)
    if node.node_type in (NodeType.DIR_TOP, NodeType.DOC_TOP):
        return flat(node.path.rsplit("/", 1)[-1]) + ("/" if node.node_type is NodeType.DIR_TOP else "")
    return ""


def tree_picture(rows: Sequence[tuple[int, Node, int]], width: int, *, ascii_only: bool = False) -> Iterator[Text]:
    """Draw a tree: a bar for the share of text below each node, its label, its type and pages. One line a node, none wider than `width`.

    rows: depth, node and characters of document text below it, each node before what it covers.
    """
    total = max((size for depth, _, size in rows if depth == 0), default=0)
    lasts = _last_children([depth for depth, _, _ in rows])
    open_below: list[bool] = []
    for (depth, node, size), last in zip(rows, lasts, strict=True):
        del open_below[max(0, depth - 1) :]
        guide = _guide(open_below, depth, last=last, ascii_only=ascii_only)
        if depth > 0:
            open_below.append(not last)
        share = size / total if total else 0.0
        yield _line(node, share, guide, width, ascii_only=ascii_only)


def _line(node: Node, share: float, guide: str, width: int, *, ascii_only: bool) -> Text:
    cells = BAR_CELLS if width >= 60 else 4
    line = Text(f"{bar(share, cells, ascii_only=ascii_only)} {share:>4.0%} ", style="blue", no_wrap=True, end="")
    line.append(guide, style="dim")
    about = "  " + " ".join(part for part in (node.node_type.value, pages(node.page_start, node.page_end)) if part)
    room = width - len(line) - len(about)
    line.append(shorten(node_label(node), max(6, room)), style=_STYLES[node.node_type])
    line.append(about, style="dim")
    line.truncate(max(width, 1))
    return line


def bar(share: float, cells: int, *, ascii_only: bool = False) -> str:
    """Draw a share between 0 and 1 as a bar of so many cells."""
    share = min(1.0, max(0.0, share))
    if ascii_only:
        return ("#" * round(share * cells)).ljust(cells, ".")
    eighths = round(share * cells * 8)
    if share > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(cells)


def shorten(text: str, width: int) -> str:
    """Cut text to a width in terminal cells."""
    line = Text(text, no_wrap=True)
    line.truncate(width, overflow="ellipsis")
    return line.plain


def _last_children(depths: Sequence[int]) -> list[bool]:
    """Say of each line whether no sibling follows it."""
    lasts: list[bool] = []
    followed: set[int] = set()
    for depth in reversed(depths):
        lasts.append(depth not in followed)
        followed = {d for d in followed if d < depth} | {depth}
    return lasts[::-1]


def _guide(open_below: Sequence[bool], depth: int, *, last: bool, ascii_only: bool) -> str:
    if depth == 0:
        return ""
    through, corner, fork = ("|  ", "`- ", "|- ") if ascii_only else ("│  ", "└─ ", "├─ ")
    return "".join(through if is_open else "   " for is_open in open_below) + (corner if last else fork)


def snippet(content: str, words: Sequence[Span], chars: int = SNIPPET_CHARS) -> Text:
    """Give the part of a text which holds most of the words found, these highlighted."""
    start = _word_start(content, _densest(words, chars, len(content)))
    end = min(len(content), start + chars)
    text = Text("…" if start > 0 else "")
    at = start
    for begin, stop in (span for span in words if start <= span[0] and span[1] <= end):
        text.append(_spaced(content[at:begin]))
        text.append(_spaced(content[begin:stop]), style="bold yellow")
        at = stop
    text.append(_spaced(content[at:end]).rstrip() + ("…" if end < len(content) else ""))
    return text


def _spaced(text: str) -> str:
    """Give harmless text with line breaks and runs of spaces as one space, at its ends too."""
    return _SPACES.sub(" ", harmless(text))


def _densest(words: Sequence[Span], chars: int, length: int) -> int:
    if length <= chars or not words:
        return 0
    best = max(words, key=lambda span: (sum(span[0] <= other[0] < span[0] + chars - 40 for other in words), -span[0]))
    return max(0, min(best[0] - 40, length - chars))


def _word_start(content: str, start: int) -> int:
    """Move a start which falls inside a word to the next one, where one begins soon."""
    if start == 0 or content[start - 1].isspace():
        return start
    space = next((i for i in range(start, min(start + 30, len(content))) if content[i].isspace()), start - 1)
    return space + 1


def hit_lines(place: int, hit: Hit) -> Text:
    """Show a hit: place, score and how it came about, where it is, the summaries above it, the passage."""
    text = Text(f"{place}. ", style="bold")
    text.append(f"{hit.score:.3f} ", style="magenta")
    text.append(flat(str(hit.citation)), style="bold green")
    text.append(f"  {hit.node_type}" + (f"  {hit.how}" if hit.how else "") + "\n", style="dim")
    text.append("   " + " › ".join(_way(hit)) + f"\n   {hit.node_id}\n", style="dim")
    text.append("   ")
    text.append_text(snippet(hit.content, hit.words))
    text.append("\n")
    return text


def _way(hit: Hit) -> Iterator[str]:
    """Name the nodes above a hit, from the root down; groups by their first words."""
    for node in hit.above:
        yield shorten(node_name(node) or node_label(node), 40)


def walk_lines(walk: Walk) -> Iterator[Text]:
    """Show the way of a walk, one line a node which was followed, deeper ones further in."""
    for step in walk.steps:
        for hit in step.kept:
            line = Text("  " * (step.depth - 1) + f"{hit.score:.3f} ", style="magenta", no_wrap=True)
            line.append(shorten(node_label(hit), 60), style=_STYLES[hit.node_type])
            line.append(f"  {hit.node_type} {pages(hit.page_start, hit.page_end)}".rstrip(), style="dim")
            yield line


def node_lines(node: Node, above: Sequence[Node], children: Sequence[Node]) -> Iterator[Text]:
    """Show a node: place, parents up to the root, children, content."""
    yield Text(flat(str(node.citation)), style="bold green").append(
        f"  {node.node_type}, level {node.level}", style="dim"
    )
    chars = f"  characters {node.char_start} to {node.char_end}" if node.char_start is not None else ""
    yield Text(f"{node.node_id}  corpus {flat(node.corpus)}{chars}  run {node.run_id}", style="dim")
    for parent in above:
        yield Text("  up    ", style="dim").append(f"{parent.node_id} ", style="dim").append(_brief(parent))
    for child in children:
        yield Text("  down  ", style="dim").append(f"{child.node_id} ", style="dim").append(_brief(child))
    yield Text("")
    yield Text(harmless(node.content))


def _brief(node: Node) -> str:
    place = pages(node.page_start, node.page_end)
    return f"{node.node_type} {place + ' ' if place else ''}{shorten(node_label(node), 60)}"


def context_text(context: Context) -> Text:
    """Show a context as a model would read it, the headers set apart."""
    text = Text()
    for passage in context.passages:
        text.append(flat(passage.header) + "\n", style="bold green")
        text.append(harmless(passage.content).strip() + "\n\n")
    text.rstrip()
    return text


def diff_lines(diff: Diff) -> Iterator[Text]:
    """Show what changed, a line each with the first words of the summary as it is now."""
    yield Text(f"{flat(diff.corpus)}: run {diff.run_a} to run {diff.run_b}", style="bold")
    for change in diff.changes:
        sign, style = _SIGNS[change.kind]
        moved = f"  from {flat(change.old_path or '')}" if change.kind == "moved" else ""
        slash = "/" if change.what == "directory" and change.path != "." else ""
        line = Text(f"{sign} {flat(change.path)}{slash}{moved}", style=style)
        yield line.append("  " + one_line(flat(change.after or change.before or ""), 80), style="dim")
    if not diff.changes:
        yield Text("nothing changed")
