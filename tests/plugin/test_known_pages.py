"""Where the store does not answer; that each request gets its own page's answer is the law's."""

import asyncio
from collections import Counter

from scrapy_dedup.plugin.unchanged import PageLookups
from scrapy_dedup.service.recrawl import NOTHING_KNOWN, AskedPage, KnownPage
from tests.databases import change
from tests.store.builders import a_key


def test_nothing_is_known_where_the_store_does_not_answer(project, path, caplog):
    """Then pages are fetched; one warning for all of them."""
    counts: Counter[str] = Counter()
    change(path, "DROP TABLE documents")

    async def work() -> list[KnownPage]:
        known_pages = PageLookups(project, lambda what, n: counts.update({what: n}))
        return [await known_pages.answer(AskedPage(a_key(number))) for number in (0, 2)]

    assert asyncio.run(work()) == [NOTHING_KNOWN] * 2
    assert counts == {"store/errors": 2}
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_defect_keeps_no_request_waiting(project, caplog):
    counts: Counter[str] = Counter()

    async def work() -> KnownPage:
        known_pages = PageLookups(project, lambda what, n: counts.update({what: n}))
        return await known_pages.answer(AskedPage("no bytes"))  # type: ignore[arg-type]

    assert asyncio.run(work()) == NOTHING_KNOWN
    assert counts == {"store/errors": 1}
    assert len(caplog.records) == 1
