"""Reading PDFs: paragraphs, running lines, hyphens, tables, outlines, places."""

from __future__ import annotations

import pytest
from fpdf import FPDF

from tree_builder.errors import UnreadableDocument
from tree_builder.model import DocumentStatus
from tree_builder.read import read_bytes

from .support import SENTENCES, Pages, lines_pdf, made, paragraphs, raw_pdf

TEXT = " ".join(SENTENCES)


def pages_of(data: bytes) -> list[str]:
    read = read_bytes(data, "a.pdf")
    ends = [*read.page_starts[1:], len(read.text)]
    return [read.text[start:end].strip() for start, end in zip(read.page_starts, ends, strict=True)]


def test_lines_become_paragraphs() -> None:
    """Line breaks inside a paragraph become spaces; between paragraphs stands a blank line."""

    def write(pdf: Pages) -> None:
        pdf.paragraph(TEXT)
        pdf.paragraph(TEXT)

    assert read_bytes(made(write), "a.pdf").text == f"{TEXT}\n\n{TEXT}"


def test_running_lines_are_dropped() -> None:
    """A header, and a footer which counts the pages, are gone; a sentence across two pages stays in one piece."""

    texts = paragraphs(40)

    def write(pdf: Pages) -> None:
        for text in texts:
            pdf.paragraph(text)

    text = read_bytes(made(write, "Report of the committee", "- {page} -"), "a.pdf").text
    assert text == "\n\n".join(texts)


def test_headers_which_change_with_the_page_are_dropped() -> None:
    """A header of changing text goes when its number counts with the pages."""

    texts = paragraphs(40)

    def write(pdf: Pages) -> None:
        for number, text in enumerate(texts):
            pdf.running = (f"{SENTENCES[number % 5][:20]} {{page}}", "")
            pdf.paragraph(text)

    assert read_bytes(made(write), "a.pdf").text == "\n\n".join(texts)


def test_real_text_at_the_top_of_pages_stays() -> None:
    """Lines which start pages without repeating are text, though they stand where a header would."""
    firsts = [f"{word} came first and was written about at length." for word in ("Alder", "Birch", "Cedar", "Dogwood")]

    def write(pdf: Pages) -> None:
        for place, first in enumerate(firsts):
            if place:
                pdf.add_page()
            pdf.paragraph(first)
            pdf.paragraph(TEXT)

    assert pages_of(made(write)) == [f"{first}\n\n{TEXT}" for first in firsts]


def test_lists_of_like_entries_keep_them_all() -> None:
    """Entries which differ in a number or a word are no running lines at the edges of pages; the header above them is one."""
    entries = [f"Entry {n} of the register of ships was closed in the year {1700 + n}." for n in range(200)]

    def write(pdf: Pages) -> None:
        for entry in entries:
            pdf.paragraph(entry)

    text = read_bytes(made(write, "Register, second part", "{page}"), "a.pdf").text
    assert " ".join(text.split()) == " ".join(entries)


def test_a_paragraph_is_one_wherever_pages_break() -> None:
    """Text which is set anew, so that its pages end elsewhere, is cut into the same paragraphs."""
    texts = paragraphs(60, seed=4)

    def read(before: int) -> list[str]:
        def write(pdf: Pages) -> None:
            for _ in range(before):
                pdf.paragraph("One more.")
            for text in texts:
                pdf.paragraph(text)

        return read_bytes(made(write), "a.pdf").text.split("\n\n")[before:]

    assert [n for n in range(9) if read(n) != texts] == []


def test_pages_of_one_line_keep_it() -> None:
    """Where the only line of each page repeats, it is the text."""

    def write(pdf: Pages) -> None:
        for number in range(5):
            if number:
                pdf.add_page()
            pdf.paragraph(f"Potato {number}")

    assert pages_of(made(write)) == [f"Potato {number}" for number in range(5)]


def test_words_broken_at_line_ends_are_joined() -> None:
    """A hyphen at the end of a line goes, except before a capital and in words spelt with it elsewhere."""
    lines = [
        (72, 700, "The measure-"),
        (72, 686, "ment of a well-known and new half-"),
        (72, 672, "Installed package was a well-"),
        (72, 658, "known matter to all."),
    ]
    assert read_bytes(lines_pdf(lines), "a.pdf").text == (
        "The measurement of a well-known and new half-Installed package was a well-known matter to all."
    )


def test_hyphens_which_belong_to_a_word_stay() -> None:
    """A hyphen after digits joins without a space; one which waits for its second word keeps its space."""
    lines = [
        (72, 700, "It runs on machines of the 32-"),
        (72, 686, "bit kind, and was made for pre-"),
        (72, 672, "and post-war engines alike all"),
    ]
    assert read_bytes(lines_pdf(lines), "a.pdf").text == (
        "It runs on machines of the 32-bit kind, and was made for pre- and post-war engines alike all"
    )


def test_columns_are_read_one_after_the_other() -> None:
    """The left column comes before the right one, and a sentence goes on across the two."""

    def write(pdf: Pages) -> None:
        with pdf.text_columns(ncols=2, gutter=8, text_align="J") as columns:
            for _ in range(30):
                with columns.paragraph(bottom_margin=2) as paragraph:
                    paragraph.write(TEXT)

    assert read_bytes(made(write), "a.pdf").text.replace("\n\n", " ") == " ".join([TEXT] * 30)


def test_tables_keep_rows_and_cells() -> None:
    """The rows of a ruled table stay rows, in their place, once, with cells apart; a cell of two lines is one cell."""
    rows = [
        ["Name", "Depth", "Remark"],
        ["Outer bank", "4 m", "moves every spring and has to be measured again before the ships return"],
        ["Inner bank", "2 m", ""],
    ]

    def write(pdf: Pages) -> None:
        pdf.paragraph(TEXT)
        with pdf.table(rows):
            pass
        pdf.ln(5)
        pdf.paragraph(TEXT)

    assert read_bytes(made(write), "a.pdf").text == (
        f"{TEXT}\n\nName | Depth | Remark\n"
        "Outer bank | 4 m | moves every spring and has to be measured again before the ships return\n"
        f"Inner bank | 2 m | \u2013\n\n{TEXT}"
    )


def test_lines_of_lists_and_code_stay_lines() -> None:
    """Short lines which end before the margin on purpose keep their ends."""

    def write(pdf: Pages) -> None:
        pdf.paragraph(TEXT)
        for line in ("first = 1", "second = first + 1", "print(second)"):
            pdf.cell(0, 5.2, line, new_x="LMARGIN", new_y="NEXT")

    assert read_bytes(made(write), "a.pdf").text.endswith("first = 1\nsecond = first + 1\nprint(second)")


def test_leaders_are_tamed() -> None:
    """The dots of a table of contents shrink to a sign, and its lines stay lines."""
    lines = [(72.0, 700 - 14 * n, f"Chapter {n} {'. ' * 40}{n}") for n in range(4)]
    assert read_bytes(lines_pdf(lines), "a.pdf").text == "\n".join(f"Chapter {n} \u2026 {n}" for n in range(4))


def test_outline_leads_to_places() -> None:
    """Each bookmark leads to its heading in the text, with depth and page."""

    def write(pdf: Pages) -> None:
        for number in range(3):
            pdf.start_section(f"Chapter {number}")
            pdf.paragraph(f"Chapter {number}")
            pdf.paragraph(TEXT)
            pdf.start_section(f"Part of {number}", level=1)
            pdf.paragraph(f"Part of {number}")
            pdf.add_page()
        pdf.paragraph("The end.")

    read = read_bytes(made(write), "a.pdf")
    assert [(entry.title, entry.depth, entry.page) for entry in read.outline] == [
        (title, depth, page)
        for page in (1, 2, 3)
        for title, depth in ((f"Chapter {page - 1}", 1), (f"Part of {page - 1}", 2))
    ]
    for entry in read.outline:
        assert read.text[entry.char_start :].startswith(entry.title)


def test_titles() -> None:
    """The title is the one stated in the file, else the large print at its top, else the file's name."""
    plain = FPDF()
    plain.add_page()
    plain.set_font("Times", "", 11)
    plain.cell(0, 5, "Just a line of text of some length.")
    assert read_bytes(bytes(plain.output()), "folder/My name.pdf").title == "My name"

    def large(pdf: Pages) -> None:
        pdf.set_font("Times", "B", 22)
        pdf.paragraph("On the Depth of Channels")
        pdf.set_font("Times", "", 11)
        pdf.paragraph(TEXT)

    assert read_bytes(made(large), "a.pdf").title == "On the Depth of Channels"

    def stated(pdf: Pages) -> None:
        large(pdf)
        pdf.set_title("Channels and Banks")

    assert read_bytes(made(stated), "a.pdf").title == "Channels and Banks"

    def useless(pdf: Pages) -> None:
        large(pdf)
        pdf.set_title("Microsoft Word - final2.doc")

    assert read_bytes(made(useless), "a.pdf").title == "On the Depth of Channels"


@pytest.mark.parametrize(
    ("turn", "matrix"), [(90, "0 1 -1 0 {y} 60"), (180, "-1 0 0 -1 552 {y}"), (270, "0 -1 1 0 {x} 732")]
)
def test_pages_turned_sideways_are_read_upright(turn: int, matrix: str) -> None:
    """A page which is shown turned gives the same text as one which is not."""

    def page(form: str, entries: bytes) -> bytes:
        content = "".join(
            f"BT /F1 11 Tf {form.format(x=552 - 14 * n, y=60 + 14 * n)} Tm ({sentence}) Tj ET\n"
            for n, sentence in enumerate(SENTENCES)
        )
        return raw_pdf(content.encode(), page_entries=entries)

    upright = read_bytes(lines_pdf([(60, 552 - 14 * n, text) for n, text in enumerate(SENTENCES)]), "a.pdf")
    turned = read_bytes(page(matrix, b"/Rotate %d " % turn), "a.pdf")
    assert turned.text == upright.text


def test_characters_which_may_not_stay() -> None:
    """Ligatures are expanded; NUL, control characters and the like never reach the text."""
    content = b"BT /F1 11 Tf 72 700 Td (of\\002\\000\\007fice \\240 space) Tj ET"
    text = read_bytes(raw_pdf(content), "a.pdf").text
    assert not set(text) & set(map(chr, range(32)))
    assert "\ufffe" not in text


def test_a_page_of_a_million_characters() -> None:
    """A page with very much text is read whole."""
    row = b"(%s) Tj T*\n" % (b"abcdefghi " * 100)
    read = read_bytes(raw_pdf(b"BT /F1 1 Tf 1 TL 10 780 Td\n" + row * 1000 + b"ET"), "a.pdf")
    assert len(read.text) > 990_000


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (b"", DocumentStatus.EMPTY, "no bytes"),
        (b"not a pdf at all", DocumentStatus.MALFORMED, "Data format error"),
        (raw_pdf(b""), DocumentStatus.EMPTY, "no text on 1 page"),
        (made(lambda pdf: pdf.paragraph(TEXT))[:200], DocumentStatus.MALFORMED, "pdfium cannot load"),
    ],
    ids=["no bytes", "no pdf", "no text", "cut off"],
)
def test_bad_files_end_with_status_and_reason(data: bytes, status: DocumentStatus, reason: str) -> None:
    """Each kind of bad file has its status, and a reason in words."""
    with pytest.raises(UnreadableDocument, match=reason) as caught:
        read_bytes(data, "a.pdf")
    assert caught.value.status == status


def test_encrypted() -> None:
    """A file which needs a password ends as encrypted; one which opens without is read."""

    def locked(pdf: Pages) -> None:
        pdf.paragraph(TEXT)
        pdf.set_encryption("owner", "user")

    with pytest.raises(UnreadableDocument, match="password") as caught:
        read_bytes(made(locked), "a.pdf")
    assert caught.value.status == DocumentStatus.ENCRYPTED

    def open_to_all(pdf: Pages) -> None:
        pdf.paragraph(TEXT)
        pdf.set_encryption("owner", "")

    assert read_bytes(made(open_to_all), "a.pdf").text == TEXT


def test_a_damaged_file_is_told() -> None:
    """A file whose end is missing is read as far as it goes, with a warning."""
    data = made(lambda pdf: pdf.paragraph(TEXT))
    read = read_bytes(data[: data.rindex(b"startxref")], "a.pdf")
    assert any("damaged" in warning for warning in read.warnings)


def test_reading_is_repeatable() -> None:
    """The same bytes give the same text, places and outline."""

    def write(pdf: Pages) -> None:
        for number in range(20):
            pdf.start_section(f"Part {number}")
            pdf.paragraph(TEXT)

    data = made(write, "Header", "{page}")
    assert read_bytes(data, "a.pdf") == read_bytes(data, "a.pdf")
