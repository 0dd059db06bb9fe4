"""Whether another page stands for this one: by its title and its text, by its text alone, or by most of its text."""

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.duplicates.near import Shingles, resemblance

TITLE: Final = "title"
DUPLICATE: Final = "duplicate"
NEAR_DUPLICATE: Final = "near_duplicate"
LAYERS: Final = (TITLE, DUPLICATE, NEAR_DUPLICATE)
"""In the order in which they act."""

# Twelve words: pages with less to say, such as pictures with a caption, may well say the same and be others.
LEAST_SHINGLES: Final = 8


class DuplicatePolicy(Struct, frozen=True):
    """When two pages are one."""

    trusts_title: bool = False
    """A title that is not common is enough."""
    title_agreement: float = 0.8
    """Exact Jaccard similarity from which on the texts of two pages with one title agree."""
    title_common: int = 3
    """A title that so many different texts have says nothing."""
    near_at: float = 0.9
    """Exact Jaccard similarity from which on pages are near-duplicates."""


class Text(Struct, frozen=True):
    """A page's clean text, as far as it is compared."""

    page_key: bytes
    text_hash: bytes
    shingles: Shingles | None
    """None: its text is not kept, so that nothing but equality can be told."""
    same_title: bool = False


class Same(Struct, frozen=True):
    """Another page stands for this one."""

    layer: str
    keeper: bytes
    reason: str
    jaccard: float


def stands_for(
    own: Text, others: Sequence[Text], texts_with_title: int, policy: DuplicatePolicy, layers: Collection[str]
) -> Same | None:
    """Return which other page stands for this one, and by which layer; None: none does.

    Args:
        own: the page.
        others: that may; those that came earlier first.
        texts_with_title: different texts that pages with this title have, but for the page's own.
        policy: when two pages are one.
        layers: that are asked.
    """
    if TITLE in layers and texts_with_title < policy.title_common:
        found = _by_title(own, [other for other in others if other.same_title], policy)
        if found is not None:
            return found
    if own.shingles is None or len(own.shingles) < LEAST_SHINGLES:
        return None
    if DUPLICATE in layers:
        for other in others:
            if other.text_hash == own.text_hash:
                return Same(DUPLICATE, other.page_key, "the same text", 1.0)
    return _nearly(own, others, policy) if NEAR_DUPLICATE in layers else None


def _by_title(own: Text, others: Sequence[Text], policy: DuplicatePolicy) -> Same | None:
    for other in others:
        jaccard = _jaccard(own, other)
        is_long = own.shingles is not None and len(own.shingles) >= LEAST_SHINGLES
        if is_long and jaccard >= policy.title_agreement:
            return Same(TITLE, other.page_key, f"the same title, and texts alike by {jaccard:.3f}", jaccard)
        if policy.trusts_title:
            return Same(TITLE, other.page_key, "the same title, which is trusted", jaccard)
    return None


def _nearly(own: Text, others: Sequence[Text], policy: DuplicatePolicy) -> Same | None:
    """Return the page that is most alike; of equals the one with the smaller key."""
    alike = [(_jaccard(own, other), other.page_key) for other in others]
    enough = [pair for pair in alike if pair[0] >= policy.near_at]
    if not enough:
        return None
    jaccard, keeper = min(enough, key=lambda pair: (-pair[0], pair[1]))
    return Same(NEAR_DUPLICATE, keeper, f"texts alike by {jaccard:.3f}", jaccard)


def _jaccard(own: Text, other: Text) -> float:
    if own.text_hash == other.text_hash:
        return 1.0
    if own.shingles is None or other.shingles is None:
        return 0.0
    return resemblance(own.shingles, other.shingles)
