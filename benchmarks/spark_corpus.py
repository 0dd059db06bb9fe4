"""Corpora for `benchmarks.spark`: pages of real sites under many domains.

Each time a page is used again, all words of what it alone says are others, by a rule, so that no two are alike, while
what repeats on its site repeats on the new one.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.corpus import pages

_SEGMENT = re.compile(r"(?is)(<(?:script|style)\b.*?</(?:script|style)\s*>|<!--.*?-->|<[^>]*>|&#?\w+;)")
_ALPHABETS = (
    "aeiou",
    "bcdfghjklmnpqrstvwxz",
    "аеиоуыэюя",
    "бвгджзклмнпрстфхцчшщ",
    "αεηιου",
    "βγδζθκλμνξπρστφχψ",
    "123456789",
)
SKEW = 0.9
"""Of a skewed corpus, in one domain."""


@dataclass(frozen=True, slots=True)
class Site:
    """Pages of one site, as (url, segments); segments that no other page has are to be varied."""

    pages: Sequence[tuple[str, Sequence[str]]]
    repeated: frozenset[str]


def read_site(manifest: dict[str, object], folder: Path) -> Site:
    """Return a site's pages, and what repeats on them."""
    found = [(url, _SEGMENT.split(html)) for url, html in pages(manifest, folder)]
    counts = Counter(text for _, segments in found for text in {one.strip() for one in segments[::2]} if text)
    return Site(found, frozenset(text for text, number in counts.items() if number > 1))


def even_sizes(number: int, domains: int) -> list[int]:
    """Return how many pages each domain has."""
    return [number // domains + (domain < number % domains) for domain in range(domains)]


def skewed_sizes(number: int, domains: int) -> list[int]:
    """Return the same where one domain has most of the pages."""
    large = int(number * SKEW)
    return [large, *even_sizes(number - large, max(1, domains - 1))]


def write_corpus(path: Path, read: Sequence[Site], sizes: Sequence[int]) -> Path:
    """Write a corpus as JSON lines: the pages of all domains mixed, as crawls leave them."""
    rows = [(number / size, domain, number) for domain, size in enumerate(sizes) for number in range(size)]
    with path.open("w", encoding="utf-8", errors="surrogatepass") as file:
        for _, domain, number in sorted(rows):
            part, site, place = _source(read, sizes, domain, number)
            url, segments = site.pages[place % len(site.pages)]
            round_ = place // len(site.pages)
            html = "".join(_varied(site, segments, domain, round_))
            parts = urlsplit(url)
            address = f"https://site-{domain:05}.example/{part}/{round_}{parts.path}"
            file.write(json.dumps({"url": f"{address}?{parts.query}" if parts.query else address, "html": html}) + "\n")
    return path


def _source(read: Sequence[Site], sizes: Sequence[int], domain: int, number: int) -> tuple[int, Site, int]:
    """Return the part of a domain that a page is in, and whose page it is.

    A domain with most of the corpus has the pages of all sites, each in a part of its own: pages of different sites
    take different times, and that is not the question of a skewed corpus.
    """
    if 2 * sizes[domain] > sum(sizes):
        return number % len(read), read[number % len(read)], number // len(read)
    return 0, read[domain % len(read)], number


def _varied(site: Site, segments: Sequence[str], domain: int, round_: int) -> Iterator[str]:
    of_site, of_page = _letters(domain, -1), _letters(domain, round_)
    for place, one in enumerate(segments):
        if place % 2:
            yield one
        else:
            yield one.translate(of_site if one.strip() in site.repeated else of_page)


@lru_cache(maxsize=10_000)
def _letters(domain: int, round_: int) -> dict[int, int]:
    """Return which letter stands for which: words stay words, and become others."""
    order = random.Random(domain * 1_000_003 + round_)
    table: dict[int, int] = {}
    for letters in _ALPHABETS:
        mixed = list(letters)
        order.shuffle(mixed)
        for one, other in zip(letters, mixed, strict=True):
            table |= {ord(one): ord(other), ord(one.upper()): ord(other.upper())}
    return table
