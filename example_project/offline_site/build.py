"""Makes the small invented site that the demo crawls where there is no network.

python build.py FOLDER [ORIGIN [EDITION]] writes it, for a server at ORIGIN: 21 pages of prose in three sections,
section indexes, a home page, and what real sites put around their text: a menu, a
cookie banner, a sidebar, a footer, tracking parameters, an alias with a
canonical link, a sitemap, a PDF.

Edition 2 is the same site two weeks later. All its pages have another date in their footer and a new link in their
menu, and nearly none has news: see EDITIONS.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
NAME = "Port Ellery"
SECTIONS = {
    "walks": ("Walks", "Seven ways out of the town, each tried in two kinds of weather."),
    "journal": ("Journal", "What we noticed, measured, baked and were told."),
    "shop": ("Shop", "Made in the harbour quarter, sent in plain paper."),
}
# What changes from page to page on many sites without being content.
TEASERS = ("harbour-wall", "blue-bread", "tide-clock", "counting-swifts", "salt-marsh")


@dataclass(frozen=True)
class Article:
    """One page of prose."""

    section: str
    slug: str
    title: str
    paragraphs: tuple[str, ...]
    facts: dict[str, str]

    @property
    def address(self) -> str:
        """Path on the site."""
        return f"/{self.section}/{self.slug}.html"


@dataclass(frozen=True)
class Edition:
    """The site at one time; articles are named by their slugs."""

    tended: str
    """The date in every footer."""
    has_notices: bool = False
    """A page of its own, which every menu links to."""
    removed: frozenset[str] = frozenset()
    prices: dict[str, str] = field(default_factory=dict)
    added: dict[str, str] = field(default_factory=dict)
    """Paragraphs at the end."""


EDITIONS = {
    1: Edition("2 March 2026"),
    2: Edition(
        "16 March 2026",
        has_notices=True,
        removed=frozenset({"ships-biscuit"}),
        prices={"bay-map": "39.00"},
        added={
            "salt-marsh": "Since the beginning of March the last bend has been closed, until the redshanks have bred. "
            "A second path, with blue posts, leads round it and adds a quarter of an hour."
        },
    ),
}


def read_articles(section: str) -> Iterator[Article]:
    """Yield the articles of one text file, in its order."""
    source = (HERE / "text" / f"{section}.txt").read_text(encoding="utf-8")
    for chunk in source.removeprefix("# ").split("\n# "):
        head, *paragraphs = [part.strip() for part in chunk.split("\n\n") if part.strip()]
        title, *lines = head.splitlines()
        facts = dict(line.split(": ", 1) for line in lines)
        yield Article(section, facts.pop("slug"), title, tuple(paragraphs), facts)


def build(folder: Path, origin: str, edition: int = 1) -> list[Path]:
    """Write the site into a folder and return its files; origin is where it will be served."""
    now = EDITIONS[edition]
    articles = {section: list(_as_in(now, read_articles(section))) for section in SECTIONS}
    everything = [article for group in articles.values() for article in group]
    files: dict[str, str | bytes] = {"/index.html": _home(now, articles)}
    for section, group in articles.items():
        files[f"/{section}/index.html"] = _index(now, section, group)
        for number, article in enumerate(group):
            files[article.address] = _article(now, article, group[(number + 1) % len(group)], everything)
    # The print version of a page is the same page: it says so by its canonical link.
    alias = articles["walks"][0]
    files[f"/walks/{alias.slug}.print.html"] = _article(now, alias, articles["walks"][1], everything)
    files["/legal/imprint.html"] = _imprint(now)
    if now.has_notices:
        files["/notices.html"] = _notices(now)
    files["/timetable.pdf"] = _pdf("Ferry timetable: 7:10, 9:40, 12:10, 16:25, 18:50.")
    files["/sitemap.xml"] = _sitemap(everything, origin)
    return [_write(folder / address.lstrip("/"), content) for address, content in files.items()]


def _as_in(edition: Edition, articles: Iterator[Article]) -> Iterator[Article]:
    """Yield the articles that an edition has, as it has them."""
    for article in articles:
        if article.slug in edition.removed:
            continue
        price = {"price": edition.prices[article.slug]} if article.slug in edition.prices else {}
        added = (edition.added[article.slug],) if article.slug in edition.added else ()
        yield replace(article, facts=article.facts | price, paragraphs=article.paragraphs + added)


def _write(file: Path, content: str | bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def _home(edition: Edition, articles: dict[str, list[Article]]) -> str:
    parts = [f"<h1>{NAME}</h1>", "<p>A small harbour on a coast with a great deal of weather.</p>"]
    for section, group in articles.items():
        name, motto = SECTIONS[section]
        first = group[0]
        parts += [
            f'<h2><a href="/{section}/index.html">{name}</a></h2>',
            f"<p>{motto}</p>",
            f'<p><a href="{first.address}?utm_source=home&amp;utm_medium=teaser">{escape(first.title)}</a></p>',
        ]
    return _page(edition, NAME, "/index.html", "\n".join(parts))


def _index(edition: Edition, section: str, group: list[Article]) -> str:
    name, motto = SECTIONS[section]
    entries = "\n".join(
        f'<li><a href="{article.address}">{escape(article.title)}</a> <span>{escape(opening)}…</span></li>'
        for article in group
        for opening in [article.paragraphs[0][:90]]
    )
    content = f"<h1>{name}</h1>\n<p>{motto}</p>\n<ul class='entries'>\n{entries}\n</ul>"
    return _page(edition, name, f"/{section}/index.html", content)


def _article(edition: Edition, article: Article, following: Article, everything: list[Article]) -> str:
    parts = [f"<h1>{escape(article.title)}</h1>"]
    if price := article.facts.get("price"):
        parts.append(f'<p class="price">{escape(price)} crowns, article {escape(article.facts["sku"])}</p>')
    parts += [f"<p>{escape(paragraph)}</p>" for paragraph in article.paragraphs]
    if article.facts:
        parts.append("<h2>Delivery</h2>\n<p>Ready to send within two working days; returns are free for a month.</p>")
    if article.slug == "harbour-wall":
        parts.append('<p><a href="/walks/harbour-wall.print.html">Print this walk</a></p>')
    parts.append(
        f'<p class="next">Next: <a href="{following.address}?utm_content=next">{escape(following.title)}</a></p>'
    )
    return _page(edition, article.title, article.address, "\n".join(parts), everything)


def _imprint(edition: Edition) -> str:
    text = "<h1>Imprint</h1><p>Port Ellery Almanac, 3 Rope Walk. This town does not exist.</p>"
    return _page(edition, "Imprint", "/legal/imprint.html", text)


def _notices(edition: Edition) -> str:
    text = (
        "<h1>Notices</h1>\n<p>The ferry is in dock from Monday to Thursday. Two rowing boats stand in for it; "
        "they leave when four people want them to.</p>\n<p>Found on the second beach: a left boot, green, size "
        "forty-one, with a live crab in it. The crab has been returned.</p>"
    )
    return _page(edition, "Notices", "/notices.html", text)


def _page(edition: Edition, title: str, address: str, content: str, everything: list[Article] | None = None) -> str:
    notices = '<li><a href="/notices.html">Notices</a></li>\n' if edition.has_notices else ""
    menu = "\n".join(f'<li><a href="/{section}/index.html">{name}</a></li>' for section, (name, _) in SECTIONS.items())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} · {NAME}</title>
<link rel="canonical" href="{address}">
</head>
<body>
<div id="cookies" role="dialog"><p>We use cookies to count visitors and to remember your basket. You decide which.</p>
<button>Accept all</button> <button>Only what is needed</button> <a href="/legal/imprint.html">Imprint</a></div>
<header class="top"><a class="logo" href="/index.html?utm_source=logo">{NAME} Almanac</a>
<nav><ul class="menu">
<li><a href="/index.html">Home</a></li>
{menu}
{notices}<li><a href="/timetable.pdf">Ferry timetable (PDF)</a></li>
</ul></nav>
<form class="search"><label>Search the almanac <input name="q"></label> <button>Search</button></form></header>
<div class="columns">
<main>
{content}
</main>
{_sidebar(everything or [])}
</div>
<footer><p>{NAME} Almanac, 3 Rope Walk, open from Tuesday to Saturday between ten and four.</p>
<p>Published since 1977. Nothing here may be reprinted without asking; we usually say yes.</p>
<p>These pages were last tended on {edition.tended}.</p>
<ul><li><a href="/legal/imprint.html">Imprint and privacy</a></li><li>Telephone 0555 0142</li></ul></footer>
</body>
</html>
"""


def _sidebar(everything: list[Article]) -> str:
    popular = "\n".join(
        f'<li><a href="{article.address}?utm_source=sidebar&amp;utm_campaign=week">{escape(article.title)}</a></li>'
        for article in everything
        if article.slug in TEASERS
    )
    box = f'<section class="popular"><h3>Popular this week</h3>\n<ul>\n{popular}\n</ul></section>' if popular else ""
    return f"""<aside>
{box}
<section class="letter"><h3>The Friday letter</h3>
<p>One page, once a week: tides, openings, and what is blue at the bakery. No advertising; leave at any time.</p>
<button>Subscribe to the letter</button></section>
</aside>"""


def _sitemap(everything: list[Article], origin: str) -> str:
    entries = "\n".join(f"<url><loc>{origin}{article.address}</loc></url>" for article in everything)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}\n</urlset>\n'
    )


def _pdf(text: str) -> bytes:
    """Return the smallest PDF that shows one line."""
    stream = f"BT /F1 14 Tf 60 740 Td ({text}) Tj ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    body, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + trailer


if __name__ == "__main__":
    origin = sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8000"
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print(f"{len(build(Path(sys.argv[1]), origin, number))} files in {sys.argv[1]}")  # noqa: T201
