"""Write the example PDFs from `.src/`: the same bytes each time, so that git sees no change where there is none.

    python examples/make.py

The sources are hidden from a build of this folder by their leading dot. Their markup: `#` title, `~` subtitle, `##` chapter,
`###` section, `|` row of a table, four spaces for code, `> key: value` for the page; anything else is a paragraph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF

HERE = Path(__file__).parent
WRITTEN = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
DOCUMENTS = {  # source -> document, language
    "about": ("about-this-collection.pdf", "en"),
    "handbook": ("handbook/tree-builder-handbook.pdf", "en"),
    "nightly": ("handbook/operations/nightly-runs.pdf", "en"),
    "settings": ("handbook/reference/settings.pdf", "en"),
    "query": ("handbook/reference/query-guide.pdf", "en"),
    "tides": ("library/science/tides.pdf", "en"),
    "soil": ("library/science/soil.pdf", "en"),
    "longitude": ("library/history/finding-longitude.pdf", "en"),
    "paper": ("library/history/paper-travels-west.pdf", "en"),
    "bread": ("library/crafts/sourdough-bread.pdf", "en"),
    "leuchttuerme": ("library/deutsch/leuchttuerme.pdf", "de"),
}


@dataclass
class Source:
    title: str = ""
    subtitle: str = ""
    page: dict[str, str] = field(default_factory=dict)
    blocks: list[tuple[str, list[str]]] = field(default_factory=list)  # kind, lines


def parse(text: str) -> Source:
    source = Source()
    for block in text.strip().split("\n\n"):
        for kind, lines in _pieces(block.split("\n")):
            if kind == "#":
                source.title = lines[0]
            elif kind == "~":
                source.subtitle = lines[0]
            elif kind == ">":
                source.page.update(line.split(": ", 1) for line in lines)
            else:
                source.blocks.append((kind, lines))
    return source


def _pieces(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Group lines of one kind, their marks taken off."""
    marks = {"### ": "###", "## ": "##", "# ": "#", "~ ": "~", "> ": ">", "| ": "|", "    ": "code"}
    group: list[str] = []
    before = ""
    for line in lines:
        mark = next((mark for mark in marks if line.startswith(mark)), "")
        kind = marks.get(mark, "text")
        if group and kind != before:
            yield before, group
            group = []
        group.append(line[len(mark) :])
        before = kind
    if group:
        yield before, group


class Document(FPDF):
    """A PDF in the look of its kind: `book` (large print on A5, an outline, chapters on new pages) or `article` (A4)."""

    def __init__(self, source: Source, language: str, *, book: bool) -> None:
        super().__init__(format=(148, 210) if book else (210, 297))
        self.source, self.book = source, book
        self.size = 13.0 if book else 11.0
        self.step = 6.6 if book else 5.4
        self.running = source.title if book else source.page.get("header", "")
        self.set_title(source.title)
        self.set_author("The authors of tree_builder")
        self.set_lang(language)
        self.set_creation_date(WRITTEN)
        self.set_margins(20, 22, 20)
        self.set_auto_page_break(auto=True, margin=22)

    def header(self) -> None:
        if self.running and self.page_no() > 1:
            self.set_y(10)
            self.set_font("Helvetica", "I", 8)
            self.cell(0, 5, self.running, align="L")
            self.set_y(self.t_margin)

    def footer(self) -> None:
        if self.running:
            self.set_y(-14)
            self.set_font("Helvetica", "", 8)
            self.cell(0, 5, str(self.page_no()), align="C")

    def write_all(self) -> None:
        self.add_page()
        if self.book:
            self.set_y(70)
        self.set_font("Times", "B", 2 * self.size)
        self.multi_cell(0, 2.2 * self.size / 2.83, self.source.title, align="L", new_x="LMARGIN", new_y="NEXT")
        if self.source.subtitle:
            self.ln(2)
            self.set_font("Times", "I", self.size + 2)
            self.multi_cell(0, self.step + 1, self.source.subtitle, align="L", new_x="LMARGIN", new_y="NEXT")
        self.ln(5)
        if columns := int(self.source.page.get("columns", 1)) - 1:
            self._in_columns(columns + 1)
        else:
            if self.book:
                self.add_page()
                self.insert_toc_placeholder(_contents, 1, allow_extra_pages=False)
            for kind, lines in self.source.blocks:
                self._block(kind, lines)

    def _block(self, kind: str, lines: list[str]) -> None:
        if kind in ("##", "###"):
            self._heading(lines[0], 0 if kind == "##" else 1)
        elif kind == "|":
            self._table([[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines])
        elif kind == "code":
            self.set_font("Courier", "", self.size - 2.5)
            for line in lines:
                self.cell(0, self.step - 0.8, "  " + line, new_x="LMARGIN", new_y="NEXT")
            self.ln(3)
        else:
            self.set_font("Times", "", self.size)
            self.multi_cell(0, self.step, " ".join(lines), align="J", new_x="LMARGIN", new_y="NEXT")
            self.ln(3)

    def _heading(self, title: str, level: int) -> None:
        if self.book and level == 0 and self.page_no() > 1:
            if self.get_y() > self.t_margin + 1:
                self.add_page()
        elif self.get_y() > self.h - 55:
            self.add_page()
        if level or not self.book:
            self.ln(2)
        self.start_section(title, level=level)
        self.set_font("Helvetica", "B", self.size + (3 if level == 0 else 0.5))
        self.multi_cell(0, self.step + 2, title, align="L", new_x="LMARGIN", new_y="NEXT")
        self.ln(1.5)

    def _table(self, rows: list[list[str]]) -> None:
        self.set_font("Times", "", self.size - 1)
        with self.table(rows, line_height=self.step, padding=1, text_align="LEFT", width=self.epw):
            pass
        self.ln(5)

    def _in_columns(self, count: int) -> None:
        with self.text_columns(ncols=count, gutter=8, text_align="J", line_height=1.25) as columns:
            for kind, lines in self.source.blocks:
                if kind == "##":
                    self.set_font("Helvetica", "B", self.size + 1)
                    with columns.paragraph(top_margin=2, bottom_margin=1.5, text_align="L") as paragraph:
                        paragraph.write(lines[0])
                else:
                    self.set_font("Times", "", self.size)
                    with columns.paragraph(bottom_margin=2.5) as paragraph:
                        paragraph.write(" ".join(lines))


def _contents(pdf: FPDF, outline: list) -> None:  # type: ignore[type-arg] # sections of fpdf2
    pdf.set_x(pdf.l_margin)
    pdf.set_font("Helvetica", "B", 16)
    pdf.cell(0, 10, "Contents", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Times", "", 12)
    for section in (entry for entry in outline if entry.level == 0):
        name, number = section.name, str(section.page_number)
        room = pdf.epw - pdf.get_string_width(name) - pdf.get_string_width(number) - 4
        dots = " ." * int(room / pdf.get_string_width(" ."))
        pdf.cell(0, 7.5, f"{name}{dots} {number}", align="L", new_x="LMARGIN", new_y="NEXT")


def make(name: str, target: Path, language: str) -> int:
    """Write one document; give its number of pages."""
    pdf = Document(parse((HERE / ".src" / f"{name}.src").read_text("utf-8")), language, book=name == "handbook")
    pdf.write_all()
    target.parent.mkdir(parents=True, exist_ok=True)
    pdf.output(str(target))
    return pdf.pages_count


def main() -> None:
    for name, (path, language) in DOCUMENTS.items():
        print(f"{path}: {make(name, HERE / path, language)} pages")


if __name__ == "__main__":
    main()
