"""Which run and document a log line is about, carried by context variables through the tasks of a run."""

from __future__ import annotations

import contextvars
import logging

run_id: contextvars.ContextVar[int | None] = contextvars.ContextVar("run_id", default=None)
doc_path: contextvars.ContextVar[str | None] = contextvars.ContextVar("doc_path", default=None)


class RunContextFilter(logging.Filter):
    """Adds run_id and doc_path to records which do not say them."""

    def filter(self, record: logging.LogRecord) -> bool:
        for name, variable in (("run_id", run_id), ("doc_path", doc_path)):
            if getattr(record, name, None) is None:
                setattr(record, name, variable.get())
        return True
