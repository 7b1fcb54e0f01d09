"""Plain text, Markdown, characters and languages."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tree_builder.errors import UnreadableDocument
from tree_builder.model import DocumentStatus
from tree_builder.read import read_bytes
from tree_builder.read.language import find_language
from tree_builder.read.text import HYPHEN, clean, hyphenated_words, join_hyphens, tame_leaders

from .support import SENTENCES


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec=None), max_size=300))
def test_cleaned_text_may_be_stored(text: str) -> None:
    """Any text becomes text which every database takes: UTF-8, NFC, no NUL, no control characters; once is enough."""
    cleaned = clean(text)
    cleaned.encode()
    assert unicodedata.is_normalized("NFC", cleaned)
    assert not {char for char in cleaned if unicodedata.category(char) in ("Cc", "Cs", "Co")} - {"\n", "\t"}
    assert clean(cleaned) == cleaned


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=400), suffix=st.sampled_from(["txt", "md", "pdf"]))
def test_any_bytes_are_read_or_refused(data: bytes, suffix: str) -> None:
    """Whatever the bytes, reading gives clean text or a status with a reason."""
    refused = None
    try:
        read = read_bytes(data, f"a.{suffix}")
    except UnreadableDocument as error:
        refused = error
    if refused is None:
        assert clean(read.text) == read.text
        assert read.title
    else:
        assert refused.status in (DocumentStatus.EMPTY, DocumentStatus.MALFORMED)
        assert refused.message


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings(encoding: str) -> None:
    """Text is read in each usual encoding; one which had to be guessed is told."""
    read = read_bytes("Grüße aus Köln – „hier“".encode(encoding), "a.txt")
    assert read.text == "Grüße aus Köln – „hier“"
    assert bool(read.warnings) == (encoding == "cp1252")


def test_wrapped_lines_become_paragraphs() -> None:
    """Text wrapped at a fixed width flows again; lists, indented code and short lines keep their ends."""
    text = (
        "The committee measured the depth of the channel at seventeen\r\nplaces in the spring, and found that the old measure-\r\n"
        "ments had been wrong.\r\n\r\n\r\n- first point\r\n- second point\r\n\r\n    code()\r\n    more()\r\n\r\nRoses are red\r\nViolets are blue\r\n"
    )
    assert read_bytes(text.encode(), "a.txt").text == (
        "The committee measured the depth of the channel at seventeen places in the spring, and found that the old"
        " measurements had been wrong.\n\n- first point\n- second point\n\n    code()\n    more()\n\nRoses are red\nViolets are blue"
    )


def test_markdown() -> None:
    """Front matter gives the title and goes; headings give the outline; fenced code is left alone and has no headings."""
    text = (
        '---\ntitle: "On Banks"\ndate: 2026\n---\n\n# Banks\n\nText of the chapter.\n\n```sh\n# no heading\n\n\nrun it\n```\n\n'
        "Depths\n------\n\nMore text.\n\n### Details ###\n\nThe end.\n"
    )
    read = read_bytes(text.encode(), "a.md")
    assert read.title == "On Banks"
    assert [(entry.title, entry.depth) for entry in read.outline] == [("Banks", 1), ("Depths", 2), ("Details", 3)]
    for entry in read.outline:
        assert entry.title in read.text[entry.char_start : entry.char_start + len(entry.title) + 5]
    assert "date: 2026" not in read.text
    assert "# no heading\n\nrun it" in read.text


def test_titles_of_text() -> None:
    """A first line alone is the title of a text; else the file's name is."""
    assert read_bytes(b"A LIST OF BANKS\n\nThe first is here.", "x/banks.txt").title == "A LIST OF BANKS"
    assert read_bytes(b"The first is here,\nand goes on.", "x/banks.txt").title == "banks"


def test_hyphens() -> None:
    """A break is joined, keeps its hyphen where the word has it elsewhere, and before capitals and digits."""
    known = hyphenated_words("the Well-known man, a -flag and x--y")
    assert known == {("well", "known")}
    broken = f"con{HYPHEN}nection well{HYPHEN}known Half{HYPHEN}Installed COVID{HYPHEN}19"
    assert join_hyphens(broken, known) == "connection well-known Half-Installed COVID-19"


def test_leaders() -> None:
    """Dots and lines which only lead the eye are shortened; three dots are punctuation."""
    assert tame_leaders("Name ________________ here") == "Name \u2026 here"
    assert tame_leaders("Tides . . . . . . . . 12") == "Tides \u2026 12"
    assert tame_leaders("Wait... what") == "Wait... what"


LANGUAGES = {
    "en": " ".join(SENTENCES),
    "de": "Der Turm steht auf dem Grund der See, und das Licht ist bei Nacht von weitem zu sehen. Es wird nicht mehr von einem Wärter"
    " bedient, sondern von der Küste aus überwacht, wie es bei allen anderen auch der Fall ist.",
    "fr": "Le phare se trouve au milieu de la mer et la lumière est visible de loin pendant la nuit. Il n'est plus habité par un gardien,"
    " mais il est surveillé depuis la côte, comme tous les autres qui sont dans cette région.",
    "es": "El faro está en medio del mar y la luz se ve de lejos por la noche. Ya no vive en él un guarda, sino que se vigila desde la"
    " costa como todos los demás que hay en la región, porque es más barato para el puerto.",
    "ru": "Маяк стоит на дне моря, и свет его виден ночью издалека. Он больше не обслуживается смотрителем, а управляется с берега, как и"
    " все другие маяки, которые были построены в этой части побережья за последние годы.",
    "ja": "灯台は海の底に立っており、夜にはその光が遠くから見える。今では灯台守はおらず、他のすべての灯台と同じように岸から監視されている。",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages(language: str) -> None:
    """The language of a paragraph is told by its small words or its script."""
    assert find_language(LANGUAGES[language]) == language


def test_no_language_is_guessed() -> None:
    """Short text, numbers and code have no language."""
    for text in ("Hello", "12 34 56 " * 100, "for (i = 0; i < n; i++) { x[i] += y[i] * z; } " * 20, ""):
        assert find_language(text) is None


def test_other_formats_are_refused() -> None:
    """A file of another kind is unsupported."""
    with pytest.raises(UnreadableDocument) as caught:
        read_bytes(b"x", "a.docx")
    assert caught.value.status == DocumentStatus.UNSUPPORTED
