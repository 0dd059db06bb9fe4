"""A page beside its last version: what changed, and whether it leads somewhere new."""

import hashlib
from collections.abc import Callable

from scrapy.http import Response
from scrapy.utils.asyncio import run_in_thread

from scrapy_dedup.core.blocks import Page, Unparsed, parse_page
from scrapy_dedup.core.guard import ParseLimits
from scrapy_dedup.core.links import base_of, links_hash, pages_linked
from scrapy_dedup.core.passages import page_keys
from scrapy_dedup.core.urls import UrlRules, page_key
from scrapy_dedup.core.verdicts import NEW, Kind
from scrapy_dedup.plugin.sites import Site
from scrapy_dedup.service.policies import change_policy
from scrapy_dedup.service.recrawling import BACK, FIRST_VERSION, NOT_KEPT, OTHER_BYTES, SAME_BYTES, Judgement
from scrapy_dedup.service.versions import SAME_BLOCKS
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.codec import pack_fingerprints, unpack_fingerprints
from scrapy_dedup.store.errors import DamagedError, StoreError
from scrapy_dedup.store.records import BARE
from scrapy_dedup.store.stored_visits import StoredState
from scrapy_dedup.store.writer import ProjectStore

# Links that a callback was shown in this run need not be shown to it again; beyond so many they are.
_MOST_SHOWN = 100_000


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
