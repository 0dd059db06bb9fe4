"""Pages in a store as a crawl leaves them there; a test says what is on them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import escape

from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key
from scrapy_dedup.store.records.records import CrawledUrlRecord, DocumentRecord, Field, Record, SourceRecord
from scrapy_dedup.store.records.stored import StoredPage
from scrapy_dedup.store.writer import ProjectStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOMAIN = "www.example.com"
BANNER = "We use cookies to count visitors and to remember your basket. You decide which."
FOOTER = "Example Limited, 3 Rope Walk, open from Tuesday to Saturday between ten and four."


def a_url(name: object) -> str:
    return f"https://{DOMAIN}/{name}"


def unique(name: object) -> str:
    return f"What only page {name} says, at some length, so that it counts as a block of its own."


def text_page(name: object, *repeated: str) -> str:
    return "\n\n".join([*repeated, unique(name)])


def html_page(name: object, *repeated: str, title: str = "") -> str:
    lines = "".join(f"<p>{escape(line)}</p>" for line in repeated)
    return (
        f"<html><head><title>{escape(title or f'Page {name}')}</title></head>"
        f"<body><header>{lines}</header><main><p>{unique(name)}</p></main></body></html>"
    )


def put(project: ProjectStore, contents: dict[str, str], *, field: Field = "html", group: str | None = None) -> None:
    """Store pages by their URLs, each as if one crawl had fetched it and removed nothing."""
    records: list[Record] = []
    for number, (url, content) in enumerate(contents.items()):
        key, domain = page_key(url), extract_domain(url) or ""
        at = NOON + timedelta(seconds=number)
        page = parse_page(content) if field == "html" else None
        chars = page.chars if isinstance(page, Page) else len(content)
        title = page.title if isinstance(page, Page) else None
        records += [
            DocumentRecord(key, url, domain, "completed", at, title=title, chars_in=chars, chars_out=chars),
            SourceRecord(key, url, domain, field, content, at, title=title, source_group=group),
            CrawledUrlRecord(key, url, domain, "crawled", at, http_status=200, document_key=key),
        ]
    project.write(records)


def put_html(project: ProjectStore, names: Sequence[object], *repeated: str, group: str | None = None) -> None:
    put(project, {a_url(name): html_page(name, *repeated) for name in names}, group=group)


def put_text(project: ProjectStore, names: Sequence[object], *repeated: str, group: str | None = None) -> None:
    put(project, {a_url(name): text_page(name, *repeated) for name in names}, field="content", group=group)


def stored(project: ProjectStore, name: object) -> StoredPage:
    page = project.page(page_key(a_url(name)))
    assert page is not None
    return page


def cleaned(project: ProjectStore, name: object) -> str | None:
    source = stored(project, name).source
    return source.cleaned_content
