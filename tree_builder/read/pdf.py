"""PDF to text, by pdfium: pages to lines, running lines dropped, tables kept, the rest joined to paragraphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any

import pypdfium2 as pdfium

from tree_builder.errors import UnreadableDocument
from tree_builder.model import DocumentStatus, ReadText
from tree_builder.read import calls
from tree_builder.read.flow import flow
from tree_builder.read.furniture import drop_running_lines
from tree_builder.read.lines import Line, Page, read_lines
from tree_builder.read.outline import locate, read_outline
from tree_builder.read.tables import TableSearch
from tree_builder.read.text import clean

_LEAST_ALNUM = 20  # letters and digits a page; scans gave 40 line breaks for 6 pages
_USELESS_TITLE = re.compile(
    r"^(untitled|unknown|document\d*|microsoft word.*|slide \d+|.*\.(docx?|pptx?|xlsx?|dvi|tex|pdf|txt|rtf|indd|wpd|ps))?$",
    re.IGNORECASE,
)


def read_pdf(data: bytes, name: str) -> ReadText:
    """Read a PDF's text. Pages which cannot be read leave an empty page and a warning.

    Raises:
        UnreadableDocument: `encrypted`, `malformed` (with pdfium's reason) or `empty`.
    """
    document = _open(data, name)
    try:
        warnings: list[str] = []
        pages = _pages(document, warnings)
        _refuse_scanned(document, pages, name)
        _tell_low_yield(data, pages, warnings)
        stated = _stated_title(document)
        drop_running_lines(pages)
        first = [line for line in pages[0].lines[:40] if line.y > 0.4 * pages[0].height]
        text, starts = flow(pages)
        outline = locate(read_outline(document), text, starts)
        title = stated or _shown_title(first) or (outline[0].title if outline else PurePosixPath(name).stem)
        return ReadText(text, tuple(starts), outline, title, None, tuple(warnings))
    finally:
        document.close()


def _open(data: bytes, name: str) -> Any:
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        why = str(error).rpartition("PDFium: ")[2].rstrip("). ")
        if "password" in why.lower() or "security" in why.lower():
            status, reason = DocumentStatus.ENCRYPTED, "a password is needed to open it"
        else:
            status, reason = DocumentStatus.MALFORMED, f"pdfium cannot load it: {why}"
        raise UnreadableDocument(reason, status=status, doc_path=name) from error


def _pages(document: Any, warnings: list[str]) -> list[Page]:
    handle = calls.address(document.raw)
    pages: list[Page] = []
    bad: list[int] = []
    no_tables: list[int] = []
    search = TableSearch()
    for index in range(len(document)):
        page = calls.load_page(handle, index)
        if not page:
            bad.append(index + 1)
            pages.append(Page())
            continue
        text_page = calls.load_text(page)
        try:
            read = read_lines(page, text_page)
            pages.append(read)
            if read.grid is not None and not search.set_tables(page, text_page, read):
                no_tables.append(index + 1)
        finally:
            calls.close_text(text_page)
            calls.close_page(page)
    if bad:
        warnings.append(f"pages which could not be read: {_some(bad)}")
    if no_tables:
        warnings.append(f"pages whose tables were not looked for: {_some(no_tables)}")
    return pages


def _some(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:20])) + (" and more" if len(numbers) > 20 else "")


def _refuse_scanned(document: Any, pages: Sequence[Page], name: str) -> None:
    """Refuse a file without text, and one of pictures with a few letters, as the stamp of a scanner."""
    found = 0
    for page in pages:
        found += sum(sum(map(str.isalnum, line.text)) for line in page.lines)
        if found >= _LEAST_ALNUM * len(pages):
            return
    many = f"{len(pages)} page{'s' if len(pages) > 1 else ''}"
    if not pages or not found:
        reason = f"no text on {many}" + (": perhaps scanned" if pages and _has_pictures(document) else "")
    elif _has_pictures(document):
        reason = f"{found} letters and digits on {many}: perhaps scanned"
    else:
        return
    raise UnreadableDocument(reason, status=DocumentStatus.EMPTY, doc_path=name)


def _has_pictures(document: Any) -> bool:
    handle = calls.address(document.raw)
    for index in range(min(len(document), 20)):
        page = calls.load_page(handle, index)
        if page:
            kinds = {calls.object_type(calls.get_object(page, place)) for place in range(calls.count_objects(page))}
            calls.close_page(page)
            if calls.OBJECT_IMAGE in kinds:
                return True
    return False


def _tell_low_yield(data: bytes, pages: Sequence[Page], warnings: list[str]) -> None:
    """Warn of a file which was damaged: pdfium repairs what it can and says nothing of what is lost."""
    blank = sum(not page.lines for page in pages)
    if blank and blank >= max(2, len(pages) // 4):
        warnings.append(f"{blank} of {len(pages)} pages have no text")
    if b"%%EOF" not in data[-2048:] or b"startxref" not in data[-4096:]:
        warnings.append("the file is cut off or damaged: text may be missing")


def _stated_title(document: Any) -> str | None:
    stated = " ".join(clean(document.get_metadata_value("Title") or "").split())
    return stated if 3 <= len(stated) <= 200 and not _USELESS_TITLE.match(stated) else None


def _shown_title(lines: Sequence[Line]) -> str | None:
    """Give the first lines of the first page's largest print, where it is clearly larger than the rest."""
    if not lines:
        return None
    sizes = sorted(line.size for line in lines)
    largest = sizes[-1]
    if len(lines) > 3 and largest < 1.15 * sizes[len(sizes) // 2]:
        return None
    first = next(place for place, line in enumerate(lines) if line.size > 0.95 * largest)
    words = " ".join(line.text for line in takewhile(lambda line: line.size > 0.95 * largest, lines[first : first + 4]))
    return words if 3 <= len(words) <= 200 and words[-1] not in ".,;" else None
