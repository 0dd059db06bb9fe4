"""An item is left out only where another item of this crawl is surely the same, and who looks is told."""

import json
import os
import re
from typing import Any

import pytest

from tests.end_to_end.crawling import PATIENCE_SECONDS, ROOT, Crawled, Project
from tests.server import Answer, WebServer, serving
from tests.service.files.test_run import Done
from tests.sites import html_page, prose
from tests.standing import CASES, SETTINGS, counts_of, out_of, rows
from tests.warm import start_scrapy

pytestmark = pytest.mark.crawl

ONE_BY_ONE: dict[str, Any] = {"CONCURRENT_REQUESTS": 1}


def publish(server: WebServer, **pages: str | Answer) -> str:
    """Put pages at addresses; return the addresses, as a spider's argument."""
    answers = {name: page if isinstance(page, Answer) else Answer(page) for name, page in pages.items()}
    server.site = {f"{server.origins[0]}/{name}": answer for name, answer in answers.items()}
    return f"start={' '.join(server.site)}"


def around(count: int = 6) -> dict[str, str]:
    """Return enough other pages for a site to be known."""
    return {f"other{number}": html_page(f"other {number}") for number in range(count)}


def names(crawled: Crawled) -> list[str]:
    return sorted(item["url"].rpartition("/")[2] for item in crawled.fed)


def report(crawled: Crawled, name: str) -> dict[str, Any]:
    (found,) = [item["dedup"] for item in crawled.fed if item["url"].endswith(f"/{name}")]
    return dict(found)


@pytest.mark.parametrize("spider", ["pages", "priced"], ids=["no-fields", "fields"])
def test_a_wrong_cut_loses_no_product(project: Project, server: WebServer, spider: str) -> None:
    """What is left of each by somebody's selector is the same sentence, of twelve words and more."""
    same = "<p>Free delivery on all orders over fifty euros, and thirty days to send anything back to us.</p>"
    products = {
        f"product{number}": f"<title>Shop</title><main data-price='{number}'>{same}"
        f"<div class=own><p>{html_page(f'product {number}')}</p></div></main>"
        for number in range(12)
    }
    start = publish(server, **products)

    cut: dict[str, Any] = {"DEDUP_BOILERPLATE_CSS_SELECTORS": [".own"], "DEDUP_BOILERPLATE_METHOD": "html"}
    crawled = project.crawl(spider, "-a", start, **cut)

    assert names(crawled) == sorted(products)


def test_a_page_that_moved_goes_out_and_says_where_it_was(project: Project, server: WebServer) -> None:
    page = html_page("harbour")
    first = project.crawl("pages", "-a", publish(server, old=page, **around()))
    start = publish(server, old=Answer("gone", 404), new=page, **around())
    second = project.crawl("pages", "-a", start, **ONE_BY_ONE)

    assert "old" in names(first)
    assert names(second) == sorted(["new", *around()])
    told = report(second, "new")
    assert (told["verdict"], told["moved_from"]) == ("moved", f"{server.origins[0]}/old")


def test_a_page_whose_equal_is_not_in_this_crawl_goes_out_and_names_it(project: Project, server: WebServer) -> None:
    page = html_page("harbour")
    project.crawl("pages", "-a", publish(server, old=page, **around()))
    second = project.crawl("pages", "-a", publish(server, new=page, **around()))
    third = project.crawl("pages", "-a", publish(server, new=page, **around()))

    assert names(second) == names(third) == sorted(["new", *around()])
    told = report(second, "new")
    assert (told["verdict"], told["same_as"]) == ("new", f"{server.origins[0]}/old")


def test_under_skip_a_page_left_out_for_another_goes_out_once_that_does_not_give_its_item(
    project: Project, server: WebServer
) -> None:
    """Of four pairs: one of each goes, redirects, is not met any more, or changes."""
    hows = ("gone", "redirects", "missing", "changed")
    pages: dict[str, str | Answer] = {f"{how}-{one}": html_page(how) for how in hows for one in "ab"}
    pages |= around(24)
    settings: dict[str, Any] = {**ONE_BY_ONE, "DEDUP_UNCHANGED": "skip", "DEDUP_REMOVED": {"after": 1}}
    first, second = (names(project.crawl("pages", "-a", publish(server, **pages), **settings)) for _ in range(2))
    keepers = dict(name.split("-") for name in first if "-" in name)
    pages |= {
        f"gone-{keepers['gone']}": Answer("", 404),
        f"redirects-{keepers['redirects']}": Answer("", 301, headers={"Location": f"{server.origins[0]}/other0"}),
        f"changed-{keepers['changed']}": html_page("lighthouse"),
    }
    del pages[f"missing-{keepers['missing']}"]
    later = [names(project.crawl("pages", "-a", publish(server, **pages), **settings)) for _ in range(3)]

    assert (first, second) == (sorted([*(f"{how}-{keepers[how]}" for how in hows), *around(24)]), [])
    left_out = {f"{how}-{one}" for how in hows for one in "ab" if one != keepers[how]}
    assert sorted(name for found in later for name in found) == sorted(left_out | {f"changed-{keepers['changed']}"})


def offers(*prices: int, text: str = "") -> str:
    """Return a page that shows no reader which prices it has."""
    shown = "".join(f"<i data-price='{price}'></i>" for price in prices)
    return html_page("harbour", body=f"<p>{text or prose('harbour', sentences=40)}</p>{shown}")


class Skipping:
    """Crawls of one store under `skip`, page by page in a given order; two pages equal each other at first."""

    def __init__(self, project: Project, server: WebServer, *prices: int) -> None:
        self._project, self._server = project, server
        first = self.crawl(a=offers(*prices), b=offers(*prices))
        ((self.keeper, _), *_) = first
        (self.alias,) = {"a", "b"} - {self.keeper}
        assert first == [(self.keeper, str(price)) for price in prices]
        assert self.crawl(a=offers(*prices), b=offers(*prices)) == []

    def crawl(self, **pages: str | Answer) -> list[tuple[str, str]]:
        """Return what came out of these pages: page and price."""
        start = publish(self._server, **pages, **around())
        settings: dict[str, Any] = {**ONE_BY_ONE, "DEDUP_UNCHANGED": "skip", "DEDUP_REMOVED": {"after": 1}}
        crawled = self._project.crawl("offers", "-a", start, **settings)
        return sorted((item["url"].rpartition("/")[2], item["price"]) for item in crawled.fed)


@pytest.mark.parametrize("first", ["keeper", "alias"])
def test_under_skip_a_page_left_out_for_another_goes_out_once_that_has_another_price(
    project: Project, server: WebServer, first: str
) -> None:
    """Though no text of either changes; an alias that is met before its keeper is judged by the next crawl."""
    skipping = Skipping(project, server, 10)
    pages = {skipping.keeper: offers(12), skipping.alias: offers(10)}
    order = [skipping.keeper, skipping.alias][:: 1 if first == "keeper" else -1]
    later = [skipping.crawl(**{name: pages[name] for name in order}) for _ in range(3)]

    keepers, aliases = [(skipping.keeper, "12")], [(skipping.alias, "10")]
    assert later in ([sorted(keepers + aliases), [], []], [keepers, aliases, []])
    assert first == "alias" or later[1] == []


def test_under_skip_of_a_page_left_out_for_another_goes_out_what_that_does_not_give_any_more(
    project: Project, server: WebServer
) -> None:
    skipping = Skipping(project, server, 10, 11)
    pages: dict[str, str | Answer] = {skipping.keeper: offers(10), skipping.alias: offers(10, 11)}
    fewer = [skipping.crawl(**pages) for _ in range(2)]
    pages[skipping.keeper] = Answer("", 404)
    gone = [skipping.crawl(**pages) for _ in range(2)]

    assert fewer == [[(skipping.alias, "11")], []]
    assert gone == [[(skipping.alias, "10")], []]


def test_under_skip_a_page_left_out_for_another_goes_out_once_it_has_another_text(
    project: Project, server: WebServer
) -> None:
    """With the fields as then."""
    skipping = Skipping(project, server, 10)
    pages = {skipping.keeper: offers(10), skipping.alias: offers(10, text=prose("lighthouse", sentences=40))}

    assert [skipping.crawl(**pages) for _ in range(2)] == [[(skipping.alias, "10")], []]


@pytest.mark.parametrize(
    ("copies", "settings"), [(3, ONE_BY_ONE), (12, {"CONCURRENT_REQUESTS_PER_DOMAIN": 12})], ids=["in-turn", "at-once"]
)
def test_of_equal_pages_one_is_in_each_feed(
    project: Project, server: WebServer, copies: int, settings: dict[str, Any]
) -> None:
    """Also where all of them are what they were, and whichever comes first, or while the store is asked for another."""
    pages = dict.fromkeys((f"copy{number}" for number in range(copies)), html_page("harbour")) | around()
    for number in range(3):
        order = list(pages.items())[:: 1 if number % 2 else -1]
        crawled = project.crawl("pages", "-a", publish(server, **dict(order)), **settings)

        assert len([name for name in names(crawled) if name.startswith("copy")]) == 1
        assert crawled.count("items/out") == 1 + len(around())


def test_chunks_of_a_page_that_others_equal_in_all_but_its_fields_are_those_that_it_had(
    project: Project, server: WebServer
) -> None:
    found = []
    for version in range(2):
        parts = "".join(f"<h2>On {name}</h2><p>{prose(name, sentences=40)}</p>" for name in ("harbour", version))
        pages = {name: f"<title>Shop</title><main data-price='{name}'>{parts}</main>" for name in "ab"}
        crawled = project.crawl("priced", "-a", publish(server, **pages, **around()), **ONE_BY_ONE)
        found.append({name: report(crawled, name)["chunks"] for name in "ab"})
    first, second = found

    (giver,) = (name for name, states in first.items() if "added" in states)
    (other,) = {"a", "b"} - {giver}
    assert 0 < second[giver]["kept"] < first[giver]["added"]
    assert "kept" not in second[other]


def test_a_layer_that_leaves_out_much_is_told_by_log_stats_runs_and_report(project: Project, server: WebServer) -> None:
    copies = dict.fromkeys((f"copy{number}" for number in range(5)), html_page("harbour"))
    crawled = project.crawl("pages", "-a", publish(server, **copies, **around(19)), **ONE_BY_ONE)
    listed = json.loads(command(project, "runs", "--json"))
    table = command(project, "runs")
    command(project, "report", "--html", "report.html")
    html = (project.folder / "report.html").read_text(encoding="utf-8")
    del copies["copy2"], copies["copy3"], copies["copy4"]
    few = project.crawl("pages", "-a", publish(server, **copies, **around(19)), DEDUP_PROJECT="few")

    ((layer, *told, pairs),) = told_of(crawled)
    assert (layer in ("title", "duplicate"), told, pairs.count(" for ")) == (True, ["4", "24"], 3)
    assert crawled.count(f"{layer}/alarms") == 1
    (alarm,) = crawled.stats["dedup/drop_alarms"]
    assert (alarm["domain"] in server.origins[0], alarm["dropped"], alarm["pages"]) == (True, 4, 24)
    left_out, keepers = map(set, zip(*alarm["pairs"], strict=True))
    origin = server.origins[0]
    assert len(left_out) == 3
    assert left_out | keepers <= {f"{origin}/copy{number}" for number in range(5)}
    assert keepers == {url for url in (item["url"] for item in crawled.fed) if "/copy" in url}
    assert [run["drop_alarms"] for run in listed["runs"]] == [[alarm]]
    for url, keeper in alarm["pairs"]:
        assert f"{url} for {keeper}" in table
        assert f'href="{url}"' in html
    assert told_of(few) == []
    assert few.sum("title/alarms") == few.sum("duplicate/alarms") == 0


def told_of(crawled: Crawled) -> list[tuple[str, ...]]:
    """Return what is warned of: layer, pages left out, pages, and pairs to look at."""
    warning = r"WARNING: .*the layer (\w+) left out (\d+) of (\d+) pages.*((?:\n\S+ for \S+)*)"
    return re.findall(warning, crawled.log)


def command(project: Project, *words: str) -> str:
    """Return what `scrapy dedup` says about a project."""
    out = project.folder / "out.txt"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = start_scrapy(["dedup", *words], project.folder, environment, stdout=out, stderr=project.folder / "err.txt")
    assert done.wait(PATIENCE_SECONDS) == 0
    return out.read_text(encoding="utf-8")


def test_a_crawl_leaves_out_as_much_as_clean_for_the_same_reasons(project: Project) -> None:
    """Of many sites, each with another reason why a page stands for one or not; which comes first varies."""
    with serving(len(CASES), lambda _: {}) as server:
        sites = dict(zip(server.origins, CASES.values(), strict=True))
        lines = [row for site, case in sites.items() for row in rows(case, site)]
        server.site = {row["url"]: Answer(row["html"]) for row in lines}
        chosen = {f"DEDUP_{name.upper()}": value for name, value in SETTINGS.items()}
        crawled = project.crawl("pages", "-a", f"start={' '.join(server.site)}", **ONE_BY_ONE, **chosen)
    done = Done(*lines, **SETTINGS)

    urls, expected = [item["url"] for item in crawled.fed], [row["url"] for row in done.rows]
    found = {name: len(out_of(urls, site)) for name, site in zip(CASES, sites, strict=True)}
    assert found == {name: len(case.out) for name, case in CASES.items()}
    assert {name: len(out_of(expected, site)) for name, site in zip(CASES, sites, strict=True)} == found
    counts = counts_of({name.removeprefix("dedup/"): value for name, value in crawled.stats.items()})
    # A page whose canonical page has not come is one of which that proves nothing.
    assert counts | {"canonical/unproven": 0} == counts_of(done.tally.counts) | {"canonical/unproven": 0}
