"""Logs on stderr, as text or JSON lines. Secrets never: keys and passwords are masked wherever they appear."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from datetime import UTC, datetime

from tree_builder.settings import Settings

_SECRETS = (
    re.compile(r"(?<=://)([^/\s:@]+):[^@\s/]+(?=@)"),
    re.compile(r"\bsk-[A-Za-z0-9_\-]{6,}"),
    re.compile(r"(?i)(password\s*=\s*)('[^']*'|\S+)"),
    re.compile(r"(?i)(bearer\s+)\S+"),
)
_CONTEXT = ("run_id", "doc_path", "request_id")


def mask(text: str) -> str:
    """Give the text with whatever looks like a key or password replaced."""
    key = os.environ.get("OPENAI_API_KEY")
    if key and len(key) > 5:
        text = text.replace(key, "***")
    text = _SECRETS[0].sub(r"\1:***", text)
    text = _SECRETS[1].sub("sk-***", text)
    text = _SECRETS[2].sub(r"\1***", text)
    return _SECRETS[3].sub(r"\1***", text)


class TextFormatter(logging.Formatter):
    """`12:00:01 warning tree_builder.job: message (run_id=3)`."""

    def format(self, record: logging.LogRecord) -> str:
        context = " ".join(f"{k}={getattr(record, k)}" for k in _CONTEXT if getattr(record, k, None) is not None)
        when = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        line = f"{when} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        if context:
            line += f" ({context})"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return mask(line)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and what is known of run, document and request."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {k: getattr(record, k) for k in _CONTEXT if getattr(record, k, None) is not None}
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return mask(json.dumps(entry, ensure_ascii=False, default=str))


def configure_logging(settings: Settings) -> None:
    """Send this package's logs to stderr as the settings say."""
    from tree_builder.job.logcontext import RunContextFilter

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter())
    handler.addFilter(RunContextFilter())
    root = logging.getLogger("tree_builder")
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    root.propagate = False
