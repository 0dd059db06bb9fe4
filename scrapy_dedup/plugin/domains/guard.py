"""The layer `domain`: nothing is asked of blacklisted domains, and of those of low quality what the policy allows."""

import logging
import re
from collections import Counter, OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_dedup.core.domains.states import DomainRefusal, RequestPolicy, judge_domain
from scrapy_dedup.core.urls.normal_form import UrlRules, extract_domain, page_key
from scrapy_dedup.plugin.crawl.overrides import META_KEY, with_request
from scrapy_dedup.plugin.crawl.request_meta import redirected_from
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.domains.registry import LAYER, RefusedPage, refusal_records, refused_domains, request_policy
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import AwayStoreError, StoreError

logger = logging.getLogger(__name__)

# The host alone decides: a path may be as long as it likes.
_ORIGIN = re.compile(r"https?://[^/?#]*", re.IGNORECASE)


class Bounds(NamedTuple):
    """How much a guard holds."""

    pages: int = 50_000
    """A page is counted once, also where a hundred menus link to it: of so many it is known that they were."""
    decisions: int = 1_000
    """Reasons that one run writes down."""


DEFAULT_BOUNDS: Final = Bounds()


class RefusedDomain(IgnoreRequest):
    """The request's domain is not asked."""

    def __init__(self, domain: str, why: DomainRefusal) -> None:
        super().__init__(f"dedup: domain: {domain[:300]}: {why}")


class DomainGuard:
    """Knows names alone; it is asked twice about a request: when a callback yields it, and before it is sent."""

    def __init__(
        self,
        crawl: Crawl,
        settings: Settings,
        rules: UrlRules,
        count: Callable[[str, int], None],
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> None:
        """Read which domains are refused; blocks, for the start of a crawl.

        Raises:
            StoreError: the store failed.
        """
        self._crawl = crawl
        self._settings = settings
        self._rules = rules
        self._count = count
        self._bounds = bounds
        self._is_shadow = settings.shadows(LAYER)
        self._policy = request_policy(settings)
        self._domains = refused_domains(crawl.store, settings)
        self._asked: dict[str, set[bytes]] = {}
        """Pages that this run has asked for, of domains of which it asks for some."""
        self._before: Counter[str] = Counter()
        """How many an earlier part of this run asked for."""
        self._counted: OrderedDict[bytes, None] = OrderedDict()
        self.refused: set[str] = set()
        """Domains of which some page was refused: what was not found there may be there all the same."""
        self._pages: list[RefusedPage] = []
        """Whose reasons are still to be written down."""
        self._decisions = 0
        self._reading: Deferred[None] | None = None
        self._explaining: Deferred[None] | None = None
        self._told = False
        if crawl.run.resumed and self._policy.low_quality == "sample":
            self._before.update(crawl.store.pages_requested(crawl.run.id, self._domains.low_quality))

    # Asking.

    def check(self, request: Request) -> None:
        """Let a request pass that is about to be sent, whoever made it.

        Raises:
            RefusedDomain: it is not sent.
        """
        if not self._domains:
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
        if not self._domains:
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
        if key in self._counted:
            self._counted.move_to_end(key)
            return self._is_shadow
        self._counted[key] = None
        if len(self._counted) > self._bounds.pages:
            self._counted.popitem(last=False)
        self._count(f"{prefix}/requests" if self._is_shadow else f"{prefix}/dropped", 1)
        self._count(f"{prefix}/{why}", 1)
        if self._decisions < self._bounds.decisions:
            self._decisions += 1
            self._pages.append(RefusedPage(key, name, why, datetime.now(UTC), self._is_shadow))
        return self._is_shadow

    # The store.

    def look_again(self) -> None:
        """Begin to read anew which domains are refused, unless that is under way."""
        if self._reading is None:
            self._reading = deferred_from_coro(self._look_again())

    async def _look_again(self) -> None:
        try:
            self._domains = await run_in_thread(refused_domains, self._crawl.store, self._settings)
        except StoreError as error:
            self._failed("The blacklist cannot be read again, and stays as it was: %s", error)
        finally:
            self._reading = None

    def explain(self) -> None:
        """Begin to write down why pages were refused, as far as that is still to be done."""
        if self._pages and self._explaining is None:
            self._explaining = deferred_from_coro(self._explain())

    async def end(self) -> None:
        """Wait for what is under way, and write down the last reasons."""
        for waiting in (self._reading, self._explaining):
            if waiting is not None:
                await maybe_deferred_to_future(waiting)
        await self._explain()

    async def _explain(self) -> None:
        pages, self._pages = self._pages, []
        try:
            self._crawl.rows += await run_in_thread(refusal_records, self._crawl.store, pages, self._settings)
        except AwayStoreError:
            # There are no more of them than decisions are kept.
            self._pages = pages + self._pages
        except StoreError as error:
            self._failed("Why pages were refused cannot be written down: %s", error)
        finally:
            self._explaining = None

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
