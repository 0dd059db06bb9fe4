"""The registry in a crawl: what is blacklisted is never asked, by whatever way it is found; what a run leaves."""

import json
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from scrapy_dedup.core.domains import DomainStatus
from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.store import Store
from tests.end_to_end.crawling import Crawled, Project, all_accounted_for
from tests.end_to_end.recrawl_site import rows
from tests.server import Answer, Site, WebServer, redirect, serving
from tests.sites import prose
from tests.tables import table

NAME = "scrapybot"
XML = "application/xml"


SERVED: tuple[int, Any] = 2, lambda _: {}


@pytest.fixture
def good(server) -> str:
    server.requests.clear()
    return server.origins[0]


@pytest.fixture
def bad(server) -> str:
    return server.origins[1]


def page(name: str, *links: str, confidence: object = None, head: str = "", files: Iterable[str] = ()) -> Answer:
    anchors = "".join(f'<li><a href="{link}">to {link}</a></li>' for link in links)
    images = "".join(f'<img src="{url}">' for url in files)
    said = f'<meta name="confidence" content="{confidence}">' if confidence is not None else ""
    text = f"<h1>On {name}</h1><p>{prose(name, sentences=20)}</p>"
    return Answer(f"<!doctype html><title>On {name}</title>{said}{head}<main>{text}{images}<ul>{anchors}</ul></main>")


def sitemap(*urls: str) -> Answer:
    named = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return Answer(f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{named}</urlset>", content_type=XML)


def name_of(origin: str) -> str:
    return origin.removeprefix("http://")


@contextmanager
def registry(project: Project) -> Iterator[DomainService]:
    """Open the project's registry, as a command or the dashboard does."""
    with Store.open(f"sqlite:///{project.folder / '.scrapy' / 'dedup.db'}") as store:
        yield DomainService(store.project(NAME), Settings())


def blacklist(project: Project, origin: str, expires_at: datetime | None = None) -> None:
    with registry(project) as service:
        service.blacklist_domain(origin, datetime.now(UTC), by="alice", reason="link farm", expires_at=expires_at)


def domain(project: Project, origin: str) -> StoredDomain:
    with registry(project) as service:
        found = service.find_by_domain_name(origin)
    assert found is not None
    return found


def let_be(project: Project, origin: str, status: DomainStatus) -> None:
    with registry(project) as service:
        at = datetime.now(UTC)
        service.update_status(service.register_domain(origin, at).domain_id, status, at)


def asked_of(server: WebServer, origin: str) -> list[str]:
    return [url for url in server.requests if url.startswith(f"{origin}/")]


def crawl(project: Project, *starts: str, spider: str = "crosses", **settings: Any) -> Crawled:
    return project.crawl(spider, "-a", f"start={' '.join(starts)}", **settings)


def reasons(project: Project) -> list[str]:
    return [
        reason for (reason,) in rows(project, "SELECT reason FROM decisions WHERE layer = 'domain' ORDER BY reason")
    ]


# A blacklisted domain.

Way = Callable[[str, str], tuple[Site, list[str]]]
"""(good, bad) addresses to what is served, and what the crawl starts from; each leads to a good page, too."""


def by_link(good: str, bad: str) -> tuple[Site, list[str]]:
    home = page("home", f"{bad}/", f"{bad}/a", f"{good}/next")
    return {f"{good}/": home, f"{good}/next": page("next")}, [f"{good}/"]


def by_redirect(good: str, bad: str) -> tuple[Site, list[str]]:
    site: Site = {
        f"{good}/": page("home", f"{good}/away", f"{good}/twice", f"{good}/next"),
        f"{good}/away": redirect(f"{bad}/redirected", 301),
        f"{good}/twice": redirect(f"{good}/away", 302),
        f"{good}/next": page("next"),
    }
    return site, [f"{good}/"]


def by_meta_refresh(good: str, bad: str) -> tuple[Site, list[str]]:
    refresh = f'<meta http-equiv="refresh" content="0; url={bad}/">'
    site: Site = {f"{good}/": page("home", f"{good}/away", f"{good}/next")}
    return site | {f"{good}/away": page("away", head=refresh)}, [f"{good}/"]


def by_start(good: str, bad: str) -> tuple[Site, list[str]]:
    return {}, [f"{bad}/", f"{good}/next", f"{bad}/robots.txt"]


def by_canonical(good: str, bad: str) -> tuple[Site, list[str]]:
    text = page("home", f"{good}/next").body
    alias = Answer(str(text).replace("<main>", f'<link rel="canonical" href="{bad}/"><main>'))
    return {f"{good}/": alias}, [f"{good}/"]


def by_media(good: str, bad: str) -> tuple[Site, list[str]]:
    return {f"{good}/": page("home", f"{good}/next", files=[f"{bad}/a.png"])}, [f"{good}/"]


WAYS: tuple[Way, ...] = (by_link, by_redirect, by_meta_refresh, by_start, by_canonical, by_media)
PROJECTS: dict[str, dict[str, Any]] = {
    "usual": {
        "ROBOTSTXT_OBEY": True,
        "FILES_STORE": "files",
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1, "tests.end_to_end.recorders.Storage": 800},
    },
    "discovery": {"DEDUP_RESILIENCE": {"enabled": True}, "ROBOTSTXT_OBEY": True},
    "without-fingerprinter": {
        "ADDONS": {},
        "DOWNLOADER_MIDDLEWARES": {"scrapy_dedup.DedupDownloaderMiddleware": 545},
        "ITEM_PIPELINES": {"scrapy_dedup.DedupPipeline": 350, "tests.end_to_end.recorders.Storage": 800},
    },
}


@pytest.mark.parametrize("settings", PROJECTS.values(), ids=PROJECTS)
def test_blacklisted_domain_gets_no_request(project, server, good, bad, settings):
    """By no way: a folder each. The site's robots.txt names a sitemap elsewhere, its own sitemap pages elsewhere.

    Neither does a request that wants to be left alone.
    """
    robots = Answer(f"Sitemap: {bad}/sitemap.xml\nSitemap: {good}/sitemap.xml\n", content_type="text/plain")
    server.site = {f"{good}/robots.txt": robots, f"{good}/sitemap.xml": sitemap(f"{bad}/b", f"{good}/by_link/next")}
    server.site |= {f"{bad}/": page("bad home", "/a"), f"{bad}/a": page("bad a"), f"{bad}/robots.txt": Answer("")}
    starts, wanted = [], set()
    for way in WAYS:
        folder = f"{good}/{way.__name__}"
        site, begins = way(folder, bad)
        starts += begins
        wanted.add(f"{folder}/next")
        server.site |= site | {f"{folder}/next": page(f"next {way.__name__}")}
    blacklist(project, bad)

    crawled = crawl(project, *starts, f"{bad}/left-alone", spider="notes-refusals", clean=False, **settings)

    assert asked_of(server, bad) == []
    # Scrapy's pipeline for files logs what it does not get; some versions as an error.
    assert all("scrapy.pipelines.media" in error for error in crawled.errors)
    assert crawled.exit_code == 0
    all_accounted_for(crawled)
    assert wanted <= set(crawled.stored_ids)
    told = {item["id"]: item["content"] for item in crawled.fed if item.get("id", "").startswith("refused")}
    assert f"refused {bad}/redirected" in told
    assert set(told.values()) == {f"dedup: domain: {name_of(bad)}: blacklisted"}
    assert crawled.count("domain/blacklisted") == crawled.count("domain/dropped") > 0
    # Ten seconds, which a machine that does much else may take now and then; were they not woken, all of them would.
    assert crawled.count("traps/waited_in_vain") < 5


def test_blacklisted_domain_gets_no_request_by_a_sitemap(project, server, good, bad):
    """Neither for its own, nor for pages and sitemaps that another domain's name."""
    index = f"<sitemapindex><sitemap><loc>{bad}/sitemap.xml</loc></sitemap></sitemapindex>"
    server.site = {
        f"{good}/sitemap.xml": sitemap(f"{bad}/a", f"{good}/next"),
        f"{good}/index.xml": Answer(index, content_type=XML),
        f"{good}/next": page("next"),
        f"{bad}/sitemap.xml": sitemap(f"{bad}/a"),
        f"{bad}/a": page("bad a"),
    }
    blacklist(project, bad)

    starts = f"{bad}/sitemap.xml", f"{good}/index.xml", f"{good}/sitemap.xml"
    crawled = crawl(project, *starts, spider="of-sitemap")

    assert asked_of(server, bad) == []
    assert crawled.stored_ids == [f"{good}/next"]


@pytest.mark.parametrize(
    "settings",
    [{"DEDUP_LAYERS": {"domain": False}}, {"DEDUP_SHADOW": "domain"}, {"DEDUP_PROJECT": "other"}],
    ids=["off", "shadow", "of-another-project"],
)
def test_layer_that_is_off_in_the_shadow_or_of_another_project_refuses_nothing(project, server, good, bad, settings):
    server.site, starts = by_link(good, bad)
    server.site |= {f"{bad}/": page("bad home"), f"{bad}/a": page("bad a")}
    blacklist(project, bad)

    crawled = crawl(project, *starts, **settings)

    assert len(asked_of(server, bad)) == 2
    assert crawled.count("domain/dropped") == 0
    shadowed = 2 if "DEDUP_SHADOW" in settings else 0
    assert (crawled.count("shadow/domain/requests"), crawled.count("shadow/domain/blacklisted")) == (shadowed, shadowed)
    assert [reason.startswith(f"would be refused: {name_of(bad)} is blacklisted") for reason in reasons(project)] == (
        [True] * shadowed
    )


def test_domain_that_is_blacklisted_during_the_crawl_is_left_alone_from_then_on(project, server, good, bad):
    is_written = threading.Event()
    server.site = {
        f"{good}/": page("home", f"{bad}/1", "/wait"),
        f"{good}/wait": Answer(page("wait", f"{bad}/2").body, until=is_written),
        **{f"{bad}/{number}": page(f"bad {number}") for number in (1, 2)},
    }
    running = project.start("crosses", "-a", f"start={good}/", DEDUP_DOMAIN={"refresh": 0.1})
    running.wait_for(lambda: f"{good}/wait" in server.requests and f"{bad}/1" in server.requests)
    blacklist(project, bad)
    # The list is read again after it was written: two readings later at the latest.
    log = rows(project, "SELECT max(seen_at) FROM crawl_runs")
    running.wait_for(lambda: rows(project, "SELECT max(seen_at) FROM crawl_runs") != log)
    is_written.set()
    crawled = running.finish()

    assert asked_of(server, bad) == [f"{bad}/1"]
    assert crawled.count("domain/blacklisted") == 1


def test_queue_of_an_earlier_part_of_the_run_is_not_asked(project, server, good, bad):
    server.site = {f"{good}/": page("home", *(f"{bad}/{number}" for number in range(9)))}
    server.site |= {f"{bad}/{number}": page(f"bad {number}") for number in range(9)}
    settings: dict[str, Any] = {"JOBDIR": "job", "CONCURRENT_REQUESTS": 1, "CLOSESPIDER_PAGECOUNT": 2}
    crawl(project, f"{good}/", **settings)
    first = len(asked_of(server, bad))
    blacklist(project, bad)

    crawled = crawl(project, f"{good}/", **{**settings, "CLOSESPIDER_PAGECOUNT": 0})

    assert 0 < first < 9
    assert len(asked_of(server, bad)) == first
    assert crawled.count("domain/blacklisted") >= 9 - first


def test_refusal_says_who_and_why_and_is_no_visit_and_its_links_are_followed_once_it_is_over(
    project, server, good, bad
):
    settings: dict[str, Any] = {"DEDUP_REMOVED": {"after": 1, "max_share": 1.0}}
    server.site = {f"{bad}/": page("bad home"), f"{bad}/a": page("bad a"), f"{good}/next": page("next")}
    server.site |= {f"{good}/": page("home", f"{bad}/", "/next")}
    crawl(project, f"{good}/", **settings)
    blacklist(project, bad)
    server.site |= {f"{good}/": page("home", f"{bad}/", f"{bad}/a", "/next")}
    server.requests.clear()

    refused = crawl(project, f"{good}/", **settings)

    (reason, same) = reasons(project)
    assert reason == same
    assert reason.startswith(f"{name_of(bad)} is blacklisted by alice since ")
    assert reason.endswith(" UTC: link farm")
    assert refused.count("domain/dropped") == 2
    assert domain(project, bad).errors == 0
    assert rows(project, f"SELECT * FROM crawled_urls WHERE url LIKE '{bad}/a'") == []
    assert rows(project, "SELECT url FROM documents WHERE gone_at IS NOT NULL OR missed_runs > 0") == []
    with registry(project) as service:
        service.unblacklist_domain(bad, datetime.now(UTC))

    crawl(project, f"{good}/")

    assert sorted(asked_of(server, bad)) == [f"{bad}/", f"{bad}/a"]


# Low quality.

POOR = 6


def poor_site(good: str, bad: str) -> Site:
    """Return pages to each of which a redirect leads, and which are there at the second try."""
    links = [f"{bad}/{number}" for number in range(POOR)]
    site: Site = {f"{good}/": page("home", *links, "/next"), f"{good}/next": page("next", *links)}
    for number in range(POOR):
        found = page(f"bad {number}")
        site[f"{bad}/{number}"] = redirect(f"{bad}/to-{number}")
        site[f"{bad}/to-{number}"] = lambda times, found=found: found if times > 1 else Answer("busy", 503)  # type: ignore[misc]
    return site


@table("end_to_end/low_quality")
def test_domain_of_low_quality_is_asked_by_policy(project, policy, pages, why):
    with serving(2, lambda origins: poor_site(*origins)) as server:
        good, bad = server.origins
        let_be(project, bad, DomainStatus.PROCESSED_LOW_QUALITY)

        crawled = crawl(project, f"{good}/", DEDUP_DOMAIN={"policy": policy, "sample_pages": 2})

    # Each page is a redirect, and its target twice: these do not use up the sample.
    assert len(asked_of(server, bad)) == 3 * pages
    assert sum(url.startswith(bad) for url in crawled.stored_ids) == pages
    assert crawled.count("domain/dropped") == POOR - pages
    assert crawled.count(f"domain/{why}") == (POOR - pages if why else 0)
    assert f"{good}/next" in crawled.stored_ids


def test_sample_counts_over_all_parts_of_a_run(project, server, good, bad):
    server.site = {f"{good}/": page("home", *(f"{bad}/{number}" for number in range(9)))}
    server.site |= {f"{bad}/{number}": page(f"bad {number}") for number in range(9)}
    let_be(project, bad, DomainStatus.PROCESSED_LOW_QUALITY)
    settings: dict[str, Any] = {"DEDUP_DOMAIN": {"policy": "sample", "sample_pages": 4}, "JOBDIR": "job"}
    settings |= {"CONCURRENT_REQUESTS": 1, "CLOSESPIDER_PAGECOUNT": 3}
    crawl(project, f"{good}/", **settings)
    first = len(asked_of(server, bad))

    crawl(project, f"{good}/", **{**settings, "CLOSESPIDER_PAGECOUNT": 0})

    assert 0 < first < 4
    assert len(asked_of(server, bad)) == 4


# What a run leaves.


def test_domains_of_a_run_are_registered_with_their_figures(project, server, good, bad):
    server.site = {
        f"{good}/": page("home", "/1", f"{bad}/", "/broken", confidence=0.9),
        f"{good}/1": page("one", confidence="0.5"),
        f"{good}/broken": Answer("no", 500),
        f"{bad}/": page("bad home", "/2", confidence=0.1),
        f"{bad}/2": page("bad 2", confidence=0.59),
    }

    crawl(project, f"{good}/", RETRY_ENABLED=False)

    found, other = domain(project, good), domain(project, bad)
    assert (found.status, other.status) == ("PROCESSED_HIGH_QUALITY", "PROCESSED_LOW_QUALITY")
    assert counts(project, good) == (1, 1, 0.9, 0.7)
    assert counts(project, bad) == (0, 2, 0.59, 0.345)
    assert (found.pages, found.errors, other.pages, other.errors) == (2, 1, 2, 0)
    sums = rows(project, "SELECT sum(chars_in), sum(chars_out) FROM documents WHERE domain = ?", name_of(good))
    assert [(found.chars_in, found.chars_out)] == sums
    assert found.last_crawled_at is not None
    assert found.last_processed_at is not None

    # Unchanged pages are no new candidates.
    crawl(project, f"{good}/", RETRY_ENABLED=False)

    assert (counts(project, good), counts(project, bad)) == ((1, 1, 0.9, 0.7), (0, 2, 0.59, 0.345))


def test_confidence_comes_from_the_field_or_the_function_that_the_user_names(project, server, good):
    names = ("good", "raises", "nonsense", "unknown")
    server.site = {f"{good}/{name}": page(name, confidence=0.1) for name in names}
    function = "tests.end_to_end.spiders.domains.confidence_of"

    crawled = crawl(project, *(f"{good}/{name}" for name in names), DEDUP_DOMAIN={"confidence_function": function})

    found = domain(project, good)
    assert (found.best_confidence_score, found.high_quality_candidate_count, found.pages) == (0.9, 1, 4)
    assert found.low_quality_candidate_count == 0
    assert crawled.count("domain/confidence_errors") == 2
    assert crawled.log.count('DEDUP_DOMAIN["confidence_function"] needs to give a number') == 1
    assert len(crawled.stored) == 4


def scored_site(good: str, pages: int) -> Site:
    site: Site = {f"{good}/": page("home", *(f"/{number}" for number in range(pages)), confidence=0.2)}
    return site | {f"{good}/{number}": page(f"page {number}", confidence=0.8) for number in range(pages)}


def counts(project: Project, origin: str) -> tuple[Any, ...]:
    found = domain(project, origin)
    high, low = found.high_quality_candidate_count, found.low_quality_candidate_count
    mean = found.mean_confidence_score
    return high, low, found.best_confidence_score, None if mean is None else round(mean, 6)


@pytest.mark.parametrize("jobdir", [{"JOBDIR": "job"}, {}], ids=["jobdir", "anew"])
def test_killed_run_leaves_what_was_safe_and_the_next_one_makes_up_for_it(project, server, good, jobdir):
    never = threading.Event()
    server.site = scored_site(good, 9) | {f"{good}/8": Answer("", until=never)}
    settings: dict[str, Any] = {"FEEDS": {}, "DEDUP_LAYERS": {"boilerplate": False}, **jobdir}
    running = project.start("crosses", "-a", f"start={good}/", **settings)
    written = "SELECT count(*) FROM documents WHERE status = 'completed'"
    running.wait_for(lambda: f"{good}/8" in server.requests and rows(project, written) == [(9,)])
    running.process.send_signal(signal.SIGKILL)
    running.finish()
    never.set()
    assert counts(project, good) == (8, 1, 0.8, round(6.6 / 9, 6))
    assert (domain(project, good).status, domain(project, good).pages) == ("DISCOVERED", 0)

    server.site = scored_site(good, 9)
    crawl(project, f"{good}/", **settings)

    assert counts(project, good) == (9, 1, 0.8, 0.74)
    assert (domain(project, good).status, domain(project, good).pages) == ("PROCESSED_HIGH_QUALITY", 10)


# A run under way.


def test_running_crawl_says_how_it_stands(project, server, good):
    never = threading.Event()
    server.site = scored_site(good, 3) | {f"{good}/2": Answer(page("page 2").body, until=never)}
    running = project.start("crosses", "-a", f"start={good}/")
    told = "SELECT stats FROM crawl_runs WHERE seen_at IS NOT NULL"
    running.wait_for(lambda: f"{good}/2" in server.requests and rows(project, told) != [])
    ((stats,),) = rows(project, told)
    assert rows(project, "SELECT status, finished_at FROM crawl_runs") == [("running", None)]
    never.set()
    crawled = running.finish()

    assert json.loads(stats)["response_received_count"] >= 1
    assert json.loads(stats)["elapsed_time_seconds"] > 0
    ((status, at_end),) = rows(project, "SELECT status, stats FROM crawl_runs")
    assert status == "finished"
    assert json.loads(at_end)["item_scraped_count"] == crawled.stats["item_scraped_count"] == 4
