"""What a crawl asks and tells the registry of domains, and what it knows of each beside its boilerplate."""

import logging
import math
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from itemadapter import ItemAdapter
from msgspec import Struct, field
from msgspec.structs import replace
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import run_in_thread
from twisted.internet.defer import Deferred

from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.core.domains import DomainRefusal, RequestPolicy, judge_domain
from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.recrawl.plan import LastmodTrust, ValidatorTrust
from scrapy_dedup.core.urls.normal_form import UrlRules, extract_domain, page_key
from scrapy_dedup.core.urls.seen import Latest
from scrapy_dedup.plugin.items import ChunkItem, url_of, value_of
from scrapy_dedup.plugin.overrides import META_KEY, with_request
from scrapy_dedup.plugin.requests import redirected_from
from scrapy_dedup.plugin.run_state import REPORT_SECONDS
from scrapy_dedup.plugin.waiting import Loops, Turn, result_of
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.domains.registry import (
    LAYER,
    RefusedPage,
    refusal_records,
    refused_domains,
    request_policy,
    settle_run,
)
from scrapy_dedup.service.policies import imported
from scrapy_dedup.service.recrawl import PAGES_COUNTED, SiteVersions, is_tombstone
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import unpack_fingerprints
from scrapy_dedup.store.engine.errors import AwayStoreError, DamagedError, StoreError
from scrapy_dedup.store.records.records import ConfidenceRecord, ValidatorRecord
from scrapy_dedup.store.writer import ProjectStore

logger = logging.getLogger(__name__)

# The host alone decides: a path may be as long as it likes.
_ORIGIN = re.compile(r"https?://[^/?#]*", re.IGNORECASE)


# A page is counted once, also where a hundred menus link to it: of so many it is known that they were.
_MOST_COUNTED: Final = 50_000
# Reasons that one run writes down.
_MOST_DECISIONS: Final = 1_000


class RefusedDomain(IgnoreRequest):
    """The request's domain is not asked."""

    def __init__(self, domain: str, why: DomainRefusal) -> None:
        super().__init__(f"dedup: domain: {domain[:300]}: {why}")


class DomainGuard:
    """Knows names alone; it is asked twice about a request: when a callback yields it, and before it is sent."""

    def __init__(self, crawl: Crawl, rules: UrlRules) -> None:
        """Read which domains are refused; blocks, for the start of a crawl.

        Raises:
            StoreError: the store failed.
        """
        self._crawl = crawl
        self._settings = settings = crawl.settings
        self._rules = rules
        self._count = crawl.count
        self._is_shadow = LAYER in settings.shadowing
        self._policy = request_policy(settings)
        self._domains = refused_domains(crawl.store, settings)
        self._asked: dict[str, set[bytes]] = {}
        """Pages that this run has asked for, of domains of which it asks for some."""
        self._before: Counter[str] = Counter()
        """How many an earlier part of this run asked for."""
        self._counted: Latest[bytes, None] = Latest(_MOST_COUNTED)
        self.refused: set[str] = set()
        """Domains of which some page was refused: what was not found there may be there all the same."""
        self._pages: list[RefusedPage] = []
        """Whose reasons are still to be written down."""
        self._decisions = 0
        self._loops = Loops()
        self._told = False
        if crawl.run.resumed and self._policy.low_quality == "sample":
            asked = crawl.store.urls_asked(crawl.run.id).items()
            self._before.update({name: urls for name, (urls, _) in asked if name in self._domains.low_quality})

    # Asking.

    def check(self, request: Request) -> None:
        """Let a request pass that is about to be sent, whoever made it.

        Raises:
            RefusedDomain: it is not sent.
        """
        if not (self._domains.blacklisted or self._domains.low_quality):
            return
        name = _domain_of(request.url, self._settings.domain_scope)
        why = self._refusal(request, name) if name is not None else None
        if name is None or (why is None and not self._is_sampled(request, name)):
            return
        if why is None:
            self._asked.setdefault(name, set()).add(page_key(request.url, self._rules))
        elif not self._note(request, name, why):
            raise RefusedDomain(name, why)

    def passes(self, request: Request) -> bool:
        """Say whether a request that a callback yields would be sent, so that the queue does not fill in vain."""
        if not (self._domains.blacklisted or self._domains.low_quality):
            return True
        name = _domain_of(request.url, self._settings.domain_scope)
        if name is None:
            return True
        why = self._refusal(request, name)
        # In the shadow it is counted when it is sent.
        return why is None or self._is_shadow or self._note(request, name, why)

    def _refusal(self, request: Request, name: str) -> DomainRefusal | None:
        at = datetime.now(UTC)
        policy = self._policy_of(request)
        asked = len(self._asked.get(name, ())) + self._before[name] if policy.low_quality == "sample" else 0
        why = judge_domain(name, self._domains, policy, requested=asked, at=at)
        if why is DomainRefusal.SAMPLED and (request.callback is NO_CALLBACK or self._goes_on(request, name)):
            return None
        return why

    def _policy_of(self, request: Request) -> RequestPolicy:
        """Return what holds for a request: it may choose its policy, but no request gets past a blacklist."""
        if META_KEY not in request.meta:
            return self._policy
        settings = with_request(self._settings, request)
        if settings is None or not settings.domain_enabled:
            return RequestPolicy()
        return request_policy(settings)

    def _is_sampled(self, request: Request, name: str) -> bool:
        """Say whether a request counts as a page of a sample."""
        if request.callback is NO_CALLBACK or name not in self._domains.low_quality:
            return False
        return self._policy_of(request).low_quality == "sample" and not self._goes_on(request, name)

    def _goes_on(self, request: Request, name: str) -> bool:
        """Say whether a request is for a page that was asked for, again or by a redirect."""
        asked = self._asked.get(name, set())
        return any(page_key(url, self._rules) in asked for url in (request.url, *redirected_from(request)))

    # Noting.

    def _note(self, request: Request, name: str, why: DomainRefusal) -> bool:
        """Count a refusal; say whether it is one in the shadow only."""
        if not self._is_shadow:
            self.refused.add(name)
        prefix = f"shadow/{LAYER}" if self._is_shadow else LAYER
        if request.callback is NO_CALLBACK:
            # robots.txt, media, style sheets.
            self._count(f"{prefix}/no_pages", 1)
            return self._is_shadow
        key = page_key(request.url, self._rules)
        if self._counted.meet(key):
            return self._is_shadow
        self._counted[key] = None
        self._count(f"{prefix}/requests" if self._is_shadow else f"{prefix}/dropped", 1)
        self._count(f"{prefix}/{why}", 1)
        if self._decisions < _MOST_DECISIONS:
            self._decisions += 1
            self._pages.append(RefusedPage(key, name, why, datetime.now(UTC), self._is_shadow))
        return self._is_shadow

    # The store.

    def watch(self) -> None:
        """Begin to write down why pages were refused, and to read anew now and then which domains are."""
        self._loops.every(REPORT_SECONDS, self._explain)
        if self._settings.domain_refresh:
            self._loops.every(self._settings.domain_refresh.total_seconds(), self._look_again)

    async def _look_again(self) -> None:
        try:
            self._domains = await run_in_thread(refused_domains, self._crawl.store, self._settings)
        except StoreError as error:
            self._failed("The blacklist cannot be read again, and stays as it was: %s", error)

    async def end(self) -> None:
        """Wait for what is under way, and write down the last reasons."""
        await self._loops.end()
        await self._explain()

    async def _explain(self) -> None:
        if not self._pages:
            return
        pages, self._pages = self._pages, []
        try:
            self._crawl.rows += await run_in_thread(refusal_records, self._crawl.store, pages, self._settings)
        except AwayStoreError:
            # There are no more of them than decisions are kept.
            self._pages = pages + self._pages
        except StoreError as error:
            self._failed("Why pages were refused cannot be written down: %s", error)

    def _failed(self, message: str, error: StoreError) -> None:
        self._count("store/errors", 1)
        if not self._told:
            self._told = True
            logger.warning(message, error)


def _domain_of(url: str, scope: Any) -> str | None:
    origin = _ORIGIN.match(url)
    return _domain_of_origin(origin[0], scope) if origin else None


@lru_cache(maxsize=4096)
def _domain_of_origin(origin: str, scope: Any) -> str | None:
    return extract_domain(f"{origin}/", scope)


_FUNCTION: Final = 'DEDUP_DOMAIN["confidence_function"]'


class DomainRegistry:
    """Confidences are written with the pages that they belong to: what a killed crawl had seen safe is not lost."""

    def __init__(self, crawl: Crawl) -> None:
        """Load what judges items; raises ConfidenceError."""
        self._crawl = crawl
        self._settings = crawl.settings
        self._confidences = Confidences(crawl.settings, crawl.count) if crawl.settings.domain_enabled else None
        self._met: set[str] = set()

    def met(self, domain: str | None) -> None:
        """Note that a domain was asked something, whatever came of it."""
        if domain:
            self._met.add(domain)

    def judged(self, item: Any, domain: str) -> ConfidenceRecord | None:
        """Return how good an item is that has passed all pipelines; None where nobody says so, or it is no new one.

        The domain of the URL which the item names goes before that of its page.
        """
        if self._confidences is None or isinstance(item, ChunkItem) or is_tombstone(item):
            return None
        confidence = self._confidences.of(item)
        if confidence is None:
            return None
        url = url_of(ItemAdapter(item), self._settings) if ItemAdapter.is_item(item) else None
        domain = (extract_domain(url, self._settings.domain_scope) if url else None) or domain
        if not domain:
            return None
        is_high = confidence >= self._settings.high_quality
        return ConfidenceRecord(domain, int(is_high), int(not is_high), confidence, confidence, datetime.now(UTC))

    def settle(self) -> None:
        """Write what is known of the run's domains; blocks, for the end of a crawl."""
        if self._confidences is None:
            return
        try:
            settle_run(self._crawl.store, self._met, self._settings, datetime.now(UTC), run_id=self._crawl.run.id)
        except StoreError as error:
            logger.warning("What is known of this run's domains is written by the next one: %s", error)


class ConfidenceError(DedupError):
    """DEDUP_DOMAIN["confidence_function"] names nothing that could be called."""


class Confidences:
    """Reads items. Whatever an item, or the function, gives instead of a number is counted, and warned of once."""

    def __init__(self, settings: Settings, count: Callable[[str, int], None]) -> None:
        """Load the function; raises ConfidenceError."""
        self._field = settings.confidence_field
        path = settings.confidence_function
        self._function = imported(path, _FUNCTION, "project.quality.confidence_of", ConfidenceError) if path else None
        self._count = count
        self._told = False

    def of(self, item: Any) -> float | None:
        """Return how good an item is, 0.0 to 1.0; None where nobody says so."""
        try:
            said = self._said(item)
            confidence = _number(said) if said is not None else None
        except Exception as error:  # noqa: BLE001 - whatever a user's function raises: the item is none the worse
            self._refuse(f"{type(error).__name__}: {error}")
            return None
        if said is not None and confidence is None:
            self._refuse(repr(said)[:100])
        return confidence

    def _said(self, item: Any) -> Any:
        if self._function is not None:
            return self._function(item)
        if not self._field or not ItemAdapter.is_item(item):
            return None
        said = value_of(ItemAdapter(item), self._field)
        return None if said == "" else said

    def _refuse(self, what: str) -> None:
        self._count("domain/confidence_errors", 1)
        if not self._told:
            self._told = True
            source = _FUNCTION if self._function is not None else f"The item field {self._field!r}"
            logger.warning("%s needs to give a number from 0.0 to 1.0, or None; it gave %s", source, what[:300])


def _number(said: Any) -> float | None:
    """Return a confidence, also one that is written as text; None where it is none."""
    if isinstance(said, bool):
        return None
    number = float(said)
    return number if math.isfinite(number) and 0 <= number <= 1 else None


class Site(Struct):
    """One domain."""

    versions: SiteVersions
    validators: ValidatorTrust = field(default_factory=ValidatorTrust)
    lastmod: LastmodTrust = field(default_factory=LastmodTrust)
    fetches: int = 0
    failures: int = 0
    """Fetches that gave neither a page nor its absence."""
    failed_sitemap: bool = False
    loaded: bool = False

    def count_whole(self, *, same_validators: bool) -> None:
        """Count a page that came whole and unchanged without having been asked for conditionally."""
        kept, renewed = self.validators.kept + same_validators, self.validators.renewed + (not same_validators)
        self.validators = replace(self.validators, kept=kept, renewed=renewed)

    def count(self, record: ValidatorRecord) -> None:
        """Add to the counts by which the site's word is judged."""
        validators, lastmod = self.validators, self.lastmod
        self.validators = replace(
            validators,
            sent=validators.sent + record.sent,
            not_modified=validators.not_modified + record.not_modified,
            equal=validators.equal + record.useless,
            lied=validators.lied + record.changed_304,
        )
        self.lastmod = replace(
            lastmod, right=lastmod.right + record.lastmod_right, wrong=lastmod.wrong + record.lastmod_wrong
        )


class Sites:
    """The domains of one crawl. A domain is asked about once, when a page of it turns out to be known."""

    def __init__(self, store: ProjectStore, policy: RepeatPolicy, count: Callable[[str, int], None]) -> None:
        self._store = store
        self._policy = policy
        self._count = count
        self._sites: dict[str, Site] = {}
        self._asking: dict[str, Deferred[None]] = {}
        """What fires when who asked last about a domain has its answer."""

    def of(self, domain: str) -> Site:
        """Return a domain as far as it is known."""
        site = self._sites.get(domain)
        if site is None:
            site = self._sites[domain] = Site(SiteVersions(self._policy))
        return site

    async def recalled(self, domain: str) -> Site:
        """Return a domain with what earlier crawls found out."""
        site = self.of(domain)
        if not site.loaded:
            async with Turn(self._asking, domain):
                site.loaded = site.loaded or await self._recall(site, domain)
        return site

    async def _recall(self, site: Site, domain: str) -> bool:
        """Take in what is stored; say whether there is nothing more to ask for."""
        try:
            blocks, counts = await run_in_thread(self._load, domain)
        except (StoreError, DamagedError) as error:
            self._count("store/errors", 1)
            if isinstance(error, AwayStoreError):
                # It says so at once; the next page asks again.
                return False
            logger.warning("What is known of %s cannot be read, and is found out anew: %s", domain, error)
            return True
        await result_of(site.versions.recall(blocks))
        earlier = ValidatorTrust(counts.sent, counts.not_modified, counts.useless, counts.changed_304)
        site.validators = earlier.halved()
        site.lastmod = LastmodTrust(counts.lastmod_right, counts.lastmod_wrong).halved()
        return True

    def complete(self, max_failures: float) -> list[str]:
        """Return the domains, in order, of which this crawl saw all: of their fetches at most such a share failed."""
        return sorted(
            domain
            for domain, site in self._sites.items()
            if domain and site.fetches and not site.failed_sitemap and site.failures <= max_failures * site.fetches
        )

    def incomplete(self) -> set[str]:
        """Return the domains of which a sitemap failed: they may have pages that nobody was told of."""
        return {domain for domain, site in self._sites.items() if site.failed_sitemap}

    def _load(self, domain: str) -> tuple[list[list[int]], ValidatorRecord]:
        packed = self._store.blocks_of_domain(domain, PAGES_COUNTED)
        return [unpack_fingerprints(blocks) for blocks in packed], self._store.validator_counts(domain)
