"""A setting that says what an item holds counts at the next crawl, also for pages that did not change themselves."""

from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.end_to_end.recrawl_site import ChangingSite, copied, statuses
from tests.server import WebServer

PAGES = 7
SETTINGS = {**ADDON, "DEDUP_ITEM_DETAILS": ["chunks"]}
GERMAN = (
    "<h2>Auf Deutsch</h2><p>Die Fähre nach {name} fährt im Sommer jeden Morgen um acht Uhr ab, und wer mit dem Fahrrad"
    " kommt, der soll eine halbe Stunde vorher am Anleger sein, weil der Platz auf dem Deck nicht für alle reicht.</p>"
)
PROMOTION = "<p class=promotion>Only today, only on {name}: two tickets for one.</p>"
# Of a visit, or of what stands in the store, and no part of what the page holds.
OF_VISIT = {
    "run",
    "fetched_at",
    "verdict",
    "change",
    "reason",
    "previous_seen_at",
    "previous_hash",
    "refined",
    "released",
}


def a_site(server: WebServer) -> ChangingSite:
    site = ChangingSite(server, PAGES - 1)
    notes = {name: (PROMOTION + GERMAN).format(name=name) for name in site.names}
    site.publish(notes=notes)
    return site


@pytest.fixture
def site(server) -> ChangingSite:
    return a_site(server)


@pytest.fixture(scope="module")
def seen(server, tmp_path_factory) -> tuple[Project, dict[str, Any]]:
    """A project that has crawled the site once, of which tests work on copies; and what its items hold."""
    project = Project(tmp_path_factory.mktemp("seen") / "project", dict(SETTINGS))
    return project, held(a_site(server).crawl(project))


def held(crawled: Crawled) -> dict[str, Any]:
    """Return what items hold, by page, but for what is of the visit."""
    found = {}
    for url, item in crawled.items.items():
        report = {name: value for name, value in item["dedup"].items() if name not in OF_VISIT}
        # States of chunks tell what became of the page's last version.
        texts = [chunk["text"] for chunk in report.pop("chunks") if "text" in chunk]
        found[url] = {**item, "dedup": report, "texts": texts}
    return found


CHANGES: dict[str, dict[str, Any]] = {
    "output": {"DEDUP_OUTPUT": "text"},
    "selectors": {"DEDUP_BOILERPLATE_CSS_SELECTORS": [".promotion"]},
    "languages": {"DEDUP_LANGUAGES": ["en"]},
    "method": {"DEDUP_BOILERPLATE_METHOD": "html"},
    "chunks": {"DEDUP_CHUNK": {"size": 400}},
    "off": {"DEDUP_LAYERS": {"boilerplate": False}},
    "expressions": {"DEDUP_BOILERPLATE_TEXT_PATTERNS": [r"Only today[^.]*\."]},
}


@pytest.mark.parametrize("change", CHANGES)
def test_pages_that_did_not_change_are_as_a_first_crawl_gives_them(make_project, seen, site, tmp_path, change):
    before, first = seen
    expected = held(site.crawl(make_project("anew", **SETTINGS), **CHANGES[change]))
    assert first != expected

    # What is emitted in any case is made anew as what is emitted because it is another.
    for unchanged in ("emit", "skip") if change == "output" else ("skip",):
        again = copied(before, tmp_path / unchanged)
        # What was made anew for a setting looks as if no callback had given it.
        second = site.crawl(again, clean=False, DEDUP_UNCHANGED=unchanged, **CHANGES[change])

        assert statuses(second) == {"304": PAGES}
        assert second.errors == []
        assert held(second) == expected
