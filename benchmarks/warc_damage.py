"""What does one damage of a WARC file take with it?

A file of records (whole bodies, chunks, gzip; with digests, as crawlers write them) is damaged at random, many times
over: a bit is turned, bytes are cut out, put in or written over, all within one record. Each time it is read as
`scrapy dedup clean` reads it, and the pages are compared with those of the whole file. Packed files have a member a
record.
"""

import argparse
import gzip
import hashlib
import sys
from base64 import b32encode
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from rich.progress import track

from benchmarks import results
from scrapy_dedup.commands.terminal import errors
from scrapy_dedup.service.files.inputs import Inputs
from scrapy_dedup.service.files.inputs_records import BadRecord, InputPage, NoPage
from scrapy_dedup.service.packed_files import zstd
from scrapy_dedup.settings import Settings

Page = tuple[str, str]
_CHECKED: Final = {int(zstd.CompressionParameter.checksum_flag): 1}
PACKINGS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "plain": bytes,
    "gzip": partial(gzip.compress, mtime=0),
    "zstd": partial(zstd.compress, options=_CHECKED),
}
_WORDS: Final = "tea water leaf cup kettle green black pot steam field picked dried market".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=500)
    parser.add_argument("--damages", type=int, default=2_000, help="of each packing, one a reading")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures: dict[str, Any] = {
        "records": args.records,
        "damages": args.damages,
        "seed": args.seed,
        "one": {},
        "five": {},
    }
    for name, pack in PACKINGS.items():
        figures["one"][name] = run(pack, args.records, 1, args.damages, args.seed, name)
        figures["five"][name] = run(pack, 2 * args.records, 5, max(1, args.damages // 100), args.seed, name)
        print(name, figures["one"][name], figures["five"][name])
    results.write(args.json, figures)
    found = [one for some in ("one", "five") for one in figures[some].values()]
    sys.exit(1 if any(one["missing"] or one["altered"] or one["untold"] for one in found) else 0)


def run(pack: Callable[[bytes], bytes], count: int, damages: int, times: int, seed: int, name: str) -> dict[str, int]:
    """Return what came of so many readings, each of a file with so many damages.

    `missing`: pages of whole records; `altered`: bodies that are not those of the whole file; `untold`: damaged records
    that are neither told nor there as they were; `other_url`: whole bodies whose URL was hit, which a plain file has no
    digest of; `told` and `unharmed`: what became of the damaged records else.
    """
    random = Random(f"{seed} {name} {damages}")
    pages = [a_page(random, number) for number in range(count)]
    members = [pack(a_record(random, *page)) for page in pages]
    found: Counter[str] = Counter(dict.fromkeys(("missing", "altered", "untold", "other_url", "told", "unharmed"), 0))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "in.warc"
        for _ in track(range(times), f"{name}, {damages} of {count}", console=errors(), transient=True):
            hit = random.sample(range(count), damages)
            path.write_bytes(b"".join(damaged(random, one) if at in hit else one for at, one in enumerate(members)))
            found += _compared(pages, set(hit), read(path))
            found.update(readings=1)
    return {name: found[name] for name in ("readings", "missing", "altered", "untold", "other_url", "told", "unharmed")}


def a_page(random: Random, number: int) -> Page:
    text = " ".join(random.choices(_WORDS, k=random.randrange(20, 600)))
    return f"https://{random.choice(_WORDS)}.example/{number}", f"<html><p>{number}\r\n\r\n<p>{text}</html>"


def a_record(random: Random, url: str, html: str) -> bytes:
    """Return a record of WARC; its body has chunks, is packed, or neither."""
    body, headers = html.encode(), ["Content-Type: text/html; charset=utf-8"]
    form = random.randrange(4)
    if form & 1:
        body, headers = gzip.compress(body, mtime=0), [*headers, "Content-Encoding: gzip"]
    if form & 2:
        cut = random.randrange(1, len(body))
        body = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in (body[:cut], body[cut:], b""))
        headers.append("Transfer-Encoding: chunked")
    block = "\r\n".join(["HTTP/1.1 200 OK", *headers, "", ""]).encode() + body
    fields = [
        "WARC/1.0",
        "WARC-Type: response",
        f"WARC-Target-URI: {url}",
        "WARC-Date: 2026-01-01T00:00:00Z",
        f"WARC-Record-ID: <urn:uuid:{random.getrandbits(128):032x}>",
        f"WARC-Block-Digest: sha1:{_digest(block)}",
        f"WARC-Payload-Digest: sha1:{_digest(body)}",
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join([*fields, "", ""]).encode() + block + b"\r\n\r\n"


def _digest(raw: bytes) -> str:
    return b32encode(hashlib.sha1(raw, usedforsecurity=False).digest()).decode()


def damaged(random: Random, raw: bytes) -> bytes:
    """Return some bytes with one damage."""
    at, size = random.randrange(len(raw)), random.choice((1, 2, 4, 20, 300))
    kind, behind = random.choice(("turn", "cut", "put in", "write over")), raw[at + size :]
    if kind == "turn":
        return raw[:at] + bytes([raw[at] ^ (1 << random.randrange(8))]) + raw[at + 1 :]
    if kind == "cut":
        return raw[:at] + behind
    if kind == "put in":
        return raw[:at] + random.randbytes(size) + raw[at:]
    return raw[:at] + random.randbytes(len(raw) - at - len(behind)) + behind


def read(path: Path) -> list[InputPage | BadRecord | NoPage]:
    """Return what a file gives."""
    settings = Settings()
    with Inputs([str(path)], sys.stdin.buffer) as inputs:
        found = inputs.records(settings, lambda _: None)
        return [one if isinstance(one, BadRecord | NoPage) else one.page(settings) for one in found]


def _compared(whole: Sequence[Page], hit: set[int], found: Sequence[InputPage | BadRecord | NoPage]) -> Counter[str]:
    pages = [(one.url, one.html) for one in found if isinstance(one, InputPage)]
    told = sum(isinstance(one, BadRecord) for one in found)
    known, bodies = {page: number for number, page in enumerate(whole)}, {html for _, html in whole}
    here = [known[page] for page in pages if page in known]
    others = [html in bodies for url, html in pages if (url, html) not in known]
    lost = hit - set(here)
    # Damages of records side by side are one.
    places = sum(number - 1 not in lost for number in lost)
    return Counter(
        missing=len(set(range(len(whole))) - hit - set(here)) + (here != sorted(set(here))),
        altered=others.count(False),
        untold=max(0, places - told - len(others)),
        other_url=others.count(True),
        told=len(lost) - len(others),
        unharmed=len(hit & set(here)),
    )


if __name__ == "__main__":
    main()
