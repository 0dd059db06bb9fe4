"""What a page claims before it is fetched and before it goes out, and what a lost claim means for it."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from scrapy_dedup.core.likeness import DUPLICATE, TITLE
from scrapy_dedup.service.chunking import CHUNK
from scrapy_dedup.service.comparison import Comparison
from scrapy_dedup.service.others import Found, asked_layers
from scrapy_dedup.service.page_facts import Facts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store import claims
from scrapy_dedup.store.claim_records import (
    Claimant,
    ClaimChange,
    ClaimDoneRecord,
    ClaimKey,
    ClaimReleasedRecord,
    ClaimState,
    Holder,
    Kind,
    Wanted,
)
from scrapy_dedup.store.page_records import HOLDING, Twin
from scrapy_dedup.store.writer import ProjectStore

_KEY_BYTES: Final = 16
_RELEASED_AT_ONCE: Final = 5_000
Lost = Mapping[ClaimKey, Holder]
"""Who has what this worker wanted."""


def lost_of(found: Mapping[ClaimKey, Holder]) -> dict[ClaimKey, Holder]:
    """Return what other workers have."""
    return {key: holder for key, holder in found.items() if not holder.ours}


def won_of(wanted: Iterable[Wanted], found: Mapping[ClaimKey, Holder]) -> dict[ClaimKey, bytes]:
    """Return what is a page's own now, and its key: another page of the same worker may have the rest."""
    holders = {one.claim_key: found.get(one.claim_key) for one in wanted}
    owners = {one.claim_key: one.owner for one in wanted}
    return {
        key: owners[key]
        for key, holder in holders.items()
        if holder is None or (holder.ours and holder.owner == owners[key])
    }


def page_claim(page_key: bytes, callback: str, own_part: bytes = b"") -> ClaimKey:
    """Return the claim of a page for one callback: another reads something else from it.

    Args:
        page_key: of its URL.
        callback: its name.
        own_part: what else tells a request from others for the same page.
    """
    return ClaimKey(Kind.PAGE, _digest(page_key, callback.encode("utf-8", "surrogatepass"), own_part))


def document_claim(page_key: bytes) -> ClaimKey:
    """Return the claim of the page under which an item goes out."""
    return ClaimKey(Kind.DOCUMENT, page_key)


def _digest(*parts: bytes) -> bytes:
    hashed = hashlib.blake2b(digest_size=_KEY_BYTES)
    for part in parts:
        hashed.update(len(part).to_bytes(8, "little") + part)
    return hashed.digest()


def _title_claim(facts: Facts) -> ClaimKey:
    assert facts.title_key is not None
    return ClaimKey(Kind.TITLE, _digest(_named(facts.domain), facts.title_key))


def _text_claim(facts: Facts, settings: Settings) -> ClaimKey:
    scope = facts.domain if settings.near_duplicate_scope == "domain" else ""
    return ClaimKey(Kind.TEXT, _digest(_named(scope), facts.text_hash))


def _named(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def text_claims(facts: Facts, found: Found, settings: Settings) -> list[Wanted]:
    """Return what decides whether a page goes out, as far as the store does not know it yet."""
    layers, keys = asked_layers(settings), []
    texts = {twin.text_hash for twin in found.answer.titles}
    if TITLE in layers and settings.acts(TITLE) and facts.title_key and len(texts) < settings.title_common:
        keys.append(_title_claim(facts))
    if DUPLICATE in layers and settings.acts(DUPLICATE):
        keys.append(_text_claim(facts, settings))
    return [Wanted(*key, facts.page_key) for key in keys]


def chunk_claims(facts: Facts, found: Found, settings: Settings) -> list[Wanted]:
    """Return the chunks that a page gives unless another has them; of a page that goes out.

    Where several pages may hold a chunk no claim says how many do: there the store alone does.
    """
    if not settings.acts(CHUNK) or settings.chunk_min_documents > 1:
        return []
    given = {one.key for one in facts.chunks if one.layer is None and not found.answer.holders.get(one.key)}
    return [Wanted(Kind.CHUNK, key, facts.page_key) for key in sorted(given)]


def title_to_wait_for(facts: Facts, found: Found, lost: Lost, settings: Settings) -> bytes | None:
    """Return the page whose text decides, since it has the title and is not in the store yet; None: there is none."""
    if facts.title_key is None or settings.title_trust == "always":
        return None
    holder = lost.get(_title_claim(facts))
    if holder is None or holder.state is ClaimState.DONE or _same_owner(holder, lost.get(_text_claim(facts, settings))):
        return None
    known = {twin.page_key for twin in found.answer.titles}
    return None if holder.owner in known or holder.owner == facts.page_key else holder.owner


def _same_owner(one: Holder, other: Holder | None) -> bool:
    return other is not None and one.owner == other.owner


def with_holders(found: Found, facts: Facts, lost: Lost, settings: Settings) -> Found:
    """Return what the store answered, and what workers that were first have of a page.

    Their pages count as any that went out: what that means, the layers say.
    """
    if not lost:
        return found
    answer = found.answer
    texts, titles, holders = [*answer.texts], [*answer.titles], dict(answer.holders)
    text = lost.get(_text_claim(facts, settings))
    title = lost.get(_title_claim(facts)) if facts.title_key is not None else None
    if text is not None and text.owner not in texts:
        texts.append(text.owner)
    if title is not None and title.owner not in {twin.page_key for twin in titles}:
        if _same_owner(title, text):
            titles.append(Twin(title.owner, facts.text_hash, dropped=False))
        elif settings.title_trust == "always":
            # Some other text: which one does not matter.
            titles.append(Twin(title.owner, b"", dropped=False))
    for one in facts.chunks:
        chunk = lost.get(ClaimKey(Kind.CHUNK, one.key))
        if chunk is not None:
            holders[one.key] = [*holders.get(one.key, ()), chunk.owner]
    return replace(found, answer=replace(answer, texts=texts, titles=titles, holders=holders))


def done_records(held: dict[ClaimKey, bytes]) -> list[ClaimChange]:
    """Return what is written of claims whose page is done and safe; they are held no more."""
    done: list[ClaimChange] = [ClaimDoneRecord(*key, owner) for key, owner in held.items()]
    held.clear()
    return done


def failed_records(held: dict[ClaimKey, bytes]) -> list[ClaimChange]:
    """Return what is written of claims whose page failed: others may go out for it, and it was fetched all the same."""
    pages = {key: held.pop(key) for key in list(held) if key.kind is Kind.PAGE}
    released: list[ClaimChange] = [ClaimReleasedRecord(*key) for key in held]
    held.clear()
    return [*done_records(pages), *released]


def not_needed(held: Iterable[ClaimKey], comparison: Comparison) -> list[ClaimKey]:
    """Return which of the texts that a page has it does not use: it is left out, or some of its chunks are."""
    given = {one.key for one in comparison.chunks.chunks if one.state in HOLDING}
    unused = (Kind.TITLE, Kind.TEXT) if comparison.dropped else ()
    return [key for key in held if key.kind in unused or (key.kind is Kind.CHUNK and key.key not in given)]


def release_left(store: ProjectStore, claimant: Claimant) -> int:
    """Let go of pages that dead workers did not complete, in parts; return how many they were.

    Whoever gets their requests by another way claims them anew.
    """
    released = 0
    while True:
        with store.transaction(write=True) as connection:
            some = claims.release_left(connection, claimant, _RELEASED_AT_ONCE)
        released += some
        if some < _RELEASED_AT_ONCE:
            return released
