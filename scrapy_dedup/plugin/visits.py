"""Which page an item belongs to: responses, the items that came from them, and when a page is done."""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit
from weakref import ReferenceType, WeakKeyDictionary, WeakValueDictionary, proxy, ref

from itemadapter import ItemAdapter
from scrapy import Request, Selector
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.http.request import NO_CALLBACK

from scrapy_dedup.core.pages.blocks import Page, Unparsed, parse_page
from scrapy_dedup.core.pages.declared import Directives
from scrapy_dedup.core.pages.guard import ParseLimits, UnparsedReason, is_pdf
from scrapy_dedup.core.urls.canonical import Alias, Own
from scrapy_dedup.core.urls.normal_form import UrlRules, extract_domain, page_key
from scrapy_dedup.plugin.requests import LEASE, READMITTED, callback_name, is_unfiltered, redirected_from
from scrapy_dedup.service.crawl.commits import Recorded
from scrapy_dedup.service.crawl.drafts import Draft, Recalled
from scrapy_dedup.service.recrawl import Delivered, Earlier, Judgement
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import ConfidenceRecord, ExtractionRecord

if TYPE_CHECKING:
    from scrapy_dedup.core.pdf.text import PdfText
    from scrapy_dedup.service.pdf.reading import UnreadPdf

_SITEMAP_URL: Final = re.compile(r"sitemap[^/]*\.(?:xml|txt)(?:\.gz)?(?:\?|$)|/sitemap/?$", re.IGNORECASE)
_SITEMAP_CALLBACK: Final = "_parse_sitemap"
# Possessive: a body that is made to be tried in many ways is tried in one.
_PROLOGUE: Final = rb"(?:\xef\xbb\xbf)?(?:\s++|<\?.*?\?>|<!--.*?-->|<![^>]*+>)*+"
_SITEMAP_OR_FEED: Final = re.compile(_PROLOGUE + rb"<(?:\w+:)?(?:urlset|sitemapindex|rss|feed|RDF)\b", re.DOTALL)
_LOOKED_AT: Final = 2_000


@dataclass(slots=True, eq=False, weakref_slot=True)
class Visit:
    """One response of a page, while its items are under way."""

    url: str
    page_key: bytes
    domain: str
    settings: Settings
    fetched_at: datetime
    response: ReferenceType[Response]
    http_status: int
    callback: str
    """The name of the callback that reads the response."""
    cb_kwargs: Mapping[str, Any]
    comes_again: bool
    """An earlier part of the run asked for this page: we let it past the duplicate filter, or a shared queue did."""
    redirected_from: tuple[str, ...] = ()
    items: dict[int, tuple[Any, int]] = field(default_factory=dict)
    """Items that have not left the pipelines, and how often each was yielded; held, so that no id is used twice."""
    drafts: list[Draft] = field(default_factory=list)
    is_page: bool = True
    """It is no robots.txt, sitemap or feed, of which nothing is written."""
    from_spider: bool = False
    """The spider middleware sees this response, so that the end of its callback will be told."""
    callback_ended: bool = False
    failed: bool = False
    had_items: bool = False
    is_one_of_several: bool = False
    """Another response of its page is in work as well: no item is known by its URL alone."""
    noted: bool = False
    """That it gave no item was written down."""
    parsed: Page | Unparsed | None = None
    pdf: "PdfText | UnreadPdf | None" = None
    """What was read of a PDF file, once somebody asked."""
    alias: Alias | Own | None = None
    """What became of the page's canonical link, once somebody asked."""
    judgement: Judgement | None = None
    """What the visit comes to beside the last one; None where pages are not compared."""
    outcome_key: bytes = b""
    """Under which what its callback yields is kept; empty where it is not."""
    carried: bytes = b""
    """What its request carried when it came, where its outcome is kept."""
    recorded: Recorded | None = None
    """What the callback yielded; None where that is not kept."""
    audited: ExtractionRecord | None = None
    """What is kept of the callback, to be compared with what it yields now."""
    held: Recalled | None = None
    """What was cut from the same bytes before."""
    giver: bytes = b""
    """Spider and callback, under which is kept which items it gave; empty where that is not."""
    earlier: Earlier = field(default_factory=Earlier)
    """What the last visit gave, where that is left out."""
    delivered: Delivered = field(default_factory=Delivered)
    is_error_page: bool = False
    """It came with 200 all the same."""
    waits_for: set[Any] = field(default_factory=set)
    """What must happen before its items are safe."""
    scraped: int = 0
    """Items that passed all pipelines."""
    confidences: list[ConfidenceRecord] = field(default_factory=list)
    """How good these were; to be written with the page."""
    lease: str = ""
    """By which its request is given back to a shared queue; empty once that is on its way."""

    def keep(self, draft: Draft) -> None:
        """Keep a page until all items have left.

        Of those that items bring themselves under the response's URL the last one counts: a callback may never end.
        """
        of_response = [one for one in self.drafts if one.page is not None and one.page is self.parsed]
        self.drafts = [*of_response, draft]

    def fields(self) -> Iterator[dict[str, Any]]:
        """Yield what its items have that have not left the pipelines."""
        yield from (dict(ItemAdapter(item)) for item, _ in self.items.values())

    @property
    def report(self) -> dict[str, Any]:
        """What its items say of it."""
        return {"visited": self.page_key.hex()} | ({"soft_404": True} if self.is_error_page else {})

    @property
    def honoured(self) -> Directives:
        """What the page asks of who keeps it or follows its links, where the user honours that."""
        judgement = self.judgement
        if self.settings.robots_directives != "honour" or judgement is None or judgement.is_shadow:
            return Directives()
        return judgement.directives

    @property
    def drops_items(self) -> str:
        """Why no item of it goes on, a word for the stat; empty: they do."""
        if self.is_error_page and self.settings.soft_404 == "drop":
            return "soft_404"
        return "directives" if self.honoured.noindex else ""

    def declared_type(self) -> str | None:
        """Return the response's Content-Type with its parameters."""
        response = self.response()
        declared = response.headers.get("Content-Type") if response is not None else None
        return declared.decode("latin-1") if declared else None

    def text(self) -> str | None:
        """Return the response's text; None where it is none."""
        response = self.response()
        return response.text if isinstance(response, TextResponse) else None

    def html(self) -> str | None:
        """Return the response's HTML; None where it has none."""
        response = self.response()
        if isinstance(response, TextResponse) and is_html(response):
            return response.text
        return None

    def pdf_body(self) -> bytes | None:
        """Return the response's PDF file; None where it is none."""
        response = self.response()
        if response is None or not is_pdf(content_type_of(response) or "", response.body):
            return None
        return response.body

    def cut_short(self) -> None:
        """Let nothing be kept of a callback whose output was not asked for whole."""
        if self.recorded is not None:
            self.recorded.unkeepable = self.recorded.unkeepable or "an output that was not asked for whole"

    def page(self, limits: ParseLimits) -> Page | Unparsed | None:
        """Return the response's page, parsed at most once."""
        if self.parsed is None and (response := self.response()) is not None:
            if len(response.body) > limits.characters:
                self.parsed = Unparsed(UnparsedReason.TOO_LARGE)
            elif (html := self.html()) is not None:
                # Links are read where a crawl looks for pages by itself, and to compare a page with what it was.
                with_links = self.settings.resilience_enabled or self.settings.unchanged_enabled
                self.parsed = parse_page(html, limits, with_links=with_links)
        return self.parsed


def is_sitemap_request(request: Request) -> bool:
    """Say whether a request is for a sitemap, as far as it shows before the answer."""
    return callback_name(request) == _SITEMAP_CALLBACK or bool(_SITEMAP_URL.search(request.url))


def is_signpost(request: Request, response: Response) -> bool:
    """Say whether a response only tells where pages are: robots.txt, a sitemap or a feed."""
    if urlsplit(request.url).path == "/robots.txt" or callback_name(request) == _SITEMAP_CALLBACK:
        return True
    if isinstance(response, TextResponse) and is_html(response):
        return False
    return is_sitemap_request(request) or bool(_SITEMAP_OR_FEED.match(response.body[:_LOOKED_AT]))


def is_html(response: TextResponse) -> bool:
    """Say whether a response is HTML, by its class or its declared type."""
    return isinstance(response, HtmlResponse) or "html" in (content_type_of(response) or "")


def content_type_of(response: Response) -> str | None:
    """Return the declared type without its parameters."""
    declared = response.headers.get("Content-Type")
    if not declared:
        return None
    return declared.decode("latin-1").partition(";")[0].strip().lower()[:200] or None


def received_bytes(response: Response) -> int:
    """Return how many bytes of body came over the network, as far as the server said so."""
    declared = response.headers.get("Content-Length")
    return int(declared) if declared and declared.isdigit() and len(declared) < 16 else len(response.body)


# To compare takes 1.5 ms for 50 kB, 10 for 250 kB, during which the reactor waits.
_LARGE_BYTES: Final = 250_000


def untie(response: Response) -> None:
    """Let a response whose callback has ended go with its last user: its selector holds it, and it the selector.

    Else both, and a tree of ten times the HTML, stay until garbage is collected.
    """
    if type(selector := getattr(response, "_cached_selector", None)) is Selector:
        selector.response = proxy(response)


def forget_tree(response: Response) -> None:
    """Let go of the tree of a response that waits, where Scrapy makes the same again when asked.

    A callback may have taken elements out of it, or named its namespaces, and handed the response on.
    """
    known = getattr(response, "_cached_selector", None)
    # A response of a project's own may make another kind of selector.
    if type(known) is not Selector or len(response.body) > _LARGE_BYTES:
        return
    made = Selector(response)  # type: ignore[arg-type]  # it has a selector
    if (made.type, made.namespaces, made.get()) == (known.type, known.namespaces, known.get()):
        response._cached_selector = None  # type: ignore[attr-defined]  # noqa: SLF001 (there is no other way)


class Visits:
    """The visits of one crawl. A response that is gone takes its visit along."""

    def __init__(self, settings: Settings, rules: UrlRules) -> None:
        self._settings = settings
        self._rules = rules
        self._by_response: dict[ReferenceType[Response], Visit] = {}
        self._expected: WeakKeyDictionary[Request, Visit] = WeakKeyDictionary()
        """By request: whose responses are on their way to the spider, as these or as what another middleware makes."""
        self._by_key: WeakValueDictionary[bytes, Visit] = WeakValueDictionary()
        self._by_item: dict[int, Visit | None] = {}
        self._of_none: dict[ReferenceType[Response], list[Any]] = {}
        """By response: its items that are of no visit."""
        self._gone: deque[Visit] = deque()
        """Of responses that are gone; filled by whatever thread collects garbage."""
        self._left_alone = replace(settings, enabled=False, canonical_enabled=False)

    def __len__(self) -> int:
        """Return how many are kept."""
        return max(len(self._by_response), len(self._by_item), len(self._by_key))

    def of_response(self, response: Response) -> Visit | None:
        """Return the visit that a response belongs to."""
        return self._by_response.get(ref(response))

    def expected(self, request: Request) -> Visit | None:
        """Return the visit whose response is on its way to the request's callback."""
        return self._expected.get(request)

    def arrived(self, request: Request) -> None:
        """Note that a response came to the spider, this one or what another middleware made of it."""
        self._expected.pop(request, None)

    def of_item(self, item: Any, url: str | None) -> Visit | None:
        """Return the visit that an item came from; where it was replaced on its way, the one that its URL names."""
        if id(item) in self._by_item or url is None:
            return self._by_item.get(id(item))
        visit = self._by_key.get(page_key(url, self._rules))
        return self._by_values(item, visit.page_key) if visit is not None and visit.is_one_of_several else visit

    def _by_values(self, item: Any, key: bytes) -> Visit | None:
        """Return the visit of a page that gave an item with all these values, where it is one alone."""
        fields = dict(ItemAdapter(item))
        found = {
            id(visit): visit
            for visit in self._by_item.values()
            if visit is not None and visit.page_key == key and any(one == fields for one in visit.fields())
        }
        return next(iter(found.values())) if len(found) == 1 else None

    def begin(self, request: Request, response: Response, settings: Settings | None) -> Visit | None:
        """Note a response; None where its URL has no domain.

        Without *settings* its items are left alone.
        """
        domain = extract_domain(response.url, self._settings.domain_scope)
        if domain is None and settings is not None:
            return None
        visit = Visit(
            url=response.url,
            page_key=page_key(response.url, self._rules),
            domain=domain or "",
            settings=settings or self._left_alone,
            fetched_at=datetime.now(UTC),
            response=ref(response, self._response_gone),
            http_status=response.status,
            callback=callback_name(request),
            cb_kwargs=request.cb_kwargs,
            comes_again=not is_unfiltered(request) and (READMITTED in request.meta or LEASE in request.meta),
            redirected_from=redirected_from(request),
            is_page=not is_signpost(request, response),
            lease=str(request.meta.get(LEASE, "")),
        )
        self._by_response[visit.response] = visit
        other = self._by_key.get(visit.page_key)
        # Of a response that a middleware replaced no callback begins.
        is_open = other is not None and other is not self._expected.get(request)
        if other is not None and is_open and (other.items or not other.callback_ended):
            visit.is_one_of_several = other.is_one_of_several = True
        if request.callback is not NO_CALLBACK:
            self._expected[request] = visit
        self._by_key[visit.page_key] = visit
        return visit

    def _response_gone(self, response: ReferenceType[Response]) -> None:
        # Not `finalize`: its table is of the process, and what a visit waits for knows its crawler.
        visit = self._by_response.pop(response, None)
        if visit is not None:
            self._gone.append(visit)

    def attach(self, item: Any, visit: Visit) -> None:
        """Note that a response gave an item."""
        visit.had_items = True
        times = visit.items[id(item)][1] if id(item) in visit.items else 0
        visit.items[id(item)] = (item, times + 1)
        self._by_item[id(item)] = visit

    def attach_to_none(self, item: Any, response: Response) -> None:
        """Note that an item is of no visit, such as that of a form's answer: no page that its URL names is its own."""
        self._by_item[id(item)] = None
        self._of_none.setdefault(ref(response, self._none_gone), []).append(item)

    def _none_gone(self, response: ReferenceType[Response]) -> None:
        for item in self._of_none.pop(response, ()):
            self._by_item.pop(id(item), None)

    def left(self, item: Any, visit: Visit) -> None:
        """Note that an item has left the pipelines, whatever became of it."""
        known = id(item) if id(item) in visit.items else next(iter(visit.items), None)
        # An item that a pipeline has replaced leaves under another id: any one of the visit's goes in its place.
        if known is None:
            return
        held, times = visit.items.pop(known)
        if times > 1:
            visit.items[known] = (held, times - 1)
        else:
            self._by_item.pop(known, None)

    def take_gone(self) -> Iterator[Visit]:
        """Take the visits whose responses are gone since the last call."""
        while self._gone:
            yield self._gone.popleft()

    def all(self) -> list[Visit]:
        """Return the visits whose responses are still there."""
        return list(self._by_response.values())

    def forget_items(self, visit: Visit) -> None:
        """Give up items that never came to the pipelines."""
        for known in visit.items:
            self._by_item.pop(known, None)
        visit.items.clear()


class LeadsNowhere(IgnoreRequest):
    """The request is not worth sending."""


class Resilience(Protocol):
    """One for a crawl, where it is switched on."""

    def starts(self, request: Request) -> None:
        """Note a first request."""

    def outgoing(self, request: Request, response: Response) -> Request | None:
        """Return what goes on of a request that a callback yields."""

    def further(self, response: Response, visit: Visit) -> Iterator[Request]:
        """Yield requests that the page itself did not make."""

    async def before(self, request: Request) -> None:
        """Let a request pass, perhaps later; raises IgnoreRequest."""

    def after(self, request: Request, response: Response, visit: Visit | None) -> None:
        """Judge what came."""

    def ended(self, request: Request) -> None:
        """Note that a request gave nothing."""
