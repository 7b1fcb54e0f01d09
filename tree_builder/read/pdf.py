"""PDF to text, by pdfium: pages to lines, running lines dropped, tables kept, the rest joined to paragraphs."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

import pypdfium2 as pdfium

from tree_builder.errors import UnreadableDocument
from tree_builder.model import DocumentStatus, ReadText
from tree_builder.read.flow import flow
from tree_builder.read.furniture import drop_running_lines
from tree_builder.read.lines import Page, read_lines
from tree_builder.read.outline import locate, read_outline
from tree_builder.read.tables import set_tables

_USELESS_TITLE = re.compile(
    r"^(untitled|unknown|document\d*|microsoft word.*|slide \d+|.*\.(docx?|pptx?|xlsx?|dvi|tex|pdf|txt|rtf|indd|wpd|ps))?$",
    re.I,
)


def read_pdf(data: bytes, name: str) -> ReadText:
    """Read a PDF's text. Pages which cannot be read leave an empty page and a warning.

    Raises:
        UnreadableDocument: `encrypted` or `malformed`, with pdfium's reason.
    """
    document = _open(data, name)
    try:
        warnings: list[str] = []
        pages = _pages(document, warnings)
        if not pages:
            raise UnreadableDocument("the file has no pages", status=DocumentStatus.MALFORMED, doc_path=name)
        set_tables(document, data, pages, warnings)
        drop_running_lines(pages)
        text, starts = flow(pages)
        outline = locate(read_outline(document), text, starts)
        return ReadText(text, tuple(starts), outline, _title(document, pages, name), None, tuple(warnings))
    finally:
        document.close()


def _open(data: bytes, name: str) -> Any:
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        message = str(error)
        encrypted = "password" in message.lower() or "security" in message.lower()
        status = DocumentStatus.ENCRYPTED if encrypted else DocumentStatus.MALFORMED
        reason = (
            "a password is needed to open it"
            if encrypted
            else f"pdfium cannot load it: {message.split('(')[-1].rstrip('). ')}"
        )
        raise UnreadableDocument(reason, status=status, doc_path=name) from error


def _pages(document: Any, warnings: list[str]) -> list[Page]:
    pages = []
    bad = []
    for index in range(len(document)):
        try:
            page = document[index]
        except pdfium.PdfiumError:
            bad.append(index + 1)
            pages.append(Page())
            continue
        try:
            pages.append(read_lines(page))
        except pdfium.PdfiumError:
            bad.append(index + 1)
            pages.append(Page())
        finally:
            page.close()
    if bad:
        warnings.append(
            f"pages which could not be read: {', '.join(map(str, bad[:20]))}{' and more' if len(bad) > 20 else ''}"
        )
    return pages


def _title(document: Any, pages: list[Page], name: str) -> str:
    stated = " ".join((document.get_metadata_value("Title") or "").split())
    if 3 <= len(stated) <= 200 and not _USELESS_TITLE.match(stated):
        return stated
    lines = pages[0].lines[:40]
    if lines:
        largest = max(line.size for line in lines)
        words = " ".join(line.text for line in lines if line.size > 0.95 * largest)
        if 3 <= len(words) <= 200:
            return words
    return PurePosixPath(name).stem
