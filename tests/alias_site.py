"""A site on which pages have several addresses, and some pages say so wrongly.

All answers with one title are one page, which has to go out exactly once.
"""

from tests.server import Answer, Site, redirect
from tests.sites import html_page

REFRESH = '<html><head><meta http-equiv="refresh" content="0;url=/refreshed"></head></html>'


def canonical(target: str) -> str:
    return f'<link rel="canonical" href="{target}">'


def alternates(**languages: str) -> str:
    return "".join(f'<link rel="alternate" hreflang="{tag}" href="{href}">' for tag, href in languages.items())


def chain(origins: list[str]) -> Site:
    """Return three addresses of one page; each names the next one."""
    return {
        f"{origins[0]}/a": Answer(html_page("chain", head=canonical("/b"))),
        f"{origins[0]}/b": Answer(html_page("chain", head=canonical("/c"))),
        f"{origins[0]}/c": Answer(html_page("chain")),
    }


def with_silent_link(page: str, target: str) -> str:
    """Return a page with one more link, which a reader does not see: its text stays what it was."""
    return page.replace("</main>", f'<a href="{target}"></a></main>')


def alias_site(origins: list[str], *, reverse: bool = False) -> Site:
    """Return the site; its start page `/start` leads to a home page that links all groups of addresses.

    Args:
        origins: of the site, and of another one.
        reverse: whether the home page's links come in the other order: aliases first, canonical pages last.
    """
    here, there = origins
    linked: dict[str, Answer] = {
        # Tracking parameters.
        "/tracked": Answer(html_page("tracked")),
        "/tracked?utm_source=mail": Answer(html_page("tracked")),
        "/tracked?gclid=1&utm_medium=x": Answer(html_page("tracked")),
        "/sorted?a=1&b=2": Answer(html_page("sorted")),
        "/sorted?b=2&a=1": Answer(html_page("sorted")),
        # Index pages.
        "/directory/": Answer(html_page("directory")),
        "/directory/index.html": Answer(html_page("directory")),
        # Canonical links that are right.
        "/right": Answer(html_page("right", head=canonical(f"{here}/right"))),
        "/right-alias": Answer(
            with_silent_link(html_page("right", head=canonical(f"{here}/right")), "/only-from-alias")
        ),
        "/right?view=print": Answer(html_page("right", head=canonical(f"{here}/right?utm_campaign=x"))),
        "/relative": Answer(html_page("relative")),
        "/relative-alias": Answer(html_page("relative", head=canonical("relative"))),
        "/hidden-alias": Answer(html_page("hidden", head=canonical("/hidden-canonical"))),
        # Canonical links that are wrong, or lead nowhere.
        "/loop-a": Answer(html_page("loop", head=canonical("/loop-b"))),
        "/loop-b": Answer(html_page("loop", head=canonical("/loop-a"))),
        "/other-loop-a": Answer(html_page("one side of a loop", head=canonical("/other-loop-b"))),
        "/other-loop-b": Answer(html_page("other side of a loop", head=canonical("/other-loop-a"))),
        "/to-home": Answer(html_page("to-home", head=canonical("/"))),
        "/to-foreign": Answer(html_page("foreign", head=canonical(f"{there}/foreign"))),
        "/fails": Answer(html_page("fails", head=canonical("/gone"))),
        "/fails-alias": Answer(html_page("fails", head=canonical("/gone"))),
        "/error": Answer(html_page("error", head=canonical("/broken"))),
        "/wrong": Answer(html_page("wrong", head=canonical("/wrong-target"))),
        "/wrong-target": Answer(html_page("wrong-target")),
        "/wrong-right-alias": Answer(html_page("wrong-target", head=canonical("/wrong-target"))),
        "/list?page=1": Answer(html_page("list 1", head=canonical("/list?page=1"))),
        "/list?page=2": Answer(html_page("list 2", head=canonical("/list?page=1"))),
        "/back": Answer(html_page("back", head=canonical("/forth"))),
        **{f"/all-to-one-{n}": Answer(html_page(f"one of {n}", head=canonical("/one"))) for n in range(20)},
        # Translations.
        "/en": Answer(html_page("english", head=alternates(en="/en", de="/de") + canonical("/en"))),
        "/de": Answer(html_page("german", head=alternates(en="/en", de="/de") + canonical("/en"))),
        # Redirects.
        "/new": Answer(html_page("moved", links=["/late-old", "/start", "/"])),
        "/old": redirect("/new", 301),
        "/hop-1": redirect("/hop-2"),
        "/hop-2": redirect("/hop-3?utm_source=hop", 307),
        "/hop-3": Answer(html_page("hopped")),
        "/refresh": Answer(REFRESH),
        "/refreshed": Answer(html_page("refreshed")),
        "/to-nowhere": redirect("/gone"),
        "/circle": redirect("/circle"),
    }
    found: dict[str, Answer] = {
        "/only-from-alias": Answer(html_page("only from an alias")),
        "/hidden-canonical": Answer(with_silent_link(html_page("hidden"), "/only-from-canonical")),
        "/only-from-canonical": Answer(html_page("only from a canonical page")),
        "/one": Answer(html_page("the one")),
        "/forth": redirect("/back"),
        "/late-old": redirect("/new"),
        "/broken": Answer("broken", 500),
        "/start": redirect("/"),
    }
    links = list(linked)[::-1] if reverse else list(linked)
    return {
        f"{here}/": Answer(html_page("home", links=links)),
        f"{there}/foreign": Answer(html_page("foreign")),
        **{here + path: answer for path, answer in {**linked, **found}.items()},
    }
