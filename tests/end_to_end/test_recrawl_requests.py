"""Requests of every kind in a second crawl: which are asked for conditionally, which are left alone."""

import json

import pytest

from tests.end_to_end.crawling import ADDON, Project, lines_of
from tests.end_to_end.recrawl_site import HOME, ChangingSite, copied, let_pass, rows, statuses, verdicts
from tests.server import Answer, redirect
from tests.sites import prose

PAGES = 5


def test_the_final_url_of_a_redirect_is_the_page(project, site):
    site.publish(others={"/old": redirect("/")})
    start = f"start={site.url('old')}"

    first, second = project.crawl("walker", "-a", start), project.crawl("walker", "-a", start)

    assert verdicts(first) == {"new": PAGES}
    assert verdicts(second) == {"unchanged": PAGES}
    assert sorted(second.yielded) == sorted(first.yielded)
    assert statuses(second) == {"302": 1, "304": PAGES}
    assert rows(project, "SELECT count(*) FROM documents WHERE url LIKE '%old'") == [(0,)]


def test_validators_are_not_sent_to_where_a_page_redirects_and_are_after_a_failed_attempt(project, site):
    """The other page has the same ETag: asked with it, it would say that it has not changed, and never be seen."""
    site.crawl(project)
    before, busy = site.server.site[site.url("p1")], site.server.site[site.url("p2")]
    assert isinstance(busy, Answer)
    other = Answer(site.html("moved"), headers=before.headers)
    answers = iter([Answer("busy", 503), busy])
    site.publish(others={"/p1": redirect("/moved"), "/moved": other, "/p2": lambda _: next(answers)})

    crawled = site.crawl(project, RETRY_PRIORITY_ADJUST=0)

    assert site.names_of(crawled.stored) == ["", "moved", "p0", "p2", "p3"]
    assert verdicts(crawled) == {"new": 1, "unchanged": PAGES - 1}
    assert statuses(crawled) == {"302": 1, "503": 1, "200": 1, "304": PAGES - 1}


def test_requests_past_the_duplicate_filter_are_judged_too(project, site):
    first, second = (site.crawl(project, "insists") for _ in range(2))

    assert len(first.stored) == len(second.stored) == PAGES
    assert verdicts(second) == {"unchanged": PAGES}
    assert statuses(second) == {"304": PAGES}


def test_forms_are_sent_again_and_their_answers_left_alone(project, site):
    first, second = (site.crawl(project, "posts") for _ in range(2))

    assert sorted(second.yielded) == sorted(first.yielded)
    assert sorted(second.stored_ids) == sorted(first.stored_ids)
    assert statuses(second) == {"304": 1, "200": PAGES}
    assert verdicts(second) == {"unchanged": 1}
    assert len(first.yielded) == PAGES + 1


def test_kept_requests_have_their_arguments_priority_and_errback(project, site):
    project.settings |= {"DEDUP_REUSE": "body", "DEDUP_AUDIT": 0}
    first = site.crawl(project, "two-steps")
    site.publish(versions={"p1": 2}, others={"/p2": Answer("gone", 404)})
    second = site.crawl(project, "two-steps")

    assert len(first.yielded) == PAGES - 1
    assert sorted(second.yielded) == sorted([f"failed {site.url('p2')}", site.url("p1")])
    assert len(second.fed) == PAGES - 1
    item = second.items[site.url("p1")]
    assert (item["number"], item["seen"]) == (1, "('a', {'b': 1.5})")


FILES: dict[str, tuple[str | bytes, str]] = {
    "/data.json": (json.dumps({"boats": 3}), "application/json"),
    "/paper.pdf": (b"%PDF-1.4\n\xff\xfe", "application/pdf"),
    "/photo.png": (b"\x89PNG\r\n\x1a\n\x00", "image/png"),
}


def test_what_is_no_page_is_compared_by_its_bytes(project, site):
    """With validators and without."""

    def files(paper: bytes | str) -> dict[str, Answer]:
        headers = {"/data.json": {"ETag": '"1"'}}
        return {
            path: Answer(paper if kind.endswith("pdf") else body, content_type=kind, headers=headers.get(path, {}))
            for path, (body, kind) in FILES.items()
        }

    menu = [path[1:] for path in FILES]
    site.publish(menu=menu, others=files(FILES["/paper.pdf"][0]))
    site.crawl(project)
    site.publish(others=files(b"%PDF-1.5"))
    crawled = site.crawl(project)

    assert len(crawled.stored) == PAGES + 3
    assert rows(project, "SELECT url FROM documents WHERE verdict = 'changed'") == [(site.url("paper.pdf"),)]
    assert verdicts(crawled) == {"changed": 1, "unchanged": PAGES + 2}
    assert statuses(crawled) == {"200": 2, "304": PAGES + 1}


@pytest.fixture(scope="module")
def with_directives(server, tmp_path_factory) -> Project:
    """Crawled where directives are obeyed."""
    project = Project(tmp_path_factory.mktemp("directives"), dict(ADDON))
    site = ChangingSite(server, PAGES - 1)
    publish_directives(site)
    project.crawl("walker", "-a", f"start={site.url(HOME)}", DEDUP_ROBOTS_DIRECTIVES="honour")
    return project


def publish_directives(site: ChangingSite) -> None:
    robots = "<meta name=robots content='{}'>".format
    text = f"<title>Behind</title><main><p>{prose('behind')}</p></main>"
    header = Answer(site.html("p2"), headers={"X-Robots-Tag": "noindex", "ETag": '"1"'})
    site.publish(
        heads={"p0": robots("noindex"), "p1": robots("follow, nofollow"), "p3": robots("index")},
        notes={"p1": "<a href=/behind>Behind</a>"},
        others={"/behind": Answer(text), "/p2": header},
    )


def test_directives_are_obeyed_where_the_user_says_so_also_for_a_304(with_directives, site, tmp_path):
    assert site.names_of(lines_of(with_directives.folder / "stored.jsonl")) == [HOME, "p1", "p3"]
    project = copied(with_directives, tmp_path / "copy")
    publish_directives(site)

    crawled = site.crawl(project, DEDUP_ROBOTS_DIRECTIVES="honour")

    assert site.names_of(crawled.stored) == [HOME, "p1", "p3"]
    assert site.url("behind") not in site.asked


def test_directives_are_recorded_by_default(project, site):
    publish_directives(site)

    crawled = site.crawl(project)

    found = {site.url(name): crawled.reports[site.url(name)].get("robots") for name in (*site.names, "behind")}
    assert list(found.values()) == [["noindex"], ["nofollow"], ["noindex"], None, None]


COUNTS = "SELECT sent, not_modified, useless, changed_304 FROM domain_validators"


def with_headers(site: ChangingSite, **headers: str) -> dict[str, Answer]:
    """Return all pages of a site, each with these headers."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return {f"/{name}": Answer(site.html(name), headers=given) for name in ("", *site.names)}


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


def test_one_deploy_that_renews_every_validator_is_forgiven(project, server):
    """The start page of the third crawl comes whole, with the validators that it had: then the others are asked for."""
    site = ChangingSite(server, 30)
    found = []
    for deploy in (1, 2, 2, 2):
        site.publish(others=with_headers(site, ETag=f'"deploy {deploy}"'))
        found.append(statuses(site.crawl(project)))

    assert found == [{"200": 31}, {"200": 31}, {"200": 1, "304": 30}, {"304": 31}]
