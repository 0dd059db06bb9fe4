"""Whether another worker of the run gives a page, before an item of it leaves."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from scrapy_dedup.plugin.claiming import Claims
from scrapy_dedup.plugin.intake import Brought
from scrapy_dedup.plugin.visits import Visit
from scrapy_dedup.service.aliases import Aliases, Duplicate
from scrapy_dedup.service.claims import (
    Lost,
    chunk_claims,
    document_claim,
    lost_of,
    not_needed,
    page_claim,
    text_claims,
    title_to_wait_for,
    with_holders,
    won_of,
)
from scrapy_dedup.service.drafts import Draft
from scrapy_dedup.service.others import Found
from scrapy_dedup.service.page_facts import Facts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.claim_records import ClaimKey, Wanted

# What a worker claims is in the store as soon as it has written, a second later.
_TICKS_BETWEEN_LOOKS: Final = 3
ELSEWHERE: Final = "another worker of this run has this page"

SketchOf = Callable[[bytes], Awaitable[bytes | None]]
Agrees = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Asks:
    """What the layers answer about one page."""

    again: Callable[[], Awaitable[Found]]
    """What the store knows by now."""
    drops: Callable[[Found], bool]
    """Whether the page is left out because of what is known."""


class ClaimCheck:
    """Claims the page under which an item goes out, and what is in it. In doubt a page stays."""

    def __init__(self, claims: Claims, aliases: Aliases) -> None:
        self._claims = claims
        self._aliases = aliases

    async def page(self, brought: Brought, sketch_of: SketchOf, agrees: Agrees, *, compares: bool) -> Duplicate | None:
        """Return why a page is left to another worker.

        Args:
            brought: the page; its first item claims for all.
            sketch_of: returns the blocks of a page that went out, once they are known.
            agrees: says whether these are the page's own.
            compares: the page is compared with its other addresses.
        """
        draft = brought.draft
        if draft.claimed or not brought.stands_for_page or brought.visit is None:
            return draft.duplicate
        lost = await self._claim(draft, brought.visit, self._wanted(brought, brought.visit, compares=compares))
        if any(key.kind is key.kind.PAGE for key in lost):
            duplicate: Duplicate | None = Duplicate(ELSEWHERE, draft.page_key, "url")
        else:
            duplicate = await self._alias(draft, brought.visit, lost, sketch_of, agrees)
        # While this item waited, another one of the page may have decided it.
        if not draft.claimed:
            draft.claimed, draft.duplicate = True, duplicate
        return draft.duplicate

    def _wanted(self, brought: Brought, visit: Visit, *, compares: bool) -> list[Wanted]:
        draft = brought.draft
        keys: list[ClaimKey] = []
        fetched = page_claim(visit.page_key, visit.callback)
        is_ours = self._claims.is_strict and fetched in visit.claims
        if brought.settings.acts("url") and not visit.unfiltered and not is_ours:
            keys.append(fetched)
        if compares and brought.settings.acts("canonical"):
            keys.append(document_claim(draft.page_key))
            if draft.canonical is not None:
                keys.append(document_claim(draft.canonical.page_key))
        return [Wanted(*key, draft.page_key) for key in keys]

    async def _claim(self, draft: Draft, visit: Visit | None, wanted: list[Wanted]) -> Lost:
        found = await self._claims.ask(wanted)
        held = visit.claims if visit is not None else draft.claims
        held |= won_of(wanted, found)
        return lost_of(found)

    async def _alias(
        self, draft: Draft, visit: Visit, lost: Lost, sketch_of: SketchOf, agrees: Agrees
    ) -> Duplicate | None:
        """Compare a page with those that other workers give under its address, or under the one that it names."""
        target = draft.canonical
        reasons = {document_claim(draft.page_key): "another address of this page went out before"}
        if target is not None:
            reasons[document_claim(target.page_key)] = f"canonical link to {target.url[:500]}"
        for key, reason in reasons.items():
            # The page itself, for another callback, reads something else from it.
            if key not in lost or lost[key].owner == draft.page_key:
                continue
            keeper = await self._standing(draft, visit, key, lost, sketch_of, agrees)
            if keeper is not None:
                self._stands_alone(draft)
                return Duplicate(reason, keeper)
        if target is not None and document_claim(target.page_key) not in visit.claims:
            self._stands_alone(draft)
        return None

    def _stands_alone(self, draft: Draft) -> None:
        """Let a page not stand for the one that it declares canonical."""
        if draft.canonical is not None:
            self._aliases.standing.get(draft.canonical.page_key, {}).pop(draft.page_key, None)
            draft.canonical = None

    async def _standing(
        self, draft: Draft, visit: Visit, key: ClaimKey, lost: Lost, sketch_of: SketchOf, agrees: Agrees
    ) -> bytes | None:
        """Return the page that goes out in place of this one; None where it has another content, or nobody knows."""
        since, now_lost = time.monotonic(), lost
        while key in now_lost:
            owner = now_lost[key].owner
            sketch = await sketch_of(owner)
            if sketch is not None:
                return owner if agrees(sketch) else None
            if now_lost[key].state is now_lost[key].state.DONE or self._claims.has_lease_passed(since):
                return None
            await self._pause()
            now_lost = await self._claim(draft, visit, [Wanted(*key, draft.page_key)])
        return None

    async def texts(
        self,
        draft: Draft,
        visit: Visit | None,
        facts: Facts,
        found: Found,
        asks: Asks,
        settings: Settings,
    ) -> Found:
        """Return what is known of a page's texts, with what other workers have of them; claim the rest."""
        if not self._claims.is_strict:
            # The store knows what others have within one write.
            return found
        since, wanted = time.monotonic(), text_claims(facts, found, settings)
        lost = await self._claim(draft, visit, wanted)
        while title_to_wait_for(facts, found, lost, settings) and not self._claims.has_lease_passed(since):
            await self._pause()
            found = await asks.again()
            lost = await self._claim(draft, visit, wanted)
        found = with_holders(found, facts, lost, settings)
        if asks.drops(found):
            return found
        # Only now: a chunk that a page has claimed and does not give would go out nowhere.
        lost = await self._claim(draft, visit, chunk_claims(facts, found, settings))
        return with_holders(found, facts, lost, settings)

    def release(self, draft: Draft, visit: Visit | None) -> None:
        """Give back what a page that was compared does not use."""
        held = visit.claims if visit is not None else draft.claims
        own = [key for key, owner in held.items() if owner == draft.page_key]
        if draft.comparison is not None and own:
            self._claims.release(held, not_needed(own, draft.comparison))

    async def _pause(self) -> None:
        for _ in range(_TICKS_BETWEEN_LOOKS):
            await self._claims.pause()
