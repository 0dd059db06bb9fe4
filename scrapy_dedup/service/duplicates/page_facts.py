"""A page, as far as it is compared with other pages: its other addresses, title, text and chunks."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct, field

from scrapy_dedup.core.duplicates import NEAR_DUPLICATE, Shingles, Sketch, Text, shingles, sketch_of
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.declared import primary
from scrapy_dedup.core.pages.fingerprints import text_hash
from scrapy_dedup.core.pages.render import plain
from scrapy_dedup.core.urls.canonical import (
    Address,
    Alias,
    CanonicalEvidence,
    CanonicalPolicy,
    Declaration,
    Own,
    judge,
    resolve,
    translations,
)
from scrapy_dedup.core.urls.normal_form import UrlRules
from scrapy_dedup.core.urls.seen import KeyTable, Latest
from scrapy_dedup.service.cut.cleaning import Cleaned, markdown_of
from scrapy_dedup.service.duplicates.chunking import JudgedChunk, Stopwatch, divide, makes_chunks
from scrapy_dedup.settings import Settings

# So many pages with different contents may declare one page canonical before it comes; a bound for templates' mistakes.
MOST_STANDING = 5
# Canonical pages that have not come, of 900 bytes each: one that comes after so many others is not compared with its
# own aliases, but still with all that the store holds, by the layers `title` and `duplicate`.
MOST_AWAITED = 50_000
# Of 300 bytes each. Declarations that lead in a circle are those of a few pages that link each other, and mostly come
# together; of a circle that is not seen, pages are left out only where their contents agree, too.
_MOST_DECLARED = 50_000


class Duplicate(Struct, frozen=True):
    """Why a page is dropped, and the key of the document that has its content."""

    reason: str
    document_key: bytes
    layer: str = "canonical"


class Aliases(Struct):
    """What the pages of a run declare about each other."""

    canonical_of: Latest[bytes, bytes] = field(default_factory=lambda: Latest(_MOST_DECLARED))
    """Page key to the page key that it declares canonical, of the last pages that declare another one."""
    claims: KeyTable = field(default_factory=lambda: KeyTable("I"))
    """How many pages declare a page canonical, of all that were declared."""
    pages: Counter[str] = field(default_factory=Counter)
    """Pages by domain."""
    standing: dict[bytes, list[bytes]] = field(default_factory=dict)
    """Canonical page key to the keys of the aliases that went out for it before it came; of the last ones."""

    def stand(self, canonical_key: bytes, page_key: bytes) -> None:
        """Note that a page went out for another one that has not come yet."""
        if canonical_key not in self.standing and len(self.standing) >= MOST_AWAITED:
            del self.standing[next(iter(self.standing))]
        aliases = self.standing.setdefault(canonical_key, [])
        if len(aliases) < MOST_STANDING and page_key not in aliases:
            aliases.append(page_key)

    def candidates(self, page_key: bytes, target: Address | None) -> list[Duplicate]:
        """Return which pages may stand for one, and why.

        *target* is the page that it declares canonical, where it is believed.
        """
        standing = self.standing
        found = [Duplicate("another address of this page went out before", key) for key in standing.get(page_key, ())]
        if target is not None:
            keys = [target.page_key, *standing.get(target.page_key, ())]
            found += [Duplicate(f"canonical link to {target.url[:500]}", key) for key in keys]
        return [one for one in found if one.document_key != page_key]

    def go_out(self, page_key: bytes, target: Address | None) -> None:
        """Note that a page goes out; target: that it declares canonical, where that has not come."""
        # Whatever declares this page canonical is from now on compared with the page itself.
        self.standing.pop(page_key, None)
        if target is not None:
            self.stand(target.page_key, page_key)

    def withdraw(self, canonical_key: bytes, page_key: bytes) -> None:
        """Forget that a page went out for another one: it did not."""
        aliases = self.standing.get(canonical_key, [])
        if page_key in aliases:
            aliases.remove(page_key)

    def judge_declaration(
        self, declaration: Declaration, page_key: bytes, domain: str, policy: CanonicalPolicy, rules: UrlRules
    ) -> Alias | Own:
        """Decide about what a page declares, and count it."""
        self.pages[domain] += 1
        target = resolve(declaration, rules)
        if isinstance(target, Own):
            return target
        self.canonical_of[page_key] = target.page_key
        claims = (self.claims.get(target.page_key) or 0) + 1
        self.claims.put(target.page_key, claims)
        evidence = CanonicalEvidence(self.pages[domain], claims, self.canonical_of)
        return judge(declaration, evidence, policy, rules)


def declaration_of(url: str, page: Page) -> Declaration:
    """Return what a page says of its addresses."""
    return Declaration(url, page.canonicals, page.base, page.lang, page.alternates)


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

    *project* stands for the project: pages of others are never met.
    """
    cleaned, parsed = page.cleaned, page.page
    assert cleaned is not None
    domain = page.domain or ""
    declared = parsed.lang if parsed is not None else None
    language = primary(declared) or ""
    watch, title = Stopwatch(), page.head_title
    text, sketch = plain(cleaned.content, settings.output), None
    if settings.near_duplicate_enabled and settings.near_duplicate != "off":
        # What pages must have in common to be near-duplicates.
        of_domain = domain if settings.near_duplicate_scope == "domain" else ""
        scope = (project, of_domain.encode("utf-8", "surrogatepass"), language.encode("utf-8", "surrogatepass"))
        with watch.on(NEAR_DUPLICATE):
            sketch = sketch_of(shingles(text), b"\0".join(scope))
    chunks: Sequence[JudgedChunk] = ()
    if makes_chunks(settings):
        # By the form that shows the text's structure, and is no HTML.
        is_html = settings.output == "html"
        shown = markdown_of(parsed, cleaned, page.url) if is_html and parsed is not None else cleaned.content
        chunks = divide(shown, page.page_key, declared, settings, watch)
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
