"""What a crawl knows of the site that it walks through: what was new, what leads nowhere, what means nothing."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct, field

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.resilience.parameters import Decided, ParameterTrials
from scrapy_dedup.core.resilience.traps import Mixtures, Novelty, Trap, TrapAnswer, Traps
from scrapy_dedup.core.urls.normal_form import (
    UrlRules,
    base_of,
    is_token,
    names_in,
    normalize_url,
    pages_linked,
    values_in,
    without,
)
from scrapy_dedup.core.urls.pagination import UrlShape, listing_part, shape_of

_ANCESTORS: Final = 2
_MOST_LINKS: Final = 2_000
_MOST_ELSEWHERE: Final = 500_000
_MOST_CHARS: Final = 200_000
_MOST_LINES: Final = 2_000
_DEEP: Final = 3
"""Steps of a path beyond which links further down are no news by themselves."""


class Lineage(NamedTuple):
    """How a request was found."""

    is_own_kind: bool = False
    """On pages of its own kind: a month of a calendar on another one."""
    hops: int = 0
    """How many pages without news, one behind the other, led to it."""
    kinds: tuple[str, ...] = ()
    """Of the pages that led to it, the last first."""

    def to_json(self) -> list[Any]:
        """Return it in a form that every queue keeps."""
        return [int(self.is_own_kind), self.hops, *self.kinds]

    @classmethod
    def from_json(cls, written: object) -> "Lineage":
        """Return what `to_json` wrote; nothing is known of anything else."""
        match written:
            case [int(own), int(hops), *kinds]:
                return cls(bool(own), hops, tuple(kind for kind in kinds if isinstance(kind, str))[:_ANCESTORS])
        return cls()


def descend(parent_url: str, parent: Lineage, url: str) -> Lineage:
    """Return how a link on a page was found."""
    shape, from_shape = shape_of(url), shape_of(parent_url)
    if shape is None or from_shape is None:
        return Lineage()
    kinds = (f"{from_shape.host}{from_shape.path}?{'&'.join(from_shape.names)}", *parent.kinds)[:_ANCESTORS]
    is_own = shape.repeats or any(_is_same_kind(shape, kind) for kind in kinds)
    # The days of a month that was found on another month; but what a listing lists is of another kind.
    inherits = (
        parent.is_own_kind
        and (shape.host, shape.section) == (from_shape.host, from_shape.section)
        and listing_part(parent_url) is None
    )
    return Lineage(is_own or inherits, kinds=kinds)


def _is_same_kind(shape: UrlShape, kind: str) -> bool:
    place, _, names = kind.partition("?")
    others = set(names.split("&")) - {""}
    own = set(shape.names)
    return place == shape.host + shape.path and (own <= others or others <= own)


class ExploredPage(NamedTuple):
    """What a page came to."""

    is_news: bool
    traps: tuple[Trap, ...] = ()
    decided: tuple[Decided, ...] = ()
    is_same: bool = False
    """It says just what another one said."""


class Explorer(Struct):
    """The state of one crawl."""

    traps: Traps
    rules: UrlRules
    parameters: ParameterTrials | None = None
    novelty: Novelty = field(default_factory=Novelty)
    mixtures: Mixtures = field(default_factory=Mixtures)
    _elsewhere: set[int] = field(default_factory=set)
    _met: set[int] = field(default_factory=set)
    """Pages that were judged."""

    def key(self, url: str) -> int:
        """Return the number that stands for a page here."""
        normal = normalize_url(url, self.rules).encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(normal, digest_size=8).digest(), "big")

    def is_elsewhere(self, url: str) -> bool:
        """Say whether pages of another kind lead to a page."""
        return self._loose_key(url) in self._elsewhere

    def pattern_url(self, url: str) -> str:
        """Return the URL by whose pattern a page is judged: steps of a path in any order are like parameters."""
        plain = self.plain(url)
        shape = shape_of(plain)
        is_mixed = shape is not None and not shape.repeats and self.mixtures.is_mixed(plain)
        return self.mixtures.as_parameters(plain) if is_mixed else plain

    def _loose_key(self, url: str) -> int:
        """Return the same for all values that a program made up: what they mean may not be known yet."""
        return self.key(without(url, [name for name in names_in(url) if all(map(is_token, values_in(url, (name,))))]))

    def plain(self, url: str) -> str:
        """Return a URL without what is known to mean nothing."""
        return url if self.rules.ignored is None else self.rules.ignored.without(url)

    def descend(self, parent_url: str, parent: Lineage, url: str, *, from_news: bool) -> Lineage:
        """Return how a link on a page was found, and note that something leads there."""
        plain = self.plain(url)
        lineage = descend(self.plain(parent_url), parent, plain)
        lineage = lineage._replace(hops=0 if from_news else parent.hops + 1)
        self.mixtures.meet(plain)
        if self.mixtures.is_mixed(plain):
            lineage = lineage._replace(is_own_kind=True)
        if not lineage.is_own_kind and len(self._elsewhere) < _MOST_ELSEWHERE:
            self._elsewhere.add(self._loose_key(url))
        return lineage

    def ask(self, url: str) -> TrapAnswer:
        """Return what is to become of a request."""
        return self.traps.ask(self.pattern_url(url), is_elsewhere=self.is_elsewhere(url))

    def saw(self, url: str, base_url: str, page: Page | None, lineage: Lineage) -> ExploredPage:
        """Judge a page that came; None stands for an error page or none at all.

        *url* was asked for, *base_url* answered; *lineage* is how it was found.
        """
        asked, url = url, self.plain(url)
        if page is None:
            return ExploredPage(False, tuple(self.traps.note(self.pattern_url(url), news=False)))
        texts = [block.text for block in page.blocks]
        targets = list(islice(pages_linked(page.links, base_of(base_url, page.base) or base_url), _MOST_LINKS))
        links = self._worth(url, targets, lineage)
        news = self.novelty.meet(texts, url, links, self._listing(url, targets))
        is_news = news.counts(strictly=lineage.is_own_kind and not self.is_elsewhere(url))
        decided = self.parameters.note(asked, texts) if self.parameters is not None else []
        # The page in other words is no evidence against pages of its kind.
        is_first = self._is_met_first(url)
        is_counted = is_news or is_first
        traps = self.traps.note(self.pattern_url(url), news=is_news, same=news.is_same) if is_counted else ()
        return ExploredPage(is_news, tuple(traps), tuple(decided), news.is_same)

    def _is_met_first(self, url: str) -> bool:
        key = self.key(url)
        if key in self._met:
            return False
        if len(self._met) < _MOST_ELSEWHERE:
            self._met.add(key)
        return True

    def saw_other(self, url: str, body: bytes | str, lineage: Lineage) -> ExploredPage:
        """Judge what is no page of HTML: a text by its lines, anything else by its bytes."""
        if isinstance(body, str):
            news = self.novelty.meet(body[:_MOST_CHARS].splitlines()[:_MOST_LINES], self.plain(url), (), ("", ()))
            is_news = news.counts(strictly=lineage.is_own_kind)
        else:
            news = self.novelty.meet([blake2b(body, digest_size=16).hexdigest()], "", (), ("", ()))
            is_news = news.texts > 0
        traps = self.traps.note(self.pattern_url(url), news=is_news, same=news.is_same)
        return ExploredPage(is_news, tuple(traps), is_same=news.is_same)

    def led_to(self, url: str, seen: ExploredPage) -> tuple[Trap, ...]:
        """Note that a URL was redirected to a page that was judged; return the traps that this makes known."""
        return tuple(self.traps.note(self.pattern_url(url), news=seen.is_news, same=seen.is_same))

    def _worth(self, url: str, targets: Iterable[str], lineage: Lineage) -> list[str]:
        """Return the paths that a page leads to, without those of its own kind and of kinds that brought nothing."""
        own = shape_of(url)
        if own is None:
            return []
        path = urlsplit(url).path.rstrip("/") + "/"
        is_deep = lineage.is_own_kind and path.count("/") > _DEEP
        found: dict[str, None] = {}
        for target in map(self.plain, targets):
            shape = shape_of(target)
            if shape is None or shape.host != own.host or shape.path == own.path or shape.repeats:
                continue
            steps = urlsplit(target).path
            if (is_deep and steps.startswith(path)) or self.traps.is_barren(target):
                continue
            normal = normalize_url(target, self.rules)
            found[_place(normal)] = None
            if self.traps.is_good(target):
                found[normal.partition("#")[0]] = None
        return list(found)

    def _listing(self, url: str, targets: Sequence[str]) -> tuple[str, list[str]]:
        """Return the listing that a page is a part of, and what that part lists."""
        part = listing_part(url)
        if part is None or not part.is_clear:
            return "", []
        # Whatever else the query says: filters show the same entries again.
        place = part.place.partition("?")[0]
        own = place.rstrip("/") + "/"
        listed = [one for one in targets if (_place(one).rstrip("/") + "/") != own and not self._is_part(one, place)]
        return place, [normalize_url(one, self.rules) for one in listed if not self.traps.is_barren(one)]

    def _is_part(self, url: str, place: str) -> bool:
        part = listing_part(url)
        return part is not None and part.place.partition("?")[0] == place


def _place(url: str) -> str:
    return url.partition("#")[0].partition("?")[0]
