"""What executors do to learn sites: which pages are there, which are learned from, and what they teach.

As `steps_pages`, it knows neither Scrapy nor a database: a contract in setup.cfg holds that.
"""

import json
from collections.abc import Iterable, Iterator
from heapq import heappush, heappushpop
from itertools import groupby
from operator import itemgetter
from typing import Final

from msgspec import Struct

from scrapy_dedup.batch import columns
from scrapy_dedup.batch.columns import (
    BYTES_AT_ONCE,
    PAGES_AT_ONCE,
    Batches,
    Made,
    in_batches,
    raw,
    rows_of,
    text_of,
    unraw,
)
from scrapy_dedup.batch.records import Placed, RecordSource, records
from scrapy_dedup.batch.shared_facts import local_path, look_up
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key
from scrapy_dedup.service.files.inputs_records import BadRecord, InputPage, NoPage
from scrapy_dedup.service.files.tasks import named
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.templates.site_learning import learn_site
from scrapy_dedup.settings import Settings

# Of the smallest keys that one task holds; beyond it they go on, and more of them than needed come together.
_MOST_HELD: Final = 200_000


class SiteSurvey(Struct, frozen=True):
    """Tells which pages there are: domain, page key, place and size of each."""

    source: RecordSource

    def __call__(self, batches: Batches) -> Made:
        """Return the rows of one task."""
        return in_batches(self._found(batches), columns.SURVEYED)

    def _found(self, batches: Batches) -> Iterator[columns.Row]:
        settings = self.source.settings
        rules = url_rules(settings)
        for place, record in records(batches, self.source):
            url = None if isinstance(record, BadRecord | NoPage) else record.url(settings)
            domain = extract_domain(url, settings.domain_scope) if url is not None else None
            if url is not None and domain is not None and not isinstance(record, BadRecord | NoPage):
                yield raw(domain), page_key(url, rules), place, record.size


class Smallest(Struct, frozen=True):
    """Leaves of each domain's pages those with the smallest page keys of one task, and perhaps more."""

    most: int

    def __call__(self, batches: Batches) -> Made:
        """Return the rows of one task."""
        return in_batches(self._found(batches), columns.SURVEYED)

    def _found(self, batches: Batches) -> Iterator[columns.Row]:
        heaps: dict[bytes, list[tuple[bytes, bytes, bytes, int]]] = {}
        held = 0
        for domain, key, place, size in rows_of(batches):
            heap = heaps.setdefault(domain, [])
            # Turned, so that the largest key goes first.
            entry = (bytes(255 - value for value in key), key, place, size)
            if len(heap) < self.most:
                heappush(heap, entry)
                held += 1
            else:
                heappushpop(heap, entry)
            if held >= _MOST_HELD:
                yield from _entries(heaps)
                heaps, held = {}, 0
        yield from _entries(heaps)


def _entries(heaps: dict[bytes, list[tuple[bytes, bytes, bytes, int]]]) -> Iterator[columns.Row]:
    for domain, heap in heaps.items():
        for _, key, place, size in heap:
            yield domain, key, place, size


class SampleSources(Struct, frozen=True):
    """Gives the sources of the pages that sites are learned from.

    Attributes:
        file: of their places.
    """

    source: RecordSource
    file: str

    def __call__(self, batches: Batches) -> Made:
        """Return the rows of one task."""
        return in_batches(self._found(batches), columns.SOURCES, 1)

    def _found(self, batches: Batches) -> Iterator[columns.Row]:
        settings, path = self.source.settings, local_path(self.file)
        rules = url_rules(settings)
        for lot in _in_lots(records(batches, self.source)):
            chosen = look_up(path, [place for place, _ in lot])
            for place, record in lot:
                if place not in chosen or isinstance(record, BadRecord | NoPage):
                    continue
                page = record.page(settings)
                if isinstance(page, InputPage) and page.pdf is None:
                    domain = extract_domain(page.url, settings.domain_scope) or ""
                    yield raw(domain), page_key(page.url, rules), raw(page.url), raw(page.html)


def _in_lots(found: Iterable[Placed]) -> Iterator[list[Placed]]:
    lot: list[Placed] = []
    size = 0
    for place, record in found:
        lot.append((place, record))
        size += 0 if isinstance(record, BadRecord | NoPage) else record.size
        if size >= BYTES_AT_ONCE or len(lot) >= PAGES_AT_ONCE:
            yield lot
            lot, size = [], 0
    if lot:
        yield lot


class Learning(Struct, frozen=True):
    """Learns domains, whose pages come one after the other, by their keys."""

    settings: Settings

    def __call__(self, batches: Batches) -> Made:
        """Return the rows of one task."""
        return in_batches(self._learned(batches), columns.LEARNED, 1)

    def _learned(self, batches: Batches) -> Iterator[columns.Row]:
        for domain, rows in groupby(rows_of(batches), itemgetter(0)):
            # One page after the other is read, parsed and let go.
            pages = _Counted((unraw(url), unraw(html)) for _, _, url, html in rows)
            try:
                known = learn_site(unraw(domain), pages, self.settings)
            except Exception as error:  # noqa: BLE001 (one domain must not end the others)
                for _ in pages:
                    pass
                yield domain, pages.count, 0, 0, text_of(named(error)), None
                continue
            live = sum(one.state == "live" for one in known.templates.values())
            text = json.dumps(known.to_json())
            yield domain, pages.count, len(known.index.layouts), live, None, text


class _Counted(Iterator[tuple[str, str]]):
    """Pages, counted as they are read."""

    def __init__(self, pages: Iterator[tuple[str, str]]) -> None:
        self.count = 0
        self._pages = pages

    def __next__(self) -> tuple[str, str]:
        page = next(self._pages)
        self.count += 1
        return page
