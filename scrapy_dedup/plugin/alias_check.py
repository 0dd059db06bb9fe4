"""Whether a page is another address of one that went out: its canonical link, and what both contain."""

from collections.abc import Mapping

from scrapy.utils.asyncio import run_in_thread

from scrapy_dedup.core.canonical import Address, Alias, Own
from scrapy_dedup.core.fingerprints import pack, unpack
from scrapy_dedup.plugin.intake import Brought
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.service.aliases import Duplicate, agrees, sketch_of
from scrapy_dedup.service.drafts import Draft
from scrapy_dedup.service.learning import Learner
from scrapy_dedup.store.errors import StoreError


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
        alias = self._runtime.alias_of(brought.visit, draft)
        theirs, stands = None, False
        if isinstance(alias, Alias) and not draft.checked:
            stands = await self._was_left_out_for(draft, alias.target.page_key)
            theirs = await self._sketch_of_target(alias)
        # All items of a page share its fate; while this one waited, another may have decided it.
        if not draft.checked:
            draft.checked = True
            if isinstance(alias, Alias) and stands:
                self._stand(draft, alias.target)
            else:
                draft.duplicate = self._decide(draft, alias, theirs, learner)
        return draft.duplicate

    def _decide(
        self, draft: Draft, alias: Alias | Own, theirs: bytes | None, learner: Learner | None
    ) -> Duplicate | None:
        aliases = self._runtime.crawl.aliases
        stood_for = self._stood_for(draft, learner)
        if isinstance(alias, Own):
            return stood_for
        if stood_for is not None:
            # What it declares canonical is one more address of the page that went out.
            aliases.stand(alias.target.page_key, stood_for.document_key, draft.sketch)
            return stood_for
        return self._alias(draft, alias.target, theirs, learner)

    def _stood_for(self, draft: Draft, learner: Learner | None) -> Duplicate | None:
        """Compare a page with the aliases that went out for it before it came."""
        standing = self._runtime.crawl.aliases.standing
        key = self._agreeing(draft, standing.get(draft.page_key, {}), learner)
        if key is not None:
            return Duplicate("another address of this page went out before", key)
        # Whatever declares this page canonical is from now on compared with the page itself.
        standing.pop(draft.page_key, None)
        return None

    def _alias(self, draft: Draft, target: Address, theirs: bytes | None, learner: Learner | None) -> Duplicate | None:
        """Compare a page with the one that it declares canonical, and with what went out for that one."""
        crawl = self._runtime.crawl
        others = dict(crawl.aliases.standing.get(target.page_key, {}))
        if target.page_key in crawl.owners or theirs is not None:
            others[target.page_key] = theirs or b""
        key = self._agreeing(draft, others, learner)
        if key is not None:
            return Duplicate(f"canonical link to {target.url[:500]}", key)
        if target.page_key not in crawl.owners:
            self._stand(draft, target)
        return None

    def _stand(self, draft: Draft, target: Address) -> None:
        """Let a page go out for the one that it declares canonical."""
        self._runtime.crawl.aliases.stand(target.page_key, draft.page_key, draft.sketch)
        draft.canonical = target
        self._runtime.count("canonical/before_target")

    def _agreeing(self, draft: Draft, others: Mapping[bytes, bytes], learner: Learner | None) -> bytes | None:
        """Return the key of the first page that has this one's content."""
        for key, sketch in others.items():
            if key == draft.page_key:
                continue
            if sketch and self._agrees(unpack(draft.sketch), unpack(sketch), learner):
                return key
            self._runtime.count("canonical/disagreed")
        return None

    async def _was_left_out_for(self, draft: Draft, target: bytes) -> bool:
        """Say whether the page that one declares canonical was left out for it.

        Of a worker that was killed a page comes again, and others have decided by what that one gave.
        """
        crawl = self._runtime.crawl
        if crawl.run.worker is None:
            return False
        if crawl.others.keeper_of(target) == draft.page_key:
            return True
        try:
            stored = await run_in_thread(crawl.store.page, target)
        except StoreError:
            self._runtime.count("store/errors")
            return False
        url = stored.crawled_url if stored is not None else None
        return url is not None and url.run_id == crawl.run.id and url.document_key == draft.page_key

    async def _sketch_of_target(self, alias: Alias) -> bytes | None:
        """Return the sketch of a page that went out, in this run or before; None where nobody knows it any more."""
        key, recent = alias.target.page_key, self._runtime.crawl.aliases.recent
        try:
            # While the store was asked, it may have gone out.
            return recent.get(key) or await run_in_thread(self._stored_sketch, key) or recent.get(key)
        except StoreError:
            self._runtime.count("store/errors")
            return recent.get(key)

    def _stored_sketch(self, key: bytes) -> bytes | None:
        """Return the sketch of a page that is in work or was seen, and is not gone; blocks, so call it in a thread."""
        crawl = self._runtime.crawl
        stored = crawl.store.page(key)
        document = stored.document if stored else None
        if document is None:
            return None
        state = crawl.store.page_states([key]).get(key)
        if state is None:
            return document.sketch if document.run_id == crawl.run.id else None
        return None if state.gone_at is not None else document.sketch

    def _agrees(self, ours: frozenset[int], theirs: frozenset[int], learner: Learner | None) -> bool:
        often = learner.often(ours | theirs) if learner is not None else set()
        known = learner is not None and learner.known
        return agrees(ours, theirs, often, self._runtime.canonical_policy, known=known)
