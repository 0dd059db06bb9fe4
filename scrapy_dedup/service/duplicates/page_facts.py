"""A page, as far as it is compared with other pages."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct, field

from scrapy_dedup.core.duplicates import NEAR_DUPLICATE, Shingles, Sketch, Text, shingles, sketch_of
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.declared import primary
from scrapy_dedup.core.pages.fingerprints import text_hash
from scrapy_dedup.core.pages.render import plain
from scrapy_dedup.core.urls.canonical import translations
from scrapy_dedup.core.urls.normal_form import UrlRules
from scrapy_dedup.service.cut.cleaning import Cleaned, markdown_of
from scrapy_dedup.service.duplicates.aliases import declaration_of
from scrapy_dedup.service.duplicates.chunking import JudgedChunk, divide, makes_chunks
from scrapy_dedup.service.stopwatch import Stopwatch
from scrapy_dedup.settings import Settings


class CleanPage(Protocol):
    """A page that was cleaned, on its way out."""

    @property
    def url(self) -> str:
        """Its address."""

    @property
    def page_key(self) -> bytes:
        """Key of the address."""

    @property
    def domain(self) -> str | None:
        """That it belongs to."""

    @property
    def page(self) -> Page | None:
        """What was parsed; None where there was no HTML."""

    @property
    def head_title(self) -> str | None:
        """What it is called, by its head."""

    @property
    def is_new(self) -> bool:
        """Whether it is surely met for the first time."""

    @property
    def cleaned(self) -> Cleaned | None:
        """What is left of it."""


class PageFacts(Struct, frozen=True, eq=False):
    """What others may have, too."""

    page_key: bytes
    domain: str
    title_key: bytes | None
    text_hash: bytes
    language: str
    """That it declares, without a region; empty: none."""
    text: str
    """Its words."""
    sketch: Sketch | None = None
    siblings: frozenset[bytes] = frozenset()
    """Keys of the same page in other languages, as it names them."""
    chunks: Sequence[JudgedChunk] = ()
    is_new: bool = False
    """No earlier version of it is known."""
    watch: Stopwatch = field(default_factory=Stopwatch)
    """How long it took to find them."""

    def text_of(self, other: "PageFacts") -> Text:
        """Return its text as another page is compared with it, without the runs of its words."""
        same_title = self.title_key is not None and self.title_key == other.title_key
        return Text(self.page_key, self.text_hash, None, same_title and self.domain == other.domain)

    def shingles(self) -> Shingles:
        """Return the runs of its words; made anew, since few pages are compared by them."""
        return shingles(self.text)


def facts_of(page: CleanPage, project: bytes, rules: UrlRules, settings: Settings) -> PageFacts:
    """Return the facts of a page that was cleaned.

    Args:
        page: as it goes out.
        project: what stands for the project; pages of others are never met.
        rules: which spellings of a URL are one page.
        settings: of its request.
    """
    cleaned, parsed = page.cleaned, page.page
    assert cleaned is not None
    domain = page.domain or ""
    declared = parsed.lang if parsed is not None else None
    language = primary(declared) or ""
    watch, title = Stopwatch(), page.head_title
    text, sketch = plain(cleaned.content, settings.output), None
    if settings.near_duplicate_enabled and settings.near_duplicate != "off":
        with watch.on(NEAR_DUPLICATE):
            sketch = sketch_of(shingles(text), _scope(project, domain, language, settings))
    chunks: Sequence[JudgedChunk] = ()
    if makes_chunks(settings):
        chunks = divide(_divisible(page, cleaned, settings), page.page_key, declared, settings, watch)
    return PageFacts(
        page_key=page.page_key,
        domain=domain,
        title_key=text_hash(title) if title and title.strip() else None,
        text_hash=cleaned.cleaned_hash,
        language=language,
        text=text,
        sketch=sketch,
        siblings=translations(declaration_of(page.url, parsed), rules) if parsed is not None else frozenset(),
        chunks=chunks,
        is_new=page.is_new,
        watch=watch,
    )


def _divisible(page: CleanPage, cleaned: Cleaned, settings: Settings) -> str:
    """Return the form of the clean text that shows its structure, and is no HTML."""
    if settings.output == "html" and page.page is not None:
        return markdown_of(page.page, cleaned, page.url)
    return cleaned.content


def _scope(project: bytes, domain: str, language: str, settings: Settings) -> bytes:
    """Return what pages must have in common to be near-duplicates."""
    of_domain = domain if settings.near_duplicate_scope == "domain" else ""
    return b"\0".join((project, of_domain.encode("utf-8", "surrogatepass"), language.encode("utf-8", "surrogatepass")))
