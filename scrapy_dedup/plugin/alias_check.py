"""Whether a page is another address of one that went out: its canonical link, and what both contain."""

from dataclasses import dataclass

from scrapy.utils.asyncio import run_in_thread

from scrapy_dedup.core.canonical import Alias, Own
from scrapy_dedup.core.fingerprints import pack, unpack
from scrapy_dedup.plugin.intake import Brought
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.service.aliases import agrees, sketch_of
from scrapy_dedup.service.crawl import Draft
from scrapy_dedup.service.learning import Learner
from scrapy_dedup.store.errors import StoreError


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Why a page is dropped, and the key of the document that has its content."""

    reason: str
    document_key: bytes


class AliasCheck:
    """The `canonical` layer. In doubt a page stays."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def note(self, draft: Draft) -> None:
        """Remember what a page contains, before it may have to wait: its aliases wait with it."""
        if draft.page is not None and not draft.sketch:
            draft.sketch = pack(sketch_of(draft.page))
            self._runtime.crawl.aliases.remember(draft.page_key, draft.sketch)

    async def check(self, brought: Brought, learner: Learner | None) -> Duplicate | None:
        """Return why a page is a duplicate; where it is none, note under which address it goes out."""
        draft = brought.draft
        if draft.checked:
            return None
        draft.checked = True
        sketch = unpack(draft.sketch)
        alias = self._runtime.alias_of(brought.visit, draft)
        if isinstance(alias, Own):
            return self._stood_for(draft, sketch, learner)
        return await self._alias(draft, sketch, alias, learner)

    def _stood_for(self, draft: Draft, sketch: frozenset[int], learner: Learner | None) -> Duplicate | None:
        """Compare a page with the alias that went out for it before it came."""
        standing = self._runtime.crawl.aliases.standing.get(draft.page_key)
        if standing is None or standing[0] == draft.page_key:
            return None
        alias_key, theirs = standing
        if self._agrees(sketch, theirs, learner):
            return Duplicate("another address of this page went out before", alias_key)
        self._runtime.count("canonical/disagreed")
        return None

    async def _alias(
        self, draft: Draft, sketch: frozenset[int], alias: Alias, learner: Learner | None
    ) -> Duplicate | None:
        """Compare a page with the one that it declares canonical, or with what stands for that one."""
        crawl = self._runtime.crawl
        target = alias.target
        if target.page_key in crawl.owners:
            theirs = await self._sketch_of(target.page_key)
            document_key = target.page_key
        elif target.page_key in crawl.aliases.standing:
            document_key, theirs = crawl.aliases.standing[target.page_key]
        else:
            crawl.aliases.standing[target.page_key] = (draft.page_key, sketch)
            draft.canonical = target
            self._runtime.count("canonical/before_target")
            return None
        if document_key == draft.page_key:
            return None
        if theirs is not None and self._agrees(sketch, theirs, learner):
            return Duplicate(f"canonical link to {target.url[:500]}", document_key)
        self._runtime.count("canonical/disagreed")
        return None

    async def _sketch_of(self, key: bytes) -> frozenset[int] | None:
        """Return the sketch of a page that went out in this run; None where nobody knows it any more."""
        crawl = self._runtime.crawl
        packed = crawl.aliases.recent.get(key)
        if packed is None:
            try:
                found = await run_in_thread(crawl.store.documents_in_run, crawl.run.id, [key])
            except StoreError:
                self._runtime.count("store/errors")
                return None
            packed = found[key].sketch if key in found else crawl.aliases.recent.get(key)
        return unpack(packed) if packed else None

    def _agrees(self, ours: frozenset[int], theirs: frozenset[int], learner: Learner | None) -> bool:
        often = learner.often(ours | theirs) if learner is not None else set()
        known = learner is not None and learner.known
        return agrees(ours, theirs, often, self._runtime.canonical_policy, known=known)
