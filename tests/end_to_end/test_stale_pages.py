"""Unchanged pages whose text is another one now: the next crawl sends them out, and no callback runs for them."""

from datetime import UTC, datetime

import pytest

from scrapy_dedup.core.patterns_config import SiteConfig
from scrapy_dedup.service.site_config import put_config
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from tests.end_to_end.crawling import Crawled, Project
from tests.end_to_end.recrawl_site import ChangingSite, rows
from tests.sites import prose

pytestmark = pytest.mark.crawl

PAGES = 6
NOTE = "Ships that arrive after nine are asked to wait outside of the harbour until morning."
SHARED = prose("shared by two", sentences=12)


def decide(project: Project, site: ChangingSite, pattern: str) -> None:
    """Say what is left out of all pages of the site."""
    url = f"sqlite:///{project.folder / '.scrapy' / 'dedup.db'}"
    with Store.open(url) as store:
        name = rows(project, "SELECT name FROM projects")[0][0]
        (domain,) = {row[0] for row in rows(project, "SELECT DISTINCT domain FROM documents")}
        config = SiteConfig(boilerplate_text_patterns=(pattern,))
        put_config(store, store.project(name), domain, config, Settings(), datetime.now(UTC))


def given(crawled: Crawled, url: str) -> set[str]:
    """Return the texts of the chunks that a page gave."""
    found = crawled.items[url]["dedup"]["chunks"]
    return {chunk["text"] for chunk in found if chunk["state"] != "removed"}


@pytest.mark.parametrize("mode", ["skip", "replay"])
def test_pages_of_a_site_whose_rules_changed_go_out_again_without_a_callback(
    project: Project, site: ChangingSite, mode: str
) -> None:
    site.publish(notes={"p1": f"<p>{NOTE}</p>"})
    first = site.crawl(project, DEDUP_UNCHANGED=mode)
    decide(project, site, "Ships that arrive[^.]*\\.")

    second, third = (site.crawl(project, DEDUP_UNCHANGED=mode) for _ in range(2))

    url = site.url("p1")
    assert NOTE in first.items[url]["cleaned_content"]
    assert second.count("unchanged/callbacks") == 0
    assert second.count("refine/pages") == 1
    refined = [item for item in second.fed if item["dedup"].get("refined")]
    assert [item["url"] for item in refined] == [url]
    assert NOTE not in refined[0]["cleaned_content"]
    assert rows(project, "SELECT count(*) FROM documents WHERE stale IS NOT NULL") == [(0,)]
    assert third.count("refine/pages") == 0
    assert NOTE not in rows(project, "SELECT cleaned_content FROM sources WHERE url = ?", url)[0][0]


@pytest.mark.parametrize("kept", ["latest", "none"])
def test_a_text_whose_holder_changed_goes_out_with_the_page_that_has_it_too(
    project: Project, site: ChangingSite, kept: str
) -> None:
    """Of what is kept at the end of the same crawl; else the next one runs the page's callback."""
    project.settings |= {"DEDUP_CHUNK_SIZE": 1000, "DEDUP_KEEP_PAGES": kept}
    notes = dict.fromkeys(("p1", "p2"), f"<h2>Rules</h2><p>{SHARED}</p>")
    site.publish(notes=notes)
    first = site.crawl(project)
    holder = next(name for name in notes if any(SHARED in text for text in given(first, site.url(name))))
    (other,) = notes.keys() - {holder}
    assert not any(SHARED in text for text in given(first, site.url(other)))

    site.publish(notes={other: notes[other]})
    second, third = site.crawl(project), site.crawl(project)

    moved, more = (second, third) if kept == "latest" else (third, site.crawl(project))
    assert not any(SHARED in text for text in given(second, site.url(holder)))
    assert any(SHARED in text for text in given(moved, site.url(other)))
    assert moved.items[site.url(other)]["dedup"].get("refined", False) is (kept == "latest")
    assert more.items == {}
