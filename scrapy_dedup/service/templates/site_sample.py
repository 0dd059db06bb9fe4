"""The pages that a site is learned from: so many, evenly spread, and small."""

import zlib
from collections.abc import Iterator
from heapq import heappush, heapreplace, nlargest
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.boilerplate.observations import Observation, observe
from scrapy_dedup.core.metadata.choice import evidence_of
from scrapy_dedup.core.metadata.locators import Evidence
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.templates.layouts import Skeleton, skeleton_of

# Of so many pages the HTML is kept, for a browser to show them.
KEPT_WHOLE: Final = 4
_TITLE_CHARS: Final = 200

FEWEST_PAGES: Final = 5
"""A site is learned from."""
FEWEST_SHOWN: Final = 3
"""A site of which a browser has shown a page is learned from."""


class LearnedPage(Struct, frozen=True):
    """What is kept of a page while its site is learned; pickled, it goes to other processes."""

    page_key: bytes
    url: str
    observation: Observation
    skeleton: Skeleton
    evidence: Evidence
    """Of its title, date and author."""
    title: str | None = None


def learned_page(page_key: bytes, url: str, page: Page) -> LearnedPage:
    """Return what is to be learned from a page."""
    title = page.title[:_TITLE_CHARS] if page.title else None
    return LearnedPage(page_key, url, observe(page), skeleton_of(page), evidence_of(page, url), title)


class SiteSample:
    """At most *most* pages of one domain: those with the smallest page keys, which is no order that a site knows.

    So the sample does not depend on the order in which pages come. Ask `wants` before a page is parsed.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._pages: dict[bytes, LearnedPage] = {}
        self._largest: list[bytes] = []
        """Page keys with all bits turned, so that the heap's first is the largest key."""
        self._sources: dict[bytes, bytes] = {}
        """Of the KEPT_WHOLE smallest keys: packed HTML."""

    def __len__(self) -> int:
        return len(self._pages)

    def wants(self, page_key: bytes) -> bool:
        """Whether a page would be among those that are learned from; a page that is there already would not."""
        if page_key in self._pages:
            return False
        return len(self._pages) < self.most or page_key < _turned(self._largest[0])

    def add(self, page: LearnedPage, html: str) -> None:
        """Take in a page that `wants` has let in."""
        key = page.page_key
        if len(self._pages) < self.most:
            heappush(self._largest, _turned(key))
        else:
            gone = _turned(heapreplace(self._largest, _turned(key)))
            del self._pages[gone]
            self._sources.pop(gone, None)
        self._pages[key] = page
        if len(self._sources) < KEPT_WHOLE or key < max(self._sources):
            self._sources[key] = zlib.compress(html.encode("utf-8", "surrogatepass"), 1)
            for last in nlargest(len(self._sources) - KEPT_WHOLE, self._sources):
                del self._sources[last]

    def sources(self) -> Iterator[tuple[LearnedPage, str]]:
        """Iterate over the pages whose HTML is kept, by their keys."""
        for key in sorted(self._sources):
            yield self._pages[key], zlib.decompress(self._sources[key]).decode("utf-8", "surrogatepass")

    def copy(self) -> "SiteSample":
        """Return a sample of the same pages, which stays as it is."""
        copied = SiteSample(self.most)
        copied._pages, copied._largest, copied._sources = dict(self._pages), [*self._largest], dict(self._sources)
        return copied

    def pages(self) -> list[LearnedPage]:
        """Return the pages, by their keys."""
        return [self._pages[key] for key in sorted(self._pages)]


def _turned(key: bytes) -> bytes:
    return bytes(255 - value for value in key)
