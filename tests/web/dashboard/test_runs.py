import threading
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from scrapy_dedup.report.numbers import whole
from tests.web.dashboard.looking import violations
from tests.web.dashboard.reading import cells, figure, text_of, unfold
from tests.web.dashboard.serving import seen

pytestmark = pytest.mark.browser
VERDICTS = ("new", "changed", "unchanged", "removed")


def test_run_says_what_the_commands_say(browser, dashboard):
    runs = dashboard.json("runs")["runs"]
    run = next(each for each in runs if each["verdicts"].get("changed"))
    ledger = dashboard.json("report", "--run", run["id"])["ledger"]["run"]
    changes = dashboard.json("changes", "--since", run["id"], "--verdict", "changed")["changes"]

    with seen(browser, dashboard, dashboard.path("runs", run["id"]) + "?verdict=changed") as shown:
        unfold(shown)
        for verdict in VERDICTS:
            assert figure(shown, f"pages {verdict}") == whole(run["verdicts"].get(verdict, 0))
        assert figure(shown, "callbacks run") == whole(run["callbacks"])
        layers = {row[0].split("\n")[0]: row[2] for row in cells(shown, "#layers table")}
        blocks = {row["layer"]: row["blocks"] for row in ledger["rows"] if row["blocks"] is not None}
        assert {layer: layers[layer] for layer in blocks} == {layer: whole(number) for layer, number in blocks.items()}
        links = shown.page.locator(".changes a")
        own = [one for one in changes if one["run"] == run["id"]]
        assert links.all_inner_texts() == [one["url"] for one in own]
        href = links.first.get_attribute("href")
        assert href == f"{dashboard.path('page')}?key={own[0]['page_key']}"


def test_run_that_crawls_shows_its_progress(browser, own_dashboard):
    dashboard, project = own_dashboard, own_dashboard.project
    run = project.begin_run(spider="live", jobdir=None, started_at=datetime.now(UTC))

    with seen(browser, dashboard, dashboard.path("runs", str(run.id))) as shown:
        expect(shown.page.locator(".live h2")).to_contain_text("is running")
        assert violations(shown.page) == []
        project.report_run(run.id, {"item_scraped_count": 1234}, datetime.now(UTC))
        expect(shown.page.locator(".live .numbers")).to_contain_text("1,234")

        now = datetime.now(UTC)
        project.end_run(run.id, status="finished", reason="finished", stats={}, finished_at=now)
        expect(shown.page.locator("section.card h2")).to_contain_text("finished")
        assert text_of(shown, "#announcer") == "The run has ended: finished."
        assert shown.page.locator("#announcer").get_attribute("aria-live") == "polite"
        shown.assert_clean()


def test_run_that_went_silent_is_said_to_be_probably_dead(browser, own_dashboard):
    dashboard, project = own_dashboard, own_dashboard.project
    long_ago = datetime.now(UTC) - timedelta(hours=3)
    run = project.begin_run(spider="killed", jobdir=None, started_at=long_ago)

    with seen(browser, dashboard, dashboard.path(), with_script=False) as shown:
        told = text_of(shown, ".live")
        assert "killed has gone silent" in told
        assert "it was probably killed" in told
        assert shown.page.get_by_role("link", name="Refresh").get_attribute("href") == dashboard.path(
            "runs", str(run.id)
        )


def test_jobs_show_their_progress_and_can_be_cancelled(browser, own_dashboard):
    dashboard = own_dashboard
    looked = threading.Event()

    def work(progress: object) -> dict[str, object]:
        progress(3, 10)  # type: ignore[operator]
        while True:
            looked.wait(60)
            progress(7, 10)  # type: ignore[operator]

    job = dashboard.server.jobs.start("refine <b>", dashboard.project.name, work)
    with seen(browser, dashboard, dashboard.path("runs")) as shown:
        expect(shown.page.locator(".jobs")).to_contain_text("3 of 10")
        assert "refine <b>" in text_of(shown, ".jobs")
        assert violations(shown.page) == []

        shown.page.get_by_role("button", name="Cancel").click()
        looked.set()

        assert f"Cancelling {job.kind}." in text_of(shown, ".told")
        expect(shown.page.locator(".jobs .badge")).to_have_text("cancelled")
        shown.assert_clean()
