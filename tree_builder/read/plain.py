"""Plain text and Markdown: bytes to characters, hard-wrapped lines to paragraphs, headings to an outline."""

from __future__ import annotations

import codecs
import re
from itertools import pairwise
from pathlib import PurePosixPath

from tree_builder.model import OutlineEntry, ReadText
from tree_builder.read.text import HYPHEN, clean, hyphenated_words, join_hyphens, tame_leaders

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE_FIELD = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$|^([^\n]{1,200})\n(=+|-+)[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\(?\w{1,3}[.)])\s")
_LONG_BLANK = re.compile(r"[ \t]{100,}")
_MANY_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
_WRAPPED = 45  # characters; shorter lines are lines on purpose


def read_plain(data: bytes, name: str, *, markdown: bool) -> ReadText:
    """Read text or Markdown. Bytes which are no UTF-8 are read as Windows-1252, with a warning."""
    text, warnings = _decode(data)
    text = _MANY_LINES.sub("\n\n", _LONG_BLANK.sub(" ", clean(text).replace(HYPHEN, ""))).strip()
    title = None
    if markdown and (front := _FRONT_MATTER.match(text)):
        stated = _TITLE_FIELD.search(front[1])
        title = stated[1].strip("\"'") if stated else None
        text = text[front.end() :].lstrip()
    known = hyphenated_words(text) if "-\n" in text else frozenset()
    text = tame_leaders(
        "\n\n".join(_paragraph(block, known, markdown=markdown) for block in _blocks(text, markdown=markdown))
    )
    outline = _outline(text) if markdown else ()
    title = title or (outline[0].title if outline else _first_line(text)) or PurePosixPath(name).stem
    return ReadText(text, (0,), outline, title[:200], None, warnings)


def _decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data.decode(encoding, errors="replace"), ()
    try:
        return data.decode(), ()
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace"), ("not UTF-8: read as Windows-1252",)


def _blocks(text: str, *, markdown: bool) -> list[str]:
    """Split at blank lines, but not inside fenced code."""
    if not markdown or ("```" not in text and "~~~" not in text):
        return text.split("\n\n")
    blocks: list[str] = []
    at = 0
    for fence in _FENCE.finditer(text):
        blocks += text[at : fence.start()].strip("\n").split("\n\n")
        blocks.append(fence[0])
        at = fence.end()
    blocks += text[at:].strip("\n").split("\n\n")
    return [block for block in blocks if block]


def _paragraph(block: str, known: frozenset[tuple[str, str]], *, markdown: bool) -> str:
    """Join the lines of a block which was wrapped at a fixed width; leave lists, tables, code and verse as they are."""
    lines = [line.rstrip() for line in block.split("\n")]
    if len(lines) < 2 or (markdown and block.startswith(("```", "~~~"))):
        return "\n".join(lines)
    width = max(map(len, lines))
    out = lines[0]
    for before, line in pairwise(lines):
        word = len(line.split(" ", 1)[0])
        kept = (
            width < _WRAPPED
            or len(before) + word + 1 <= width - 3  # it would have fitted: the line was ended on purpose
            or line[:1] in " \t|>#"
            or before[:1] in " \t|>#"
            or _ITEM.match(line)
            or before.endswith("  ")
            or set(line) <= {"=", "-"}
        )
        if kept:
            out += "\n" + line
        elif before.endswith("-") and before[-2:-1].isalpha() and line[:1].islower():
            out = out[:-1] + join_hyphens(out[-31:-1] + HYPHEN + line, known)[len(out[-31:-1]) :]
        else:
            out += " " + line
    return out


def _outline(text: str) -> tuple[OutlineEntry, ...]:
    fences = [match.span() for match in _FENCE.finditer(text)]
    entries = []
    for match in _HEADING.finditer(text):
        if any(begin <= match.start() < end for begin, end in fences):
            continue
        depth = len(match[1]) if match[1] else 1 if match[4][0] == "=" else 2
        entries.append(OutlineEntry((match[2] or match[3]).strip()[:300], depth, 1, match.start()))
    return tuple(entries)


def _first_line(text: str) -> str | None:
    line, _, rest = text.partition("\n")
    line = line.strip(" #*=-")
    return line if 3 <= len(line) <= 100 and rest[:1] in ("", "\n") and line[-1] not in ".,;" else None
