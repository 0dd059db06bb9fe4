"""The first page says what `stats`, `report` and `runs` say."""

import threading
from datetime import UTC, datetime
from itertools import starmap

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.report.numbers import percent, short, whole
from scrapy_dedup.service.report.dashboard import front_page, quick_front_page
from scrapy_dedup.web.dashboard.overview import Slow
from tests.web.dashboard.reading import cells, figure, plain, text_of, unfold
from tests.web.dashboard.serving import TOKEN, Dashboard, seen

pytestmark = pytest.mark.browser
VERDICTS = ("new", "changed", "unchanged", "removed")

LONG = 60.0


def test_sums_are_those_of_stats(browser: Browser, dashboard: Dashboard) -> None:
    told = dashboard.json("report", "--domains")
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
        # By the address that `serve` prints, too.
        shown.page.context.clear_cookies()
        shown.go(f"/login?token={TOKEN}")
        assert shown.page.url == dashboard.origin + dashboard.path()


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def test_dear_answer_is_kept_for_twenty_times_its_price() -> None:
    clock, made = Clock(), iter(range(10))

    def dear() -> int:
        clock.at += 2.0
        return next(made)

    slow = Slow[str, int](clock)
    assert slow.page("a", dear, wait_seconds=LONG) == 0
    clock.at += 39.9
    assert slow.page("a", dear, wait_seconds=LONG) == 0
    clock.at += 0.2
    assert slow.page("a", dear, wait_seconds=LONG) == 1


def test_nobody_waits_for_what_is_known_to_be_slow() -> None:
    clock, go, done = Clock(), threading.Event(), threading.Event()

    def slow_one() -> str:
        clock.at += 10
        return "old"

    def slower() -> str:
        go.wait(LONG)
        done.set()
        return "new"

    slow = Slow[str, str](clock)
    assert slow.page("a", slow_one, wait_seconds=LONG) == "old"
    clock.at += 1_000

    assert slow.page("a", slower, wait_seconds=1.0) == "old"
    assert slow.page("a", slower, wait_seconds=1.0) == "old"
    go.set()
    assert done.wait(LONG)


def test_error_is_told_once_and_the_next_reader_asks_again() -> None:
    answers = iter([DedupError("broken"), None])

    def failing() -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "well"

    slow = Slow[str, str](Clock())
    with pytest.raises(DedupError, match="broken"):
        slow.page("a", failing, wait_seconds=LONG)
    assert slow.page("a", failing, wait_seconds=LONG) == "well"
