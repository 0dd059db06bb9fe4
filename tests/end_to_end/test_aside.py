"""What takes long is done beside the reactor, and every page leaves as if it had been done at once."""

from typing import Any

import pytest

from tests.end_to_end.crawling import lines_of
from tests.server import Answer, Site
from tests.service.learned_site import FOOTER, WORDS, post

SELECT = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
WATCHED: dict[str, Any] = {
    "EXTENSIONS": {"tests.end_to_end.recorders.Ledger": 0, "tests.end_to_end.recorders.JudgingThreads": -1},
    "DEDUP_LAYERS": {"chunk": False},
}
POSTS = [f"{word}-{number}" for word in WORDS for number in (1, 2)][:24]
LONG = 3


def long_page(number: int) -> str:
    texts = "".join(f"<p>Sentence {place} of page {number}, which no other page has.</p>" for place in range(120))
    return (
        f"<!doctype html><title>Page {number}</title><nav><a href=/>Home</a></nav><main><h1>{number}</h1>{texts}</main>"
    )


def site(origins: list[str]) -> Site:
    posts: Site = {f"{origins[0]}/posts/{name}": Answer(post(name)) for name in POSTS}
    return posts | {f"{origins[1]}/long/{number}": Answer(long_page(number)) for number in range(LONG)}


SERVED = 2, site


@pytest.mark.parametrize("reactor", [{}, SELECT], ids=["asyncio", "select"])
def test_layouts_are_learned_and_long_pages_judged_in_a_thread_and_pages_leave_in_the_order_in_which_they_came(
    project, server, reactor
):
    """Those that waited for what is learned go before those that came meanwhile."""
    settings = WATCHED | reactor | {"DEDUP_BATCH": {"pages": 5}, "CONCURRENT_REQUESTS": 1}
    crawled = project.crawl("in-order", "-a", f"start={' '.join(server.site)}", **settings)

    assert crawled.count("items/parked") > LONG
    assert crawled.count("pages/by_fallback") == LONG
    threads = {(name, where) for name, where in lines_of(project.folder / "threads.jsonl")}
    assert threads == {("judge", "thread"), ("cluster", "thread")}
    assert not [line for line in crawled.stored if FOOTER in line["cleaned"]]
    for part in ("/posts/", "/long/"):
        assert [one for one in crawled.stored_ids if part in one] == [url for url in server.site if part in url]
