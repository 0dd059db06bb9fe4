"""The first page says what `stats`, `report` and `runs` say."""

import threading
from datetime import UTC, datetime
from itertools import starmap

import pytest
from msgspec.structs import replace
from selectolax.lexbor import LexborHTMLParser

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.report.numbers import percent, short, whole
from scrapy_dedup.service.report.dashboard import front_page, quick_front_page
from scrapy_dedup.web.dashboard.overview import Slow
from tests.web.dashboard.reading import cells, figure, plain, text_of, unfold
from tests.web.dashboard.serving import TOKEN, seen

pytestmark = pytest.mark.browser
VERDICTS = ("new", "changed", "unchanged", "removed")

LONG = 60.0


def test_sums_and_layers_are_those_of_the_report_trend_and_last_runs_those_of_runs(browser, dashboard):
    told = dashboard.json("report", "--domains")
    total = told["total"]
    every = dashboard.json("report")["ledger"]["all_runs"]
    runs = dashboard.json("runs")["runs"]

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
        shares = [
            f"{one['domain']} {whole(one['pages'])} pages · "
            f"{percent(one['chars_in'] - one['chars_out'], one['chars_in'])}"
            for one in told["domains"]
        ]
        assert rows == [plain(one) for one in shares]

        unfold(shown)
        shown_rows = cells(shown, "#layers table")

        def figure_of(row: dict[str, int | None], name: str, shorten: bool) -> str:  # noqa: FBT001 (of a table)
            number = row[name]
            if number is None:
                return "\N{EN DASH}"
            about = "~" if row["is_about"] and name in ("chunks", "chars", "tokens") else ""
            return about + (plain(short(number)) if shorten else whole(number))

        names = (("pages", False), ("blocks", False), ("chunks", False), ("chars", True), ("tokens", True))
        expected = [
            [row["layer"], *starmap(lambda name, shorten, row=row: figure_of(row, name, shorten), names)]
            for row in every["rows"]
        ]
        assert [[row[0].split("\n")[0], *map(plain, row[1:])] for row in shown_rows] == expected
        saved = every["before"]["tokens"] + every["about"]["tokens"] - every["after"]["tokens"]
        assert figure(shown, "tokens saved") == "~" + plain(short(saved))

        trend = cells(shown, "table:has(th:text('Run began'))")

        verdicts = [[whole(run["verdicts"].get(verdict, 0)) for verdict in VERDICTS] for run in reversed(runs)]
        assert [row[1:5] for row in trend] == verdicts
        columns = shown.page.locator(".columns-chart").first
        assert columns.locator("g").count() == len(runs)
        links = shown.page.locator(".card:has(h2:text('Last runs')) li a")
        paths = [link.get_attribute("href") for link in links.all()]
        assert paths == [dashboard.path("runs", run["id"]) for run in runs]


def test_sums_of_the_registry_are_those_of_all_documents_once_runs_have_ended(dashboard):
    at = datetime.now(UTC)

    quick = quick_front_page(dashboard.project, at)

    whole_page = front_page(dashboard.project, dashboard.server.settings, at)
    assert quick == replace(whole_page, ledger=None, is_quick=True)


def test_alarms_and_what_to_do_in_an_empty_project_are_told(dashboard):
    with dashboard.client() as client:
        alarmed = LexborHTMLParser(client.get(dashboard.path(project=dashboard.hostile)).text)
        empty = LexborHTMLParser(client.get(dashboard.path(project=dashboard.store.project("empty"))).text)

    assert "1 template does not fit any more" in plain(alarmed.css("main")[0].text())
    assert "content root lost </title>" in plain(alarmed.css(".alarms")[0].text())
    assert "Nothing was crawled yet" in empty.css(".empty")[0].text()
    assert "scrapy_dedup.Addon" in empty.css(".empty")[0].text()


def test_first_address_leads_to_the_default_project(browser, dashboard):
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


def test_dear_answer_is_kept_for_twenty_times_its_price():
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


def test_nobody_waits_for_what_is_known_to_be_slow():
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


def test_error_is_told_once_and_the_next_reader_asks_again():
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
