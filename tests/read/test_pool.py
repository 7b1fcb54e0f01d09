"""The reading processes: limits hold, deaths are survived, nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tree_builder.errors import UnreadableDocument
from tree_builder.model import DocumentStatus, ReadDocument, SourceFile
from tree_builder.paths import encode_name
from tree_builder.read import ReadPool
from tree_builder.scan import scan
from tree_builder.settings import Settings

from .support import SENTENCES, Pages, bomb, lines_pdf, made, paragraphs

TEXT = " ".join(SENTENCES)
GOOD = lines_pdf([(72, 700 - 14 * n, sentence) for n, sentence in enumerate(SENTENCES)])


def source(path: str, status: DocumentStatus | None = None) -> SourceFile:
    return SourceFile(path, 0, 0, status, "because" if status else "")


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if "read.worker" in " ".join(_command(child))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


async def test_a_document_arrives_whole(tmp_path: Path) -> None:
    """What was read and cut in the process arrives with text, places, hash and time of the very bytes."""

    def write(pdf: Pages) -> None:
        for number, text in enumerate(paragraphs(30)):
            if number % 10 == 0:
                pdf.start_section(f"Part {number}")
            pdf.paragraph(text)

    data = made(write, "Header", "{page}")
    (tmp_path / "a.pdf").write_bytes(data)
    async with ReadPool(Settings(read_workers=1)) as pool:
        document = await pool.read(tmp_path, source("a.pdf"))
        assert await pool.hash(tmp_path, source("a.pdf")) == document.content_hash
    assert document.status == DocumentStatus.BUILT
    assert document.content_hash == hashlib.sha256(data).digest()
    assert document.size_bytes == len(data)
    assert document.mtime_ns == (tmp_path / "a.pdf").stat().st_mtime_ns
    assert document.n_pages >= 3
    assert document.language == "en"
    assert [entry.title for entry in document.outline] == ["Part 0", "Part 10", "Part 20"]
    text = "".join(chunk.content[chunk.overlap :] for chunk in document.chunks)
    assert text == "\n\n".join(paragraphs(30))
    assert len(text) == document.n_chars
    assert children() == []


async def test_bad_files_do_not_disturb_good_ones(tmp_path: Path) -> None:
    """Every kind of bad file ends with its status, in one process which goes on to read the good ones."""
    files = {
        "empty.pdf": b"",
        "junk.pdf": os.urandom(3000),
        "cut.pdf": GOOD[:300],
        "good.pdf": GOOD,
        "blank.txt": b" \n\n ",
        "latin.txt": "Größe und Maß sind wichtig.".encode("cp1252"),
        "bytes.md": b"\x00\xff\xfe\x01 words \x80",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    os.mkfifo(tmp_path / "became_a_pipe.pdf")
    (tmp_path / "link.pdf").symlink_to("good.pdf")
    async with ReadPool(Settings(read_workers=1)) as pool:
        wanted = [*files, "gone.pdf", "became_a_pipe.pdf", "link.pdf", "gone/deep.pdf"]
        documents = {name: await pool.read(tmp_path, source(name)) for name in wanted}
        assert len(children()) == 1
    assert {name: document.status.value for name, document in documents.items()} == {
        "empty.pdf": "empty",
        "junk.pdf": "malformed",
        "cut.pdf": "malformed",
        "good.pdf": "built",
        "blank.txt": "empty",
        "latin.txt": "built",
        "bytes.md": "built",
        "gone.pdf": "vanished",
        "became_a_pipe.pdf": "vanished",
        "link.pdf": "denied",
        "gone/deep.pdf": "vanished",
    }
    assert all(document.reason for document in documents.values() if document.status != DocumentStatus.BUILT)
    assert documents["junk.pdf"].content_hash == hashlib.sha256(files["junk.pdf"]).digest()
    assert documents["latin.txt"].chunks[0].content == "Größe und Maß sind wichtig."
    assert documents["latin.txt"].warnings


async def test_what_scanning_refused_is_not_opened(tmp_path: Path) -> None:
    """A source which has a status already keeps it, and no process is started for it."""
    async with ReadPool(Settings(read_workers=1)) as pool:
        document = await pool.read(tmp_path, source("a.png", DocumentStatus.UNSUPPORTED))
        assert (document.status, document.reason) == (DocumentStatus.UNSUPPORTED, "because")
        assert children() == []


async def test_names_which_are_not_utf8_are_read(tmp_path: Path) -> None:
    """A file of an odd name is read under its encoded path."""
    name = os.fsdecode(b"caf\xe9 100%.pdf")
    (tmp_path / name).write_bytes(GOOD)
    async with ReadPool(Settings(read_workers=1)) as pool:
        document = await pool.read(tmp_path, source(encode_name(name)))
    assert document.status == DocumentStatus.BUILT
    assert document.doc_path == "caf%E9 100%25.pdf"


async def test_a_slow_file_is_stopped(tmp_path: Path) -> None:
    """A file which grows without end when unpacked is stopped at the limit of time; the next one is read."""
    (tmp_path / "bomb.pdf").write_bytes(bomb())
    (tmp_path / "good.pdf").write_bytes(GOOD)
    assert (tmp_path / "bomb.pdf").stat().st_size < 3_000_000
    async with ReadPool(Settings(read_workers=1, read_timeout_s=4)) as pool:
        assert (await pool.read(tmp_path, source("good.pdf"))).status == DocumentStatus.BUILT
        began = time.monotonic()
        document = await pool.read(tmp_path, source("bomb.pdf"))
        assert time.monotonic() - began < 20
        assert document.status in (DocumentStatus.TIMEOUT, DocumentStatus.CRASHED)
        assert (await pool.read(tmp_path, source("good.pdf"))).status == DocumentStatus.BUILT
    assert children() == []


async def test_a_file_which_needs_too_much_memory(tmp_path: Path) -> None:
    """A file beyond the limit of memory ends as crashed; this process has not grown, and the next file is read."""
    (tmp_path / "big.txt").write_bytes(b"word " * 40_000_000)
    (tmp_path / "good.pdf").write_bytes(GOOD)
    before = psutil.Process().memory_info().rss
    async with ReadPool(Settings(read_workers=1, read_memory_mb=300)) as pool:
        document = await pool.read(tmp_path, source("big.txt"))
        assert document.status == DocumentStatus.CRASHED
        assert document.reason
        assert (await pool.read(tmp_path, source("good.pdf"))).status == DocumentStatus.BUILT
    assert psutil.Process().memory_info().rss - before < 50_000_000


async def test_a_killed_process_is_replaced(tmp_path: Path) -> None:
    """kill -9 of reading processes, idle or at work, costs no file."""
    for number in range(30):
        (tmp_path / f"{number}.pdf").write_bytes(GOOD)
    async with ReadPool(Settings(read_workers=2)) as pool:
        await pool.read(tmp_path, source("0.pdf"))
        first = {child.pid for child in children()}
        for child in children():
            child.send_signal(signal.SIGKILL)
        documents = await asyncio.gather(*(pool.read(tmp_path, source(f"{number}.pdf")) for number in range(30)))
        assert not first & {child.pid for child in children()}
    assert {document.status for document in documents} == {DocumentStatus.BUILT}


async def test_a_file_which_kills_its_process_is_told(tmp_path: Path) -> None:
    """A process which dies of the same file again ends it as crashed, with the signal; others go on."""
    (tmp_path / "bomb.pdf").write_bytes(bomb())
    (tmp_path / "good.pdf").write_bytes(GOOD)
    async with ReadPool(Settings(read_workers=1)) as pool:
        await pool.read(tmp_path, source("good.pdf"))
        task = asyncio.create_task(pool.read(tmp_path, source("bomb.pdf")))
        killed: set[int] = set()
        while not task.done():
            for child in children():
                with contextlib.suppress(psutil.Error):  # already gone
                    if child.pid not in killed and child.cpu_times().user > 1:  # past its start, at work on the bomb
                        child.send_signal(signal.SIGKILL)
                        killed.add(child.pid)
            await asyncio.sleep(0.02)
        document = await task
        assert (document.status, len(killed)) == (DocumentStatus.CRASHED, 2)
        assert "SIGKILL" in document.reason
        assert (await pool.read(tmp_path, source("good.pdf"))).status == DocumentStatus.BUILT


async def test_too_little_memory_to_start(tmp_path: Path) -> None:
    """Where the limit of memory is too small for the process itself, each file says so."""
    (tmp_path / "good.pdf").write_bytes(GOOD)
    async with ReadPool(Settings(read_workers=1, read_memory_mb=10)) as pool:
        document = await pool.read(tmp_path, source("good.pdf"))
    assert document.status == DocumentStatus.CRASHED
    assert "read_memory_mb = 10" in document.reason


async def test_cancelling_leaves_no_process(tmp_path: Path) -> None:
    """A run which is cancelled in the middle of a file ends its processes, and the pool can be used again."""
    (tmp_path / "bomb.pdf").write_bytes(bomb())
    (tmp_path / "good.pdf").write_bytes(GOOD)
    async with ReadPool(Settings(read_workers=1)) as pool:
        await pool.read(tmp_path, source("good.pdf"))
        task = asyncio.create_task(pool.read(tmp_path, source("bomb.pdf")))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await pool.read(tmp_path, source("good.pdf"))).status == DocumentStatus.BUILT
    assert children() == []


def test_processes_die_with_their_parent(tmp_path: Path) -> None:
    """kill -9 of the program, while a file is being read, leaves no process behind."""
    (tmp_path / "bomb.pdf").write_bytes(bomb())
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from tree_builder.read import ReadPool\n"
        "from tree_builder.model import SourceFile\n"
        "from tree_builder.settings import Settings\n"
        "async def main():\n"
        "    async with ReadPool(Settings(read_workers=1)) as pool:\n"
        "        await pool.read(Path(sys.argv[1]), SourceFile('bomb.pdf', 0, 0))\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) as parent:
        deadline = time.monotonic() + 30
        found: list[psutil.Process] = []
        while not found and time.monotonic() < deadline:
            time.sleep(0.05)
            found = psutil.Process(parent.pid).children(recursive=True)
        time.sleep(0.3)
        parent.kill()
    assert found
    gone, alive = psutil.wait_procs(found, timeout=15)
    assert not alive
    assert gone


async def test_a_file_being_written_is_left_for_later(tmp_path: Path) -> None:
    """A file which changes while it is read, and again, is not read in a torn state: its bytes are those of one moment."""
    path = tmp_path / "log.txt"
    path.write_bytes(b"line of text\n" * 1000)
    seen: list[ReadDocument] = []
    async with ReadPool(Settings(read_workers=1)) as pool:
        for number in range(20):
            reading = asyncio.create_task(pool.read(tmp_path, source("log.txt")))
            await asyncio.sleep(0.001 * number)
            path.write_bytes(b"other text %d\n" % number * (1000 + 10 * number))
            seen.append(await reading)
    for document in seen:
        if document.status == DocumentStatus.BUILT:
            text = "".join(chunk.content[chunk.overlap :] for chunk in document.chunks)
            assert len(set(text.split("\n"))) == 1
        else:
            assert document.status in (DocumentStatus.VANISHED, DocumentStatus.EMPTY)


async def test_hashing_tells_what_is_wrong(tmp_path: Path) -> None:
    """The hash of a file which is gone raises with status and path."""
    async with ReadPool(Settings(read_workers=1)) as pool:
        with pytest.raises(UnreadableDocument) as caught:
            await pool.hash(tmp_path, source("none.pdf"))
    assert caught.value.status == DocumentStatus.VANISHED
    assert caught.value.doc_path == "none.pdf"


async def test_settings_of_cutting_reach_the_process(tmp_path: Path) -> None:
    """Chunks are cut in the process as the settings say."""
    (tmp_path / "a.txt").write_text("word " * 2000)
    async with ReadPool(Settings(read_workers=1, cut="fixed", chunk_size=500, chunk_overlap=50)) as pool:
        document = await pool.read(tmp_path, source("a.txt"))
    assert [chunk.char_start for chunk in document.chunks[:3]] == [0, 450, 900]


@pytest.mark.corpora
async def test_real_and_odd_files(corpora: Path) -> None:
    """Each odd PDF of the shared corpora ends with a status and a reason; chunks of each readable one join to its text."""
    sources = scan(corpora / "odd-pdfs", max_file_mb=10)
    async with ReadPool(Settings(read_timeout_s=30)) as pool:
        documents = await asyncio.gather(*(pool.read(corpora / "odd-pdfs", one) for one in sources))
    assert len(documents) > 100
    assert {document.status for document in documents} >= {
        DocumentStatus.BUILT,
        DocumentStatus.ENCRYPTED,
        DocumentStatus.MALFORMED,
        DocumentStatus.EMPTY,
    }
    assert not [
        document for document in documents if document.status in (DocumentStatus.CRASHED, DocumentStatus.TIMEOUT)
    ]
    assert all(document.reason for document in documents if document.status != DocumentStatus.BUILT)
    assert children() == []
