"""What the README lists is what the program has."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from tree_builder.cli import COMMANDS
from tree_builder.settings import Settings

README = Path(__file__).parent.parent / "README.md"


def settings_table() -> str:
    """Give the settings as a Markdown table."""
    defaults = Settings()
    lines = ["| name | default | what it is |", "| --- | --- | --- |"]
    for f in fields(Settings):
        if f.name == "prices":
            continue
        value = getattr(defaults, f.name)
        shown = (
            {None: "", True: "true", False: "false"}.get(value, value)
            if not isinstance(value, (int, float)) or isinstance(value, bool)
            else value
        )
        lines.append(f"| `{f.name}` | {shown} | {f.metadata['help'].replace('|', '&#124;')} |")
    return "\n".join(lines)


def commands_table() -> str:
    """Give the commands as a Markdown table."""
    rows = [f"| `tree-builder {name}` | {help_text} |" for name, (_, help_text) in COMMANDS.items()]
    return "\n".join(["| command | what it does |", "| --- | --- |", *rows])


def between(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)\n?<!-- /{name} -->", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


def test_settings_table_is_current() -> None:
    """The README's table holds every setting, its default and its meaning."""
    assert between("settings") == settings_table()


def test_commands_table_is_current() -> None:
    """The README's table holds every command with its help."""
    assert between("commands") == commands_table()


if __name__ == "__main__":  # writes the tables anew
    text = README.read_text(encoding="utf-8")
    for name, table in (("settings", settings_table()), ("commands", commands_table())):
        text = text.replace(between(name), table)
    README.write_text(text, encoding="utf-8")
