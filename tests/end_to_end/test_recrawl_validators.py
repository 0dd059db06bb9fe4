"""Conditional requests: when they are made, and what a server's word is worth."""

import pytest

from tests.end_to_end.recrawl_site import ChangingSite, let_pass, rows, statuses, verdicts
from tests.server import Answer

COUNTS = "SELECT sent, not_modified, useless, changed_304 FROM domain_validators"


def with_headers(site: ChangingSite, **headers: str) -> dict[str, Answer]:
    """Return all pages of a site, each with these headers."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return {f"/{name}": Answer(site.html(name), headers=given) for name in ("", *site.names)}


def test_last_modified_alone_is_enough(project, server):
    site = ChangingSite(server, 3)
    site.publish(others=with_headers(site, Last_Modified="Sat, 14 Jun 2025 12:00:00 GMT"))

    found = [statuses(site.crawl(project)) for _ in range(2)]

    assert found == [{"200": 4}, {"304": 4}]


def test_validators_that_are_new_every_time_are_ignored_after_enough_checks(project, server):
    """As the counts say; of as many pages as checks the last is asked for before it is known what came of all."""
    site = ChangingSite(server, 19)
    counts, found = [], []
    for deploy in range(3):
        site.publish(others=with_headers(site, ETag=f'"deploy {deploy}"'))
        found.append(verdicts(site.crawl(project)))
        counts += rows(project, COUNTS)

    assert found == [{"new": 20}, {"unchanged": 20}, {"unchanged": 20}]
    assert counts == [(20, 0, 20, 0), (20, 0, 20, 0)]


def test_server_whose_304_hides_a_change_is_found_out_and_not_asked_again(project, server):
    site = ChangingSite(server, 4)
    found = []
    for days, version in ((0, 1), (0, 2), (31, 2), (0, 2)):
        site.publish(versions={"p1": version})
        site.publish(others=with_headers(site, ETag='"always the same"'))
        let_pass(project, days) if days else None
        crawled = site.crawl(project)
        news = [line for line in crawled.stored if line["report"]["verdict"] != "unchanged"]
        found.append((site.names_of(news), statuses(crawled)))

    everything = ["", "p0", "p1", "p2", "p3"]
    assert found == [(everything, {"200": 5}), ([], {"304": 5}), (["p1"], {"200": 5}), ([], {"200": 5})]
    assert rows(project, COUNTS) == [(5, 5, 0, 1)]


@pytest.mark.parametrize(
    "setting", [{"DEDUP_MAX_304_AGE": 0}, {"DEDUP_KEEP_PAGES": "none"}], ids=["age", "nothing-held"]
)
def test_no_page_is_asked_for_conditionally_where_that_is_of_no_use(project, server, setting):
    site = ChangingSite(server, 3)
    project.settings |= setting

    found = [statuses(site.crawl(project)) for _ in range(2)]

    assert found == [{"200": 4}, {"200": 4}]


def test_one_deploy_that_renews_every_validator_is_forgiven(project, server):
    """The start page of the third crawl comes whole, with the validators that it had: then the others are asked for."""
    site = ChangingSite(server, 30)
    found = []
    for deploy in (1, 2, 2, 2):
        site.publish(others=with_headers(site, ETag=f'"deploy {deploy}"'))
        found.append(statuses(site.crawl(project)))

    assert found == [{"200": 31}, {"200": 31}, {"200": 1, "304": 30}, {"304": 31}]
