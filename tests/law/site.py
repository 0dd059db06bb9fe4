"""A small shop as data: its pages, what can change in them, and what its server answers.

A site is made of a seed and a number of pages; its versions are made of lists of changes. So an example that fails is
shown as these few values, and the same values give the same bytes in every process.
"""

import gzip
import hashlib
import html
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from urllib.parse import parse_qs, urlsplit

ORIGIN = "http://shop.example"
ROWS_A_LIST = 4


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a product's page that can change by itself, and where it is read."""

    place: str
    css: str = ""
    expression: str = ""
    """Over the whole body, instead of a selector."""
    numeric: bool = False


SLOTS: Mapping[str, Slot] = {
    "name": Slot("text", "h1::text"),
    "stock": Slot("text", ".stock::text"),
    "summary": Slot("text", ".summary::text"),
    "body": Slot("text", ".body::text"),
    "caption": Slot("text", "title::text"),
    "hint": Slot("text", expression=r"<noscript><p>([^<]*)"),
    "remark": Slot("text", expression=r"<!-- remark: (.*?) -->"),
    "price": Slot("number", ".price::text", numeric=True),
    "rating": Slot("number", ".rating b::text", numeric=True),
    "sku": Slot("attribute", "article::attr(data-sku)"),
    "image": Slot("attribute", "img::attr(src)"),
    "alt": Slot("attribute", "img::attr(alt)"),
    "sizes": Slot("attribute", "img::attr(srcset)"),
    "since": Slot("attribute", "time::attr(datetime)"),
    "option": Slot("attribute", "option::attr(value)"),
    "micro": Slot("attribute", "[itemprop=gtin]::attr(content)"),
    "hidden": Slot("attribute", "input[name=offer]::attr(value)"),
    "width": Slot("attribute", ".rating::attr(style)"),
    "frame": Slot("attribute", "iframe::attr(src)"),
    "badge": Slot("attribute", ".rating::attr(class)"),
    "stars": Slot("attribute", ".rating::attr(aria-label)"),
    "part": Slot("text", expression=r"<template><i>([^<]*)"),
    "manual": Slot("link", "a.manual::attr(href)"),
    "state": Slot("script", expression=r'window\.state = \{"left": "([^"]*)"', numeric=True),
    "description": Slot("meta", 'meta[name="description"]::attr(content)'),
    "og": Slot("meta", 'meta[property="og:price"]::attr(content)', numeric=True),
    "offer": Slot("JSON-LD", expression=r'"offers": \{"price": "([^"]*)"', numeric=True),
    "available": Slot("JSON-LD", expression=r'"availability": "([^"]*)"'),
    "listed": Slot("list", ".listed::text"),
}


@dataclass(frozen=True, slots=True)
class Page:
    """One product."""

    number: int
    path: str
    values: Mapping[str, str]
    rows: tuple[str, ...]
    related: tuple[int, ...]
    status: int = 200
    linked: bool = True
    """Whether the lists name it."""
    former: Mapping[str, int] = field(default_factory=dict)
    """Paths that it had, and what they answer: 301 or 404."""


@dataclass(frozen=True, slots=True)
class Site:
    """One version: its products in the order of the lists."""

    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to a site between two crawls; `page` and `other` are taken modulo the number of pages."""

    what: str
    page: int = 0
    slot: str = ""
    much: str = ""
    other: int = 0


WHATS = ("slot", "swap", "rows", "link", "gone", "moved", "fails", "new", "everything", "back")
MUCHES = ("little", "much", "empty")


def words(random_: random.Random, count: int) -> str:
    """Return words that no other page has."""
    syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split()
    return " ".join("".join(random_.choices(syllables, k=random_.randint(2, 4))) for _ in range(count))


@cache
def first_site(seed: int, count: int) -> Site:
    return Site(tuple(new_page(seed, number, count) for number in range(count)))


def new_page(seed: int, number: int, count: int) -> Page:
    """Return a product whose texts and numbers are its own."""
    drawn = random.Random(f"{seed} {number}")
    values = {name: words(drawn, 2) for name in SLOTS}
    values |= {name: f"{drawn.randint(5, 99)}.{drawn.randint(10, 99)}" for name, slot in SLOTS.items() if slot.numeric}
    values |= {
        "name": f"{words(drawn, 2)} no. {number}",
        "caption": f"{words(drawn, 3)} £{drawn.randint(2, 99)} & more",
        "body": f"{words(drawn, 40)} {drawn.randint(100, 999)} ä {words(drawn, 10)}.",
        "summary": words(drawn, 22),
        "stock": drawn.choice(["In stock", "Sold out", "In stock, 12 left"]),
        "image": f"/img/{drawn.randint(100, 999)}.png",
        "sizes": f"/img/{drawn.randint(100, 999)}.png 2x",
        "since": f"2024-0{drawn.randint(1, 9)}-1{drawn.randint(0, 9)}",
        "width": f"width: {drawn.randint(10, 99)}%",
        "frame": f"/frame/{drawn.randint(100, 999)}",
        "manual": f"/manual/{drawn.randint(100, 999)}.pdf",
        "listed": f"{drawn.randint(5, 99)}.{drawn.randint(10, 99)}",
    }
    rows = [words(drawn, 2) for _ in range(drawn.randint(1, 3))]
    rows += rows[:1] * drawn.randint(0, 1)
    related = tuple(drawn.sample(range(count), k=min(count, 2)))
    return Page(number, f"/p/{number}", values, tuple(rows), related)


def version(seed: int, count: int, changes: tuple[tuple[Change, ...], ...]) -> Site:
    """Return the version that comes of lists of changes, the first version where there is none."""
    if not changes:
        return first_site(seed, count)
    if any(change.what == "back" for change in changes[-1]) and len(changes) > 1:
        return version(seed, count, changes[:-2])
    before = version(seed, count, changes[:-1])
    # A server that failed is well again.
    site = Site(tuple(replace(page, status=200) if page.status == 500 else page for page in before.pages))
    for change in changes[-1]:
        site = _changed(site, change, seed, len(changes))
    return site


def _changed(site: Site, change: Change, seed: int, number: int) -> Site:
    page = site.pages[change.page % len(site.pages)]
    other = site.pages[change.other % len(site.pages)]
    mark = f"{seed} {number} {page.number} {change.slot}"
    pages = site.pages
    match change.what:
        case "slot":
            page = _slot_changed(page, change.slot, change.much, mark)
        case "swap":
            swap = {page.number: other, other.number: page}
            return Site(tuple(swap.get(one.number, one) for one in pages))
        case "rows":
            rows = {
                "little": (*page.rows[1:], *page.rows[:1]),
                "much": (*page.rows, words(random.Random(mark), 2)),
                "empty": page.rows[1:],
            }
            page = replace(page, rows=rows[change.much])
        case "link":
            kept = tuple(one for one in page.related if one != other.number)
            page = replace(page, related=kept if kept != page.related else (*kept, other.number))
        case "gone":
            page = replace(page, status=404, linked=change.much != "empty")
        case "moved":
            former = {**page.former, page.path: 404 if change.much == "empty" else 301}
            page = replace(page, path=f"/p/{page.number}-{number}", former=former)
        case "fails":
            page = replace(page, status=500)
        case "new":
            return Site((*pages, new_page(seed, len(pages), len(pages))))
        case "everything":
            return Site(tuple(_all_changed(one, change.much, mark) for one in pages[::-1]))
        case "back":
            pass  # To a version that there was not.
    return Site(tuple(page if one.number == page.number else one for one in pages))


def _all_changed(page: Page, much: str, mark: str) -> Page:
    for slot in SLOTS:
        page = _slot_changed(page, slot, much, f"{mark} {page.number} {slot}")
    return page


def _slot_changed(page: Page, slot: str, much: str, mark: str) -> Page:
    """Change a value; texts by which a page is known (its name, its own prose) are never emptied."""
    old, drawn = page.values[slot], random.Random(mark)
    if SLOTS[slot].numeric or slot == "listed":
        new = f"{number_in(old) + (0.01 if much == 'little' else 30):.2f}"
    elif much == "little" or (much == "empty" and slot in {"name", "body", "summary", "caption"}):
        at = max((index for index, letter in enumerate(old) if letter.isalnum()), default=0)
        letter = drawn.choice([one for one in "0123456789" if one != old[at : at + 1]])
        new = f"{old[:at]}{letter}{old[at + 1 :]}"
    else:
        new = f"{words(drawn, max(2, len(old.split())))} {drawn.randint(1, 99)}"
    empty = much == "empty" and slot not in {"name", "body", "summary", "caption"}
    return replace(page, values={**page.values, slot: "" if empty else new})


def number_in(text: str) -> float:
    """Return the first number of a text, 0 where there is none."""
    found = re.search(r"\d+(?:\.\d+)?", text)
    return float(found[0]) if found else 0.0


@dataclass(frozen=True, slots=True)
class Server:
    """How a site answers."""

    validators: str = ""
    """What it sends: "", "etag", "weak", "modified" or "both"; it never says 304 where the body is another one."""
    gzip: bool = False
    nonce: bool = False
    """In every page another value, as in forms and content security policies."""
    personal: bool = False
    """It gives each visitor a cookie, another one in each crawl, and shows it; Last-Modified does not know of it."""
    vary: str = ""
    cache_control: str = ""
    stale_links: bool = False
    """Related products are linked by the first path that they had."""


VALIDATORS = ("", "etag", "weak", "modified", "both")
VARIES = ("", "Accept-Encoding", "Cookie", "User-Agent")
CACHE_CONTROLS = ("", "max-age=3600", "no-cache")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a server sees of a request."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.path}?{parts.query}" if parts.query else parts.path

    @property
    def cookies(self) -> dict[str, str]:
        pairs = (one.strip().partition("=") for one in self.headers.get("cookie", "").split(";"))
        return {name: value for name, _, value in pairs if name}


@dataclass(frozen=True, slots=True)
class Answer:
    """What it gives."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)
    cookie: str = ""


@dataclass
class FixedWorld:
    """A server with one answer for each path, for the rest that for the empty one; or with what a function says."""

    answers: Mapping[str, Answer]
    by: Callable[[Asked], Answer] | None = None
    asked: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Method, path and body of every request."""
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)

    def answer(self, asked: Asked) -> Answer:
        """Answer as the site does; ETag and Last-Modified are honoured."""
        self.asked[asked.method, asked.path, asked.body.decode(errors="replace")] += 1
        nothing = self.answers.get("", Answer(404, b"<p>nothing here</p>"))
        answer = self.by(asked) if self.by else self.answers.get(asked.path, nothing)
        if is_unchanged(asked, answer.headers):
            answer = replace(answer, status=304, body=b"")
        self.statuses[asked.path, answer.status] += 1
        return answer


def is_unchanged(asked: Asked, headers: Mapping[str, str]) -> bool:
    """Return whether who asks has what these headers come with: as many servers do, by either of them."""
    if "ETag" in headers and headers["ETag"] in asked.headers.get("if-none-match", ""):
        return True
    return "Last-Modified" in headers and asked.headers.get("if-modified-since") == headers["Last-Modified"]


@dataclass
class World:
    """A server during one crawl: every version so far, the last of which it serves."""

    sites: tuple[Site, ...]
    server: Server = Server()
    bans: bool = False
    """Every third product is shown at the second request only; the first gets a page that says to wait."""
    asked: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Method, path and body of every request."""
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)

    def answer(self, asked: Asked) -> Answer:
        self.asked[asked.method, asked.path, asked.body.decode(errors="replace")] += 1
        answer = self._answer(asked)
        self.statuses[asked.path, answer.status] += 1
        return answer

    def _answer(self, asked: Asked) -> Answer:
        now = len(self.sites) - 1
        if self.bans and re.fullmatch(r"/p/\d*[0369](-\d+)?", asked.path):
            times = sum(count for (_, path, _), count in self.asked.items() if path == asked.path)
            if times % 2:
                return Answer(body=b"<html><title>Wait</title><p class=wait>Too many requests</p></html>")
        answer = self._rendered(asked, now)
        headers = dict(answer.headers)
        if answer.status == 200 and asked.method == "GET":
            headers |= self._validators(asked, answer.body, now)
            if is_unchanged(asked, headers):
                answer = replace(answer, status=304, body=b"")
        if self.server.vary:
            headers["Vary"] = self.server.vary
        if self.server.cache_control and answer.status in (200, 304):
            headers["Cache-Control"] = self.server.cache_control
        if answer.cookie:
            headers["Set-Cookie"] = answer.cookie
        elif self.server.personal and "segment" not in asked.cookies:
            headers["Set-Cookie"] = f"segment=group-{now}; Path=/"
        body = answer.body
        if self.server.gzip and body and "gzip" in asked.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            body = gzip.compress(body, 1, mtime=0)
        return replace(answer, headers=headers, body=body)

    def _validators(self, asked: Asked, body: bytes, now: int) -> dict[str, str]:
        kind, found = self.server.validators, {}
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if kind in ("etag", "both"):
            found["ETag"] = tag
        if kind == "weak":
            found["ETag"] = f"W/{tag}"
        if kind in ("modified", "both"):
            bodies = [self._rendered(asked, number).body for number in range(now + 1)]
            changed = max((one for one in range(1, now + 1) if bodies[one] != bodies[one - 1]), default=0)
            found["Last-Modified"] = f"Mon, 0{changed + 1} Jan 2024 10:00:00 GMT"
        return found

    def _rendered(self, asked: Asked, number: int) -> Answer:  # noqa: PLR0911 - one for each route
        """Return what version `number` gives for a request."""
        site = self.sites[number]
        path, _, query = asked.path.partition("?")
        parts = path.strip("/").split("/")
        match parts:
            case [""] | ["list", _] | ["member", "list", _]:
                prefix = "/member" if parts[0] == "member" else ""
                if prefix and not self._is_member(asked, number):
                    return Answer(302, headers={"Location": "/login"})
                return self._html(asked, number, self._list(site, int(parts[-1] or 1), prefix))
            case ["login"]:
                return self._login(asked, number)
            case ["sitemap.xml"]:
                return Answer(body=_sitemap(site, asked.url).encode(), content_type="application/xml")
            case ["robots.txt"]:
                return Answer(body=b"User-agent: *\nAllow: /\nSitemap: /sitemap.xml\n", content_type="text/plain")
            case ["feed.xml"]:
                return Answer(body=_feed(site).encode(), content_type="application/xml")
            case ["api", "list"]:
                return _json(_api_list(site, int(parse_qs(query).get("page", ["1"])[0])))
        return self._product(asked, number, path)

    def _product(self, asked: Asked, number: int, path: str) -> Answer:  # noqa: PLR0911 - one for each route
        """Return a product as HTML, as one of its parts, as JSON or as a file."""
        site = self.sites[number]
        folder, _, rest = path.strip("/").partition("/")
        if folder == "p":
            folder, rest = "", f"p/{rest}"
        for page in site.pages:
            if f"/{rest}" in page.former:
                moved = page.former[f"/{rest}"]
                to = f"/{folder}{page.path}" if folder else page.path
                return Answer(301, headers={"Location": to}) if moved == 301 else Answer(404, b"<p>gone</p>")
            if f"/{rest}" != page.path:
                continue
            if folder == "member" and not self._is_member(asked, number):
                return Answer(302, headers={"Location": "/login"})
            if page.status != 200:
                return Answer(page.status, b"<html><title>Error</title><p>nothing to see</p></html>")
            match folder:
                case "api":
                    return _json({"number": page.number, "rows": page.rows, **page.values})
                case "part":
                    return Answer(body=f"<p class=stock>{html.escape(page.values['stock'])}</p>".encode())
                case "file":
                    return Answer(body=_file(page), content_type="application/octet-stream")
                case "" | "member":
                    return self._html(asked, number, self._detail(site, page, asked.cookies))
        return Answer(404, b"<html><title>Error</title><p>no such page</p></html>")

    def _html(self, asked: Asked, number: int, page: str) -> Answer:
        nonce = f'<meta name="csrf" content="{number}-{hash_of(asked.path)}">' if self.server.nonce else ""
        segment = asked.cookies.get("segment", "nobody") if self.server.personal else ""
        made = page.replace("<!--nonce-->", nonce).replace("<!--segment-->", f"<p class=segment>{segment}</p>")
        return Answer(body=made.encode())

    def _is_member(self, asked: Asked, number: int) -> bool:
        return asked.cookies.get("session") == f"open-{number}"

    def _login(self, asked: Asked, number: int) -> Answer:
        token = f"token-{number}"
        if asked.method == "GET":
            form = f'<input type=hidden name=token value="{token}"><input name=user><input name=password>'
            return Answer(body=f"<html><title>Log in</title><form method=post>{form}</form></html>".encode())
        given = {name: value[0] for name, value in parse_qs(asked.body.decode()).items()}
        if given != {"token": token, "user": "me", "password": "secret"}:
            return Answer(403, b"wrong")
        return Answer(302, headers={"Location": "/member/list/1"}, cookie=f"session=open-{number}; Path=/")

    def _list(self, site: Site, number: int, prefix: str) -> str:
        shown = [page for page in site.pages if page.linked]
        here = shown[(number - 1) * ROWS_A_LIST : number * ROWS_A_LIST]
        rows = "".join(
            f'<li class=row data-number={page.number}><a href="{prefix}{page.path}">{html.escape(page.values["name"])}'
            f"</a> <b class=listed>{html.escape(page.values['listed'])}</b></li>"
            for page in here
        )
        more = len(shown) > number * ROWS_A_LIST
        link = f'<a class=next href="{prefix}/list/{number + 1}">next</a>' if more else ""
        # The second row's link a second time, with a fragment.
        again = f'<a class=again href="{prefix}{here[1].path}#reviews">reviews</a>' if len(here) > 1 else ""
        return (
            f"<!doctype html><html lang=en><head><meta charset=utf-8><title>Products, part {number}</title><!--nonce-->"
            f"</head><body><nav><a href='/'>Start</a></nav><!--segment--><ul>{rows}</ul>{again}{link}</body></html>"
        )

    def _detail(self, site: Site, page: Page, cookies: Mapping[str, str]) -> str:
        at = {name: html.escape(value) for name, value in page.values.items()}
        if cookies.get("currency"):
            at["price"] = (
                f"{cookies['currency']} {number_in(at['price']) * (2 if cookies['currency'] == 'USD' else 1):.2f}"
            )
        ld = {"@type": "Product", "offers": {"price": page.values["offer"], "availability": page.values["available"]}}
        rows = "".join(f"<tr><td class=cell>{html.escape(row)}</td></tr>" for row in page.rows)
        related = [one for one in site.pages if one.number in page.related and one.number != page.number]
        links = "".join(
            f'<a class=related href="{self._link(one)}">{html.escape(one.values["name"])}</a> ' for one in related
        )
        return f"""<!doctype html>
<html lang=en><head><meta charset=utf-8><title>{at["caption"]}</title><!--nonce-->
<meta name="description" content="{at["description"]}"><meta property="og:price" content="{at["og"]}">
<script type="application/ld+json">{json.dumps(ld)}</script>
<script>window.state = {json.dumps({"left": page.values["state"]})};</script>
</head><body><nav><a href="/">Start</a> <a class=manual href="{at["manual"]}">Manual</a></nav><!--segment-->
<main><article data-sku="{at["sku"]}"><h1>{at["name"]}</h1><p class=summary>{at["summary"]}</p>
<span class=price>{at["price"]}</span> <span class=stock>{at["stock"]}</span>
<div class="rating {at["badge"]}" aria-label="{at["stars"]}" style="{at["width"]}">
Rating <b>{at["rating"]}</b></div><time datetime="{at["since"]}">some day</time>
<img src="{at["image"]}" alt="{at["alt"]}" srcset="{at["sizes"]}"><meta itemprop="gtin" content="{at["micro"]}">
<p class=body>{at["body"]}</p><table>{rows}</table>
<select><option value="{at["option"]}">one</option></select><input type=hidden name=offer value="{at["hidden"]}">
<iframe src="{at["frame"]}"></iframe><template><i>{at["part"]}</i></template>
<noscript><p>{at["hint"]}</p></noscript><!-- remark: {at["remark"]} -->
</article></main><aside>{links}</aside><footer>About this shop, its terms, and how to return what one bought</footer>
</body></html>"""

    def _link(self, page: Page) -> str:
        return next(iter(page.former), page.path) if self.server.stale_links else page.path


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _live(site: Site) -> Iterator[Page]:
    return (page for page in site.pages if page.linked)


def _sitemap(site: Site, url: str) -> str:
    parts = urlsplit(url)
    entries = "".join(f"<url><loc>{parts.scheme}://{parts.netloc}{page.path}</loc></url>" for page in _live(site))
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def _feed(site: Site) -> str:
    entries = (
        "".join(f"<{name}>{html.escape(value)}</{name}>" for name, value in page.values.items()) for page in _live(site)
    )
    return f'<?xml version="1.0"?><rss>{"".join(f"<product>{one}</product>" for one in entries)}</rss>'


def _api_list(site: Site, number: int) -> dict[str, object]:
    shown = list(_live(site))
    here = shown[(number - 1) * ROWS_A_LIST : number * ROWS_A_LIST]
    more = number + 1 if len(shown) > number * ROWS_A_LIST else None
    return {"paths": [f"/api{page.path}" for page in here], "next": more}


def _json(value: object) -> Answer:
    return Answer(body=json.dumps(value).encode(), content_type="application/json")


def _file(page: Page) -> bytes:
    """Return bytes that are no text, and change with the page's price and image."""
    mark = hashlib.sha256(f"{page.number} {page.values['price']} {page.values['image']}".encode()).digest()
    return b"\x00\x01\xff" + mark * (2 + page.number % 3)
