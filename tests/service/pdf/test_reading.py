import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from scrapy_dedup.core.pdf.text import BlockKind, PdfFlag, PdfText, draw
from scrapy_dedup.service.pdf.reading import PdfLimits, PdfReader, UnreadPdf, UnreadReason, read_pdf
from tests.pdf_files import Words, a_bomb, a_pdf, column
from tests.waiting import is_running, wait_for

PROSE = ["A first line of some text that is", "long enough to be told from a table."]
JOINED = " ".join(PROSE)


@pytest.fixture(scope="module")
def reader() -> Iterator[PdfReader]:
    with closing(PdfReader()) as reader:
        yield reader


def read(reader: PdfReader, *pages: Sequence[Words] | bytes, **more: Any) -> PdfText:
    made = reader.read(a_pdf(pages, **more))
    assert isinstance(made, PdfText), made
    return made


def test_facts_are_read(reader):
    made = read(reader, column(PROSE), facts={"Title": "The plan", "Author": "Ada", "CreationDate": "D:20230411"})

    assert (made.title, made.author, made.date) == ("The plan", "Ada", "2023-04-11T00:00:00")


def test_fonts_tell_headings_and_code(reader):
    page = [
        Words("The title", top=60, size=20),
        Words("A point", top=100, font="bold"),
        *column(PROSE, top=112),
        *column(["x = 1", "y = 2"], top=160, font="fixed"),
    ]

    kinds = [(block.kind, block.level) for block in read(reader, page).blocks]
    assert kinds == [(BlockKind.HEADING, 1), (BlockKind.HEADING, 2), (BlockKind.TEXT, 0), (BlockKind.CODE, 0)]


@pytest.mark.parametrize(
    "drawing",
    [
        pytest.param(b"120 700 Td [(a) 1400 (b) 1200 (c)] TJ", id="from-the-first-letter"),
        pytest.param(b"120 700 Td (cba) Tj", id="from-the-last-letter"),
    ],
)
def test_hebrew_is_read_from_its_first_letter_however_it_was_drawn(reader, drawing):
    page = b"BT /F3 10 Tf " + drawing + b" ET"

    assert draw(read(reader, page), "text") == "\u05d0\u05d1\u05d2"


def test_columns_drawn_line_by_line_are_read_one_after_the_other(reader):
    left = [f"On the left stands line number {number}" for number in range(6)]
    right = [f"On the right stands line number {number}" for number in range(6)]
    page = [words for pair in zip(column(left, 50), column(right, 320), strict=True) for words in pair]

    assert draw(read(reader, page), "text").split("\n\n") == [" ".join(left), " ".join(right)]


def test_running_lines_are_told_apart(reader):
    names = "bees wasps ants flies".split()
    pages = [
        [Words("Yearly report", top=40), *column([f"All about {name}."]), Words(f"{number}", 290, 800)]
        for number, name in enumerate(names, 1)
    ]

    made = read(reader, *pages)
    assert draw(made, "text") == "\n\n".join(f"All about {name}." for name in names)
    assert [line.text for line in made.furniture] == ["Yearly report", "1"]


def test_text_that_is_not_shown_is_the_text_of_a_scan(reader):
    assert draw(read(reader, [Words("Recognised", drawing="3 Tr")]), "text") == "Recognised"


def test_gap_within_one_piece_of_text_separates_columns(reader):
    rows = [
        f"[(On the left there is line {number}) -16000 (on the right there is line {number})] TJ T*"
        for number in range(6)
    ]
    page = f"BT /F0 10 Tf 12 TL 50 700 Td {' '.join(rows)} ET".encode()

    assert draw(read(reader, page), "text").startswith("On the left there is line 0 On the left there is line 1")


def test_shape_that_a_font_calls_a_form_feed_stands_alone(reader):
    page = rb"BT /F0 10 Tf 50 700 Td [(Koutso) -3000 (\014) -3000 (os)] TJ ET"

    assert draw(read(reader, page), "text") == "Koutso os"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(a_pdf([column(PROSE)], is_encrypted=True), UnreadReason.ENCRYPTED, id="encrypted"),
        pytest.param(a_pdf([column(PROSE)])[:200], UnreadReason.DAMAGED, id="cut"),
        pytest.param(b"", UnreadReason.DAMAGED, id="empty"),
        pytest.param(b"<html>Not found</html>", UnreadReason.DAMAGED, id="html"),
        pytest.param(a_pdf([]), UnreadReason.DAMAGED, id="no-pages"),
        pytest.param(a_pdf([b"1 0 0 rg 0 0 595 842 re f"]), UnreadReason.NO_TEXT, id="picture"),
    ],
)
def test_file_without_text_says_why(reader, body, reason):
    answer = reader.read(body)

    assert isinstance(answer, UnreadPdf)
    assert (answer.reason, bool(answer.message)) == (reason, True)


def test_damaged_page_is_left_out_and_flagged(reader):
    body = a_pdf([column(PROSE), column(["Second"])]).replace(b"/Kids[4 0 R 6 0 R]", b"/Kids[4 0 R 9 0 R]")

    made = reader.read(body)
    assert isinstance(made, PdfText)
    assert (draw(made, "text"), made.flags) == (JOINED, (PdfFlag.PAGES_LOST,))


def test_first_pages_of_a_long_file_are_read():
    pages = [column([f"Page of {'many ' * number}words."]) for number in range(30)]
    with closing(PdfReader(PdfLimits(max_pages=5))) as reader:
        made = read(reader, *pages)

    assert (made.pages, made.read, made.flags) == (30, 5, (PdfFlag.TRUNCATED,))


def test_first_characters_of_a_long_text_are_read():
    with closing(PdfReader(PdfLimits(max_chars=100))) as reader:
        made = read(reader, column(PROSE * 10), column(PROSE))

    assert (made.read, made.flags) == (1, (PdfFlag.TRUNCATED,))
    assert len(draw(made, "text")) <= 110


def test_file_that_is_too_large_is_not_read():
    answer = PdfReader(PdfLimits(max_bytes=10)).read(b"%PDF-1.7 and more")

    assert answer == UnreadPdf(UnreadReason.TOO_LARGE, "the PDF has 17 bytes, more than the 10 that may be read")


def test_bomb_is_ended_and_the_next_file_is_read():
    with closing(PdfReader(PdfLimits(page_seconds=1.0))) as reader:
        read(reader, column(PROSE))
        answer = reader.read(a_bomb())

        assert isinstance(answer, UnreadPdf)
        assert answer.reason is UnreadReason.TIMEOUT
        assert draw(read(reader, column(PROSE)), "text") == JOINED


def test_file_that_needs_too_much_memory_harms_nobody():
    with closing(PdfReader(PdfLimits(memory_bytes=150_000_000, page_seconds=20))) as reader:
        answer = reader.read(a_pdf([b"BT /F0 10 Tf (x) Tj " * 3_000_000]))

    assert isinstance(answer, UnreadPdf)
    assert answer.reason in (UnreadReason.CRASHED, UnreadReason.TIMEOUT)


def test_killed_process_is_replaced_without_loss():
    with closing(PdfReader()) as reader:
        read(reader, column(PROSE))
        reader._worker.process.kill()

        assert draw(read(reader, column(PROSE)), "text") == JOINED


def test_many_threads_may_ask(reader):
    def text(number: int) -> str:
        return draw(read(reader, column([f"Text {number}"])), "text")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(text, range(20))) == [f"Text {number}" for number in range(20)]


def test_function_reads_as_the_reader_does():
    made = read_pdf(a_pdf([column(PROSE)]))

    assert isinstance(made, PdfText)
    assert draw(made, "text") == JOINED


def test_process_that_reads_knows_no_framework():
    code = (
        "import sys, scrapy_dedup.service.pdf.worker, scrapy_dedup.service.pdf.worker; print('scrapy' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"False"


@pytest.mark.skipif(os.name != "posix", reason="asks for the parent by its number")
def test_process_ends_with_its_parent_even_when_busy():
    code = """
import sys, threading, time
from scrapy_dedup.service.pdf.reading import *
from tests.pdf_files import *
reader = PdfReader(PdfLimits(page_seconds=60))
threading.Thread(target=reader.read, args=(a_bomb(),), daemon=True).start()
while reader._worker is None or not reader._worker._is_started: time.sleep(0.01)
print(reader._worker.process.pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    with parent:
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)

    wait_for(lambda: not is_running(child))
