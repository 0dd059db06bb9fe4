"""What do near-duplicates cost a page in a SQLite store of 10,000, 100,000 and 1,000,000 pages?

The sketches are real, of short synthetic texts (60 shingles each; one page in 50 is like an earlier one of its site): a
signature takes the same room and the same time in the store whatever the text was. Sixteen sites of 1,000 pages are
crawled at a time; the worst case, one site with all pages, is measured up to 100,000. Tokenising is measured apart, on
real pages.
"""

import hashlib
import random
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from sqlalchemy import bindparam, select, text

from scrapy_dedup.core.duplicates import promising, resemblance, shingles, sketch_of
from scrapy_dedup.store.engine.codec import unpack_text
from scrapy_dedup.store.records import shared
from scrapy_dedup.store.records.records import SignatureRecord, SourceRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import SourceRow
from scrapy_dedup.store.writer import ProjectStore

SCOPE = b"benchmark"
DOMAIN = "www.example.com"
AT_ONCE = 500
_MEASURED = 2_000
_LOOKUPS = 200
_SHINGLES = 60
_AT_A_TIME = 16
_PAGES_OF_A_SITE = 1_000
_MOST_OF_ONE = 100_000
_ALIKE_ONE_IN = 50
_THRESHOLD = 0.8
_MS = 1_000

_OF_PAGE = select(SourceRow.content).where(
    SourceRow.project_id == bindparam("of_project"), SourceRow.page_key == bindparam("of_page")
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a page, in milliseconds of CPU, when so many are stored."""

    stored: int
    lookup_ms: float
    """Bands to candidates worth a look."""
    slowest_lookup_ms: float
    """Of 100 lookups the slowest one, 99th percentile."""
    write_ms: float
    """Of a transaction of 500 pages, its commit with it."""
    bytes_a_page: float
    found: int
    """Pages of those looked up that had a candidate worth a look."""


def measure(sizes: Sequence[int]) -> dict[str, Any]:
    """Return the costs at each size."""
    one = _stored([size for size in sizes if size <= _MOST_OF_ONE], one_site=True)
    return {"one_site": one, "many_sites": _stored(sizes, one_site=False)}


def _stored(sizes: Sequence[int], *, one_site: bool) -> list[dict[str, Any]]:
    print("all pages of one site" if one_site else "sites of 1,000 pages")
    with TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/dedup.db") as store:
        return [asdict(cost) for cost in _grow(store.project("benchmark"), sizes, one_site=one_site)]


def crowded(pages: int) -> dict[str, float]:
    """Return the cost of a lookup where so many pages share all bands with the page that comes."""
    with TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/dedup.db") as store:
        project = store.project("crowded")
        same = _record(0).sketch
        for start in range(0, pages, AT_ONCE):
            keys = [key_of(number) for number in range(start, start + AT_ONCE)]
            _write(project, [SignatureRecord(key, DOMAIN, key, sketch=same) for key in keys])
        looked = []
        for _ in range(_LOOKUPS):
            start_at = process_time()
            assert _looks(project, _record(0))
            looked.append((process_time() - start_at) * _MS)
    figures = {"pages": pages, "lookup_ms": statistics.mean(looked), "slowest_lookup_ms": max(looked)}
    print("crowded: " + "  ".join(f"{name} {value:.3f}" for name, value in figures.items()))
    return figures


def key_of(number: int) -> bytes:
    """Return the key of a page."""
    return hashlib.blake2b(number.to_bytes(8, "big"), digest_size=16).digest()


def _grow(project: ProjectStore, sizes: Sequence[int], *, one_site: bool) -> Iterator[Cost]:
    print(f"{'stored':>10}{'lookup ms':>12}{'p99 ms':>10}{'write ms':>10}{'bytes a page':>14}{'found':>7}")
    empty = _bytes(project)
    count = 0
    for size in sizes:
        while count < size - _MEASURED:
            _write(project, [_record(number, one_site=one_site) for number in range(count, count + AT_ONCE)])
            count += AT_ONCE
        looked, wrote, found = [], [], 0
        while count < size:
            records = [_record(number, one_site=one_site) for number in range(count, count + AT_ONCE)]
            for record in records:
                start = process_time()
                found += _looks(project, record)
                looked.append((process_time() - start) * _MS)
            start = process_time()
            _write(project, records)
            wrote.append((process_time() - start) * _MS / AT_ONCE)
            count += AT_ONCE
        cost = Cost(
            count,
            statistics.mean(looked),
            statistics.quantiles(looked, n=100)[98],
            statistics.mean(wrote),
            (_bytes(project) - empty) / count,
            found,
        )
        print(
            f"{count:10,}{cost.lookup_ms:12.3f}{cost.slowest_lookup_ms:10.3f}{cost.write_ms:10.3f}"
            f"{cost.bytes_a_page:14.0f}{found:7}"
        )
        yield cost


def _looks(project: ProjectStore, record: SignatureRecord) -> bool:
    assert record.sketch is not None
    with project._database.transaction() as connection:  # noqa: SLF001 (no crawl here whose place it would be)
        found = shared.candidates(connection, project.id, record.sketch.bands)
    return bool(promising(record.sketch, found, _THRESHOLD, 8))


def _write(project: ProjectStore, records: list[SignatureRecord]) -> None:
    with project._database.transaction(write=True) as connection:  # noqa: SLF001
        shared.write_signatures(connection, project.id, records)


def _record(number: int, *, one_site: bool = True) -> SignatureRecord:
    rng = random.Random(number)
    # Sixteen sites at a time, whose pages come in turns.
    site = 0 if one_site else number // (_AT_A_TIME * _PAGES_OF_A_SITE) * _AT_A_TIME + number % _AT_A_TIME
    earlier = number if one_site else number % (_AT_A_TIME * _PAGES_OF_A_SITE) // _AT_A_TIME
    of = number
    if earlier and not rng.randrange(_ALIKE_ONE_IN):
        of -= rng.randint(1, earlier) * (1 if one_site else _AT_A_TIME)
    text_of = [f"page {of} word {at}" for at in range(_SHINGLES)]
    if of != number:
        text_of[rng.randrange(_SHINGLES)] = f"another {number}"
    found = sketch_of(frozenset(text_of), SCOPE + site.to_bytes(8, "big"))
    return SignatureRecord(
        key_of(number), f"www.site-{site}.example", key_of(number), title_key=key_of(number + 2**62), sketch=found
    )


def _bytes(project: ProjectStore) -> int:
    """Return how large the file is once the log is written into it, with its empty pages."""
    with project._database.transaction() as connection:  # noqa: SLF001
        pages, size = (connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in ("page_count", "page_size"))
    return int(pages) * int(size)


def texts(pages: list[str]) -> dict[str, float]:
    """Return the cost of real texts, in milliseconds a page."""
    with TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/dedup.db") as store:
        project = store.project("texts")
        now = datetime.now(UTC)
        project.write(
            SourceRecord(key_of(number), f"https://{DOMAIN}/{number}", DOMAIN, "content", page, now)
            for number, page in enumerate(pages)
        )
        spent: defaultdict[str, float] = defaultdict(float)
        for number, page in enumerate([pages[0], *pages], -1):
            start = process_time()
            own = shingles(page)
            cut = process_time()
            sketch_of(own, SCOPE)
            sketched = process_time()
            stored = _read(project, max(0, number))
            read = process_time()
            alike = resemblance(own, shingles(stored))
            checked = process_time()
            assert alike in (0, 1)
            if number >= 0:  # before that statements are built
                spent["shingles"] += cut - start
                spent["sketch"] += sketched - cut
                spent["read"] += read - sketched
                spent["other text's shingles and comparison"] += checked - read
                # As when both texts come from the store.
                spent["exact check"] += (checked - sketched) + (cut - start)
    found = {"pages": len(pages), "chars": statistics.mean(map(len, pages))}
    found |= {name: seconds / len(pages) * _MS for name, seconds in spent.items()}
    print("  ".join(f"{name} {value:.3f}" for name, value in found.items()))
    return found


def _read(project: ProjectStore, number: int) -> str:
    """Return a page's text from the store."""
    with project._database.transaction() as connection:  # noqa: SLF001
        packed = connection.scalar(_OF_PAGE, {"of_project": project.id, "of_page": key_of(number)})
    assert packed is not None
    return unpack_text(packed)
