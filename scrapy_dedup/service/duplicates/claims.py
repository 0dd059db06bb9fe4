"""What of a page's title and text a worker claims before the page goes out, and what a lost claim means for it."""

from msgspec.structs import replace

from scrapy_dedup.core.duplicates.matching import DUPLICATE, TITLE
from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.service.duplicates.index import KnownDuplicates, asked_layers
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.page_records import ClaimKey, ClaimKind, Twin
from scrapy_dedup.store.workers.claims import Lost


def claims_of(facts: PageFacts, found: KnownDuplicates, settings: Settings) -> list[ClaimKey]:
    """Return what decides whether a page goes out, as far as the store does not know it yet."""
    layers, keys = asked_layers(settings), []
    texts = {twin.text_hash for twin in found.answer.titles}
    if TITLE in layers and settings.acts(TITLE) and facts.title_key and len(texts) < settings.title_common:
        keys.append(_title(facts))
    if DUPLICATE in layers and settings.acts(DUPLICATE):
        keys.append(text_claim(facts.domain, facts.text_hash, settings))
    return keys


def recalled_claims(domain: str, text_hash: bytes | None, settings: Settings) -> list[ClaimKey]:
    """Return what decides whether a page goes out that did not change."""
    is_asked = DUPLICATE in asked_layers(settings) and settings.acts(DUPLICATE)
    return [text_claim(domain, text_hash, settings)] if is_asked and text_hash is not None else []


def page_claim(page_key: bytes) -> ClaimKey:
    """Return by what is known what a page shows."""
    return ClaimKey(ClaimKind.PAGE, page_key)


def waits_for_title(facts: PageFacts, found: KnownDuplicates, lost: Lost, settings: Settings) -> bool:
    """Say whether another worker's page has the title, and its text, which decides, is not in the store yet."""
    if facts.title_key is None or settings.title_trust == "always":
        return False
    holder, text = lost.get(_title(facts)), lost.get(text_claim(facts.domain, facts.text_hash, settings))
    known = {twin.page_key for twin in found.answer.titles} | {facts.page_key}
    return holder is not None and holder != text and holder not in known


def with_holders(found: KnownDuplicates, facts: PageFacts, lost: Lost, settings: Settings) -> KnownDuplicates:
    """Return what the store answered, and what workers that were first have of a page.

    Their pages count as any that went out: what that means, the layers say.
    """
    text = lost.get(text_claim(facts.domain, facts.text_hash, settings))
    title = lost.get(_title(facts)) if facts.title_key is not None else None
    # Of an earlier crawl the store may say that a page was left out that goes out in this one.
    held = {page: facts.text_hash if page == text else None for page in (title, text) if page is not None}
    titles = [
        Twin(twin.page_key, held[twin.page_key] or twin.text_hash, dropped=False) if twin.page_key in held else twin
        for twin in found.answer.titles
    ]
    texts = [*found.answer.texts, *([text] if text is not None and text not in found.answer.texts else [])]
    if title is not None and title not in {twin.page_key for twin in titles}:
        if title == text:
            titles.append(Twin(title, facts.text_hash, dropped=False))
        elif settings.title_trust == "always":
            # Some other text: which one does not matter.
            titles.append(Twin(title, b"", dropped=False))
    return replace(found, answer=replace(found.answer, texts=texts, titles=titles))


def _title(facts: PageFacts) -> ClaimKey:
    assert facts.title_key is not None
    return ClaimKey(ClaimKind.TITLE, _digest(facts.domain, facts.title_key))


def text_claim(domain: str, text_hash: bytes, settings: Settings) -> ClaimKey:
    """Return by what a text is claimed."""
    scope = domain if settings.near_duplicate_scope == "domain" else ""
    return ClaimKey(ClaimKind.TEXT, _digest(scope, text_hash))


def _digest(scope: str, key: bytes) -> bytes:
    return parts_hash(scope.encode("utf-8", "surrogatepass"), key)
