"""A crawl of a site without end finds every real page once, and ends."""

from typing import Any

import pytest

from tests.end_to_end.crawling import Crawled, Project, lines_of
from tests.end_to_end.recrawl_site import rows
from tests.server import Answer, Site, WebServer
from tests.trap_site import EndlessSite, OtherTrapSite, TrapSite, sentences

MOST_SHARE = 1.3
ENOUGH = 600
"""Pages after which a crawl that does not end is stopped: three times as many as there are."""
_OURS = "scrapy_dedup.plugin.resilience.extension.ResilienceExtension"
ON: dict[str, Any] = {
    "DEDUP_RESILIENCE": {"enabled": True},
    "EXTENSIONS": {"tests.end_to_end.recorders.Ledger": 0, _OURS: 110},
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,  # Scrapy's own: what is under way when a trap is found, is in vain.
}


def on(**resilience: Any) -> dict[str, Any]:
    return ON | {"DEDUP_RESILIENCE": {"enabled": True, **resilience}}


def published(server: WebServer, site: Site) -> None:
    server.site = site
    server.requests.clear()


def crawl(project: Project, site: EndlessSite, **settings: Any) -> Crawled:
    return project.crawl(
        "everything", "-a", f"start={site.origin}/", **{"CLOSESPIDER_PAGECOUNT": ENOUGH, **ON, **settings}
    )


@pytest.mark.parametrize("build", [TrapSite, OtherTrapSite])
def test_every_real_page_is_found_and_the_second_crawl_knows_the_parameters_from_the_start(project, server, build):
    site = build(server.origins[0])
    published(server, site)

    crawled = crawl(project, site)

    assert crawled.stats["finish_reason"] == "finished"
    assert sorted(set(site.served)) == site.real
    assert len(server.requests) <= MOST_SHARE * len(site.real)
    # Ten seconds, which a machine that does much else may take now and then; were they not woken, all of them would.
    assert crawled.count("traps/waited_in_vain") < 5
    assert "Trap: " in crawled.log
    if build is OtherTrapSite:
        return

    found = rows(project, "SELECT domain, name, different, ignored FROM url_parameters")
    site.served.clear()
    again = crawl(project, site)

    assert (site.origin.removeprefix("http://"), "sid", 0, 1) in found
    assert sorted(set(site.served)) == site.real
    # All that is fetched twice is what is tried again on purpose.
    assert len(site.served) - len(site.real) <= again.count("parameters/rechecks")


def page(name: str, *links: str, head: str = "", foot: str = "") -> Answer:
    inside = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    foot = f"<footer>{foot}</footer>"
    return Answer(f"<title>{name}</title>{head}<main><h1>{name}</h1><p>{sentences(name)}</p>{inside}</main>{foot}")


def asked(server: WebServer) -> list[str]:
    return sorted(url.removeprefix(server.origins[0]) for url in server.requests)


FEEDS = {
    "rss": ("application/rss+xml", "<rss><channel><item><link>/in-feed</link></item></channel></rss>"),
    "atom": ("application/atom+xml", '<feed><entry><link href="/in-feed"/></entry></feed>'),
    "rdf": ("application/rdf+xml", '<rdf:RDF xmlns:rdf="r"><item><link>/in-feed</link></item></rdf:RDF>'),
    "json": ("application/feed+json", '{"version": "1.1", "items": [{"url": "/in-feed"}]}'),
}


def test_pages_that_only_a_feed_names_are_found(project, server):
    origin = server.origins[0]
    heads = (f'<link rel="alternate" type="{kind}" href="/{name}">' for name, (kind, _) in FEEDS.items())
    site: Site = {f"{origin}/": page("home", head="".join(heads))}
    for name, (kind, body) in FEEDS.items():
        site[f"{origin}/{name}"] = Answer(body.replace("/in-feed", f"/in-{name}"), content_type=kind)
        site[f"{origin}/in-{name}"] = page(f"in {name}")
    published(server, site)

    crawled = project.crawl("everything", "-a", f"start={origin}/", **on(discovery="feeds"))

    assert sorted(server.requests) == sorted([*site, f"{origin}/robots.txt"])
    assert sorted(crawled.stored_ids) == sorted([f"{origin}/", *(f"{origin}/in-{name}" for name in FEEDS)])


def test_archives_in_the_footer_are_read_by_the_callback_of_the_crawl(project, server):
    """The spider follows links in the main part alone."""
    origin = server.origins[0]
    foot = '<a href="/old">Archive</a> <a href="/imprint">Imprint</a> <a href="http://elsewhere.example/archive">x</a>'
    site: Site = {f"{origin}/": page("home", foot=foot), f"{origin}/old": page("old", "/last-year")}
    published(server, site | {f"{origin}/last-year": page("last year")})

    crawled = project.crawl("everything", "-a", f"start={origin}/", "-a", "links=main a", **on(discovery="archives"))

    assert asked(server) == sorted(["/robots.txt", "/", "/old", "/last-year"])
    assert len(crawled.stored) == 3


def test_discovery_obeys_robots_txt_and_its_limit(project, server):
    origin = server.origins[0]
    paths = ["/private/1", *(f"/open/{number}" for number in range(6))]
    entries = "".join(f"<url><loc>{origin}{path}</loc></url>" for path in paths)
    site: Site = {f"{origin}{path}": page(path) for path in ("/", *paths)}
    rules = f"User-agent: *\nDisallow: /private\nSitemap: {origin}/map\n"
    published(
        server,
        site
        | {
            f"{origin}/robots.txt": Answer(rules, content_type="text/plain"),
            f"{origin}/map": Answer(f"<urlset>{entries}</urlset>", content_type="application/xml"),
        },
    )

    crawled = project.crawl("everything", "-a", f"start={origin}/", **on(discovery_max_urls=4))

    assert asked(server) == sorted(["/robots.txt", "/", "/map", "/open/0", "/open/1", "/open/2"])
    assert crawled.count("discovery/at_limit") == 1


def listing(origin: str, parts: int, form: str) -> Site:
    """Return parts of a listing that do not lead to each other; beyond the last all are the same."""

    class Parts(dict[str, Any]):
        def get(self, url: str, default: Any = None) -> Any:
            return super().get(url, page("the end") if "list" in url else default)

    return Parts({f"{origin}{form.format(number)}": page(form.format(number)) for number in range(parts)})


# The first page that repeats is the first of those that are all the same, seen twice.
@pytest.mark.parametrize(
    ("parts", "form", "limits", "tried"),
    [(5, "/list/page/{}/", {}, 6), (9, "/list?page={}", {"pagination_max_pages": 3}, 3)],
    ids=["to-the-first-without-news", "no-further-than-its-limit"],
)
def test_listing_is_followed(project, server, parts, form, limits, tried):
    origin = server.origins[0]
    published(server, listing(origin, parts, form))
    crawled = project.crawl("everything", "-a", f"start={origin}{form.format(0)}", **on(discovery="", **limits))
    assert [url for url in asked(server) if "list" in url] == [form.format(number) for number in range(tried + 1)]
    assert crawled.count("pagination/tried") == tried


def test_crawl_goes_on_in_its_jobdir(project, server):
    """What was found out of parameters and traps is not found out again."""
    site = TrapSite(server.origins[0])
    published(server, site)
    start = f"start={site.origin}/"
    first = project.crawl("everything", "-a", start, JOBDIR="job", CLOSESPIDER_PAGECOUNT=70, **ON)

    second = project.crawl("everything", "-a", start, JOBDIR="job", CLOSESPIDER_PAGECOUNT=ENOUGH, **ON)

    assert first.stats["finish_reason"] == "closespider_pagecount"
    assert second.stats["finish_reason"] == "finished"
    assert sorted(set(site.served)) == site.real
    # The start page is asked for again, and what was under way may be.
    assert len(server.requests) <= 1.5 * len(site.real)
    assert second.count("parameters/learned") == 0


def test_what_is_asked_for_because_of_a_page_goes_by_its_way(project, server):
    """The site is reached by a proxy with a password alone, and asks for a key; its spider has a slot for it."""
    shop = "http://shop.example"
    sitemap = f"<urlset><url><loc>{shop}/named</loc></url></urlset>"
    site: Site = {f"{shop}/": page("home", "/a", "/b"), f"{shop}/named": page("named")}
    site |= {f"{shop}/{name}": page(name) for name in "ab"}
    published(server, site | {f"{shop}/sitemap.xml": Answer(sitemap, content_type="application/xml")})
    server.asked_with.clear()
    proxy = server.origins[0].replace("//", "//user:secret@")
    asks: dict[str, Any] = {**on(discovery="sitemaps"), "DEDUP_SOFT_404": "mark", "ROBOTSTXT_OBEY": False}
    asks["EXTENSIONS"] = {**ON["EXTENSIONS"], "tests.end_to_end.recorders.Slots": 1}

    crawled = project.crawl("proxied", "-a", f"start={shop}/", "-a", f"proxy={proxy}", **asks)

    assert {f"{shop}/{path}" for path in ("robots.txt", "sitemap.xml", "named")} < set(server.requests)
    assert crawled.count("soft_404/probes") == 1
    # Scrapy counts the one that begins the discovery, too, which nobody is asked for.
    assert len(server.requests) == crawled.stats["downloader/request_count"] - 1
    assert all({"X-Key", "Proxy-Authorization"} <= headers.keys() for _, headers in server.asked_with)
    slots = {line["url"]: line["slot"] for line in lines_of(project.folder / "slots.jsonl")}
    assert {url: slots[url] for url in server.requests} == dict.fromkeys(server.requests, "its own")
    assert {item["id"] for item in crawled.stored} == {f"{shop}/", *(f"{shop}/{name}" for name in ("a", "b", "named"))}
    assert "internal meta keys" not in crawled.log
