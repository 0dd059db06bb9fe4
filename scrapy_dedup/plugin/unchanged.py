"""The `unchanged` layer: whether a page is asked for, and what takes its callback's place."""

import hashlib
import logging
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace
from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.gz import gunzip, gzip_magic_number
from twisted.internet.defer import Deferred

from scrapy_dedup.core.duplicates import TITLE
from scrapy_dedup.core.pages.blocks import Page, Unparsed, parse_page
from scrapy_dedup.core.pages.declared import read_directives
from scrapy_dedup.core.pages.fingerprints import parts_hash, text_hash
from scrapy_dedup.core.pages.guard import ParseLimits
from scrapy_dedup.core.recrawl.plan import (
    GONE,
    Fetch,
    FetchReason,
    Revalidate,
    Situation,
    Skip,
    SkipReason,
    decide,
    matches,
)
from scrapy_dedup.core.recrawl.verdicts import NEW, Change, Verdict, VerdictKind, page_keys, verdict_of
from scrapy_dedup.core.templates.layouts import skeleton_of
from scrapy_dedup.core.urls.normal_form import UrlRules, extract_domain, page_key
from scrapy_dedup.core.urls.seen import KeyTable, Latest
from scrapy_dedup.plugin.domains import Site, Sites
from scrapy_dedup.plugin.dupefilter import RepeatedLinks
from scrapy_dedup.plugin.recrawl.reuse import stands
from scrapy_dedup.plugin.requests import (
    LEFT_OUT,
    READMITTED,
    carried_by,
    fetched,
    origin_of,
    parent_of,
    redirected_from,
)
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.visits import Visit, is_html, is_sitemap_request, received_bytes
from scrapy_dedup.plugin.waiting import Together, Turn, result_of
from scrapy_dedup.service.crawl.commits import failed_fetch
from scrapy_dedup.service.crawl.drafts import usable_text
from scrapy_dedup.service.cut.site_cleaning import frames_of
from scrapy_dedup.service.duplicates.chunking import makes_chunks
from scrapy_dedup.service.policies import change_policy, recrawl_policy
from scrapy_dedup.service.recrawl import (
    BACK,
    FIRST_VERSION,
    MANY_BLOCKS,
    NOT_KEPT,
    NOTHING_KNOWN,
    OTHER_BYTES,
    SAME_BYTES,
    SERVER_SAYS_SO,
    AskedPage,
    FetchPlan,
    Judgement,
    KnownPage,
    Recall,
    TwoVersions,
    look_up,
    page_state,
    was_met,
    wire_key,
    word_kept,
)
from scrapy_dedup.service.templates.site_knowledge import REST, SiteKnowledge
from scrapy_dedup.service.templates.site_records import site_of
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import pack_fingerprints, unpack_fingerprints
from scrapy_dedup.store.engine.errors import DamagedError, StoreError
from scrapy_dedup.store.records.records import BARE, CrawledUrlRecord, DecisionRecord
from scrapy_dedup.store.records.shared import Question
from scrapy_dedup.store.records.stored import StoredState
from scrapy_dedup.store.writer import ProjectStore

if TYPE_CHECKING:
    from scrapy_dedup.core.resilience.discovery import Sitemap, SitemapLimits

# A date and its key take some 200 bytes; pages beyond this are asked for.
_MOST_DATES = 200_000
_LONGEST_VALIDATOR = 1_000
_SITEMAP_ROOT = re.compile(rb"<\s*(?:\w+:)?(?:urlset|sitemapindex)\b")
_LOOKED_AT = 2_000

logger = logging.getLogger(__name__)

_REASON = "not asked for: the same title, which is trusted"

# Of fewer bytes a page is parsed in 20 ms at most.
_LARGE_BODY: Final = 200_000

# Of some 3 kB each. Whoever asks for a page again does it soon.
_MOST_FIRST: Final = 2_000


class _FirstChange(Struct, frozen=True):
    """What a page was in the last run, and what the first visit found that came upon another version, or a new page."""

    state: StoredState | None
    body: bytes | None
    blocks: bytes | None
    verdict: Verdict
    at: datetime

    def is_of(self, judgement: Judgement) -> bool:
        """Whether another visit found the same version: its bytes, or its blocks where a number differs each time."""
        return self.body == judgement.body or (self.blocks is not None and self.blocks == judgement.blocks)


class SitemapDates:
    """Reads what the spider fetches; asks for nothing itself."""

    def __init__(self, sites: Sites, settings: Settings, rules: UrlRules, count: Callable[[str, int], None]) -> None:
        self._sites = sites
        self._scope = settings.domain_scope
        self._keeps_titles = "title" in settings.acting and settings.title_trust == "always"
        self._rules = rules
        self._count = count
        self.dates: dict[bytes, datetime] = {}
        """What sitemaps of this run say of pages."""
        self.titles: dict[bytes, bytes] = {}
        """Hashes of the titles that they give pages."""

    def failed(self, request: Request, domain: str) -> None:
        """Note a fetch that gave no page: where it was a sitemap, pages may exist that nobody was told of."""
        if is_sitemap_request(request) and not request.url.endswith("/robots.txt"):
            self._sites.of(domain).failed_sitemap = True
            self._count("sitemaps/failed", 1)

    async def read(self, request: Request, response: Response) -> None:
        """Take in a response, if it is a sitemap."""
        is_sitemap = is_sitemap_request(request) or _SITEMAP_ROOT.search(response.body[:_LOOKED_AT])
        if request.url.endswith("/robots.txt") or not is_sitemap:
            return
        from scrapy_dedup.core.resilience.discovery import read_sitemap  # noqa: PLC0415 (few crawls read sitemaps)

        sitemap = await run_in_thread(read_unpacked, response, read_sitemap)
        self._count("sitemaps/read", 1)
        if not sitemap.complete:
            domain = extract_domain(response.url, self._scope) or ""
            self._sites.of(domain).failed_sitemap = True
            self._count("sitemaps/failed", 1)
            why = sitemap.error or "it is too large"
            logger.warning("Sitemap %s was read in part (%s): no page will count as missing", response.url, why)
        for entry in sitemap.pages:
            if entry.lastmod is not None and len(self.dates) < _MOST_DATES:
                self.dates[page_key(entry.url, self._rules)] = entry.lastmod
            if entry.title and self._keeps_titles and len(self.titles) < _MOST_DATES:
                self.titles[page_key(entry.url, self._rules)] = text_hash(entry.title)


def read_unpacked(
    response: Response, read: "Callable[[bytes, str, SitemapLimits], Sitemap]", limits: "SitemapLimits | None" = None
) -> "Sitemap":
    """Return what a sitemap or a feed says, packed or not; blocks, so call it in a thread."""
    from scrapy_dedup.core.resilience.discovery import DEFAULT_LIMITS, Sitemap  # noqa: PLC0415

    body, limits = response.body, limits or DEFAULT_LIMITS
    if gzip_magic_number(response):
        try:
            body = gunzip(body, max_size=limits.bytes)
        except Exception as error:  # noqa: BLE001 - what is no gzip, is cut off or is a bomb
            return Sitemap(error=f"{type(error).__name__}: {error}"[:200])
    return read(body, response.url, limits)


def validators_of(response: Response) -> tuple[str | None, str | None]:
    """Return ETag and Last-Modified, where it is a date before the second in which the page was sent.

    A page that changes later in that second keeps the date (RFC 9110, 8.8.2.2), and one of the future outlasts changes.
    """
    etag, last_modified, date = [
        value.decode("latin-1")[:_LONGEST_VALIDATOR] if (value := response.headers.get(name)) else None
        for name in ("ETag", "Last-Modified", "Date")
    ]
    changed, sent = parsedate(last_modified or ""), parsedate(date or "")
    is_young = last_modified == date or (changed is not None and sent is not None and changed >= sent)
    return etag, None if is_young else last_modified


class Unchanged:
    """Plans requests, and judges what they brought."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        store = runtime.crawl.store
        self._known_pages = PageLookups(store, runtime.count)
        self._comparing = Comparing(store, runtime.limits, runtime.count)
        self._sitemaps = SitemapDates(runtime.sites, runtime.settings, runtime.rules, runtime.count)
        self._error_pages = ErrorPages(runtime)
        self._titles = TitleCheck(runtime, self._sitemaps)
        self._answered = KeyTable("B")
        """Keys of pages that were answered, beside those that are met: gone ones, sitemaps, and what is on its way."""
        self._recall = Recall(store, runtime.met, runtime.departed)
        self._first: Latest[bytes, _FirstChange] = Latest(_MOST_FIRST)
        """By page, what the first visit of this run found that came upon another version."""
        # Where requests that the duplicate filter knows may go on, or are looked at before it, all are made.
        makes_all = runtime.crawl.run.lost_requests or runtime.settings.resilience_enabled
        self._repeated = RepeatedLinks(runtime.crawler, makes_all=makes_all)

    # Before the fetch.

    async def before(self, request: Request, settings: Settings) -> Response | None:
        """Plan a request; return what stands for the page where nothing but its title is known."""
        domain = extract_domain(request.url, self._runtime.settings.domain_scope)
        if domain is None or not settings.unchanged_enabled:
            return None
        for url in redirected_from(request):
            self._runtime.met.redirected.put(page_key(url, self._runtime.rules), 0)
        own_cookies = bool(request.cookies) or "Cookie" in request.headers
        key = page_key(request.url, self._runtime.rules)
        outcome_key = await self._runtime.reuse.key_of(request, key, settings)
        wire = b"" if own_cookies or settings.keep_pages == "none" else wire_key(request.url)
        known = await self._known(AskedPage(key, wire, outcome_key, with_chunks=makes_chunks(settings)))
        is_met = self._is_met(request, key, known)
        plan = await self._plan(request, key, domain, known, settings, is_met=is_met)
        plan.began, plan.own_cookies, plan.outcome_key = time.monotonic(), own_cookies, outcome_key
        self._runtime.plans[request] = plan
        if "unchanged" in settings.shadowing:
            if isinstance(plan.decision, Skip | Revalidate):
                self._runtime.count(f"shadow/unchanged/{'skipped' if isinstance(plan.decision, Skip) else 'asked_if'}")
            plan.decision = Fetch(FetchReason.REFRESH)
        elif not (plan.is_refresh or is_met) and (twin := await self._titles.twin(key, domain, known.state, settings)):
            if known.answer is None:
                return self._titles.left_out(request, key, domain, twin)
            plan.decision = Skip(SkipReason.TITLE, datetime.now(UTC))
        plan.is_audited = self._runtime.reuse.is_audited(plan, domain, settings)
        if plan.is_audited:
            plan.decision = Fetch(FetchReason.AUDIT)
        if isinstance(plan.decision, Skip):
            # Now: the next request for it may be on its way.
            self._answered.put(key, 0)
        return None

    def _is_met(self, request: Request, key: bytes, known: KnownPage) -> bool:
        """Say whether this run had an answer to a page: whoever polls it, or tries again, wants another one."""
        if key in self._runtime.met or key in self._answered:
            return True
        crawl = self._runtime.crawl
        # After a kill what was lost is asked for anew, not again.
        return READMITTED not in request.meta and was_met(known, crawl.run, crawl.store.shared_since)

    async def _known(self, asked: AskedPage) -> KnownPage:
        known = await self._known_pages.answer(asked)
        if known.damaged:
            self._runtime.count("unchanged/damaged", known.damaged)
        return known

    async def _plan(
        self, request: Request, key: bytes, domain: str, known: KnownPage, settings: Settings, *, is_met: bool
    ) -> FetchPlan:
        """Decide about a request for a page; *is_met*: the run had an answer to it."""
        lastmod = self._sitemaps.dates.get(key)
        trusts_validators, trusts_lastmod = True, False
        if known.state is not None:
            site = await self._runtime.sites.recalled(domain)
            # A sitemap's dates are needed whether or not it changed.
            trusts_validators = site.validators.is_earned() and not is_sitemap_request(request)
            trusts_lastmod = settings.sitemap_lastmod and site.lastmod.is_earned()
        situation = Situation(
            is_held=known.answer is not None and settings.keep_pages != "none",
            refresh=any(pattern in ("*", request.url) or matches(pattern, request.url) for pattern in settings.refresh),
            is_met=is_met,
            trusts_validators=trusts_validators,
            lastmod=lastmod,
            trusts_lastmod=trusts_lastmod,
        )
        decision = decide(request.url, page_state(known), datetime.now(UTC), recrawl_policy(settings), situation)
        return FetchPlan(key, known, decision, situation.refresh, lastmod)

    # After it.

    async def after(self, request: Request, response: Response, settings: Settings) -> None:
        """Judge a response, and begin its visit."""
        plan = self._runtime.plans.pop(request, None)
        if LEFT_OUT in response.flags:
            return
        plan = plan or await self._answered_above(request, settings)
        if plan is None:
            self._runtime.begin_visit(request, response, settings)
            return
        site = self._runtime.sites.of(extract_domain(response.url, self._runtime.settings.domain_scope) or "")
        site.fetches += 1
        if 200 <= response.status < 300:
            await self._received(request, response, settings, plan, site)
            self._note_answer(plan.page_key)
            return
        if plan.fetched != "skip":
            self._failed(request, response.status, site)
        if response.status in GONE:
            self._note_answer(plan.page_key)
        visit = self._runtime.begin_visit(request, response, settings)
        if visit is not None and "unchanged" in settings.acting:
            visit.giver = self._runtime.giver_of(visit.callback)

    async def _answered_above(self, request: Request, settings: Settings) -> FetchPlan | None:
        """Return what is known of a page that a middleware gave before ours was asked, as one with a browser does."""
        if not settings.unchanged_enabled or extract_domain(request.url, self._runtime.settings.domain_scope) is None:
            return None
        key = page_key(request.url, self._runtime.rules)
        known = await self._known(AskedPage(key, with_chunks=makes_chunks(settings)))
        return FetchPlan(key, known, Fetch(FetchReason.NOT_HELD), began=time.monotonic())

    def _note_answer(self, key: bytes) -> None:
        """Remember that a page was answered, unless it is remembered as met."""
        if key in self._runtime.met:
            self._answered.discard(key)
        else:
            self._answered.put(key, 0)

    def gave_nothing(self, request: Request) -> None:
        """Note a fetch that gave no response, or that was not allowed."""
        self._runtime.plans.pop(request, None)
        domain = extract_domain(request.url, self._runtime.settings.domain_scope)
        if domain is None:
            return
        site = self._runtime.sites.of(domain)
        site.fetches += 1
        self._failed(request, None, site)

    def _failed(self, request: Request, http_status: int | None, site: Site) -> None:
        domain = extract_domain(request.url, self._runtime.settings.domain_scope)
        if http_status not in GONE:
            site.failures += 1
        if domain is not None:
            self._sitemaps.failed(request, domain)
            self._note_failure(request, http_status, domain)

    def _note_failure(self, request: Request, http_status: int | None, domain: str) -> None:
        key = page_key(request.url, self._runtime.rules)
        if http_status in GONE:
            self._runtime.departed[key] = None
        is_page = not (is_sitemap_request(request) or request.url.endswith("/robots.txt"))
        if is_page and key not in self._runtime.met:
            self._runtime.crawl.rows.append(failed_fetch(request.url, key, domain, http_status, datetime.now(UTC)))

    async def _received(
        self, request: Request, response: Response, settings: Settings, plan: FetchPlan, site: Site
    ) -> None:
        runtime = self._runtime
        key = page_key(response.url, runtime.rules)
        known = plan.known
        if response.url != request.url and key != plan.page_key:
            # A browser ended up elsewhere.
            known = await self._known(AskedPage(key, with_chunks=makes_chunks(settings)))
        if known.state is not None:
            site = await runtime.sites.recalled(extract_domain(response.url, runtime.settings.domain_scope) or "")
        judgement = self._beside_last_run(known, key)
        judgement.etag, judgement.last_modified = validators_of(response)
        judgement.lastmod = plan.lastmod
        judgement.fetched, judgement.began, judgement.depth = plan.fetched, plan.began, request.meta.get("depth")
        parent = parent_of(request)
        judgement.parent = parent if parent != key else None
        judgement.is_shadow = "unchanged" in settings.shadowing
        visit = runtime.begin_visit(request, response, settings)
        if visit is None:
            return
        visit.judgement = judgement
        judgement.body = parts_hash(response.body)
        visit.outcome_key = plan.outcome_key
        visit.carried = carried_by(request) if plan.outcome_key else b""
        if "unchanged" in settings.acting:
            await self._recall_delivery(visit)
        await self._sitemaps.read(request, response)
        if not visit.is_page:
            visit.judgement = None
            if runtime.crawl.has_history:
                await runtime.done.begin_signpost(visit)
        if not visit.is_page or not await self._judge(request, response, visit, judgement, site):
            return
        self._note_met(visit, judgement)
        if plan.is_audited and known.outcome is not None and stands(known.outcome, judgement, settings):
            # Of another page the callback yields something else, and is right.
            visit.audited = known.outcome
        is_sent = judgement.fetched == "get" and "cached" not in response.flags
        judgement.bytes_received = received_bytes(response) if is_sent else 0
        self._check_word(site, plan, judgement)
        if judgement.is_shadow:
            runtime.count(f"shadow/unchanged/{judgement.verdict.kind.value}")
        elif judgement.is_unchanged:
            self._reuse(request, response, plan, visit, judgement)
        elif known.state is not None:
            await runtime.done.begin(visit)

    def _beside_last_run(self, known: KnownPage, key: bytes) -> Judgement:
        """Return what begins a page's judgement: beside the last run's version, where this one has written over it."""
        first = self._first.get(key)
        if first is None or first.state is None:
            return Judgement(known)
        return Judgement(replace(known, state=first.state, text=None, chunks=()), is_written_over=True)

    def _reuse(self, request: Request, response: Response, plan: FetchPlan, visit: Visit, judgement: Judgement) -> None:
        """Let what is kept of an unchanged page take its callback's place, if it may."""
        self._runtime.reuse.answer(request, response, plan, judgement, visit.settings, self._repeated.left_of)
        if judgement.replays and visit.held is None:
            # The main text is the same: who lets that stand for the page lets its clean text stand, too.
            visit.held = usable_text(judgement, visit.settings)

    def _note_met(self, visit: Visit, judgement: Judgement) -> None:
        """Note what a page is; where the last run's version is forgotten, its first visit in this run says it."""
        met, key, first = self._runtime.met, visit.page_key, self._first.get(visit.page_key)
        before = met.kind_of(key)
        is_beside_last_run = judgement.is_written_over or before is VerdictKind.UNCHANGED
        if first is not None and first.is_of(judgement):
            judgement.verdict, judgement.changed_at = first.verdict, first.at
        elif before not in (None, judgement.verdict.kind) and not is_beside_last_run:
            judgement.verdict = Verdict(before, judgement.verdict.change, "as at its first visit in this run")
        met[key] = judgement.verdict.kind
        if first is None and judgement.verdict.kind in (VerdictKind.NEW, VerdictKind.CHANGED):
            state = judgement.known.state if judgement.verdict.kind is VerdictKind.CHANGED else None
            self._first[key] = _FirstChange(
                state, judgement.body, judgement.blocks, judgement.verdict, visit.fetched_at
            )

    async def _recall_delivery(self, visit: Visit) -> None:
        """Note which items the last visit of the page gave, where those are left out."""
        visit.giver = self._runtime.giver_of(visit.callback)
        if visit.settings.unchanged != "skip" or not self._runtime.crawl.has_history:
            return
        state = visit.judgement.known.state if visit.judgement is not None else None
        if state is not None and state.gone_at is not None:
            # It was told as removed: all that it gives is new.
            return
        is_begun = state is not None and state.status != "completed"
        if is_begun and visit.page_key not in self._runtime.met:
            # Of a version that nobody acknowledged items may have gone out before a kill: those of this one do, too.
            return
        given = self._runtime.done.given.of(visit.page_key, visit.giver)
        if given.earlier is None:
            try:
                earlier = await run_in_thread(self._recall.earlier, visit.page_key, visit.giver)
            except StoreError:
                self._runtime.count("store/errors")
                return
            # Perhaps another visit of the page asked meanwhile.
            given.earlier = given.earlier or earlier
        visit.earlier = given.earlier

    async def _judge(
        self, request: Request, response: Response, visit: Visit, judgement: Judgement, site: Site
    ) -> bool:
        """Give a verdict; say whether the page is one."""
        state, settings = judgement.known.state, visit.settings
        if (
            state is not None
            and state.gone_at is None
            and state.body_hash == judgement.body
            and settings.soft_404 == "off"
        ):
            judgement.verdict = SAME_BYTES
            if judgement.fetched == "304":
                judgement.verdict = SERVER_SAYS_SO
            visit.held = usable_text(judgement, settings)
            if visit.held is not None:
                robots = visit.held.text.report.get("robots")
                judgement.directives = read_directives([str(one) for one in robots] if isinstance(robots, list) else ())
                return True
        limits = self._runtime.limits
        is_large = len(response.body) >= _LARGE_BODY
        found = await run_in_thread(visit.page, limits) if is_large else visit.page(limits)
        page = found if isinstance(found, Page) else None
        headers = [value.decode("latin-1") for value in response.headers.getlist("X-Robots-Tag")]
        judgement.directives = read_directives(page.robots if page else (), headers)
        if judgement.is_unchanged and state is not None:
            if judgement.is_written_over:
                # The store has another version by now: this one's bytes, which are the last run's, have its hashes.
                judgement.blocks, judgement.content = state.blocks, None if page else state.content_hash
            return True
        if page is None:
            self._comparing.other(response, judgement)
        elif await self._is_no_content(request, response, page, site, visit):
            return False
        else:
            await self._comparing.page(page, site, judgement, settings)
        return True

    async def _is_no_content(self, request: Request, response: Response, page: Page, site: Site, visit: Visit) -> bool:
        """Say whether a page is an error page that is to be dropped: its links are followed all the same."""
        how = "off" if "unchanged" in visit.settings.shadowing else visit.settings.soft_404
        if how == "off":
            return False
        if not await self._error_pages.is_one(request, response, page, site):
            return False
        self._runtime.count("soft_404/pages")
        visit.is_error_page = True
        if how == "mark":
            return False
        visit.judgement = None
        self._note_failure(request, GONE[0], visit.domain)
        return True

    def _check_word(self, site: Site, plan: FetchPlan, judgement: Judgement) -> None:
        """Count how far the site's validators and dates told the truth."""
        state = judgement.known.state
        had = (state.etag, state.last_modified) if state is not None else ()
        if any(had) and judgement.fetched == "get" and not plan.asked_if and judgement.is_unchanged:
            site.count_whole(same_validators=had == (judgement.etag, judgement.last_modified))
        record = word_kept(plan, judgement)
        if record is not None:
            site.count(record)
            self._runtime.crawl.rows.append(record)


# A URL that does not exist is waited for so long.
_PROBE_SECONDS: Final = 30
_MOST_HOSTS: Final = 10_000


class _Host(Struct):
    """What is known of one host's answers."""

    first: str
    probes: dict[str, Page] | None = None
    """What it gives for URLs that do not exist, with 200; None: it was not asked."""


class ErrorPages:
    """Asks each host twice, when its second page comes: a host with one page costs no more than that."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._hosts: dict[str, _Host] = {}
        self._asking: dict[str, Deferred[None]] = {}

    async def is_one(self, request: Request, response: Response, page: Page, site: Site) -> bool:
        """Say whether a page is its host's error page."""
        from scrapy_dedup.core.resilience.soft404 import ErrorPage, judge_page  # noqa: PLC0415 (few crawls ask for it)

        origin = origin_of(response.url)
        host = self._hosts.get(origin)
        if host is None:
            if len(self._hosts) < _MOST_HOSTS:
                self._hosts[origin] = _Host(response.url)
            return False
        if host.probes is None and host.first != response.url:
            async with Turn(self._asking, origin):
                host.probes = host.probes if host.probes is not None else await self._probes(request, response.url)
        if not host.probes:
            return False
        repeats = site.versions.repeats
        return isinstance(judge_page(response.url, page, host.probes, repeats), ErrorPage)

    async def _probes(self, request: Request, url: str) -> dict[str, Page]:
        from scrapy_dedup.core.resilience.soft404 import probe_url  # noqa: PLC0415

        probes: dict[str, Page] = {}
        # Two: what differs between them is no word of the error page.
        for seed in range(2):
            probe = probe_url(url, f"{self._runtime.crawl.run.id} {seed}")
            error = await self._error_page(request, probe)
            if error is None:
                return {}
            probes[probe] = error
        return probes

    async def _error_page(self, asked: Request, probe: str) -> Page | None:
        """Return what the host gives for a URL that does not exist, where it gives it with 200."""
        alone = {"download_timeout": _PROBE_SECONDS, "dont_retry": True, "dont_redirect": True, "dont_cache": True}
        request = Request(probe, NO_CALLBACK, meta=alone, dont_filter=True)
        self._runtime.count("soft_404/probes")
        # Where robots.txt does not allow it nobody is judged.
        response = await fetched(self._runtime.crawler, self._runtime.ways.of(asked).lead(request))
        if not isinstance(response, TextResponse) or response.status != 200 or not is_html(response):
            return None
        page = parse_page(response.text, self._runtime.limits)
        return page if isinstance(page, Page) else None


# Domains whose templates are held to compare pages by.
_MOST_KNOWN: Final = 100


class Comparing:
    """Gives verdicts. Where the store does not answer, the page counts as changed: nothing is lost by that."""

    def __init__(self, store: ProjectStore, limits: ParseLimits, count: Callable[[str, int], None]) -> None:
        self._store = store
        self._limits = limits
        self._count = count
        self._known: Latest[str, SiteKnowledge | None] = Latest(_MOST_KNOWN)
        """Templates that earlier crawls stored, of the domains whose pages were compared last."""

    async def page(self, page: Page, site: Site, judgement: Judgement, settings: Settings) -> None:
        """Judge a page of HTML."""
        keys = await run_in_thread(page_keys, page) if len(page.blocks) >= MANY_BLOCKS else page_keys(page)
        if site.loaded:
            # Of a domain that is met for the first time nothing is compared.
            await result_of(site.versions.meet(keys))
        judgement.blocks = pack_fingerprints(keys)
        state = judgement.known.state
        if state is None or state.gone_at is not None or (state.content_hash is None and state.blocks is None):
            judgement.verdict = _without_a_version(state)
            return
        judgement.verdict, judgement.diff = await self._compared(page, keys, site, state, settings)
        if judgement.verdict is NOT_KEPT:
            self._count("unchanged/not_comparable", 1)

    def other(self, response: Response, judgement: Judgement) -> None:
        """Judge what is no page of HTML."""
        judgement.content = hashlib.sha256(response.body).digest()
        state = judgement.known.state
        if state is None or state.gone_at is not None or state.content_hash is None:
            judgement.verdict = _without_a_version(state)
        else:
            judgement.verdict = SAME_BYTES if judgement.content == state.content_hash else OTHER_BYTES

    async def _compared(
        self, page: Page, keys: list[int], site: Site, state: StoredState, settings: Settings
    ) -> tuple[Verdict, str]:
        versions, policy = site.versions, change_policy(settings)
        try:
            old = unpack_fingerprints(state.blocks) if state.blocks is not None else []
            if old == keys:
                return verdict_of({Change.NONE}, policy), ""
            knowledge = await self._knowledge_of(state.domain)
            is_near = versions.differ_in_repeats(old, keys)
            if is_near and versions.differ_in_chrome(old, keys, _layout_of(page, knowledge)):
                return verdict_of({Change.BOILERPLATE_ONLY}, policy), ""
            read = partial(self._both, page, state, knowledge)
            judged = await result_of(versions.compare(read, policy, with_diff=settings.diff))
            if judged[0] is NOT_KEPT and is_near:
                _, frame = frames_of(page, page, state.url, knowledge)
                return versions.verdict_on_repeats(old, page, frame, policy), ""
        except (StoreError, DamagedError):
            self._count("store/errors", 1)
            return NOT_KEPT, ""
        return judged

    async def _knowledge_of(self, domain: str) -> SiteKnowledge | None:
        if not self._known.meet(domain):
            self._known[domain] = await run_in_thread(lambda: site_of(domain, self._store.templates(domain)))
        return self._known[domain]

    def _both(self, page: Page, state: StoredState, knowledge: SiteKnowledge | None) -> TwoVersions | None:
        old = self._old_page(state)
        if old is None:
            return None
        return TwoVersions(old, page, frames_of(old, page, state.url, knowledge), _layout_of(page, knowledge))

    def _old_page(self, state: StoredState) -> Page | None:
        """Return the version that the last acknowledged change left."""
        stored = self._store.page(state.page_key)
        source = stored.source if stored else None
        if source is None or source.content is None or source.field not in ("html", BARE):
            return None
        # Of a visit that was never acknowledged there may be an original, too: its items never arrived.
        if source.fetched_at != state.last_changed_at:
            return None
        page = parse_page(source.content, self._limits)
        return None if isinstance(page, Unparsed) else page


class PageLookups(Together[AskedPage, KnownPage]):
    """What is known of requests' pages. Where the store does not answer, that is nothing: the page is fetched."""

    def __init__(self, store: ProjectStore, count: Callable[[str, int], None]) -> None:
        super().__init__(self._look_up)
        self._store = store
        self._count = count
        self._told = False

    async def _look_up(self, waiting: list[AskedPage]) -> list[KnownPage]:
        try:
            known = await run_in_thread(look_up, self._store, list(dict.fromkeys(waiting)))
            return [known.get(asked, NOTHING_KNOWN) for asked in waiting]
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
        return [NOTHING_KNOWN] * len(waiting)


class TitleCheck:
    """Asks the store; where it does not answer, the page is fetched."""

    def __init__(self, runtime: Runtime, sitemaps: SitemapDates) -> None:
        self._runtime = runtime
        self._sitemaps = sitemaps

    async def twin(self, key: bytes, domain: str, state: StoredState | None, settings: Settings) -> bytes | None:
        """Return which page has the title that is known of one; None where none has, or too many have.

        A page that stands for itself is fetched: of two that have one title neither would be looked at any more.
        """
        if settings.title_trust != "always" or TITLE not in settings.acting:
            return None
        if state is not None and state.document_key in (None, key):
            return None
        title = text_hash(state.title) if state is not None and state.title else self._sitemaps.titles.get(key)
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
        response: Response = HtmlResponse(request.url, flags=[LEFT_OUT], request=request, encoding="utf-8")
        response.request = request.replace(callback=_nothing, cb_kwargs={})
        return response


def _without_a_version(state: StoredState | None) -> Verdict:
    """Return the verdict on a page of which no version is known that it could be compared with."""
    if state is None:
        return NEW
    return BACK if state.gone_at is not None else FIRST_VERSION


def _nothing(response: Response) -> Iterator[Any]:  # noqa: ARG001 (Scrapy's signature)
    yield from ()


def _layout_of(page: Page, knowledge: SiteKnowledge | None) -> int:
    return REST if knowledge is None else knowledge.layout_of(skeleton_of(page))
