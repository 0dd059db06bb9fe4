import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.plugin.domains import Site, Sites
from scrapy_dedup.store.engine.codec import pack_fingerprints
from scrapy_dedup.store.records.records import ValidatorRecord
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, a_document
from tests.tables import table

MENU = 7


def sites_of(project: ProjectStore, counts: Counter[str] | None = None) -> Sites:
    counts = Counter() if counts is None else counts
    return Sites(project, RepeatPolicy(), lambda what, n: counts.update({what: n}))


def recalled(sites: Sites, domain: str = DOMAIN, times: int = 1) -> list[Site]:
    async def work() -> list[Site]:
        return await asyncio.gather(*(sites.recalled(domain) for _ in range(times)))

    return asyncio.run(work())


def test_all_who_ask_at_once_get_the_same_site_with_its_knowledge(project: ProjectStore) -> None:
    project.write([ValidatorRecord(DOMAIN, sent=9)])

    found = recalled(sites_of(project), times=5)

    assert len({id(site) for site in found}) == 1
    assert found[0].validators.sent == 9


@pytest.mark.parametrize("damage", ["DROP TABLE domain_validators", "UPDATE documents SET blocks = x'0102'"])
def test_site_that_cannot_be_recalled_is_found_out_anew(
    project: ProjectStore, path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    project.write([a_document(1, content_hash=b"c" * 32, blocks=pack_fingerprints([MENU]))])
    with closing(sqlite3.connect(path)) as other:
        other.execute(damage)
        other.commit()
    counts: Counter[str] = Counter()

    (site,) = recalled(sites_of(project, counts))

    assert site.loaded
    assert site.versions.repeats.boilerplate == frozenset()
    assert counts == {"store/errors": 1}
    assert f"What is known of {DOMAIN} cannot be read" in caplog.text


@table("plugin/complete_domains")
def test_domain_is_complete_where_there_was_nothing_else_to_see(
    project: ProjectStore, fetches: int, failures: int, *, failed_sitemap: bool, complete: bool
) -> None:
    sites = sites_of(project)
    site = sites.of(DOMAIN)
    site.fetches, site.failures, site.failed_sitemap = fetches, failures, failed_sitemap

    assert sites.complete(0.1) == ([DOMAIN] if complete else [])
