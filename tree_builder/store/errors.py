"""The driver's errors become this package's, in one place. Nothing above the store sees psycopg."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import psycopg_pool

from tree_builder.errors import ConfigError, Conflict, SchemaOutOfDate, StoreError, StoreUnavailable, TreeBuilderError

# https://www.postgresql.org/docs/current/errcodes-appendix.html
_MAY_PASS = ("08", "40", "53300", "55006", "55P03", "57P01", "57P02", "57P03", "57P05")
_WRONG_SETTINGS = ("28", "3D000")
# A refused connection comes without a SQL state, so only its words tell it from a server which is away.
_REFUSED = re.compile(
    r"authentication failed|does not exist|no password supplied|no pg_hba\.conf entry|not permitted to log in"
    r"|invalid (integer|port|\w+) (value|number)"
)
_NO_SCHEMA = ("3F000", "42P01", "42703", "42883")
_ADVICE = {
    "25006": "the server is read-only; use the address of the primary",
    "42501": "the role lacks a right; use a role which may do this, or ask its owner to grant it",
    "53100": "the disk of the database is full; free some space, then run again: nothing half done is visible",
    "53200": "the database server is out of memory; give it more, or lower its maintenance_work_mem",
    "57014": "the statement was cancelled or took longer than statement_timeout",
}


def translate(error: Exception) -> TreeBuilderError:
    """Give this package's error for the driver's. Fact `sqlstate`; only the server's first line is quoted.

    The details which a server adds may quote rows, that is, texts of documents: they stay in `__cause__`.
    """
    if isinstance(error, psycopg_pool.PoolTimeout):
        return StoreUnavailable(f"no connection to the database became free or could be made: {error}")
    state = getattr(error, "sqlstate", None) or ""
    diag = getattr(error, "diag", None)
    text = (diag and diag.message_primary) or str(error).strip().split("\n")[0] or type(error).__name__
    message = f"{text}; {_ADVICE[state]}" if state in _ADVICE else text
    refused = not state and isinstance(error, psycopg.OperationalError) and _REFUSED.search(str(error))
    if refused or state.startswith(_WRONG_SETTINGS):
        return ConfigError(f"the database refused the connection: {text}; check the database address", sqlstate=state)
    if state.startswith(_MAY_PASS) or (not state and isinstance(error, psycopg.OperationalError)):
        return StoreUnavailable(f"the database cannot be reached, or went away: {message}", sqlstate=state)
    if state in _NO_SCHEMA:
        return SchemaOutOfDate(f"{text}; run `tree-builder db migrate` with this version", sqlstate=state)
    if state.startswith("23"):
        return Conflict(message, sqlstate=state)
    return StoreError(message, sqlstate=state)


@contextmanager
def translated() -> Iterator[None]:
    """Raise this package's errors in place of the driver's, the driver's kept as cause."""
    try:
        yield
    except (psycopg.Error, psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed) as error:
        raise translate(error) from error


def is_transient(error: BaseException) -> bool:
    """Say whether doing the same once more may help: a lost connection, a restarting server, a deadlock.

    After an error during COMMIT the transaction may have taken effect: repeat only what is idempotent.
    """
    return isinstance(error, StoreUnavailable)
