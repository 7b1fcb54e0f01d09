"""Addresses of databases: understood, completed, and shown without their passwords."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import conninfo

from tree_builder.errors import ConfigError

# libpq waits for ever by default; a peer which vanished without a word is noticed after about two minutes.
_DEFAULTS = {
    "connect_timeout": "10",
    "keepalives_idle": "60",
    "keepalives_interval": "15",
    "keepalives_count": "4",
}


def parameters_of(url: str, application_name: str) -> dict[str, Any]:
    """Split the address into libpq's parameters, with our defaults, and the application's name, where it leaves them open.

    Raises:
        ConfigError: it cannot be understood. libpq's own words are dropped: they may quote the password.
    """
    url = re.sub(r"\A(postgres(?:ql)?)\+\w+://", r"\1://", url)
    try:
        given = conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise ConfigError(
            "the database address cannot be understood; expected postgresql://USER:PASSWORD@HOST:PORT/NAME"
            " (special characters in the password as %XX)"
        ) from None
    return {**_DEFAULTS, "application_name": application_name, **given}


def redact(url: str) -> str:
    """Give the address with its password, if it has one, as `***`.

    Raises:
        ConfigError: it cannot be understood.
    """
    given = parameters_of(url, "")
    if not given.get("password") and not given.get("sslpassword"):
        return url
    if "://" not in url:
        return conninfo.make_conninfo(url, password="***")  # noqa: S106 -- what is shown instead of one
    parts = urlsplit(url)
    user, _, place = parts.netloc.rpartition("@")
    netloc = f"{user.split(':')[0]}:***@{place}" if ":" in user else parts.netloc
    query = re.sub(r"(^|&)((?:ssl)?password)=[^&]*", r"\1\2=***", parts.query)
    return urlunsplit(parts._replace(netloc=netloc, query=query))


def split_password(url: str) -> tuple[str, str | None]:
    """Give the address without its password, as psql takes it, and the password."""
    given = parameters_of(url, "psql")
    password = given.pop("password", None)
    return conninfo.make_conninfo(**given), password
