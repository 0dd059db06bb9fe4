import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from scrapy_dedup.batch.columns import batch_of, place_of, schema_of
from scrapy_dedup.batch.records import WARC_BREAK, Kind, Placed, RecordSource, records
from scrapy_dedup.service.files.inputs_records import BadRecord, Found, InputPage
from scrapy_dedup.service.files.warc_records import read_warc
from scrapy_dedup.service.packed_files import most_line_bytes
from scrapy_dedup.settings import Settings
from tests.service.warc_files import an_answer

FILE = "file:///data/input"
SETTINGS = Settings(max_page_bytes=2_000)
MOST = most_line_bytes(SETTINGS)
BREAK = WARC_BREAK.encode()


def read(kind: Kind, *pieces: tuple[int, bytes]) -> list[Placed]:
    source = RecordSource(kind, {"file:/data/input": (3, "in put")}, SETTINGS)
    return list(records([a_batch(*pieces)], source))


def a_batch(*pieces: tuple[int, bytes]) -> pa.RecordBatch:
    rows = [(FILE, start, piece) for start, piece in pieces]
    return batch_of(rows, schema_of("file string, start bigint, value binary"))


def cut(file: bytes) -> list[tuple[int, bytes]]:
    return [(0, piece) for piece in file.split(BREAK)]


def urls(found: Sequence[Placed]) -> list[str | None]:
    return [record.url(SETTINGS) for _, record in found if not isinstance(record, BadRecord)]


def bodies(found: Sequence[Found]) -> list[str]:
    """Return the body of each record; of a bad one why it is that."""
    pages = [one if isinstance(one, BadRecord) else one.page(SETTINGS) for one in found]
    return [one.html if isinstance(one, InputPage) else one.reason for one in pages]


def read_by_clean(file: bytes, folder: Path) -> list[Found]:
    (folder / "in.warc").write_bytes(file)
    return list(read_warc(folder / "in.warc", "in put", SETTINGS, lambda _: None))


class TestLines:
    def test_a_line_that_is_too_long_is_a_bad_record(self):
        ((_, record),) = read("lines", (0, b"x" * 5_000_000))

        assert isinstance(record, BadRecord)


class TestWarc:
    def test_records_are_what_stands_between_two_breaks(self):
        file = b"".join(an_answer(f"https://a.example/{number}") for number in range(3))

        assert urls(read("warc", *cut(file))) == [f"https://a.example/{number}" for number in range(3)]

    # If each break had the record copied that it stands in, the last case would take minutes.
    @pytest.mark.parametrize("times", [1, 3, 200_000])
    def test_a_break_within_a_body_is_part_of_it(self, times):
        body = b"<p>" + (BREAK + b"0 tea ") * times

        found = read("warc", *cut(an_answer("https://a.example/a", body) + an_answer("https://a.example/b")))

        assert urls(found) == ["https://a.example/a", "https://a.example/b"]
        assert bodies([record for _, record in found]) == [body.decode(), "<p>tea"]

    @pytest.mark.parametrize("surplus", [-9, -4, -1, 1, 4, 300, 970, 1_200])
    def test_a_wrong_length_takes_no_other_record_with_it(self, tmp_path, surplus):
        records = [an_answer(f"https://a.example/{number}", b"<p>tea" * 60) for number in range(9)]
        length = len(records[2].partition(b"\r\n\r\n")[2]) - 4
        records[2] = records[2].replace(b"%d\r\n\r\nHTTP" % length, b"%d\r\n\r\nHTTP" % (length + surplus))

        found = read("warc", *cut(b"".join(records)))

        assert urls(found) == [f"https://a.example/{number}" for number in range(9) if number != 2]
        assert bodies([one for _, one in found]) == bodies(read_by_clean(b"".join(records), tmp_path))
        assert [place for place, _ in found] == [place_of(3, 0, number) for number in range(1, 10)]

    def test_a_record_that_nothing_divides_from_the_one_before_it_is_told(self):
        first = an_answer("https://a.example/a").replace(b"Content-Length: ", b"Content-Length: 9")
        second = an_answer("https://a.example/b")[:-4]

        found = read("warc", *cut(first[:-4] + second + second + b"\r\n\r\n"))

        assert urls(found) == []
        assert "divides" in bodies([one for _, one in found])[-1]

    def test_a_body_may_begin_and_end_with_a_break(self, tmp_path):
        file = an_answer("https://a.example/a", BREAK * 3) + an_answer("https://a.example/b", b"\r\n\r\n")

        found = [record for _, record in read("warc", *cut(file))]

        assert bodies(found) == bodies(read_by_clean(file, tmp_path)) == [BREAK.decode() * 3, "\r\n\r\n"]

    @pytest.mark.parametrize("surplus", [-1, 0, 1, 30, 1_000_000])
    def test_a_record_of_many_pieces_is_too_large_where_it_is_for_clean(self, tmp_path, surplus):
        head = len(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n")
        body = (b"<p>tea " + BREAK).ljust(MOST + surplus - head - 700, b"x") + (BREAK + b"tea") * 50
        file = an_answer("https://a.example/a", body) + an_answer("https://a.example/b")

        found = [record for _, record in read("warc", *cut(file))]

        assert bodies(found) == bodies(read_by_clean(file, tmp_path))
        assert ("is larger than" in bodies(found)[0]) is (surplus > 0)
        assert bodies(found)[1] == "<p>tea"

    def test_a_record_that_is_cut_off_among_its_pieces_is_told_as_that(self, tmp_path):
        file = an_answer("https://a.example/a", (BREAK + b"0 tea ") * 9)[:-40]

        found = [record for _, record in read("warc", *cut(file))]

        assert (
            bodies(found)
            == bodies(read_by_clean(file, tmp_path))
            == ["the record is cut off, or its Content-Length is wrong"]
        )

    def test_what_is_behind_the_bound_is_not_kept(self):
        """A damaged length may span all that follows in the file."""
        megabyte = b"".ljust(1_000_000, b"x")
        head = an_answer("https://a.example/a").replace(b"Content-Length: ", b"Content-Length: 999999")

        def batches() -> Iterator[pa.RecordBatch]:
            yield a_batch((0, head))
            yield from (a_batch((0, megabyte)) for _ in range(50))

        tracemalloc.start()
        found = list(records(batches(), RecordSource("warc", {"file:/data/input": (3, "in put")}, SETTINGS)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert "is larger than" in bodies([record for _, record in found])[0]
        assert len(found) == 1
        assert peak < 5 * MOST

    def test_a_part_of_a_file_begins_behind_a_break(self):
        (_, piece) = cut(an_answer("https://a.example/a") + an_answer("https://a.example/b"))

        assert urls(read("warc", (700, piece[1]))) == ["https://a.example/b"]

    @pytest.mark.parametrize("piece", [b"", b"\r\n", b"\xff\x00", b"0\r\nContent-Length: 99999999999999999999"])
    def test_what_is_no_record_never_raises(self, piece):
        assert urls(read("warc", (0, piece), (0, piece))) == []
