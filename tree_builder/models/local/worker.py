"""The process which does the CPU work of the local models: one thread, jobs on stdin, answers on stdout.

Started as a program of its own rather than through `multiprocessing`: that would import the user's main module again, and its
children outlive a parent which is killed, since they hold both ends of their queue. Here the end of stdin ends the worker.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from tree_builder.models.local import frames

_BLAS_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "BLIS_NUM_THREADS",
)
ONE_THREAD = dict.fromkeys(_BLAS_VARIABLES, "1")
"""BLAS threads fight the other workers for cores: two threads under contention ran five times slower than one. Read by BLAS as it loads."""


def answer(job: str, head: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Do one job. Each imports what it needs when it is first asked, so that extraction alone never loads the weights."""
    if job == "embed":
        from tree_builder.models.local.vectors import embed

        vectors = embed(head["texts"])
        return {"shape": list(vectors.shape)}, vectors.tobytes()
    if job == "extract":
        from tree_builder.models.local.extraction import Passage, extract

        items, context = ([Passage(*p) for p in head[name]] for name in ("items", "context"))
        text = extract(items, context, chars=head["chars"], leads=head["leads"], covering=head["covering"])
        return {"text": text}, b""
    raise ValueError(f"a local worker knows embed and extract, not {job!r}")


def main() -> None:
    """Serve jobs until stdin ends. An error is answered, not raised: one bad text must not cost the loaded model."""
    for name, value in ONE_THREAD.items():
        os.environ[name] = value
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library which prints must not write into the frames
    while (frame := frames.read(stdin)) is not None:
        head, _ = frame
        try:
            reply, body = answer(head["job"], head)
        except Exception as error:  # noqa: BLE001 - told to the parent, which knows the text's document
            reply, body = {"error": f"{type(error).__name__}: {error}"}, b""
        try:
            stdout.write(frames.pack(reply, body))
            stdout.flush()
        except BrokenPipeError:  # the parent is gone, and nobody waits for a traceback
            os._exit(0)
