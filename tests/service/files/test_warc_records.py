"""Damaged WARC files: good records come out, bad ones are told with their places, and no altered page comes out."""

import gzip
import io
import struct
from base64 import b32encode
from collections.abc import Callable
from functools import partial
from hashlib import sha1
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.service.files.inputs import Inputs
from scrapy_dedup.service.files.inputs_records import BadRecord, InputPage, NoPage
from scrapy_dedup.service.files.warc_records import read_records
from scrapy_dedup.service.packed_files import zstd
from scrapy_dedup.settings import Settings
from tests.growth import assert_in_proportion
from tests.service.warc_files import HTML, a_record, an_answer

Pack = Callable[[bytes], bytes]
PLAIN: Pack = bytes
GZIP: Pack = partial(gzip.compress, mtime=0)
ZSTD: Pack = partial(zstd.compress, options={int(zstd.CompressionParameter.checksum_flag): 1})
PACKINGS = {"plain": PLAIN, "gzip": GZIP, "zstd": ZSTD}
packings = pytest.mark.parametrize("pack", [pytest.param(pack, id=name) for name, pack in PACKINGS.items()])

CHUNKS = b"Transfer-Encoding: chunked"
PACKED = b"Content-Encoding: gzip"


def url(number: int) -> str:
    return f"https://a.example/{number}"


def html(number: int) -> bytes:
    """Return a page that says which it is, and cannot be packed to nothing."""
    return b"<p>%d" % number + Random(number).randbytes(400).hex().encode()


def answer(number: int, *headers: bytes, digest: str = "") -> bytes:
    """Return a record whose page has chunks or is packed, where its headers say so."""
    body = html(number)
    if PACKED in headers:
        body = GZIP(body)
    if CHUNKS in headers:
        body = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in (body[:9], body[9:], b""))
    block = b"\r\n".join([b"HTTP/1.1 200 OK", HTML, *headers, b"", body])
    hashed = {"WARC-Block-Digest": block, "WARC-Payload-Digest": body}.get(digest)
    fields = [f"{digest}: sha1:{b32encode(sha1(hashed).digest()).decode()}".encode()] if hashed else []
    return a_record(url(number), block, b"response", *fields)


def whole(number: int, *headers: bytes) -> bytes:
    """Return a record that needs no digest: the server said how long its body is."""
    return answer(number, *headers, b"Content-Length: %d" % len(html(number)))


def read(raw: bytes) -> list[InputPage | BadRecord | NoPage]:
    settings = Settings(max_page_bytes=100_000)
    with Inputs("-", io.BytesIO(raw)) as inputs:
        found = list(inputs.records(settings, lambda _: None))
    return [one if isinstance(one, BadRecord | NoPage) else one.page(settings) for one in found]


def numbers(found: list[InputPage | BadRecord | NoPage]) -> list[int]:
    """Return which pages there are; none is altered."""
    pages = [one for one in found if isinstance(one, InputPage)]
    for page in pages:
        assert page.html.encode() == html(int(page.url.rpartition("/")[2]))
    return [int(page.url.rpartition("/")[2]) for page in pages]


def bad(found: list[InputPage | BadRecord | NoPage]) -> list[BadRecord]:
    return [one for one in found if isinstance(one, BadRecord)]


def claims(surplus: int) -> Callable[[bytes], bytes]:
    """Return what lets a record claim so many bytes more."""

    def claiming(record: bytes) -> bytes:
        head, behind, rest = record.partition(b"Content-Length: ")
        said, line, body = rest.partition(b"\r\n")
        return head + behind + b"%d" % (int(said) + surplus) + line + body

    return claiming


@pytest.mark.parametrize("pack", [GZIP, ZSTD])
@pytest.mark.parametrize("damage", [claims(60_000_000), claims(970), claims(-1)])
def test_a_bad_record_takes_no_other_with_it_where_the_file_is_packed_as_one(pack, damage):
    records = [whole(number) for number in range(50)]
    records[6] = damage(records[6])

    found = read(pack(b"".join(records)))

    assert numbers(found) == [*range(6), *range(7, 50)]
    assert [one.where for one in bad(found)] == [f"standard input, byte 0, unpacked byte {len(b''.join(records[:6]))}"]


@pytest.mark.parametrize("pack", [GZIP, ZSTD])
def test_of_a_file_that_is_packed_as_one_and_cut_off_there_is_the_beginning(pack):
    found = read(pack(b"".join(whole(number) for number in range(900)))[:-200])

    assert numbers(found) == [*range(len(numbers(found)))]
    assert len(numbers(found)) > 500
    assert "cut off" in found[-1].reason  # type: ignore[union-attr]


@pytest.mark.parametrize("digest", ["", "WARC-Block-Digest", "WARC-Payload-Digest"])
def test_what_the_crawl_got_of_an_answer_is_no_page(digest):
    """A record may be as it was written, and its page be half of what the server announced."""
    half = answer(6, b"Content-Length: %d" % (2 * len(html(6))), digest=digest)
    part = answer(7).replace(b"200 OK", b"206 OK")

    found = read(whole(1) + half + part + whole(2))

    assert numbers(found) == [1, 2]
    assert [word in one.reason for one, word in zip(bad(found), ("cut off", "206"), strict=True)] == [True, True]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"5\r\n<p>tea\r\n0\r\n\r\n", id="less"),
        pytest.param(b"9\r\n<p>tea\r\n0\r\n\r\n", id="more"),
        pytest.param(b"ffffffffffffffff\r\n<p>tea\r\n0\r\n\r\n", id="endless"),
        pytest.param(b"7\r\n<p>tea\r\nx\r\n\r\n", id="no-number"),
        pytest.param(b"x\r\n<p>tea\r\n0\r\n\r\n", id="no-first-number"),
        pytest.param(b"7\r\n<p>tea\r\n", id="no-end"),
        pytest.param(b"0\r\n\r\n<p>tea", id="more-behind"),
    ],
)
def test_chunks_that_lie_about_their_size_are_told(body):
    found = read(an_answer(url(1), body, HTML, CHUNKS) + whole(2))

    assert numbers(found) == [2]
    assert "chunks" in bad(found)[0].reason


@pytest.mark.parametrize("digest", ["WARC-Block-Digest", "WARC-Payload-Digest"])
@pytest.mark.parametrize("headers", [(), (CHUNKS,), (PACKED,), (PACKED, CHUNKS)])
def test_a_page_comes_out_by_its_digest_whatever_stands_behind(digest, headers):
    record = answer(1, *headers, digest=digest)

    for behind in (b"", b"\r\n", b"\r\n\r\n", b"\r\n\r\njunk"):
        assert numbers(read(record[:-4] + behind + whole(2))) == [1, 2]


@pytest.mark.parametrize("of", [html(1), GZIP(html(1)), answer(1, PACKED, CHUNKS).split(b"\r\n\r\n", 2)[2][:-4]])
@pytest.mark.parametrize("write", [lambda one: b32encode(one).decode(), bytes.hex])
def test_a_digest_may_be_that_of_the_page_or_of_what_the_network_carried(of, write):
    _, _, block = answer(1, PACKED, CHUNKS).partition(b"\r\n\r\n")
    fields = [f"WARC-Payload-Digest: sha1:{write(sha1(of).digest())}".encode()]

    found = read(a_record(url(1), block[:-4], b"response", *fields))

    assert numbers(found) == [1], bad(found)


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_file_of_zstd_may_have_a_dictionary(is_packed):
    records = [whole(number) for number in range(200)]
    words = zstd.train_dict(records, 2_000)
    held = zstd.compress(words.dict_content) if is_packed else words.dict_content
    frames = [zstd.compress(one, zstd_dict=words) for one in records]
    frames[5] = frames[5][:20] + frames[5][30:]

    found = read(b"\x5d\x2a\x4d\x18" + struct.pack("<I", len(held)) + held + b"".join(frames))

    assert numbers(found) == [*range(5), *range(6, 200)]
    assert len(bad(found)) == 1


@given(
    forms=st.lists(st.sampled_from([(), (CHUNKS,), (PACKED,), (PACKED, CHUNKS)]), min_size=1, max_size=5),
    name=st.sampled_from(sorted(PACKINGS)),
    digest=st.sampled_from(["WARC-Block-Digest", "WARC-Payload-Digest"]),
    kind=st.sampled_from(["flip", "cut", "insert", "delete"]),
    some=st.binary(min_size=1, max_size=40),
    data=st.data(),
)
def test_one_damage_takes_one_record_and_nothing_altered_comes_out_untold(forms, name, digest, kind, some, data):
    raw = [PACKINGS[name](answer(number, *form, digest=digest)) for number, form in enumerate(forms)]
    hit = data.draw(st.integers(0, len(raw) - 1))
    at = data.draw(st.integers(1, len(raw[hit]) - 1))
    one = raw[hit]
    raw[hit] = {
        "flip": one[:at] + bytes([one[at] ^ some[0]]) + one[at + 1 :],
        "cut": one[:at],
        "insert": one[:at] + some + one[at:],
        "delete": one[:at] + one[at + len(some) :],
    }[kind]
    known = {html(number).decode(): number for number in range(len(forms))}

    found = read(b"".join(raw))

    pages = [one for one in found if isinstance(one, InputPage)]
    out = [known[page.html] for page in pages]
    assert [number for number in out if number != hit] == [number for number in range(len(forms)) if number != hit]
    assert out == sorted(set(out))
    # No digest covers the header of a record in a plain file.
    assert name == "plain" or [page.url for page in pages] == [url(number) for number in out]
    # Nor does that of a payload cover the answer's header: of another type it is no page, and told as that.
    assert hit in out or len(found) > len(out)


def stored(raw: bytes, *, last: bool = False) -> bytes:
    """Return a block of deflate that holds bytes as they are."""
    return struct.pack("<BHH", last, len(raw), len(raw) ^ 0xFFFF) + raw


def nested(size: int) -> bytes:
    """Return members of gzip, each of which holds all behind it in blocks that fit together, and none of which ends."""
    head, inner = b"\x1f\x8b\x08\0\0\0\0\0\0\3", b""
    while len(inner) < 20_000:
        inner = head + stored(b"WARC/1.0\r\n" + inner)
    return head + stored(b"WARC/1.0\r\n" + inner) * (size // 20_000)


HOSTILE = {
    "gzip-magics": lambda size: b"\x1f\x8b\x08\0" * (size // 4),
    "gzip-names": lambda size: b"\x1f\x8b\x08\x1f" * (size // 4),
    "zstd-magics": lambda size: b"\x28\xb5\x2f\xfd" * (size // 4),
    "zstd-blocks": lambda size: b"\x28\xb5\x2f\xfd\x00\x58\xf9\xff\x0f" * (size // 9),
    "versions": lambda size: b"WARC/1.0\r\n" * (size // 10),
    "headers": lambda size: a_record(url(1), b"x" * 9_000_000)[:-9_000_000] * (size // 300),
    "types": lambda size: b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 99999\r\n\r\n" * (size // 58),
    "lines": lambda size: b"WARC/1.0\r\n" + b"a: \r\n" * (size // 5),
    "nested": nested,
}


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in HOSTILE.items()])
@pytest.mark.parametrize("begins", [pytest.param(pack(whole(1)), id=name) for name, pack in PACKINGS.items()])
def test_time_grows_as_the_file(begins, make):
    def work(raw: bytes) -> None:
        for _ in read_records(io.BytesIO(raw), 1_000_000):
            pass

    assert_in_proportion(work, lambda size: begins + make(size), 100_000)


@packings
def test_behind_hostile_bytes_reading_goes_on(pack):
    for make in HOSTILE.values():
        found = read(pack(whole(1)) + make(70_000) + b"\r\n\r\n" + pack(whole(2)))

        assert numbers(found) == [1, 2]
        assert bad(found)
