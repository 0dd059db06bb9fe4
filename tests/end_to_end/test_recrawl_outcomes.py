"""What stands for a callback in a second crawl, and what happens where nothing can."""

import pytest

from tests.end_to_end.crawling import BASE, Project, lines_of
from tests.end_to_end.recrawl_site import ChangingSite, execute, reports_of, statuses
from tests.tables import table

pytestmark = pytest.mark.crawl

PAGES = 5
WITH_MODEL = {**BASE["ITEM_PIPELINES"], "tests.end_to_end.recrawl_pipelines.Model": 600}


@pytest.mark.parametrize("mode", ["skip", "replay"])
def test_model_behind_the_plugin_is_not_called_again(project: Project, site: ChangingSite, mode: str) -> None:
    project.settings |= {"ITEM_PIPELINES": WITH_MODEL, "DEDUP_UNCHANGED": mode}
    calls, emitted = [], []
    for _ in range(2):
        emitted.append(site.crawl(project).items)
        calls.append(len(lines_of(project.folder / "calls.jsonl")))
    site.publish(versions={"p1": 2})
    site.crawl(project)

    assert calls == [PAGES, PAGES]
    assert len(lines_of(project.folder / "calls.jsonl")) == PAGES + 1
    assert len(emitted[1]) == (PAGES if mode == "replay" else 0)
    assert all(item["summary"] == emitted[0][url]["summary"] for url, item in emitted[1].items())


@table("end_to_end/callback_whose_outcome_cannot_be_kept_runs_and_is_counted")
def test_callback_whose_outcome_cannot_be_kept_runs_and_is_counted(
    project: Project, site: ChangingSite, spider: str, mode: str, *, left_out: bool
) -> None:
    first, second = (site.crawl(project, spider, DEDUP_UNCHANGED=mode) for _ in range(2))

    assert first.count("unchanged/unkeepable") == len(first.yielded) >= PAGES
    assert second.count("unchanged/callbacks") == len(second.yielded) == len(first.yielded)
    assert second.count("unchanged/items") == (len(second.yielded) if left_out else 0)
    assert (second.stored == []) is left_out
    assert reports_of(second, "verdict") <= {"unchanged"}


@pytest.mark.parametrize("way", ["attribute", "setting"])
def test_new_version_of_the_callbacks_makes_every_item_anew_once(
    project: Project, site: ChangingSite, way: str
) -> None:
    site.crawl(project)
    spider, settings = ("walker-2", {}) if way == "attribute" else ("walker", {"DEDUP_VERSION": "2"})

    second, third = (site.crawl(project, spider, **settings) for _ in range(2))

    assert len(second.stored) == len(second.yielded) == PAGES
    assert reports_of(second, "verdict") == {"unchanged"}
    assert third.yielded == []


def test_earlier_version_of_the_callbacks_is_still_held(project: Project, site: ChangingSite) -> None:
    for spider in ("walker", "walker-2"):
        site.crawl(project, spider)

    assert site.crawl(project).yielded == []


def test_outcome_that_names_a_callback_that_is_gone_is_made_anew(project: Project, site: ChangingSite) -> None:
    site.crawl(project, "two-steps")

    crawled = site.crawl(project, "two-steps-renamed")

    assert crawled.count("unchanged/outcome_lost") == 1
    assert len(crawled.stored) == PAGES - 1
    assert reports_of(crawled, "verdict") == {"unchanged"}


def test_damaged_outcome_is_made_anew(project: Project, site: ChangingSite) -> None:
    site.crawl(project)
    execute(project, [f"UPDATE extractions SET requests = x'00ff' WHERE url = '{site.url('p1')}'"])

    second, third = (site.crawl(project) for _ in range(2))

    assert second.count("unchanged/damaged") == 1
    assert site.names_of(second.stored) == ["p1"]
    assert statuses(second) == {"304": PAGES - 1, "200": 1}
    assert third.yielded == []


def test_without_kept_outcomes_every_callback_runs(project: Project, site: ChangingSite) -> None:
    first, second = (site.crawl(project, DEDUP_KEEP_EXTRACTIONS=0) for _ in range(2))

    assert len(first.stored) == len(second.stored) == PAGES
    assert reports_of(second, "verdict") == {"unchanged"}
    assert statuses(second) == {"200": PAGES}
