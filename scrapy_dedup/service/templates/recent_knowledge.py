"""What is known of the domains that were asked for last, in memory: so much of it, however much each domain has."""

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge

# Of JSON, which is some 7 MB in memory once it is read: 8 million characters of 12 real sites were 52.
# Pages of one domain mostly stand together.
MOST_CHARS: Final = 1_000_000
# Of a domain that nothing is known of, beside its name.
_NOTHING: Final = 200


class _Held(Struct, frozen=True):
    knowledge: SiteKnowledge | None
    chars: int


class RecentKnowledge:
    """Reads what is known of a domain, unless it has it; for one thread."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        """Take how many characters of JSON the domains may have that are held; the last one is, whatever it has."""
        self._most_chars = most_chars
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._chars = 0

    def get(self, place: str, read: Callable[[], str | None]) -> SiteKnowledge | None:
        """Return what lies at a place, where it stays as it is.

        Args:
            place: one for each domain.
            read: gives the JSON that lies there; None: nothing does.
        """
        held = self._held.get(place)
        if held is None:
            text = read()
            known = SiteKnowledge.from_json(json.loads(text)) if text is not None else None
            held = _Held(known, len(place) + (len(text) if text is not None else _NOTHING))
            self._held[place] = held
            self._chars += held.chars
            self._let_go()
        self._held.move_to_end(place)
        return held.knowledge

    def _let_go(self) -> None:
        while self._chars > self._most_chars and len(self._held) > 1:
            _, oldest = self._held.popitem(last=False)
            self._chars -= oldest.chars
