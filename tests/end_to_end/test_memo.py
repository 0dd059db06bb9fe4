"""What a costly function makes of a text is made once for a project; what it raises is not kept."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, Crawled, Project
from tests.end_to_end.recrawl_site import copied, execute
from tests.end_to_end.spiders.costly import PAGES
from tests.server import Answer, Site, WebServer
from tests.sites import html_page, prose

DOCS = Path(__file__).parents[2] / "docs" / "memo.md"
SELECT = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}


class Costly:
    """Crawls of one project, and what was called in each."""

    def __init__(self, project: Project, server: WebServer) -> None:
        self._project = project
        self._urls = list(server.site)

    def crawl(self, spider: str = "costly", *arguments: str, **settings: Any) -> tuple[Crawled, list[str]]:
        calls = self._project.folder / "calls.txt"
        calls.unlink(missing_ok=True)
        words = [word for argument in arguments for word in ("-a", argument)]
        crawled = self._project.crawl(spider, "-a", f"start={' '.join(self._urls)}", *words, **settings)
        return crawled, sorted(calls.read_text(encoding="utf-8").splitlines()) if calls.exists() else []


def some_pages(origins: list[str]) -> Site:
    return {
        f"{origins[0]}/p{number}": Answer(html_page(f"p{number}", body=f"<article>{prose(number)}</article>"))
        for number in range(PAGES)
    }


SERVED = 1, some_pages


@pytest.fixture
def costly(project, server) -> Costly:
    return Costly(project, server)


def figures(crawled: Crawled) -> tuple[int, int, int]:
    return crawled.count("memo/hits"), crawled.count("memo/calls"), crawled.count("memo/errors")


@pytest.mark.parametrize(("ask", "settings"), [("in_a_thread", {}), ("awaited", SELECT)], ids=["asyncio", "select"])
def test_a_text_is_asked_about_once_for_all_crawls_and_spiders(costly, ask, settings):
    first, calls = costly.crawl("costly", f"ask={ask}", **settings)
    second, none = costly.crawl("costly", f"ask={ask}", **settings)
    other, none_either = costly.crawl("other_costly", f"ask={ask}", **settings)
    edited, calls_again = costly.crawl("costly", f"ask={ask}", "version=2", **settings)

    assert len(calls) == PAGES
    assert (none, none_either, calls_again) == ([], [], calls)
    assert [figures(one) for one in (first, second, other, edited)] == [
        (0, PAGES, 0),
        (PAGES, 0, 0),
        (PAGES, 0, 0),
        (0, PAGES, 0),
    ]
    for crawled in (second, other, edited):
        assert {id_: (item["made"], item["tags"]) for id_, item in crawled.items.items()} == {
            id_: (item["made"], item["tags"]) for id_, item in first.items.items()
        }
    assert first.fed[0]["tags"] == ["a", 1, 0.5, None, True, {"deep": "ü\ud800"}]


@pytest.mark.parametrize("settings", [{}, SELECT], ids=["asyncio", "select"])
def test_equal_calls_at_once_are_one_and_share_its_error_which_is_not_kept(costly, settings):
    shared, one = costly.crawl("costly", "ask=awaited", "text=equal", **settings)
    failed, one_failed = costly.crawl("costly", "ask=failing", "text=equal", **settings)
    _, one_again = costly.crawl("costly", "ask=failing", "text=equal", **settings)

    assert (one, one_failed, one_again) == (["equal"], ["equal"], ["equal"])
    assert (figures(shared), figures(failed)) == ((PAGES - 1, 1, 0), (0, 1, 1))
    assert [item["made"] for item in shared.fed] == [{"summary": "EQUAL"}] * PAGES
    assert [len(item["tags"]) for item in shared.fed] == [6] * PAGES
    assert [item["made"] for item in failed.fed] == [{"error": "ValueError: no answer for equal"}] * PAGES


REFUSED = {
    "not_json": "MemoError: memo of tests.end_to_end.spiders.costly.not_json: result['tags'][1] is a tuple.",
    "lambda": "MemoError: memo: <lambda> stands inside of another function",
    "stopping": "RuntimeError: ",
}


def test_what_cannot_be_kept_is_refused_whether_or_not_the_plugin_is_on(costly):
    for settings in ({}, {}, {"DEDUP_ENABLED": False}):
        crawled, calls = costly.crawl("costly", f"ask={' '.join(REFUSED)}", **settings)

        # The fourth page asks what the first does.
        assert calls == ["p0", "p3"]
        assert len(crawled.fed) == PAGES
        for id_, item in crawled.items.items():
            assert item["made"]["error"].startswith([*REFUSED.values()][int(id_[-1]) % 3])


def test_the_example_of_the_docs_pays_once(project, server):
    (example,) = re.findall("```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    package = project.folder / "shop"
    package.mkdir()
    (package / "models.py").write_text("def summary(text):\n    return [text]\n", encoding="utf-8")
    spider = example.replace('["https://www.example.com/"]', repr(list(server.site)))
    (package / "journal.py").write_text(spider, encoding="utf-8")

    for expected in [(0, PAGES, 0), (PAGES, 0, 0)]:
        crawled = project.crawl("journal", clean=False, SPIDER_MODULES=["shop.journal"])

        assert figures(crawled) == expected
        assert {item["summary"][0] for item in crawled.fed} == {prose(number) for number in range(PAGES)}


@pytest.fixture(scope="module")
def paid(server, tmp_path_factory) -> tuple[Project, Crawled]:
    """A project whose store holds a memo of each page, and its crawl; tests work on copies."""
    project = Project(tmp_path_factory.mktemp("paid") / "project", dict(ADDON))
    return project, Costly(project, server).crawl()[0]


DAMAGED = """
UPDATE memos SET result = CASE rowid % 2
WHEN 0 THEN substr(result, 1, length(result) - 3) ELSE x'28b52ffd0458110000227d' END
"""
FULL = "CREATE TRIGGER away BEFORE INSERT ON memos BEGIN SELECT RAISE(ABORT, 'disk is full'); END"


@pytest.mark.parametrize(
    ("change", "settings", "stat"),
    [
        (DAMAGED, {}, "memo/damaged"),
        ("UPDATE memos SET created_at = '2001-01-01 00:00:00.000000'", {"DEDUP_CACHE_MAX_AGE": 7}, None),
        ("UPDATE memos SET function = 'another name, which is for people'", {"DEDUP_KEEP": {"memo_bytes": 0}}, "kept"),
        (FULL, {"DEDUP_CACHE_MAX_AGE": "0.00000001"}, "store/errors"),
    ],
    ids=["truncated-and-altered", "too-old", "none-kept", "store-away"],
)
def test_a_memo_that_is_of_no_use_is_made_again(paid, server, tmp_path, change, settings, stat):
    project, first = paid
    copy = copied(project, tmp_path / "copy")
    costly = Costly(copy, server)
    execute(copy, [change])

    again, calls = costly.crawl(**settings)

    assert {id_: item["made"] for id_, item in again.items.items()} == {
        id_: item["made"] for id_, item in first.items.items()
    }
    if stat == "kept":
        assert (calls, costly.crawl("costly", "version=2", **settings)[1] != []) == ([], True)
        assert costly.crawl("costly", "version=2", **settings)[1] != []
        return
    assert len(calls) == PAGES
    if stat is not None:
        assert again.count(stat) == PAGES
        assert again.log.count("WARNING: A memo is damaged") + again.log.count("could not be kept") == 1
    if stat != "store/errors":
        assert costly.crawl(**settings)[1] == []
