"""What a page says to crawlers: meta robots and the header X-Robots-Tag.

Source: RFC 9309 leaves both out; https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag is what
sites follow.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

# Directives that have a value of their own; before any other colon stands the name of one crawler.
_WITH_VALUE: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_MOST_CHARS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Directives:
    """What a page asks of every crawler."""

    noindex: bool = False
    """Its content is not to be kept."""
    nofollow: bool = False
    """Its links are not to be followed."""

    @property
    def names(self) -> list[str]:
        """The directives that are set."""
        return [name for name in ("noindex", "nofollow") if getattr(self, name)]


def read_directives(metas: Iterable[str] = (), headers: Iterable[str] = ()) -> Directives:
    """Return what is asked of all crawlers; what is asked of one by its name is for that one.

    Args:
        metas: contents of `meta name=robots`.
        headers: values of X-Robots-Tag.
    """
    words = {word for meta in metas for word in _words(meta)}
    for header in headers:
        first, colon, _ = header.partition(":")
        # "googlebot: noindex, nofollow"; but "noindex, unavailable_after: 25 Jun 2030" is for all.
        is_for_one = bool(colon) and "," not in first and first.strip().lower() not in _WITH_VALUE
        words.update(() if is_for_one else _words(header))
    everything = "none" in words
    return Directives(noindex=everything or "noindex" in words, nofollow=everything or "nofollow" in words)


def _words(text: str) -> list[str]:
    return [word.strip().lower() for word in text[:_MOST_CHARS].split(",")]
