"""An item is left out only where another item of this crawl is surely the same, and who looks is told."""

import re
from collections import Counter
from typing import Any

import pytest

from tests.commands.running import scrapy
from tests.end_to_end.crawling import Crawled
from tests.server import Answer, WebServer, serving
from tests.service.files.test_run import Done
from tests.sites import html_page, prose
from tests.standing import CASES, SETTINGS, counts_of, out_of, rows

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


def test_a_page_whose_equal_was_in_another_crawl_goes_out_and_names_it(project, server):
    """It is told as moved where the other one is gone."""
    harbour, lighthouse = html_page("harbour"), html_page("lighthouse")
    first = project.crawl("pages", "-a", publish(server, old=harbour, left=lighthouse, **around()))
    come = {"new": harbour, "come": lighthouse, **around()}
    start = publish(server, old=Answer("gone", 404), **come)
    later = [project.crawl("pages", "-a", each, **ONE_BY_ONE) for each in (start, publish(server, **come))]

    assert {"old", "left"} < set(names(first))
    assert [names(crawled) for crawled in later] == [sorted(come)] * 2
    moved, new = report(later[0], "new"), report(later[0], "come")
    assert (moved["verdict"], moved["moved_from"]) == ("moved", f"{server.origins[0]}/old")
    assert (new["verdict"], new["same_as"]) == ("new", f"{server.origins[0]}/left")


def offers(text: str, *prices: int) -> str:
    """Return a page that shows no reader which prices it has."""
    shown = "".join(f"<i data-price='{price}'></i>" for price in prices)
    return html_page(text, body=f"<p>{prose(text, sentences=40)}</p>{shown}")


PAIRS: dict[str, tuple[int, ...]] = {"fewer": (10, 11)} | dict.fromkeys(
    ("gone", "redirects", "missing", "changed", "text", "keeper-first", "alias-first"), (10,)
)


def test_under_skip_a_page_left_out_for_another_goes_out_once_that_does_not_give_its_item(project, server):
    """Of pairs: one of each goes, redirects, is not met any more, or has another text, another price, or fewer."""
    settings: dict[str, Any] = {**ONE_BY_ONE, "DEDUP_UNCHANGED": "skip", "DEDUP_REMOVED": {"after": 1}}

    def crawl() -> list[tuple[str, str]]:
        crawled = project.crawl("offers", "-a", publish(server, **pages, **around(24)), **settings)
        return sorted((item["url"].rpartition("/")[2], item["price"]) for item in crawled.fed)

    pages: dict[str, str | Answer] = {
        f"{how}-{one}": offers(how, *prices) for how, prices in PAIRS.items() for one in "ab"
    }
    first, second = crawl(), crawl()
    keeper = {how: name for name, _ in first for how in PAIRS if name in (f"{how}-a", f"{how}-b")}
    alias = {how: f"{how}-{'ab'.replace(name[-1], '')}" for how, name in keeper.items()}
    assert first == sorted((keeper[how], str(price)) for how, prices in PAIRS.items() for price in prices)
    assert second == []

    pages[keeper["gone"]] = Answer("", 404)
    pages[keeper["redirects"]] = Answer("", 301, headers={"Location": f"{server.origins[0]}/other0"})
    del pages[keeper["missing"]]
    pages[keeper["changed"]] = offers("harbour", 10)
    # With the fields as then.
    pages[alias["text"]] = offers("lighthouse", 10)
    # Though no text of either changes. An alias that is met before its keeper is judged by the next crawl, and which of
    # two equal pages the first crawl kept is nobody's promise: each pair is put in order here.
    for how, order, price in (
        ("fewer", (keeper, alias), 10),
        ("keeper-first", (keeper, alias), 12),
        ("alias-first", (alias, keeper), 12),
    ):
        pages |= {each[how]: pages.pop(each[how]) for each in order} | {keeper[how]: offers(how, price)}
    later = [crawl() for _ in range(3)]
    pages[keeper["fewer"]] = Answer("", 404)
    gone = [crawl() for _ in range(3)]

    once = {(alias[how], "10") for how in PAIRS.keys() - {"fewer"}}
    changed = {(keeper[how], "12") for how in ("keeper-first", "alias-first")} | {(keeper["changed"], "10")}
    # Once more with the chunks that it has from a page that left, or has another text, after it.
    heirs = {(alias[how], "10") for how in ("gone", "redirects", "missing", "changed")}
    given = Counter(one for found in later for one in found)
    assert given.keys() == once | changed | {(alias["fewer"], "11")}
    assert given - Counter(heirs) <= Counter(given.keys())
    at_once = {(alias[how], "10") for how in ("text", "keeper-first")} | {(alias["fewer"], "11")} | changed
    assert at_once <= set(later[0])
    assert later[2] == []
    assert gone[0] == [(alias["fewer"], "10")]
    assert set(gone[1]) <= {(alias["fewer"], "10"), (alias["fewer"], "11")}
    assert gone[2] == []


@pytest.mark.parametrize(
    ("copies", "settings"), [(3, ONE_BY_ONE), (12, {"CONCURRENT_REQUESTS_PER_DOMAIN": 12})], ids=["in-turn", "at-once"]
)
def test_of_equal_pages_one_is_in_each_feed(project, server, copies, settings):
    """Also where all of them are what they were, and whichever comes first, or while the store is asked for another."""
    pages = dict.fromkeys((f"copy{number}" for number in range(copies)), html_page("harbour")) | around()
    for number in range(2):
        order = list(pages.items())[:: -1 if number else 1]
        crawled = project.crawl("pages", "-a", publish(server, **dict(order)), **settings)

        assert len([name for name in names(crawled) if name.startswith("copy")]) == 1
        assert crawled.count("items/out") == 1 + len(around())


def test_chunks_of_a_page_that_others_equal_in_all_but_its_fields_are_those_that_it_had(project, server):
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


def test_a_layer_that_leaves_out_much_is_told_by_log_stats_runs_and_report(project, server):
    copies = dict.fromkeys((f"copy{number}" for number in range(5)), html_page("harbour"))
    crawled = project.crawl("pages", "-a", publish(server, **copies, **around(19)), **ONE_BY_ONE)
    listed = scrapy("dedup", "runs", "--json", folder=project.folder).json
    table = scrapy("dedup", "runs", folder=project.folder).out
    assert scrapy("dedup", "report", "--html", "report.html", folder=project.folder).code == 0
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


def test_a_crawl_leaves_out_as_much_as_clean_for_the_same_reasons(project):
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
