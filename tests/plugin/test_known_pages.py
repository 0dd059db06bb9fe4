import asyncio
from collections import Counter

import pytest

from scrapy_dedup.plugin.unchanged import PageLookups
from scrapy_dedup.service.recrawl import NOTHING_KNOWN, AskedPage, KnownPage
from scrapy_dedup.store.writer import ProjectStore
from tests.databases import change
from tests.store.builders import a_document, a_key

PAGES = 40


@pytest.fixture
def project(project) -> ProjectStore:
    """Every other page is known."""
    project.write([a_document(number, content_hash=b"c" * 32) for number in range(0, PAGES, 2)])
    return project


def asked(name: object) -> AskedPage:
    return AskedPage(a_key(name))


def ask(project: ProjectStore, counts: Counter[str], *names: object) -> list[KnownPage]:
    async def work() -> list[KnownPage]:
        known_pages = PageLookups(project, lambda what, n: counts.update({what: n}))
        return await asyncio.gather(*(known_pages.answer(asked(name)) for name in names))

    return asyncio.run(work())


def test_every_request_gets_the_answer_for_its_own_page_and_two_for_one_page_both_do(project):
    found = ask(project, Counter(), *range(PAGES), 2, 3)

    keys = [known.state.page_key if known.state else None for known in found]
    assert keys == [None if number % 2 else a_key(number) for number in (*range(PAGES), 2, 3)]


def test_requests_that_come_later_are_asked_for_with_the_next_question(project):
    async def work() -> list[KnownPage]:
        known_pages = PageLookups(project, lambda *_: None)
        first = asyncio.ensure_future(known_pages.answer(asked(0)))
        await asyncio.sleep(0)
        later = await asyncio.gather(*(known_pages.answer(asked(number)) for number in (2, 4)))
        again = await known_pages.answer(asked(6))
        return [await first, *later, again]

    found = asyncio.run(work())

    assert [known.state.page_key for known in found if known.state] == [a_key(number) for number in (0, 2, 4, 6)]


def test_nothing_is_known_where_the_store_does_not_answer(project, path, caplog):
    """Then pages are fetched; one warning for all of them."""
    counts: Counter[str] = Counter()
    change(path, "DROP TABLE documents")

    async def work() -> list[KnownPage]:
        known_pages = PageLookups(project, lambda what, n: counts.update({what: n}))
        return [await known_pages.answer(asked(number)) for number in (0, 2)]

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
