"""Command-line options made from the settings, so that each has one name everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import click

from tree_builder.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

SHORT = {"database_url": ("--database", "database_url")}
LEFT_OUT = {"prices"}


def setting_options(command: F) -> F:
    """Add an option for every setting."""
    hints = get_type_hints(Settings)
    for f in reversed(fields(Settings)):
        if f.name not in LEFT_OUT:
            command = _option(f.name, hints[f.name], f.metadata.get("help", ""))(command)
    return command


def _option(name: str, hint: Any, help_text: str) -> Callable[[F], F]:
    flag = "--" + name.replace("_", "-")
    names = SHORT.get(name, (flag, name))
    kinds = [hint] if get_origin(hint) is Literal else [t for t in get_args(hint) or (hint,) if t is not type(None)]
    kind = kinds[0]
    if kind is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=help_text)
    metavar = "|".join(map(str, get_args(kind))) if get_origin(kind) is Literal else _METAVARS.get(kind, "TEXT")
    return click.option(*names, default=None, metavar=metavar, help=help_text)


_METAVARS: Mapping[Any, str] = {int: "N", float: "X", str: "TEXT", Path: "PATH"}


def settings_from(given: Mapping[str, Any]) -> Settings:
    """Gather the settings, those given on the command line winning.

    Raises:
        ConfigError: an unknown name or a value which cannot be used.
    """
    return Settings.load(given)


def database_options(command: F) -> F:
    """Add the options which say where the database is and how to log."""
    hints = get_type_hints(Settings)
    for name in ("log_level", "log_format", "data_dir", "database_url"):
        helps = next(f.metadata.get("help", "") for f in fields(Settings) if f.name == name)
        command = _option(name, hints[name], helps)(command)
    return command
