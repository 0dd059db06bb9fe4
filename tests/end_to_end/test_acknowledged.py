"""A page counts as seen only when its items are safe."""

from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, BASE, Crawled, Project, lines_of
from tests.end_to_end.recrawl_site import HOME, ChangingSite, verdicts

PAGES = 6
EVERYTHING = [HOME, "p0", "p1", "p2", "p3", "p4"]
PIPELINES = "tests.end_to_end.recrawl_pipelines"
BROKEN: dict[str, Any] = {"FEED_STORAGES": {"broken": f"{PIPELINES}.BrokenStorage"}}


@pytest.fixture
def project(tmp_path) -> Project:
    """A project with the delta feed, which shows what counts as seen."""
    return Project(tmp_path / "project", {**ADDON, "DEDUP_UNCHANGED": "skip"})


def behind(name: str) -> dict[str, Any]:
    """Return settings with one of the pipelines behind the plugin."""
    return {"ITEM_PIPELINES": {**BASE["ITEM_PIPELINES"], f"{PIPELINES}.{name}": 600}}


def again(project: Project, site: ChangingSite, **settings: Any) -> list[str]:
    """Return what a further crawl, in which nothing fails, emits."""
    return site.names_of(site.crawl(project, **settings).stored)


def test_page_whose_callback_or_a_later_pipeline_fails_comes_again(project, site):
    """Until it is stored, and with the verdict that it had."""
    site.publish(notes={"p3": "<p>break here</p>"})
    settings = behind("Failing")
    site.crawl(project, "breaks", clean=False, **settings)
    site.publish(versions={"p2": 2})
    failed, second, third = (
        site.crawl(project, "breaks", clean=False, FAILS=fails, **settings) for fails in (["p2"], [], [])
    )

    assert failed.failed == [site.url("p2")]
    assert [line["report"]["verdict"] for line in sorted(second.stored, key=lambda line: line["id"])] == [
        "changed",
        "new",
    ]
    assert site.names_of(third.stored) == ["p3"]


def feed(uri: str, **options: Any) -> dict[str, Any]:
    return {uri: {"format": "jsonlines", **options}}


def test_pages_come_again_whose_feed_was_not_stored(project, site):
    """Of several feeds any one: those in batches were stored."""
    of_p2 = feed("broken:all", item_filter=f"{PIPELINES}.OnlyP2")
    feeds = feed("feed-%(batch_id)d.jsonl", batch_item_count=2) | of_p2
    first = site.crawl(project, clean=False, FEEDS=feeds, **BROKEN)

    assert site.names_of(first.stored) == EVERYTHING
    assert [again(project, site) for _ in range(2)] == [["p2"], []]


def test_pages_of_the_batch_that_was_not_stored_come_again(project, site):
    feeds = feed("broken:2/%(batch_id)d", batch_item_count=2)
    site.crawl(project, clean=False, FEEDS=feeds, **BROKEN)
    lost = [line["url"] for line in lines_of(project.folder / "attempt-2.jsonl")]

    assert set(again(project, site)) >= {url.removeprefix(f"{site.origin}/") for url in lost}
    assert len(lost) == 2


def test_user_may_say_that_scraped_is_safe(project, site):
    site.crawl(project, clean=False, FEEDS=feed("broken:all"), DEDUP_ACK="item_scraped", **BROKEN)

    assert again(project, site) == []


WORDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "of-all-at-the-end": ({**behind("Confirming"), "SAFE_AT_THE_END": True}, []),
    "of-some": ({**behind("Confirming"), "SAFE": ["p0", "p1"]}, [HOME, "p2", "p3", "p4"]),
}


@pytest.mark.parametrize("word", WORDS)
def test_pages_count_as_seen_by_the_users_word(project, site, word):
    settings, expected = WORDS[word]

    # Pages without a word are held to the end, and given up then.
    first, second = (site.crawl(project, clean=False, DEDUP_ACK="manual", **settings) for _ in range(2))

    assert first.errors == second.errors == []
    assert site.names_of(second.stored) == expected
    assert [crawled.count("ack/never") for crawled in (first, second)] == [len(expected)] * 2


def test_page_of_several_items_needs_a_word_of_each(project, site):
    settings = {**behind("Confirming"), "DEDUP_ACK": "manual"}

    found = [
        site.crawl(project, "two-items", clean=False, SAFE_PARTS=parts, **settings)
        for parts in (["a"], ["a", "b"], ["a"])
    ]

    assert [len(crawled.stored) for crawled in found] == [2 * len(EVERYTHING), 2 * len(EVERYTHING), 0]
    assert verdicts(found[1]) == {"new": len(EVERYTHING)}


def test_pages_without_items_need_no_word(project, site):
    found: list[Crawled] = [site.crawl(project, "no-items", DEDUP_ACK="manual") for _ in range(2)]

    assert verdicts(found[1]) == {"unchanged": len(EVERYTHING)}
