"""HTML for notebooks. Document text is data: everything is escaped here, nothing is taken as markup but `Raw`. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_TEXT = "white-space:pre-wrap;text-align:left"


class Raw(str):
    """Names a column whose cells are HTML already, made by `marked`."""

    __slots__ = ()


def heading(text: str) -> str:
    return f"<b>{escape(text)}</b>"


def marked(text: str, marks: Sequence[tuple[int, int]] = ()) -> str:
    """Escape a text and mark the given ranges of its characters."""
    parts, at = [], 0
    for start, end in marks:
        parts += [escape(text[at:start]), "<mark>", escape(text[start:end]), "</mark>"]
        at = end
    return "".join(parts) + escape(text[at:])


def card(title: str, text: str, *, marks: Sequence[tuple[int, int]] = (), note: str = "") -> str:
    """Show a text below its title."""
    foot = f"<div><small>{escape(note)}</small></div>" if note else ""
    return f'<div>{heading(title)}<div style="{_TEXT}">{marked(text, marks)}</div>{foot}</div>'


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = "") -> str:
    """Show rows below a title. Cells of a column named by a `Raw` are taken as they are, all others are escaped."""
    head = "".join(f"<th>{escape(str(column))}</th>" for column in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_TEXT}">{cell if isinstance(column, Raw) else escape(cell)}</td>'
            for column, cell in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    foot = f"<div><small>{escape(note)}</small></div>" if note else ""
    return f"<div>{heading(title)}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}</div>"
