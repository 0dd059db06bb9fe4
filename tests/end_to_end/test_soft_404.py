"""A site that answers 200 for everything gives only its real pages."""

from hashlib import sha256
from typing import Any

import pytest

from tests.end_to_end.recrawl_site import HOME, ChangingSite, rows
from tests.server import Answer

REAL = [HOME, "p0", "p1", "p2", "p3", "p4"]
DEAD = ["gone", "never-was", "a/deep/one", "item?id=77"]


def word_of(url: str, place: int) -> str:
    """Return a word of letters alone that no other URL or place has."""
    return sha256(f"{url} {place}".encode()).hexdigest().translate(str.maketrans("0123456789", "ghijklmnop"))


class Obliging(dict[str, Any]):
    """A site that has an answer to every question."""

    def get(self, url: str, default: Any = None) -> Any:  # noqa: ARG002 - as dict has it
        if url.endswith("/robots.txt"):
            return super().get(url, Answer("", 404))
        # Other links each time.
        tries = "".join(f"<li><a href=/p{place}>{word_of(url, place)}</a>" for place in range(4))
        body = f"<title>Oops</title><nav>Home</nav><main><h1>Sorry</h1><p>We looked for {url} and found nothing.</p>"
        return super().get(
            url,
            Answer(
                body
                + "<p>Try the search, or go back to the home page.</p><ul>{tries}</ul></main>".replace("{tries}", tries)
            ),
        )


@pytest.fixture
def site(server) -> ChangingSite:
    site = ChangingSite(server, len(REAL) - 1, validators=False)
    publish(site)
    return site


def publish(site: ChangingSite, **changes: Any) -> None:
    site.publish(**changes)
    links = "".join(f'<a href="/{name}">{name}</a>' for name in DEAD)
    home = site.html(HOME).replace("</footer>", f"{links}</footer>")
    site.server.site = Obliging(site.server.site | {site.url(HOME): Answer(home)})


def test_only_real_pages_are_emitted(project, site):
    """Two probes tell; a link from an error page is followed as any other."""
    crawled = site.crawl(project, DEDUP_SOFT_404="drop")

    assert site.names_of(crawled.stored) == REAL
    assert (crawled.count("soft_404/probes"), crawled.count("soft_404/pages")) == (2, len(DEAD))
    assert crawled.count("soft_404/items") == len(DEAD)
    assert rows(project, "SELECT count(*) FROM documents") == [(len(REAL),)]


def test_page_that_became_the_error_page_is_missing_and_not_changed(project, site):
    found = []
    for pages in (5, 4, 4):
        publish(site, names=[f"p{number}" for number in range(pages)], menu=[])
        link = '<a href="/p4">p4</a>' if pages == 4 else ""
        site.server.site[site.url(HOME)] = Answer(site.html(HOME) + link)
        found.append(site.names_of(site.crawl(project, DEDUP_REMOVED={"emit": True}, DEDUP_SOFT_404="drop").stored))

    assert found == [REAL, [HOME, *REAL[1:-1]], [HOME, *REAL[1:-1], "p4"]]
    assert rows(project, "SELECT url FROM documents WHERE gone_at IS NOT NULL") == [(site.url("p4"),)]


@pytest.mark.parametrize(("how", "marked"), [({}, []), ({"DEDUP_SOFT_404": "mark"}, DEAD)], ids=["default", "mark"])
def test_error_pages_are_left_out_only_where_that_is_asked_for(project, site, how, marked):
    crawled = site.crawl(project, **how)

    assert len(crawled.stored) == len(REAL) + len(DEAD)
    told = [line["id"] for line in crawled.stored if line["report"].get("soft_404")]
    assert sorted(told) == sorted(map(site.url, marked))
    assert crawled.count("soft_404/probes") == 2 * bool(marked)


def test_probe_obeys_robots_txt(project, site):
    """Then nobody is judged."""
    # Not /p alone: the name of a probe may begin with it.
    allowed = "".join(f"Allow: /{name}$\n" for name in ("", *REAL[1:]))
    rules = f"User-agent: *\nDisallow: /\n{allowed}"
    site.server.site[f"{site.origin}/robots.txt"] = Answer(rules, content_type="text/plain")

    crawled = site.crawl(project, ROBOTSTXT_OBEY=True, DEDUP_SOFT_404="drop")

    assert site.names_of(crawled.stored) == REAL
    assert set(site.server.requests) == {site.url(name) for name in (*REAL, "robots.txt")}
