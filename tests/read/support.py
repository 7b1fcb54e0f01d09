"""PDFs made for tests."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from functools import cache

from fpdf import FPDF

SENTENCES = (
    "The committee measured the depth of the channel at seventeen places in the spring.",
    "Between the lighthouse and the harbour the water was shallow and full of sand.",
    "A pilot had to know each of the banks by name and by the colour of the waves.",
    "In winter the ice closed the river for weeks, and ships waited in the roads.",
    "Nobody could say who had drawn the first chart, but everyone relied on it.",
)


def paragraphs(count: int, seed: int = 1) -> list[str]:
    """Make paragraphs of which no two are alike."""
    chance = random.Random(seed)
    words = " ".join(SENTENCES).lower().replace(".", "").replace(",", "").split()
    return [
        " ".join(" ".join(chance.choices(words, k=chance.randint(8, 20))).capitalize() + "." for _ in range(5))
        for _ in range(count)
    ]


class Pages(FPDF):
    """A4 pages with a running header and footer, if given. `{page}` in them is the number of the page."""

    def __init__(self, header: str = "", footer: str = "") -> None:
        super().__init__(format=(210, 297))
        self.running = (header, footer)
        self.set_margins(25, 30, 25)
        self.set_auto_page_break(auto=True, margin=30)
        self.set_font("Times", "", 11)

    def header(self) -> None:
        if self.running[0]:
            self.set_y(12)
            self.cell(0, 5, self.running[0].format(page=self.page_no()))
            self.set_y(30)

    def footer(self) -> None:
        if self.running[1]:
            self.set_y(-15)
            self.cell(0, 5, self.running[1].format(page=self.page_no()), align="C")

    def paragraph(self, text: str) -> None:
        self.multi_cell(0, 5.2, text, align="J", new_x="LMARGIN", new_y="NEXT")
        self.ln(3)


def made(write: Callable[[Pages], None], header: str = "", footer: str = "") -> bytes:
    """Make a PDF by writing on its pages."""
    pdf = Pages(header, footer)
    pdf.add_page()
    write(pdf)
    return bytes(pdf.output())


def raw_pdf(content: bytes, *, stream: bytes | None = None, page_entries: bytes = b"") -> bytes:
    """Make a PDF of one page by hand, with the given content stream, as it is or as compressed bytes."""
    body = content if stream is None else stream
    filters = b"" if stream is None else b" /Filter /FlateDecode"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> " + page_entries + b">>",
        b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(body), filters, body),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    out = b"%PDF-1.4\n"
    offsets = []
    for number, content_ in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content_)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)


def lines_pdf(lines: Sequence[tuple[float, float, str]], *, size: float = 11, page_entries: bytes = b"") -> bytes:
    """Make a page of lines at (x, y)."""
    content = b"".join(
        b"BT /F1 %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET\n"
        % (size, x, y, text.encode("cp1252").replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)"))
        for x, y, text in lines
    )
    return raw_pdf(content, page_entries=page_entries)


@cache
def bomb(megabytes: int = 600) -> bytes:
    """Make a small PDF whose content grows to so many megabytes of drawing when it is unpacked."""
    piece = b"0 0 m 1 1 l 2 2 l 3 3 l S\n" * 40_000
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)  # such blocks can be repeated
    checksum = 1
    for _ in range(megabytes):
        checksum = zlib.adler32(piece, checksum)
    return raw_pdf(b"", stream=b"\x78\xda" + block * megabytes + b"\x03\x00" + checksum.to_bytes(4, "big"))
