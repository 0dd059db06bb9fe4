"""What of a page's title and text a worker claims before the page goes out, and what a lost claim means for it."""

from msgspec.structs import replace

from scrapy_dedup.core.duplicates.matching import DUPLICATE, TITLE
from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.service.duplicates.index import KnownDuplicates, asked_layers
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import ClaimKey, ClaimKind, Twin
from scrapy_dedup.store.workers import Lost


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


def with_holders(found: KnownDuplicates, facts: PageFacts, lost: Lost, settings: Settings) -> KnownDuplicates:
    """Return what the store answered, and what workers that were first have of a page.

    Whether the page that holds a title has its text, too, is told by what that one shows.
    """
    text = lost.get(text_claim(facts.domain, facts.text_hash, settings))
    title = lost.get(_title(facts)) if facts.title_key is not None else None
    # Of an earlier crawl the store may say that one was left out that goes out in this one.
    titles = [twin for twin in found.answer.titles if twin.page_key not in (title, text)]
    if title is not None:
        titles.append(Twin(title, facts.text_hash, dropped=False))
    texts = [*found.answer.texts]
    if text is not None and text not in texts:
        texts.append(text)
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
