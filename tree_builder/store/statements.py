"""Named SQL queries: reads `queries/<subject>.sql` and turns psql's parameters into psycopg's. Runs nothing.

A file is a row of blocks, so that it runs in psql (`psql -v doc_path=a/b.pdf -f ...`) as well as here:

    -- name: get_top
    -- The top of one document.
    select content from tree_builder.nodes where doc_path = :'doc_path' and node_type = 'doc_top';

`:name` and psql's quoting form `:'name'` are the same parameter. What only looks like one is left alone: `::casts`, `:=`,
slices (`a[1:n]`), and whatever stands in strings, quoted names, dollar quotes and comments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

from tree_builder.errors import StoreError

_NAME = re.compile(r"^--[ \t]*name:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_TOKEN = re.compile(
    r"""
      (?P<comment> --[^\n]* | /\*(?:[^*/] | \*(?!/) | /(?!\*) | /\*.*?\*/)*\*/ )
    | (?P<parameter> (?<![\w\])"':]) :(?: (?P<bare>[a-z_]\w*) | '(?P<quoted>[a-z_]\w*)' ) )
    | (?P<literal> \b[eE]'(?:[^'\\] | \\. | '')*' | '(?:[^'] | '')*' | "(?:[^"] | "")*"
                 | (?<!\w)\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$ )
    | (?P<end> ; )
    | (?P<other> ::|:=|[^\W\d]\w*|\s+|. )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One query by its name. sql: psycopg's form, `%(name)s` for each of `parameters`, literal percents doubled."""

    name: str
    description: str
    sql: str
    parameters: frozenset[str]

    def check(self, given: Mapping[str, object]) -> None:
        """Refuse parameters which do not fit.

        Raises:
            StoreError: one is missing, or one is not known to the statement.
        """
        if given.keys() != self.parameters:
            missing, unknown = sorted(self.parameters - given.keys()), sorted(given.keys() - self.parameters)
            raise StoreError(f"query {self.name}: missing parameters {missing}, unknown ones {unknown}", name=self.name)


@cache
def load(subject: str) -> Mapping[str, Statement]:
    """Load the statements of `queries/<subject>.sql` by name, in the file's order. Read once a process.

    Raises:
        StoreError: there is no such file, or it is not as this module's docstring says.
    """
    file = resources.files("tree_builder.queries") / f"{subject}.sql"
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise StoreError(
            f"there is no queries/{subject}.sql; it should come with the package", subject=subject
        ) from error
    return parse(text, source=f"queries/{subject}.sql")


def subjects() -> list[str]:
    """List the subjects which `load` knows."""
    names = (file.name for file in resources.files("tree_builder.queries").iterdir())
    return sorted(name.removesuffix(".sql") for name in names if name.endswith(".sql"))


def parse(text: str, *, source: str) -> Mapping[str, Statement]:
    """Parse the text of a query file; `source` names it in errors.

    Raises:
        StoreError: a block without name, description or its one statement, or a name used twice.
    """
    starts = list(_NAME.finditer(text))
    statements: dict[str, Statement] = {}
    for match, end in zip(starts, [*(m.start() for m in starts[1:]), len(text)], strict=False):
        name = match[1]
        if not name.isidentifier() or name in statements:
            raise StoreError(f"{source}: the query name {name!r} is no name, or used twice", source=source)
        block = text[match.end() : end]
        statements[name] = _statement(name, block, source)
    return MappingProxyType(statements)


def _statement(name: str, block: str, source: str) -> Statement:
    lines = block.strip().splitlines()
    n_described = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    description = " ".join(line.lstrip("-").strip() for line in lines[:n_described]).strip()
    sql, parameters, rest = _translate("\n".join(lines[n_described:]))
    if not description or not sql.strip() or rest:
        raise StoreError(
            f"{source}: query {name} needs a line `-- what it gives`, then one statement ended by `;`", source=source
        )
    return Statement(name, description, sql.strip(), frozenset(parameters))


def _translate(sql: str) -> tuple[str, set[str], bool]:
    """Give the first statement in psycopg's form, its parameters, and whether its `;` is missing or more follows it."""
    out: list[str] = []
    parameters: set[str] = set()
    ended = more = False
    for token in _TOKEN.finditer(sql):
        kind = token.lastgroup
        if token["end"]:
            more, ended = more or ended, True
        elif token["comment"] or token[0].isspace():
            out.append("" if ended else token[0].replace("%", "%%"))
        elif ended:
            more = True
        elif kind and token["parameter"]:
            parameters.add(name := token["bare"] or token["quoted"])
            out.append(f"%({name})s")
        else:
            out.append(token[0].replace("%", "%%"))
    return "".join(out), parameters, more or not ended
