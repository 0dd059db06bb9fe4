"""The first page says what `stats`, `report` and `runs` say."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import starmap

import pytest
from playwright.sync_api import Browser

from scrapy_dedup.report.numbers import percent, short, whole
from scrapy_dedup.service.dashboard import front_page, quick_front_page
from tests.web.dashboard.reading import cells, figure, plain, text_of, unfold
from tests.web.dashboard.serving import Dashboard, seen

pytestmark = pytest.mark.browser
VERDICTS = ("new", "changed", "unchanged", "removed")


def test_sums_are_those_of_stats(browser: Browser, dashboard: Dashboard) -> None:
    told = dashboard.json("stats")
    total = told["total"]

    with seen(browser, dashboard, dashboard.path()) as shown:
        removed = percent(total["chars_in"] - total["chars_out"], total["chars_in"])
        assert text_of(shown, "h1") == f"{whole(total['pages'])} pages, {plain(removed)} of their text left out"
        assert figure(shown, "pages") == whole(total["pages"])
        assert figure(shown, "domains") == whole(total["domains"])
        assert figure(shown, "domains with much boilerplate") == whole(told["domains_above_10_percent"])
        assert figure(shown, "characters in") == plain(short(total["chars_in"]))
        assert figure(shown, "characters kept") == plain(short(total["chars_out"]))
        worst = shown.page.locator(".card:has(h2:text('Domains with most')) li")
        rows = [plain(row) for row in worst.all_inner_texts()]
        expected = [
            f"{one['domain']} {whole(one['pages'])} pages · "
            f"{percent(one['chars_in'] - one['chars_out'], one['chars_in'])}"
            for one in told["domains"]
        ]
        assert rows == [plain(one) for one in expected]


def test_layers_are_those_of_the_report(browser: Browser, dashboard: Dashboard) -> None:
    ledger = dashboard.json("report")["ledger"]
    every = ledger["all_runs"]

    with seen(browser, dashboard, dashboard.path()) as shown:
        unfold(shown)
        shown_rows = cells(shown, "#layers table")

        def told(row: dict[str, int | None], name: str, shorten: bool) -> str:  # noqa: FBT001 (of a table)
            number = row[name]
            if number is None:
                return "\N{EN DASH}"
            about = "~" if row["is_about"] and name in ("chunks", "chars", "tokens") else ""
            return about + (plain(short(number)) if shorten else whole(number))

        names = (("pages", False), ("blocks", False), ("chunks", False), ("chars", True), ("tokens", True))
        expected = [
            [row["layer"], *starmap(lambda name, shorten, row=row: told(row, name, shorten), names)]
            for row in every["rows"]
        ]
        assert [[row[0].split("\n")[0], *map(plain, row[1:])] for row in shown_rows] == expected
        saved = every["before"]["tokens"] + every["about"]["tokens"] - every["after"]["tokens"]
        assert figure(shown, "tokens saved") == "~" + plain(short(saved))


def test_trend_and_last_runs_are_those_of_runs(browser: Browser, dashboard: Dashboard) -> None:
    runs = dashboard.json("runs")["runs"]

    with seen(browser, dashboard, dashboard.path()) as shown:
        unfold(shown)
        trend = cells(shown, "table:has(th:text('Run began'))")

        expected = [[whole(run["verdicts"].get(verdict, 0)) for verdict in VERDICTS] for run in reversed(runs)]
        assert [row[1:5] for row in trend] == expected
        columns = shown.page.locator(".columns-chart").first
        assert columns.locator("g").count() == len(runs)
        links = shown.page.locator(".card:has(h2:text('Last runs')) li a")
        paths = [link.get_attribute("href") for link in links.all()]
        assert paths == [dashboard.path("runs", run["id"]) for run in runs]


def test_sums_of_the_registry_are_those_of_all_documents_once_runs_have_ended(dashboard: Dashboard) -> None:
    at = datetime.now(UTC)

    quick = quick_front_page(dashboard.store, dashboard.project, at)

    whole_page = front_page(dashboard.store, dashboard.project, dashboard.server.settings, at)
    assert quick == replace(whole_page, ledger=None, is_quick=True)


def test_alarms_stand_above_the_figures(browser: Browser, dashboard: Dashboard) -> None:
    with seen(browser, dashboard, dashboard.path(project=dashboard.hostile)) as shown:
        assert "1 template does not fit any more" in text_of(shown, "main")
        assert "content root lost </title>" in text_of(shown, ".alarms")


def test_empty_project_says_what_to_do(browser: Browser, dashboard: Dashboard) -> None:
    with seen(browser, dashboard, dashboard.path(project=dashboard.store.project("empty"))) as shown:
        told = text_of(shown, ".empty")

        assert "Nothing was crawled yet" in told
        assert "scrapy_dedup.Addon" in told


def test_first_address_leads_to_the_default_project(browser: Browser, dashboard: Dashboard) -> None:
    with seen(browser, dashboard, "/") as shown:
        assert shown.page.url == dashboard.origin + dashboard.path()
