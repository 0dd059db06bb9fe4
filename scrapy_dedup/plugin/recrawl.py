"""The `unchanged` layer: whether a page is asked for, and what takes its callback's place."""

import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.gz import gunzip, gzip_magic_number
from twisted.internet.defer import Deferred

from scrapy_dedup.core.blocks import Page, Unparsed, parse_page
from scrapy_dedup.core.directives import read_directives
from scrapy_dedup.core.fingerprints import text_hash
from scrapy_dedup.core.guard import ParseLimits
from scrapy_dedup.core.keeping import Unkeepable, encode
from scrapy_dedup.core.likeness import TITLE
from scrapy_dedup.core.links import base_of, links_hash, pages_linked
from scrapy_dedup.core.passages import page_keys
from scrapy_dedup.core.recrawl import Revalidate, Skip, SkipReason
from scrapy_dedup.core.sitemaps import DEFAULT_LIMITS, Sitemap, read_sitemap
from scrapy_dedup.core.soft404 import ErrorPage, judge_page, probe_url
from scrapy_dedup.core.urls import UrlRules, extract_domain, page_key
from scrapy_dedup.core.verdicts import NEW, Change, Kind, Verdict
from scrapy_dedup.plugin.marks import CONDITIONAL, WHOLE, asked_whole, callback_name, is_unfiltered
from scrapy_dedup.plugin.outcomes import OutcomeError, check_callbacks
from scrapy_dedup.plugin.replay import FLAG, empty_response, replaying
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.sites import Site, Sites
from scrapy_dedup.plugin.visits import Visit, is_html, is_sitemap_request, received_bytes
from scrapy_dedup.service.commits import failed_fetch
from scrapy_dedup.service.policies import change_policy
from scrapy_dedup.service.recrawling import (
    BACK,
    FIRST_VERSION,
    NOT_KEPT,
    NOTHING_KNOWN,
    OTHER_BYTES,
    SAME_BYTES,
    SERVER_SAYS_SO,
    Asked,
    Judgement,
    Known,
    Plan,
    Word,
    look_up,
    word_kept,
)
from scrapy_dedup.service.recrawling import plan as make_plan
from scrapy_dedup.service.versions import SAME_BLOCKS
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.codec import pack_fingerprints, unpack_fingerprints
from scrapy_dedup.store.errors import DamagedError, StoreError
from scrapy_dedup.store.known_pages import Question
from scrapy_dedup.store.records import BARE, CrawledUrlRecord, DecisionRecord
from scrapy_dedup.store.stored_visits import StoredState
from scrapy_dedup.store.writer import ProjectStore

# A date and its key take some 200 bytes; pages beyond this are asked for.
_MOST_DATES = 200_000
_SITEMAP_ROOT = re.compile(rb"<\s*(?:\w+:)?(?:urlset|sitemapindex)\b")
_LOOKED_AT = 2_000


_GONE = (404, 410)
NOT_MODIFIED = 304


CONDITIONS = ("If-None-Match", "If-Modified-Since")
_LONGEST = 1_000


# Links that a callback was shown in this run need not be shown to it again; beyond so many they are.
_MOST_SHOWN = 100_000


logger = logging.getLogger(__name__)


_REASON = "not asked for: the same title, which is trusted"


_PROBE_SECONDS = 30
_WAY = ("proxy", "download_slot", "cookiejar", "bindaddress")
_MOST_HOSTS = 10_000


class SitemapDates:
    """Reads what the spider fetches; asks for nothing itself."""

    def __init__(self, sites: Sites, settings: Settings, rules: UrlRules, count: Callable[[str, int], None]) -> None:
        self._sites = sites
        self._scope = settings.domain_scope
        self._keeps_titles = settings.acts("title") and settings.title_trust == "always"
        self._rules = rules
        self._count = count
        self._dates: dict[bytes, datetime] = {}
        self._titles: dict[bytes, bytes] = {}

    def of(self, key: bytes) -> datetime | None:
        """Return what a sitemap of this run says of a page."""
        return self._dates.get(key)

    def title_of(self, key: bytes) -> bytes | None:
        """Return the hash of the title that a sitemap of this run gives a page."""
        return self._titles.get(key)

    def failed(self, request: Request, domain: str) -> None:
        """Note a fetch that gave no page: where it was a sitemap, pages may exist that nobody was told of."""
        if is_sitemap_request(request) and not request.url.endswith("/robots.txt"):
            self._sites.of(domain).failed_sitemap = True
            self._count("sitemaps/failed", 1)

    async def read(self, request: Request, response: Response) -> None:
        """Take in a response, if it is a sitemap."""
        if request.url.endswith("/robots.txt") or not self._is_sitemap(request, response):
            return
        sitemap = await run_in_thread(_read, response)
        self._count("sitemaps/read", 1)
        if not sitemap.complete:
            domain = extract_domain(response.url, self._scope) or ""
            self._sites.of(domain).failed_sitemap = True
            self._count("sitemaps/failed", 1)
            why = sitemap.error or "it is too large"
            logger.warning("Sitemap %s was read in part (%s): no page will count as missing", response.url, why)
        for entry in sitemap.pages:
            if entry.lastmod is not None and len(self._dates) < _MOST_DATES:
                self._dates[page_key(entry.url, self._rules)] = entry.lastmod
            if entry.title and self._keeps_titles and len(self._titles) < _MOST_DATES:
                self._titles[page_key(entry.url, self._rules)] = text_hash(entry.title)

    def _is_sitemap(self, request: Request, response: Response) -> bool:
        return is_sitemap_request(request) or bool(_SITEMAP_ROOT.search(response.body[:_LOOKED_AT]))


def _read(response: Response) -> Sitemap:
    """Return what a sitemap says; blocks, so call it in a thread."""
    body = response.body
    if gzip_magic_number(response):
        try:
            body = gunzip(body, max_size=DEFAULT_LIMITS.bytes)
        except Exception as error:  # noqa: BLE001 - what is no gzip, is cut off or is a bomb
            return Sitemap(error=f"{type(error).__name__}: {error}"[:200])
    return read_sitemap(body, response.url)


class Recrawl:
    """Plans requests, and judges what they brought."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        store = runtime.crawl.store
        self._known_pages = KnownPages(store, runtime.count)
        self._comparing = Comparing(store, runtime.limits, runtime.rules, runtime.count)
        self._sitemaps = SitemapDates(runtime.sites, runtime.settings, runtime.rules, runtime.count)
        self._error_pages = ErrorPages(runtime)
        self._titles = TitleCheck(runtime, self._sitemaps)
        self._plans: WeakKeyDictionary[Request, Plan] = WeakKeyDictionary()

    # Before the fetch.

    async def before(self, request: Request, settings: Settings) -> Response | None:
        """Plan a request; return what stands for the page where it is not asked for."""
        forget_conditions(request)
        domain = extract_domain(request.url, self._runtime.settings.domain_scope)
        if domain is None or not settings.unchanged_enabled:
            return None
        key = page_key(request.url, self._runtime.rules)
        known = await self._known(request, request.url, settings)
        word = await self._word(request, domain, known, settings)
        plan = make_plan(request.url, known, settings, datetime.now(UTC), word)
        plan.began = time.monotonic()
        if settings.shadows("unchanged"):
            if isinstance(plan.decision, Skip | Revalidate):
                self._runtime.count(f"shadow/unchanged/{'skipped' if isinstance(plan.decision, Skip) else 'asked_if'}")
            plan.is_refresh = True
        elif WHOLE in request.meta or self._is_wanted_again(request):
            plan.is_refresh = True
        elif isinstance(plan.decision, Skip):
            return self._left_alone(request, plan, plan.decision, settings)
        elif not word.is_found_by_many and (twin := await self._titles.twin(key, domain, known.state, settings)):
            if not known.is_kept:
                return self._titles.left_out(request, key, domain, twin)
            return self._left_alone(request, plan, Skip(SkipReason.TITLE, datetime.now(UTC)), settings)
        elif isinstance(plan.decision, Revalidate):
            ask_if_changed(request, plan.decision)
        self._plans[request] = plan
        return None

    def _is_wanted_again(self, request: Request) -> bool:
        """Say whether a page was judged in this run, and is not just replayed to another callback."""
        met = self._runtime.met.get(page_key(request.url, self._runtime.rules))
        return met is not None and (met is not Kind.UNCHANGED or is_unfiltered(request))

    async def _known(self, request: Request, url: str, settings: Settings) -> Known:
        """Return what is known of the page, without an outcome that cannot be used."""
        cb_kwargs = encode(dict(request.cb_kwargs))
        if isinstance(cb_kwargs, Unkeepable) or not isinstance(cb_kwargs, dict):
            cb_kwargs = {"": repr(cb_kwargs)[:200]}
        key = page_key(url, self._runtime.rules)
        known = await self._known_pages.of(Asked(key, callback_name(request), cb_kwargs, settings.version))
        if known.damaged:
            self._runtime.count("unchanged/damaged")
        if known.is_kept and known.extraction is not None and self._runtime.crawler.spider is not None:
            try:
                check_callbacks(known.extraction.requests, self._runtime.crawler.spider)
            except OutcomeError:
                self._runtime.count("unchanged/outcome_lost")
                return Known(known.state)
        return known

    async def _word(self, request: Request, domain: str, known: Known, settings: Settings) -> Word:
        lastmod = self._sitemaps.of(page_key(request.url, self._runtime.rules))
        ignored = self._runtime.rules.ignored
        found_by_many = ignored is not None and ignored.without(request.url) != request.url
        if known.state is None:
            return Word(lastmod=lastmod, is_found_by_many=found_by_many)
        site = await self._runtime.sites.recalled(domain)
        # A browser's responses have no validators, and a sitemap's dates are needed whether or not it changed.
        trusts = site.validators.judge().trusted and not request.meta.get("playwright")
        return Word(
            trusts and not is_sitemap_request(request) and not any(name in request.headers for name in CONDITIONS),
            lastmod,
            settings.sitemap_lastmod and site.lastmod.judge().trusted,
            found_by_many,
        )

    def _left_alone(self, request: Request, plan: Plan, skip: Skip, settings: Settings) -> Response | None:
        """Return what stands for a page that is not asked for; None where nothing can."""
        runtime = self._runtime
        state = plan.known.state
        assert state is not None
        if skip.reason is SkipReason.GONE:
            runtime.count("unchanged/left_gone")
            return empty_response(request, state.http_status or _GONE[0])
        verdict = Verdict(Kind.UNCHANGED, Change.NONE, f"not asked for: {skip.reason}")
        judgement = Judgement(plan.known, verdict, "skip", etag=state.etag, last_modified=state.last_modified)
        judgement.treat(settings, links_known=True, usable=True)
        response = empty_response(request)
        if not self._replay(request, response, judgement):
            self._plans[request] = plan
            return None
        runtime.count("title/skipped" if skip.reason is SkipReason.TITLE else f"unchanged/{skip.reason}")
        self._visit(request, response, settings, judgement, plan)
        return response

    # After it.

    async def after(self, request: Request, response: Response, settings: Settings) -> Response | Request:
        """Judge a response, and begin its visit; return what goes on to the spider."""
        if FLAG in response.flags:
            return response
        plan = self._plans.pop(request, None)
        is_304 = response.status == NOT_MODIFIED and CONDITIONAL in request.meta
        if plan is None and is_304:
            return asked_whole(request)
        if plan is None:
            self._runtime.begin_visit(request, response, settings)
            return response
        site = self._runtime.sites.of(extract_domain(response.url, self._runtime.settings.domain_scope) or "")
        site.fetches += 1
        if is_304:
            return self._not_modified(request, response, settings, plan, site)
        if 200 <= response.status < 300:
            await self._received(request, response, settings, plan, site)
            return response
        self._failed(request, response, site)
        self._runtime.begin_visit(request, response, settings)
        return response

    def gave_nothing(self, request: Request) -> None:
        """Note a fetch that gave no response, or that was not allowed."""
        self._plans.pop(request, None)
        domain = extract_domain(request.url, self._runtime.settings.domain_scope)
        if domain is None:
            return
        site = self._runtime.sites.of(domain)
        site.fetches += 1
        site.failures += 1
        self._sitemaps.failed(request, domain)
        self._note_failure(request, None, domain)

    def _failed(self, request: Request, response: Response, site: Site) -> None:
        domain = extract_domain(request.url, self._runtime.settings.domain_scope)
        if response.status not in _GONE:
            site.failures += 1
        if domain is not None:
            self._sitemaps.failed(request, domain)
            self._note_failure(request, response.status, domain)

    def _note_failure(self, request: Request, http_status: int | None, domain: str) -> None:
        key = page_key(request.url, self._runtime.rules)
        is_page = not (is_sitemap_request(request) or request.url.endswith("/robots.txt"))
        if is_page and key not in self._runtime.met:
            self._runtime.crawl.rows.append(failed_fetch(request.url, key, domain, http_status, datetime.now(UTC)))

    def _not_modified(
        self, request: Request, response: Response, settings: Settings, plan: Plan, site: Site
    ) -> Response | Request:
        state = plan.known.state
        assert state is not None
        answer = empty_response(request)
        # A 304 may bring newer validators, and need not repeat those that it was asked by.
        etag, last_modified = validators_of(response)
        judgement = Judgement(plan.known, SERVER_SAYS_SO, "304", etag=etag or state.etag)
        judgement.last_modified = last_modified or state.last_modified
        judgement.lastmod = plan.lastmod
        judgement.treat(settings, links_known=True, usable=True)
        site.versions.not_modified += 1
        self._check_word(site, plan, judgement, conditional=True)
        if not self._replay(request, answer, judgement):
            # What was held is gone: the page is needed after all.
            return asked_whole(request)
        self._visit(request, answer, settings, judgement, plan)
        return answer

    async def _received(self, request: Request, response: Response, settings: Settings, plan: Plan, site: Site) -> None:
        runtime = self._runtime
        known = plan.known
        if page_key(response.url, runtime.rules) != page_key(request.url, runtime.rules):
            # A browser ended up elsewhere.
            known = await self._known(request, response.url, settings)
        if known.state is not None:
            site = await runtime.sites.recalled(extract_domain(response.url, runtime.settings.domain_scope) or "")
        etag, last_modified = validators_of(response)
        judgement = Judgement(known, etag=etag, last_modified=last_modified, lastmod=plan.lastmod)
        judgement.is_shadow = settings.shadows("unchanged")
        visit = self._visit(request, response, settings, judgement, plan)
        if visit is None:
            return
        await self._sitemaps.read(request, response)
        if not visit.is_page:
            visit.judgement = None
            return
        found = visit.page(runtime.limits)
        page = found if isinstance(found, Page) else None
        headers = [value.decode("latin-1") for value in response.headers.getlist("X-Robots-Tag")]
        judgement.directives = read_directives(page.robots if page else (), headers)
        if page is None:
            self._comparing.other(response, judgement)
        elif await self._is_no_content(request, response, page, site, visit):
            return
        else:
            await self._comparing.page(page, site, judgement, settings)
        before = runtime.met.get(visit.page_key)
        if before is not None and before is not judgement.verdict.kind:
            judgement.verdict = Verdict(before, judgement.verdict.change, "as at its first visit in this run")
        runtime.met[visit.page_key] = judgement.verdict.kind
        is_cached = "cached" in response.flags
        judgement.bytes_received = 0 if is_cached else received_bytes(response)
        self._check_word(site, plan, judgement, conditional=CONDITIONAL in request.meta and not is_cached)
        if judgement.is_shadow:
            runtime.count(f"shadow/unchanged/{judgement.verdict.kind.value}")
        if not judgement.is_unchanged:
            if known.state is not None:
                await runtime.done.begin(visit)
            return
        usable = not plan.is_refresh and not known.is_expired(settings, datetime.now(UTC))
        links_known = await self._comparing.links_known(page, visit.url, judgement, visit.callback)
        judgement.treat(settings, links_known=links_known, usable=usable)
        self._replay(request, response, judgement)

    async def _is_no_content(self, request: Request, response: Response, page: Page, site: Site, visit: Visit) -> bool:
        """Say whether a page is an error page that is to be dropped: its links are followed all the same."""
        how = "off" if visit.settings.shadows("unchanged") else visit.settings.soft_404
        if how == "off" or not await self._error_pages.is_one(request, response, page, site):
            return False
        self._runtime.count("soft_404/pages")
        visit.is_error_page = True
        if how == "mark":
            return False
        visit.judgement = None
        self._note_failure(request, _GONE[0], visit.domain)
        return True

    # Both.

    def _visit(
        self, request: Request, response: Response, settings: Settings, judgement: Judgement, plan: Plan
    ) -> Visit | None:
        visit = self._runtime.begin_visit(request, response, settings)
        if visit is None:
            return None
        judgement.began = plan.began
        judgement.depth = request.meta.get("depth")
        visit.judgement = judgement
        if judgement.fetched != "get":
            self._runtime.met[visit.page_key] = judgement.verdict.kind
        return visit

    def _replay(self, request: Request, response: Response, judgement: Judgement) -> bool:
        """Let what is held take the callback's place; say whether it does."""
        spider = self._runtime.crawler.spider
        if page_key(request.url, self._runtime.rules) in self._runtime.crawl.given:
            # Another visit of this run, or an earlier part of it, gave the items.
            judgement.gives_stored = False
        if not judgement.replays or spider is None:
            return False
        # Before anything goes out: what cannot be made again must not have been begun.
        try:
            response.request = replaying(request, judgement, spider, str(self._runtime.crawl.run.id))
        except OutcomeError:
            self._runtime.count("unchanged/outcome_lost")
            judgement.replays = judgement.gives_stored = False
            return False
        return True

    def _check_word(self, site: Site, plan: Plan, judgement: Judgement, *, conditional: bool) -> None:
        """Count how far the site's validators and dates told the truth."""
        state = judgement.state
        had = (state.etag, state.last_modified) if state is not None else ()
        if any(had) and judgement.fetched == "get" and not conditional and judgement.is_unchanged:
            site.count_whole(same_validators=had == (judgement.etag, judgement.last_modified))
        record = word_kept(plan, judgement, conditional=conditional)
        if record is not None:
            site.count(record)
            self._runtime.crawl.rows.append(record)


def ask_if_changed(request: Request, decision: Revalidate) -> None:
    """Let a request ask for the page only if it has changed."""
    for name, value in zip(CONDITIONS, (decision.etag, decision.last_modified), strict=True):
        if value:
            request.headers[name] = value
    request.meta[CONDITIONAL] = True


def forget_conditions(request: Request) -> None:
    """Take away what we had asked by in the request that this one was made of: for a retry, or by a redirect."""
    if request.meta.pop(CONDITIONAL, None):
        for name in CONDITIONS:
            request.headers.pop(name, None)


def validators_of(response: Response) -> tuple[str | None, str | None]:
    """Return ETag and Last-Modified."""
    found = (response.headers.get(name) for name in ("ETag", "Last-Modified"))
    etag, last_modified = (value.decode("latin-1")[:_LONGEST] if value else None for value in found)
    return etag, last_modified


class Comparing:
    """Gives verdicts. Where the store does not answer, the page counts as changed: nothing is lost by that."""

    def __init__(
        self, store: ProjectStore, limits: ParseLimits, rules: UrlRules, count: Callable[[str, int], None]
    ) -> None:
        self._store = store
        self._limits = limits
        self._rules = rules
        self._count = count
        self._shown: set[tuple[str, bytes]] = set()

    async def page(self, page: Page, site: Site, judgement: Judgement, settings: Settings) -> None:
        """Judge a page of HTML."""
        keys = page_keys(page)
        if site.loaded:
            # Of a domain that is met for the first time nothing is compared.
            site.versions.meet(keys)
        judgement.blocks = pack_fingerprints(keys)
        judgement.links = links_hash(page.links)
        state = judgement.state
        if state is None:
            judgement.verdict = NEW
        elif state.gone_at is not None:
            judgement.verdict = BACK
        elif state.content_hash is None and state.blocks is None:
            judgement.verdict = FIRST_VERSION
        elif state.blocks is not None and self._is_same(state.blocks, page, site):
            judgement.verdict = SAME_BLOCKS
        else:
            await self._slowly(page, site, judgement, state, settings)

    def other(self, response: Response, judgement: Judgement) -> None:
        """Judge what is no page of HTML."""
        judgement.content = hashlib.sha256(response.body).digest()
        state = judgement.state
        if state is None:
            judgement.verdict = NEW
        elif state.gone_at is not None:
            judgement.verdict = BACK
        elif state.content_hash is None:
            judgement.verdict = FIRST_VERSION
        else:
            judgement.verdict = SAME_BYTES if judgement.content == state.content_hash else OTHER_BYTES

    async def links_known(self, page: Page | None, url: str, judgement: Judgement, callback: str) -> bool:
        """Say whether a page leads nowhere that is new to the store, or that its callback was shown in this run."""
        if page is None or judgement.state is None or judgement.links == judgement.state.links_hash:
            return True
        targets = {page_key(one, self._rules) for one in pages_linked(page.links, base_of(url, page.base) or url)}
        targets = {key for key in targets if (callback, key) not in self._shown}
        if not targets:
            return True
        try:
            known = await run_in_thread(self._store.document_keys, targets)
        except StoreError:
            self._count("store/errors", 1)
            return False
        new = targets - known.keys()
        if len(self._shown) < _MOST_SHOWN:
            self._shown.update((callback, key) for key in new)
        return not new

    def _is_same(self, blocks: bytes, page: Page, site: Site) -> bool:
        try:
            return site.versions.is_same(unpack_fingerprints(blocks), page)
        except DamagedError:
            self._count("store/errors", 1)
            return False

    async def _slowly(
        self, page: Page, site: Site, judgement: Judgement, state: StoredState, settings: Settings
    ) -> None:
        try:
            old = await run_in_thread(self._old_page, state)
            moved = frozenset(unpack_fingerprints(state.moved)) if state.moved else frozenset()
        except (StoreError, DamagedError):
            self._count("store/errors", 1)
            old, moved = None, frozenset()
        if old is None:
            judgement.verdict = NOT_KEPT
            self._count("unchanged/not_comparable", 1)
            return
        found = site.versions.compare(old, page, moved, change_policy(settings), with_diff=settings.diff)
        judgement.verdict = found.verdict
        judgement.diff = found.diff
        if found.moved:
            judgement.moved = pack_fingerprints(sorted(found.moved))
        elif found.verdict.kind is Kind.CHANGED:
            judgement.moved = None

    def _old_page(self, state: StoredState) -> Page | None:
        """Return the version that the last acknowledged change left; blocks, so call it in a thread."""
        stored = self._store.page(state.page_key)
        source = stored.source if stored else None
        if source is None or source.content is None or source.field not in ("html", BARE):
            return None
        # Of a visit that was never acknowledged there may be an original, too: its items never arrived.
        if source.fetched_at != state.last_changed_at:
            return None
        page = parse_page(source.content, self._limits)
        return None if isinstance(page, Unparsed) else page


class KnownPages:
    """Answers by batches. Where the store does not answer, nothing is known: the page is fetched."""

    def __init__(self, store: ProjectStore, count: Callable[[str, int], None]) -> None:
        self._store = store
        self._count = count
        self._waiting: dict[Asked, list[Deferred[Known]]] = {}
        self._asking: Deferred[None] | None = None
        self._told = False

    async def of(self, asked: Asked) -> Known:
        """Return what is known of a request's page."""
        answer: Deferred[Known] = Deferred()
        self._waiting.setdefault(asked, []).append(answer)
        if self._asking is None:
            self._asking = deferred_from_coro(self._ask())
        return await maybe_deferred_to_future(answer)

    async def _ask(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            known = await self._look_up(waiting)
            for asked, answers in waiting.items():
                for answer in answers:
                    answer.callback(known.get(asked, NOTHING_KNOWN))
        self._asking = None

    async def _look_up(self, waiting: dict[Asked, list[Deferred[Known]]]) -> dict[Asked, Known]:
        try:
            return await run_in_thread(look_up, self._store, list(waiting))
        except StoreError as error:
            self._count("store/errors", 1)
            if not self._told:
                logger.warning("The store does not answer; pages are fetched as if they were new: %s", error)
        except Exception:
            # Nobody would answer the requests that wait.
            self._count("store/errors", 1)
            if not self._told:
                logger.exception("Pages are fetched as if they were new because of a defect in scrapy_dedup")
        self._told = True
        return {}


class TitleCheck:
    """Asks the store; where it does not answer, the page is fetched."""

    def __init__(self, runtime: Runtime, sitemaps: SitemapDates) -> None:
        self._runtime = runtime
        self._sitemaps = sitemaps

    async def twin(self, key: bytes, domain: str, state: StoredState | None, settings: Settings) -> bytes | None:
        """Return which page has the title that is known of one; None where none has, or too many have.

        A page that stands for itself is fetched: of two that have one title neither would be looked at any more.
        """
        if settings.title_trust != "always" or not settings.acts(TITLE):
            return None
        if state is not None and state.document_key in (None, key):
            return None
        title = text_hash(state.title) if state is not None and state.title else self._sitemaps.title_of(key)
        if title is None:
            return None
        try:
            found = await run_in_thread(self._runtime.crawl.store.others, Question(key, domain, title_key=title))
        except StoreError:
            self._runtime.count("store/errors")
            return None
        gone_out = [one.page_key for one in found.titles if not one.dropped]
        texts = {one.text_hash for one in found.titles}
        return gone_out[0] if gone_out and len(texts) < settings.title_common else None

    def left_out(self, request: Request, key: bytes, domain: str, twin: bytes) -> Response:
        """Return what stands for a page of which nothing but its title is known; nothing comes of it."""
        crawl, at = self._runtime.crawl, datetime.now(UTC)
        self._runtime.count("title/skipped")
        crawl.rows.append(DecisionRecord(key, TITLE, "dropped", _REASON, at))
        crawl.rows.append(
            CrawledUrlRecord(key, request.url, domain, "duplicate", at, document_key=twin, alias_kind=TITLE)
        )
        response = empty_response(request)
        response.request = request.replace(callback=_nothing, cb_kwargs={})
        return response


def _nothing(response: Response) -> Iterator[Any]:  # noqa: ARG001 (Scrapy's signature)
    yield from ()


class _Host:
    """What is known of one host's answers."""

    __slots__ = ("error", "first", "probe", "waiting")

    def __init__(self, first: str) -> None:
        self.first = first
        self.probe: str | None = None
        self.error: Page | None = None
        self.waiting: list[Deferred[None]] | None = None


class ErrorPages:
    """Asks each host once, when its second page comes: a host with one page costs no more than that."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._hosts: dict[str, _Host] = {}

    async def is_one(self, request: Request, response: Response, page: Page, site: Site) -> bool:
        """Say whether a page is its host's error page."""
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(response.url))
        host = self._hosts.get(origin)
        if host is None:
            if len(self._hosts) < _MOST_HOSTS:
                self._hosts[origin] = _Host(response.url)
            return False
        if host.probe is None and host.first != response.url:
            await self._ask(host, request, response.url)
        if host.error is None or host.probe is None:
            return False
        repeats = site.versions.repeats
        return isinstance(judge_page(response.url, page, host.probe, host.error, repeats), ErrorPage)

    async def _ask(self, host: _Host, request: Request, url: str) -> None:
        if host.waiting is not None:
            answer: Deferred[None] = Deferred()
            host.waiting.append(answer)
            await maybe_deferred_to_future(answer)
            return
        host.waiting = []
        probe = probe_url(url, str(self._runtime.crawl.run.id))
        try:
            host.error = await self._error_page(request, probe)
        finally:
            host.probe = probe
            waiting, host.waiting = host.waiting, None
            for one in waiting:
                one.callback(None)

    async def _error_page(self, asked: Request, probe: str) -> Page | None:
        """Return what the host gives for a URL that does not exist, where it gives it with 200."""
        # On the way of the page that it is for: who reaches a site by a proxy does not show it another address.
        way = {name: asked.meta[name] for name in _WAY if name in asked.meta}
        alone = {"download_timeout": _PROBE_SECONDS, "dont_retry": True, "dont_redirect": True, "dont_cache": True}
        headers = {name: value for name, value in asked.headers.items() if name.decode("latin-1") not in CONDITIONS}
        request = Request(probe, NO_CALLBACK, headers=headers, meta=way | alone, dont_filter=True)
        self._runtime.count("soft_404/probes")
        try:
            response = await self._runtime.crawler.engine.download_async(request)
        except IgnoreRequest:
            # robots.txt does not allow it: nobody is judged.
            return None
        except Exception as error:  # noqa: BLE001 - whatever a download handler raises: there is no answer
            logger.debug("The probe %s failed: %s", probe, error)
            return None
        if response.status != 200 or not isinstance(response, TextResponse) or not is_html(response):
            return None
        page = parse_page(response.text, self._runtime.limits)
        return page if isinstance(page, Page) else None
