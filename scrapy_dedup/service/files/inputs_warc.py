"""Pages in WARC files: the answers that are HTML or PDF, as the crawl received them."""

from collections.abc import Iterator
from dataclasses import dataclass
from http.client import PARTIAL_CONTENT
from io import BytesIO
from pathlib import Path

from scrapy_dedup.service.files.http_answers import HttpAnswer
from scrapy_dedup.service.files.inputs_records import Advance, BadRecord, Found, InputPage, NoPage, is_page, page_of
from scrapy_dedup.service.files.warc_records import BadWarcRecord, WarcRecord, read_records
from scrapy_dedup.service.packed_files import EncodingError, most_line_bytes
from scrapy_dedup.settings import Settings


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer of a server."""

    where: str
    address: str
    answer: HttpAnswer

    @property
    def size(self) -> int:
        """How many bytes the body has."""
        return len(self.answer.body)

    def url(self, settings: Settings) -> str | None:  # noqa: ARG002 (of all records)
        """Return the URL that was asked for."""
        return self.address

    def page(self, settings: Settings) -> InputPage | BadRecord | NoPage:
        """Unpack and decode the body."""
        try:
            body = self.answer.content(most_line_bytes(settings))
        except EncodingError as error:
            return BadRecord(self.where, str(error))
        return page_of(self.where, self.address, body, self.answer.content_type, settings)


def read_warc(path: Path, name: str, settings: Settings, advance: Advance) -> Iterator[Found]:
    """Iterate over the answers in a WARC file, and over what is bad in it.

    Args:
        path: of the file.
        name: what it is called in messages.
        settings: bound the size of a record.
        advance: told of the bytes read.

    Raises:
        OSError: the file cannot be opened or read.
    """
    with path.open("rb") as file:
        told = 0
        for record in read_records(file, most_line_bytes(settings)):
            yield _found(record, f"{name}, {record.place}")
            advance(max(0, record.at - told))
            told = max(told, record.at)
        advance(path.stat().st_size - told)


def read_answers(raw: bytes, size: int, where: str, settings: Settings) -> Iterator[tuple[int, Found]]:
    """Iterate over the answers in the bytes of one record, each with the byte at which it begins.

    There is none where it is a record of another kind, and more than one where its length is wrong.

    Args:
        raw: the record, unpacked, from `WARC/` to the two line ends behind it, or the beginning of a large one.
        size: bytes of the whole.
        where: it is, for a person.
        settings: bound its size.
    """
    for record in read_records(BytesIO(raw), most_line_bytes(settings), size):
        yield record.at, _found(record, where)
        if size > len(raw):
            break


def _found(record: WarcRecord | BadWarcRecord, where: str) -> Found:
    if isinstance(record, BadWarcRecord):
        return BadRecord(where, record.reason)
    fields = record.fields
    url = fields.get("warc-target-uri", "").removeprefix("<").removesuffix(">")
    if not url:
        return BadRecord(where, "the record has no WARC-Target-URI")
    # The rest of a divided one stands in continuations, mostly in another file.
    for name in ("warc-truncated", "warc-segment-number"):
        if name in fields:
            return BadRecord(where, f"holds the beginning of an answer, by its {name}: {fields[name][:40]!r}")
    answer = HttpAnswer.parse(record.block)
    return BadRecord(where, "the record holds no answer by HTTP") if answer is None else _page(answer, url, where)


def _page(answer: HttpAnswer, url: str, where: str) -> Found:
    if not 200 <= answer.status < 300:
        return NoPage(where, f"{url[:200]}: status {answer.status}")
    if not (answer.content_type and is_page(answer.content_type)):
        return NoPage(where, f"{url[:200]}: neither HTML nor PDF")
    if answer.status == PARTIAL_CONTENT:
        return BadRecord(where, f"holds a part of an answer, by its status {answer.status}")
    return AnswerRecord(where, url, answer)
