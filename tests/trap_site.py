"""Sites that have no end: whoever follows every link of theirs never comes home."""

import gzip
import itertools
import random
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.server import Answer

_SYLLABLES = (
    "ba be bi bo bu da de di do du fa fe ka ke ki ko la le li lo lu ma me mi mo na ne no pa pe ra re ri ro".split()
)
XML = "application/xml"


def sentences(name: str, count: int = 4) -> str:
    """Return text that no other page has; the same for the same name."""
    chance = random.Random(name)

    def word() -> str:
        return "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 3)))

    return " ".join(" ".join(word() for _ in range(12)).capitalize() + "." for _ in range(count))


class EndlessSite(dict[str, Any]):
    """Answers every URL; what it has no page for it says with status 200."""

    def __init__(self, origin: str) -> None:
        super().__init__()
        self.origin = origin
        self.served: list[str] = []
        """The names of real pages, as often as they were served."""
        self._fresh = itertools.count(1)

    @property
    def real(self) -> list[str]:
        """The names of all pages that are worth a fetch, in order."""
        raise NotImplementedError

    def page(self, path: str, query: dict[str, str]) -> tuple[str, str] | Answer | None:
        """Return name and body of a page; the name is empty where it is no real one."""
        raise NotImplementedError

    def get(self, url: str, default: Any = None) -> Answer:  # noqa: ARG002 - as dict has it
        parts = urlsplit(url)
        found = self.page(parts.path, dict(parse_qsl(parts.query)))
        if isinstance(found, Answer):
            return found
        name, body = found or (
            "",
            f"<h1>Sorry</h1><p>We looked for {parts.path} and found nothing. Try the search.</p>",
        )
        if name:
            self.served.append(name)
        return Answer(self.framed(name or "Sorry", body))

    def framed(self, title: str, body: str) -> str:
        raise NotImplementedError

    def session(self) -> str:
        return f"{next(self._fresh) * 7919:012x}a1"


class TrapSite(EndlessSite):
    """A shop: 46 result pages, 118 products, 12 orphans, 10 other pages; everything else is a trap."""

    filters = ("brand", "color", "size", "price", "rating")
    choices = ("a", "b", "c", "d")
    parts, on_part, orphans = 46, 3, 12

    def __init__(self, origin: str) -> None:
        super().__init__(origin)
        self.products = [f"product-{number}" for number in range(118)]

    @property
    def real(self) -> list[str]:
        results = [f"results {number}" for number in range(1, self.parts + 1)]
        orphans = [f"orphan-{number}" for number in range(self.orphans)]
        other = ["home", "catalog", "calendar", "about", *(f"story-{number}" for number in range(6))]
        return sorted([*results, *self.products, *orphans, *other])

    def framed(self, title: str, body: str) -> str:
        menu = "".join(f'<a href="{self.link(path)}">{path}</a> ' for path in ("/", "/catalog", "/calendar", "/about"))
        footer = "<footer>All rights reserved by the shop of tests. No page is worth more than another.</footer>"
        return f"<title>{title}</title><nav>{menu}</nav><main>{body}</main>{footer}"

    def link(self, path: str) -> str:
        return f"{path}{'&amp;' if '?' in path else '?'}sid={self.session()}"

    def links(self, *paths: str) -> str:
        return "<ul>" + "".join(f'<li><a href="{self.link(path)}">{path}</a></li>' for path in paths) + "</ul>"

    def page(self, path: str, query: dict[str, str]) -> tuple[str, str] | Answer | None:
        query.pop("sid", None)
        if (own := self.for_machines(path)) is not None:
            return own
        if (endless := self.endless(path, query)) is not None:
            return endless
        if path == "/results" and query.get("page", "").isdigit():
            return self.results(int(query["page"]))
        name = path.rpartition("/")[2] or "home"
        place = {"home": "/", "catalog": "/catalog", "calendar": "/calendar", "about": "/about"}.get(name)
        place = place or f"/{name.partition('-')[0]}s/{name}"
        if path != place or query or name not in self.real:
            return None
        return name, f"<h1>{name}</h1><p>{sentences(name)}</p>{self.more(name)}"

    def for_machines(self, path: str) -> Answer | None:
        if path == "/robots.txt":
            return Answer(f"User-agent: *\nAllow: /\nSitemap: {self.origin}/map.xml\n", content_type="text/plain")
        if path == "/map.xml":
            return self.sitemap([f"/orphans/orphan-{number}" for number in range(self.orphans)])
        return None

    def endless(self, path: str, query: dict[str, str]) -> tuple[str, str] | None:
        if path == "/catalog" and query:
            return self.filtered(query)
        if found := re.fullmatch(r"/calendar/(\d{4})/(\d\d?)", path):
            return "", self.month(int(found[1]), int(found[2]))
        if re.fullmatch(r"(/deep)+/?", path):
            return (
                "",
                f"<h1>Deeper</h1><p>There is always more to see below.</p>{self.links(path.rstrip('/') + '/deep')}",
            )
        return None

    def sitemap(self, paths: list[str]) -> Answer:
        entries = "".join(f"<url><loc>{self.origin}{path}</loc></url>" for path in paths)
        return Answer(f'<?xml version="1.0"?><urlset>{entries}</urlset>', content_type=XML)

    def more(self, name: str) -> str:
        if name == "home":
            return self.links("/results?page=1", "/deep", *(f"/storys/story-{number}" for number in range(6)))
        if name == "catalog":
            return self.facets({})
        if name == "calendar":
            return self.links("/calendar/2026/11")
        return self.links("/nowhere", "/lost/for/ever") if name == "about" else ""

    def facets(self, query: dict[str, str]) -> str:
        chosen = [{**query, name: value} for name in self.filters if name not in query for value in self.choices]
        return self.links(*("/catalog?" + "&amp;".join(f"{k}={v}" for k, v in one.items()) for one in chosen))

    def filtered(self, query: dict[str, str]) -> tuple[str, str]:
        shown = [name for name in self.products[:12] if sum(map(ord, name + "".join(query.values()))) % 3]
        return "", f"<h1>catalog</h1>{self.links(*(f'/products/{name}' for name in shown))}{self.facets(query)}"

    def results(self, number: int) -> tuple[str, str] | None:
        if not 1 <= number <= self.parts:
            return "", "<h1>Results</h1><p>There is nothing more to see here.</p>"
        start = (number - 1) * self.on_part
        listed = [f"/products/{name}" for name in self.products[start : start + self.on_part]]
        teasers = "".join(f"<p>{sentences(path, 1)}</p>" for path in listed or [f"results {number}"])
        return f"results {number}", f"<h1>Results</h1>{teasers}{self.links(*listed, f'/results?page={number + 1}')}"

    def month(self, year: int, month: int) -> str:
        later, earlier = (year * 12 + month, year * 12 + month - 2)
        days = "".join(f"<td>{day}</td>" for day in range(1, 31))
        around = [f"/calendar/{one // 12}/{one % 12 + 1}" for one in (later, earlier)]
        return f"<h1>{year}-{month:02}</h1><table><tr>{days}</tr></table><p>No events.</p>{self.links(*around)}"


class OtherTrapSite(EndlessSite):
    """A magazine built otherwise: sessions and filters in the path, listings from 0 and by offset."""

    filters = ("tone", "era", "mood", "place", "form")
    choices = ("one", "two", "three", "four")
    articles, on_part = 120, 3

    @property
    def real(self) -> list[str]:
        listed = [f"part {number}" for number in range(self.articles // self.on_part)]
        offsets = [f"offset {number}" for number in range(0, 100, 20)]
        articles = [f"article-{number}" for number in range(self.articles)]
        letters = [f"letter-{number}" for number in range(10)]
        hidden = [f"hidden-{number}" for number in range(15)]
        return sorted([*listed, *offsets, *articles, *letters, *hidden, "front", "browse", "agenda"])

    def framed(self, title: str, body: str) -> str:
        menu = self.links("/", "/browse", "/agenda", "/list?page=0", "/letters?offset=0")
        return f"<title>{title}</title><div class=top>{menu}</div><article>{body}</article><div>Imprint and such</div>"

    def links(self, *paths: str) -> str:
        # Relative, so that the session in the path stays out of sight here.
        session = self.session().upper()
        return "".join(f'<p><a href="/S-{session}{path.replace("&", "&amp;")}">{path}</a></p>' for path in paths)

    def page(self, path: str, query: dict[str, str]) -> tuple[str, str] | Answer | None:
        path = re.sub(r"^/S-[0-9A-F]+", "", path) or "/"
        if (own := self.for_machines(path)) is not None:
            return own
        if path.startswith("/browse/"):
            return self.filtered(path)
        if path == "/agenda" and "month" in query:
            return "", self.month(query["month"])
        return self.listed(path, query) or self.plain(path, query)

    def listed(self, path: str, query: dict[str, str]) -> tuple[str, str] | None:
        if path == "/list" and query.get("page", "").isdigit():
            return self.part(int(query["page"]))
        if path == "/letters" and query.get("offset", "").isdigit():
            return self.offset(int(query["offset"]))
        return None

    def plain(self, path: str, query: dict[str, str]) -> tuple[str, str] | None:
        name = {"/": "front", "/browse": "browse", "/agenda": "agenda"}.get(path, path.rpartition("/")[2])
        if query or name not in self.real or (name in ("front", "browse", "agenda")) != (path.count("/") < 2):
            return None
        more = {"browse": self.facets("/browse"), "agenda": self.links("/agenda?month=2026-11")}
        return name, f"<h2>{name}</h2><p>{sentences(name)}</p>{more.get(name, '')}"

    def for_machines(self, path: str) -> Answer | None:
        if path == "/robots.txt":
            maps = f"sitemap: {self.origin}/none.xml\nSITEMAP:{self.origin}/index.xml\n"
            return Answer("User-agent: *\nDisallow: /private\n" + maps, content_type="text/plain")
        if path == "/index.xml":
            return Answer(f"<sitemapindex><sitemap><loc>{self.origin}/deep.xml.gz</loc></sitemap></sitemapindex>")
        if path == "/deep.xml.gz":
            entries = [f"<url><loc>{self.origin}/kept/hidden-{number}</loc></url>" for number in range(15)]
            body = f"<urlset>{''.join(entries)}<url><loc>http://elsewhere.example/</loc></url></urlset>"
            return Answer(gzip.compress(body.encode()), content_type="application/gzip")
        return None

    def facets(self, path: str) -> str:
        others = [name for name in self.filters if f"/{name}-" not in path]
        return self.links(*(f"{path}/{name}-{value}" for name in others for value in self.choices))

    def filtered(self, path: str) -> tuple[str, str]:
        shown = [number for number in range(9) if sum(map(ord, path)) * (number + 3) % 4]
        return "", f"<h2>browse</h2>{self.links(*(f'/a/article-{number}' for number in shown))}{self.facets(path)}"

    def part(self, number: int) -> tuple[str, str]:
        articles = range(number * self.on_part, min((number + 1) * self.on_part, self.articles))
        body = "".join(f"<p>{sentences(f'teaser {one}', 1)}</p>" for one in articles) or "<p>The end of the list.</p>"
        name = f"part {number}" if articles else ""
        return name, f"<h2>List</h2>{body}{self.links(*(f'/a/article-{one}' for one in articles))}"

    def offset(self, start: int) -> tuple[str, str]:
        if start >= 100 or start % 20:
            return "", "<h2>Letters</h2><p>No more letters.</p>"
        body = "".join(f"<p>{sentences(f'letter {one}', 1)}</p>" for one in range(start, start + 20))
        around = [f"/letters?offset={start + 20}"] if start == 0 else []
        letters = [f"/l/letter-{start // 10 + one}" for one in range(2)]
        return f"offset {start}", f"<h2>Letters</h2>{body}{self.links(*letters, *around)}"

    def month(self, month: str) -> str:
        year, number = (int(part) for part in month.split("-"))
        later = year * 12 + number
        days = self.links(*(f"/agenda?month={month}&day={day}" for day in (1, 2, 3)))
        return (
            f"<h2>{month}</h2><p>Nothing on.</p>{days}{self.links(f'/agenda?month={later // 12}-{later % 12 + 1:02}')}"
        )
