"""`tree-builder demo`: build a folder, then show what was made of it with the commands which one would use."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tree_builder.cli.setting_options import database_options, settings_from

WIDTH = 78


@click.command(short_help="Build a folder and show what was made of it.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--query", help="What to search for; default: the beginning of one document's summary.")
@database_options
def demo(folder: Path, query: str | None, **given: Any) -> int:
    """Build FOLDER with the local models, then show the corpus, a directory, a document, the tree and a search."""
    from tree_builder.cli import cli

    settings = settings_from(given)
    where = ["--database", settings.database_url] if settings.database_url else []
    if settings.data_dir:
        where += ["--data-dir", str(settings.data_dir)]
    corpus = folder.expanduser().resolve().name

    def run(command: str, *args: str, among: bool = True) -> int:
        shown = [command, *args] + (["--corpus", corpus] if among else [])
        click.echo()
        click.secho("$ tree-builder " + shlex.join(shown), bold=True)
        result = cli.main(args=[*shown, *where], standalone_mode=False)
        return result if isinstance(result, int) else 0

    code = run("build", str(folder), among=False)
    directory, document, words = asyncio.run(_examples(settings, corpus))
    run("summary")
    run("tree", "--depth", "3")
    if directory:
        run("summary", directory + "/")
    run("summary", document)
    run("search", query or words, "-k", "4")
    run("check")
    click.echo()
    click.echo(
        "Go on with: tree-builder context QUERY, tree-builder walk QUERY, tree-builder show NODE_ID, tree-builder db psql"
    )
    return code


async def _examples(settings: Any, corpus: str) -> tuple[str | None, str, str]:
    """Choose a directory, its longest document, and words to search for."""
    from tree_builder.job.place import directories_of
    from tree_builder.store.corpora import Corpora
    from tree_builder.store.database import Database, resolve_url

    async with resolve_url(settings) as url, Database.open(url) as db:
        corpora = Corpora(db)
        stored = await corpora.require(corpus)
        known = await corpora.known_documents(stored.corpus_id)
    built = sorted((d for d in known.values() if d.has_tree), key=lambda d: (-d.n_chunks, d.doc_path))
    directories = [d for p, d in directories_of(d.doc_path for d in built).items() if p != "." and d.documents]
    directory = max(directories, key=lambda d: (len(d.documents), d.dir_path)).dir_path if directories else None
    document = next((d for d in built if directory and d.doc_path.startswith(directory + "/")), built[0])
    return directory, document.doc_path, _words(document.title, document.doc_path)


def _words(title: str | None, doc_path: str) -> str:
    words: Sequence[str] = (title or Path(doc_path).stem).replace("_", " ").replace("-", " ").split()
    return " ".join(words[:6]) or Path(doc_path).stem
