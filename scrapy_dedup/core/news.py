"""Does a page bring anything that this crawl has not met? By its texts, whatever its address is."""

import re
from collections.abc import Iterable
from typing import Final

from scrapy_dedup.core.fingerprints import text_hash

# A title and a line; "Page 17 of 40", "Results 170 to 180" or the name of a month are less.
LEAST_LETTERS: Final = 24
# Of 16 bytes each, some 20 MB.
MOST_TEXTS: Final = 200_000
_TEXTS_OF_A_PAGE: Final = 5_000
_TEXT_CHARS: Final = 2_000
# A year, a date or a time: all numbers beside it go with it. Other numbers tell things apart: "Valve DN 25".
_DATED: Final = re.compile(r"(?<!\d)(?:19|20|21|22)\d\d(?!\d)|(?<!\d)\d{1,2}[./:-]\d{1,2}(?!\d)")
_DIGITS: Final = re.compile(r"\d+")
_NO_LETTERS: Final = re.compile(r"[\W\d_]+")


class SeenTexts:
    """What texts a crawl has met; beyond the most the oldest are forgotten, and are news again."""

    def __init__(self, most: int = MOST_TEXTS) -> None:
        self._most = most
        self._seen: dict[bytes, None] = {}

    def __len__(self) -> int:
        """Return how many are remembered."""
        return len(self._seen)

    def is_news(self, texts: Iterable[str]) -> bool:
        """Say whether a page's texts bring enough that was not met, and remember them.

        Args:
            texts: of its blocks, in order; dates and the numbers beside them do not count.
        """
        letters = 0
        for text, _ in zip(texts, range(_TEXTS_OF_A_PAGE), strict=False):
            some = text[:_TEXT_CHARS]
            masked = _DIGITS.sub("0", some) if _DATED.search(some) else some
            if self._is_new(text_hash(masked)):
                letters += len(_NO_LETTERS.sub("", masked))
        return letters >= LEAST_LETTERS

    def is_new_key(self, key: bytes) -> bool:
        """Say whether something that is known by a key was not met, and remember it."""
        return self._is_new(b"key " + key)

    def _is_new(self, key: bytes) -> bool:
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > self._most:
            del self._seen[next(iter(self._seen))]
        return True
