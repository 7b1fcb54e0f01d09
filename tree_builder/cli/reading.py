"""The commands which read the tree: summary, tree, search, walk, context, show, similar, diff."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import click

from tree_builder.cli.options import ask, asking_options, print_json, reading_options
from tree_builder.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_builder.query import AsyncSummaryTree, Hit, Hits

Mode = Literal["hybrid", "vector", "text"]
TYPES = click.option("--type", "types", multiple=True, metavar="TYPE", help="chunk, summary, doc_top, dir_top or root.")
INSIDE = click.option(
    "--in", "inside", default=".", metavar="PATH", help="Only at or below this directory or document."
)
MODE = click.option("--mode", default="hybrid", metavar="hybrid|vector|text", help="How to search; default: hybrid.")


@click.command(short_help="The summary of the corpus, a directory or a document.")
@click.argument("path", default=".")
@click.option("--level", type=int, metavar="N", help="A cut through the tree at this level; 0 is the text itself.")
@click.option("--budget", "budget_tokens", type=int, metavar="TOKENS", help="The most detailed cut which fits.")
@click.option(
    "--at", "at", metavar="RUN|DATE", help="As it was at a run or a time, as 12 or 2026-03-01 or 2026-03-01T08:00."
)
@reading_options
def summary(
    *,
    path: str,
    level: int | None,
    budget_tokens: int | None,
    at: str | None,
    corpus: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Print the summary of PATH: a document (a/b.pdf), a directory (a/) or, by default, the whole corpus."""
    moment = _moment(at)
    found = ask(
        lambda tree: tree.summary(path, level=level, budget_tokens=budget_tokens, at=moment), corpus=corpus, given=given
    )
    if as_json:
        from tree_builder.query import as_json as plain

        top = found.nodes[0]
        document = plain(found)
        print_json(
            {**document, "node_type": top.node_type.value if len(found.nodes) == 1 else None, "title": found.title}
        )
        return 0
    from tree_builder.cli import render

    render.show(render.console(), render.summary_text(found))
    return 0


@click.command(short_help="The tree as a picture.")
@click.argument("path", default=".")
@click.option("--depth", default=2, show_default=True, metavar="N", help="How many steps down; 0 for the node alone.")
@reading_options
def tree(*, path: str, depth: int, corpus: str | None, as_json: bool, **given: Any) -> int:
    """Draw the tree below PATH: titles or first words, types, pages, and a bar for the share of text below each node."""
    rows = ask(lambda tree: tree.outline(path, depth), corpus=corpus, given=given)
    if as_json:
        from tree_builder.query import as_json as plain

        total = max(rows[0][2], 1)
        nodes = [
            {"depth": d, **plain(node), "n_chars": size, "share": round(size / total, 6)} for d, node, size in rows
        ]
        print_json({"corpus": rows[0][1].corpus, "path": rows[0][1].path, "nodes": nodes})
        return 0
    from tree_builder.cli import render

    out = render.console()
    width = out.width if out.is_terminal else 120
    for line in render.tree_picture(rows, width, ascii_only=not _can_draw()):
        out.print(line, soft_wrap=True)
    return 0


@click.command(short_help="Search by meaning and by words.")
@click.argument("query")
@INSIDE
@TYPES
@click.option("-k", "k", default=10, show_default=True, metavar="N", help="How many hits.")
@MODE
@click.option("--level", type=int, metavar="N", help="Only nodes of this level.")
@click.option("--pages", metavar="A-B", help="Only what lies on these pages, as 3 or 3-7.")
@click.option("--since", metavar="DATE", help="Only nodes written since then.")
@click.option("--min-score", type=float, metavar="X", help="Only hits of at least this score.")
@click.option("--offset", default=0, metavar="N", help="Skip so many hits.")
@click.option(
    "--merge", "merged", is_flag=True, help="Where most of what a node covers was found, show the node instead."
)
@asking_options
@reading_options
def search(
    *,
    query: str,
    inside: str,
    types: tuple[str, ...],
    k: int,
    mode: Mode,
    level: int | None,
    pages: str | None,
    since: str | None,
    min_score: float | None,
    offset: int,
    merged: bool,
    corpus: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Find what answers QUERY best, among passages and summaries of all levels.

    "Phrases in quotes" must be there, words after a minus must not.
    """
    page_range, moment = _pages(pages), _moment(since)
    if isinstance(moment, int):
        raise ConfigError("--since needs a date, as 2026-03-01", name="since")

    async def work(tree: AsyncSummaryTree) -> tuple[Hits, Sequence[Hit]]:
        hits = await tree.search(
            query,
            k,
            mode=mode,
            in_=inside,
            types=types or None,
            level=level,
            pages=page_range,
            since=moment,
            min_score=min_score,
            offset=offset,
        )
        if not hits:
            await tree.summary(inside)  # a wrong path finds nothing: say so
        return hits, await tree.merge(hits) if merged else hits

    hits, listed = ask(work, corpus=corpus, given=given, encodes=mode != "text")
    _print_hits(hits, listed, as_json=as_json)
    return 0


@click.command(short_help="Walk from the root down to what a query is about.")
@click.argument("query")
@click.option("--beam", default=3, show_default=True, metavar="N", help="How many nodes are followed at each depth.")
@click.option("--in", "path", default=".", metavar="PATH", help="Where to start instead of the root.")
@asking_options
@reading_options
def walk(*, query: str, beam: int, path: str, corpus: str | None, as_json: bool, **given: Any) -> int:
    """Go from the root down by similarity to QUERY, and show the way."""
    found = ask(lambda tree: tree.walk(query, beam, path=path), corpus=corpus, given=given, encodes=True)
    if as_json:
        from tree_builder.query import as_json as plain

        print_json({"query": query, "steps": plain(found.steps), "hits": [_hit_json(hit) for hit in found.hits]})
        return 0
    from tree_builder.cli import render

    out = render.console()
    for line in render.walk_lines(found):
        out.print(line, soft_wrap=True)
    out.print()
    for place, hit in enumerate(found.hits, 1):
        render.show(out, render.hit_lines(place, hit))
    return 0


@click.command(short_help="The passages which answer a query best, within a budget of tokens.")
@click.argument("query")
@click.option(
    "--budget", "budget_tokens", default=2000, show_default=True, metavar="TOKENS", help="At most so many tokens."
)
@INSIDE
@MODE
@asking_options
@reading_options
def context(
    *, query: str, budget_tokens: int, inside: str, mode: Mode, corpus: str | None, as_json: bool, **given: Any
) -> int:
    """Print what a language model should read to answer QUERY: whole passages in document order, each with its source."""
    found = ask(
        lambda tree: tree.context(query, budget_tokens, mode=mode, in_=inside),
        corpus=corpus,
        given=given,
        encodes=mode != "text",
    )
    if as_json:
        from tree_builder.query import as_json as plain

        print_json({**plain(found), "text": found.text})
        return 0
    from tree_builder.cli import render

    _warn(found.warning)
    render.show(render.console(), render.context_text(found))
    click.echo(f"{found.tokens} of {budget_tokens} tokens", err=True)
    return 0


@click.command(short_help="One node: content, place, parents, children, pages.")
@click.argument("node_id")
@reading_options
def show(*, node_id: str, corpus: str | None, as_json: bool, **given: Any) -> int:
    """Show the node NODE_ID: its content and place, its parents up to the root, its children."""

    async def work(tree: AsyncSummaryTree) -> Any:
        node = await tree.get(node_id)
        return node, await tree.ancestors(node), await tree.children(node)

    node, above, children = ask(work, corpus=corpus, given=given)
    if as_json:
        from tree_builder.query import as_json as plain

        print_json({**plain(node), "parents": plain(above), "children": plain(children)})
        return 0
    from tree_builder.cli import render

    out = render.console()
    for line in render.node_lines(node, above, children):
        render.show(out, line)
    return 0


@click.command(short_help="Nodes which are like a node.")
@click.argument("node_id")
@click.option("-k", "k", default=10, show_default=True, metavar="N", help="How many hits.")
@INSIDE
@TYPES
@reading_options
def similar(
    *, node_id: str, k: int, inside: str, types: tuple[str, ...], corpus: str | None, as_json: bool, **given: Any
) -> int:
    """Find the nodes whose content is most similar to that of NODE_ID."""
    hits = ask(lambda tree: tree.similar(node_id, k, in_=inside, types=types or None), corpus=corpus, given=given)
    _print_hits(hits, hits, as_json=as_json)
    return 0


@click.command(short_help="What came, went and changed between two runs.")
@click.argument("run_a", type=int, required=False)
@click.argument("run_b", type=int, required=False)
@reading_options
def diff(*, run_a: int | None, run_b: int | None, corpus: str | None, as_json: bool, **given: Any) -> int:
    """Say which documents and directories differ between two runs: by default the published one and the one before.

    With one run, between that run and the published one.
    """
    found = ask(lambda tree: tree.diff(run_a, run_b), corpus=corpus, given=given)
    if as_json:
        from tree_builder.query import as_json as plain

        print_json(plain(found))
        return 0
    from tree_builder.cli import render

    out = render.console()
    for line in render.diff_lines(found):
        render.show(out, line)
    return 0


def _print_hits(hits: Hits, listed: Sequence[Hit], *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "query": hits.query,
                "mode": hits.mode,
                "warning": hits.warning,
                "hits": [_hit_json(hit) for hit in listed],
            }
        )
        return
    from tree_builder.cli import render

    _warn(hits.warning)
    out = render.console()
    for place, hit in enumerate(listed, 1):
        render.show(out, render.hit_lines(place, hit))
    if not listed:
        click.echo("nothing was found", err=True)


def _hit_json(hit: Hit) -> dict[str, Any]:
    from tree_builder.query import as_json as plain

    document: dict[str, Any] = plain(hit)
    document["path"] = hit.path
    return document


def _warn(warning: str) -> None:
    if warning:
        click.echo(f"tree-builder: {warning}", err=True)


def _moment(text: str | None) -> int | datetime | None:
    """Read a run's number or a time.

    Raises:
        ConfigError: it is neither.
    """
    if text is None or text.isdecimal():
        return None if text is None else int(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(
            f"{text!r} is neither a run nor a date as 2026-03-01 or 2026-03-01T08:00", name="at"
        ) from error


def _pages(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, _, last = text.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()):
        raise ConfigError(f"--pages {text!r}: give one page, as 3, or a range, as 3-7", name="pages")
    return int(first), int(last or first)


def _can_draw() -> bool:
    """Say whether standard output can print the characters of the picture."""
    try:
        "█▏│├└─›…".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
