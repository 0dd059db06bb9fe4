"""What of a page's title and text a worker claims before the page goes out, and what a lost claim means for it."""

from collections.abc import Iterable

from msgspec.structs import replace

from scrapy_dedup.core.duplicates.matching import DUPLICATE, TITLE
from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.service.duplicates.comparison import PageComparison
from scrapy_dedup.service.duplicates.index import KnownDuplicates, asked_layers
from scrapy_dedup.service.duplicates.page_facts import PageFacts
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.page_records import ClaimKey, ClaimKind, ReleaseRecord, Twin
from scrapy_dedup.store.workers.claims import Lost


def claims_of(facts: PageFacts, found: KnownDuplicates, settings: Settings) -> list[ClaimKey]:
    """Return what decides whether a page goes out, as far as the store does not know it yet."""
    layers, keys = asked_layers(settings), []
    texts = {twin.text_hash for twin in found.answer.titles}
    if TITLE in layers and settings.acts(TITLE) and facts.title_key and len(texts) < settings.title_common:
        keys.append(_title(facts))
    if DUPLICATE in layers and settings.acts(DUPLICATE):
        keys.append(_text(facts, settings))
    return keys


def waits_for_title(facts: PageFacts, found: KnownDuplicates, lost: Lost, settings: Settings) -> bool:
    """Say whether another worker's page has the title, and its text, which decides, is not in the store yet."""
    if facts.title_key is None or settings.title_trust == "always":
        return False
    holder = lost.get(_title(facts))
    known = {twin.page_key for twin in found.answer.titles} | {facts.page_key}
    return holder is not None and holder != lost.get(_text(facts, settings)) and holder not in known


def with_holders(found: KnownDuplicates, facts: PageFacts, lost: Lost, settings: Settings) -> KnownDuplicates:
    """Return what the store answered, and what workers that were first have of a page.

    Their pages count as any that went out: what that means, the layers say.
    """
    texts, titles = [*found.answer.texts], [*found.answer.titles]
    text = lost.get(_text(facts, settings))
    title = lost.get(_title(facts)) if facts.title_key is not None else None
    if text is not None and text not in texts:
        texts.append(text)
    if title is not None and title not in {twin.page_key for twin in titles}:
        if title == text:
            titles.append(Twin(title, facts.text_hash, dropped=False))
        elif settings.title_trust == "always":
            # Some other text: which one does not matter.
            titles.append(Twin(title, b"", dropped=False))
    return replace(found, answer=replace(found.answer, texts=texts, titles=titles))


def not_needed(page_key: bytes, claims: Iterable[ClaimKey], comparison: PageComparison) -> list[ReleaseRecord]:
    """Return which of its claims a page gives back that is left out: those that the page in its place has not, too."""
    same = comparison.same
    if same is None or not comparison.dropped:
        return []
    kept = {ClaimKind.TITLE: same.layer == TITLE, ClaimKind.TEXT: same.jaccard == 1}
    return [ReleaseRecord(one, page_key) for one in claims if not kept[one.kind]]


def _title(facts: PageFacts) -> ClaimKey:
    assert facts.title_key is not None
    return ClaimKey(ClaimKind.TITLE, _digest(facts.domain, facts.title_key))


def _text(facts: PageFacts, settings: Settings) -> ClaimKey:
    scope = facts.domain if settings.near_duplicate_scope == "domain" else ""
    return ClaimKey(ClaimKind.TEXT, _digest(scope, facts.text_hash))


def _digest(scope: str, key: bytes) -> bytes:
    return parts_hash(scope.encode("utf-8", "surrogatepass"), key)
