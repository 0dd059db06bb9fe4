"""What a crawl knows of each domain beside its boilerplate: how its pages were, and what its word is worth."""

import logging
from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.core.boilerplate.repeats import RepeatPolicy
from scrapy_dedup.core.recrawl.plan import LastmodTrust, ValidatorTrust
from scrapy_dedup.service.recrawl.recrawling import PAGES_COUNTED, SiteVersions
from scrapy_dedup.store.engine.codec import unpack_fingerprints
from scrapy_dedup.store.engine.errors import AwayStoreError, DamagedError, StoreError
from scrapy_dedup.store.records.records import ValidatorRecord
from scrapy_dedup.store.writer import ProjectStore

logger = logging.getLogger(__name__)


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
        self._loading: dict[str, list[Deferred[None]]] = {}
        """Who waits for a domain's answer."""

    def of(self, domain: str) -> Site:
        """Return a domain as far as it is known."""
        site = self._sites.get(domain)
        if site is None:
            site = self._sites[domain] = Site(SiteVersions(self._policy))
        return site

    async def recalled(self, domain: str) -> Site:
        """Return a domain with what earlier crawls found out."""
        site = self.of(domain)
        if site.loaded:
            return site
        if domain in self._loading:
            answer: Deferred[None] = Deferred()
            self._loading[domain].append(answer)
            await maybe_deferred_to_future(answer)
            return site
        self._loading[domain] = []
        try:
            site.loaded = await self._recall(site, domain)
        finally:
            for waiting in self._loading.pop(domain):
                waiting.callback(None)
        return site

    async def _recall(self, site: Site, domain: str) -> bool:
        """Take in what is stored; say whether there is nothing more to ask for."""
        try:
            blocks, counts = await run_in_thread(self._load, domain)
        except AwayStoreError:
            # It says so at once; the next page asks again.
            self._count("store/errors", 1)
            return False
        except (StoreError, DamagedError) as error:
            self._count("store/errors", 1)
            logger.warning("What is known of %s cannot be read, and is found out anew: %s", domain, error)
            return True
        site.versions.recall(blocks)
        earlier = ValidatorTrust(counts.sent, counts.not_modified, counts.useless, counts.changed_304)
        site.validators = earlier.halved()
        site.lastmod = LastmodTrust(counts.lastmod_right, counts.lastmod_wrong).halved()
        return True

    def complete(self, max_failures: float) -> list[str]:
        """Return the domains of which this crawl saw what there is to see, in order.

        Args:
            max_failures: largest share of fetches that may have failed.
        """
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
