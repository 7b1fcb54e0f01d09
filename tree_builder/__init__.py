"""tree_builder: a folder of documents as a tree of summaries in PostgreSQL, kept true night after night.

```python
import tree_builder

report = tree_builder.build("papers")
with tree_builder.SummaryTree.open(corpus="papers") as tree:
    print(tree.summary("reports/a.pdf").content)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tree_builder.job.report import Report
    from tree_builder.query import AsyncSummaryTree, SummaryTree

__all__ = ["AsyncSummaryTree", "SummaryTree", "build"]


def build(
    folder: Path | str, *, corpus: str | None = None, rehash: bool = False, reembed: bool = False, **settings: Any
) -> Report:
    """Bring a corpus's tree up to date with its folder, and publish it.

    corpus: its name; default: the folder's. settings: any setting by its name, as `models="openai"`; they win over
    the settings file and the environment. Inside a running event loop use `tree_builder.job.run.build`.

    Raises:
        TreeBuilderError: nothing was published; its subclasses say why.
    """
    import asyncio

    from tree_builder.job.run import Options
    from tree_builder.job.run import build as run_build
    from tree_builder.settings import Settings

    options = Options(rehash=rehash, reembed=reembed)
    return asyncio.run(run_build(folder, Settings.load(settings), corpus=corpus, options=options))


def __getattr__(name: str) -> Any:
    if name in {"SummaryTree", "AsyncSummaryTree"}:
        from tree_builder import query

        return getattr(query, name)
    raise AttributeError(f"module 'tree_builder' has no attribute {name!r}")
