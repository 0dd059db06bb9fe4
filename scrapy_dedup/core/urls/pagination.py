"""Which part of a listing a URL asks for, and which parts may come next."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import gcd
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from scrapy_dedup.core.urls.normal_form import LOOSE_RULES, is_token, normalize_url, split_url, target_of

_DIGITS: Final = re.compile(r"[0-9]++")
_MONTH: Final = re.compile(
    r"(?<![a-z])(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])"
)
# "color-red", "size:m": one word and its value. "hello-world" is told apart by what such pages bring.
_PAIR: Final = re.compile(r"([a-z]{1,30})[-_:=,]([a-z0-9]{1,30})")
_MOST_STEPS: Final = 40
_MOST_NAMES: Final = 20
_MOST_CHARS: Final = 300
_PREFIXES: Final = 3


class UrlShape(NamedTuple):
    """What a URL is like."""

    host: str
    path: str
    names: tuple[str, ...] = ()
    """Of its parameters, sorted, each once, without those whose values are made up by a program."""
    repeats: bool = False
    """Steps of its path come again and again."""
    prefixes: tuple[str, ...] = ()
    """The folders that it stands in, masked, without the root; the outermost first."""

    @property
    def section(self) -> str:
        """The first step of its path."""
        return self.path.split("/", 2)[1]


@lru_cache(maxsize=8_192)
def shape_of(url: str) -> UrlShape | None:
    """Return what a URL is like; None for what is no http(s) URL."""
    parts = split_url(url)
    if parts is None:
        return None
    host = f"{parts.host}:{parts.port}" if parts.port else parts.host
    raw = parts.path.split("/")[1 : _MOST_STEPS + 1]
    # A session in the path is left out, as in a query; a number is not, nor what a path ends with.
    steps = [_masked(step) for step in raw[:-1] if step.isdigit() or not is_token(step)] + [_masked(raw[-1])]
    written = [step for step in parts.path.split("/") if step]
    repeats = len(written) - len(set(written)) > 1 or len(written) > _MOST_STEPS
    if repeats:
        steps = [*dict.fromkeys(step for step in steps if step), "..."]
    # What a program made up (a session) is no choice of anybody's.
    fields = [field.partition("=") for field in parts.query.split("&") if field]
    names = {name[:_MOST_CHARS] for name, _, value in fields if not is_token(value)}
    # A path of filters is a query in other words; its first step is never one.
    pairs = [pair[1] for step in steps[1:] if (pair := _PAIR.fullmatch(step))]
    if pairs:
        names.update(f"/{name}" for name in pairs)
        steps = [steps[0], *(step for step in steps[1:] if not _PAIR.fullmatch(step))]
    prefixes = ["/" + "/".join(steps[:count]) + "/" for count in range(1, min(len(steps), _PREFIXES + 1))]
    path = "/" + "/".join(steps)
    return UrlShape(host, path[:_MOST_CHARS], tuple(sorted(names)[:_MOST_NAMES]), repeats, tuple(prefixes))


def _masked(step: str) -> str:
    if is_token(step):
        return "@"
    return _MONTH.sub("#", _DIGITS.sub("#", step[:_MOST_CHARS].lower()))


_CLEAR_PAGE_NAMES: Final = frozenset(
    [
        *("page", "paged", "pagenum", "page_num", "pageno", "page_no", "pagenumber", "page_number", "currentpage"),
        *("cpage", "pagen_1", "seite", "pagina", "sida", "strona", "sayfa"),
    ]
)
_PAGE_NAMES: Final = _CLEAR_PAGE_NAMES | {"p", "pg", "side"}
_CLEAR_OFFSET_NAMES: Final = frozenset(["offset", "startat", "limitstart"])
_OFFSET_NAMES: Final = _CLEAR_OFFSET_NAMES | {"start", "skip", "from", "first"}
_SIZE_NAMES: Final = frozenset(
    ["limit", "per_page", "perpage", "pagesize", "page_size", "size", "count", "rows", "num"]
)
# "/blog/page/2", "/blog/2", "/blog/page-2.html", "/blog_seite2"; matches any path, the number is optional.
_PATH: Final = re.compile(
    r"(?P<place>.*?)"
    r"(?:(?:/|[/_-](?P<word>paged?|pg?|seite|pagina|sida|side|strona|sayfa)[/_.-]?)(?P<number>[0-9]{1,9}))?"
    r"(?:\.[a-z]{2,5})?\Z",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
# "/2026", "/2026/11", "/2026/11/22": the end of a path that is a date, and no part of anything.
_DATED: Final = re.compile(r"/(?:19|20)[0-9]{2}(?:/(?:0?[1-9]|1[0-2])(?:/[0-9]{1,2})?)?\Z")
_MOST_LINKS: Final = 2_000
_MOST_NEXT: Final = 2


class ListingPart(NamedTuple):
    """One part of a listing, as a URL asks for it."""

    place: str
    """The URL without what tells the part; equal for all parts of a listing."""
    number: int
    """As it stands in the URL: of a page, or of a first entry."""
    name: str
    """Of the parameter; empty where the number stands in the path."""
    is_offset: bool
    is_clear: bool
    """The name says that it is a part: "page", but not "p"."""


class PageLinks(NamedTuple):
    """What a page says of other parts."""

    hrefs: Sequence[str] = ()
    next_href: str | None = None
    """Of `rel=next`."""
    offsets: Sequence[int] = ()
    """Numbers of other parts of the same listing that the crawl has met."""


def is_page_one(target: str, url: str) -> bool:
    """Whether the target is the beginning of a listing of which the other URL is a later part.

    Both are valid http(s) URLs. Other parameters do not matter: part two in another order is not part one either.
    """
    place, number = _place_and_number(url)
    first_place, first_number = _place_and_number(target)
    return place == first_place and first_number <= 1 < number


def is_part_name(name: str) -> bool:
    """Say whether a parameter of this name tells the part of a listing."""
    last = _last_name(name)
    return last in _PAGE_NAMES or last in _OFFSET_NAMES


def is_clear_part_name(name: str) -> bool:
    """Say whether a parameter of this name tells the part of a listing, and nothing else: "page", but not "p"."""
    return _last_name(name) in _CLEAR_PAGE_NAMES | _CLEAR_OFFSET_NAMES


def listing_part(url: str) -> ListingPart | None:
    """Return the part of a listing that a URL asks for; None where it asks for none."""
    parts = split_url(url)
    if parts is None:
        return None
    fields = parts.query.split("&") if parts.query else []
    origin = f"{parts.scheme}://{parts.authority}"
    for field in fields:
        name, _, value = field.partition("=")
        if _NUMBER.fullmatch(value) and is_part_name(name):
            rest = "&".join(sorted(other for other in fields if other != field))
            place = f"{origin}{parts.path}?{rest}"
            return ListingPart(place, int(value), name, _last_name(name) in _OFFSET_NAMES, is_clear_part_name(name))
    path = parts.path.rstrip("/")
    match = _PATH.match(path)
    if match is None or not match["number"] or (not match["word"] and _DATED.search(path)):
        return None
    return ListingPart(
        f"{origin}{match['place'] or '/'}?{parts.query}", int(match["number"]), "", False, bool(match["word"])
    )


def next_parts(url: str, page: PageLinks) -> list[str]:
    """Return the URLs that may hold the next part of the listing on a page, best first, at most two.

    That is what `rel=next` names, as far as it stays on the host, and the number after the page's own: by one, or by
    the step that its links or its size show. What could be anything else ("?p=5", "/blog/5") counts as a number of a
    part only where the page links to other parts of the same listing.
    """
    if split_url(url) is None:
        return []
    found: dict[str, None] = {}
    named = target_of(page.next_href, url) if page.next_href else None
    if named is not None and _same_host(named, url) and normalize_url(named) != normalize_url(url):
        found[named] = None
    others = _linked_parts(url, page.hrefs)
    own = listing_part(url)
    if own is None:
        # The beginning of a listing names itself by its links to later parts.
        found.update(dict.fromkeys(_second_part(url, others)))
    elif own.is_clear or any(part.place == own.place for _, part in others):
        numbers = [part.number for _, part in others if part.place == own.place and part.name == own.name]
        step = _step(url, own, [*numbers, *page.offsets]) if own.is_offset else 1
        if step:
            found[_with_number(url, own, own.number + step)] = None
    return [one for one in found if one != url][:_MOST_NEXT]


def _second_part(url: str, others: Iterable[tuple[str, ListingPart]]) -> list[str]:
    base = normalize_url(url, LOOSE_RULES)
    begins = base.partition("?")[0].rstrip("/")
    query = sorted(urlsplit(base).query.split("&"))
    own = [
        (part.number, target)
        for target, part in others
        if part.number > 0
        and part.place.partition("?")[0].rstrip("/") == begins
        and sorted(part.place.partition("?")[2].split("&")) == query
    ]
    # Of a listing that counts from 0 the second part is 1; part 1 of any other is this page, and known.
    later = sorted(own)
    return [target for _, target in later[:_MOST_NEXT] if later]


def _linked_parts(url: str, hrefs: Iterable[str]) -> list[tuple[str, ListingPart]]:
    found = []
    for href, _ in zip(dict.fromkeys(hrefs), range(_MOST_LINKS), strict=False):
        target = target_of(href, url)
        if target is not None and _same_host(target, url) and (part := listing_part(target)) is not None:
            found.append((target, part))
    return found


def _step(url: str, own: ListingPart, numbers: Iterable[int]) -> int:
    """Return by how much an offset grows; 0 where nothing tells."""
    for field in urlsplit(url).query.split("&"):
        name, _, value = field.partition("=")
        if _last_name(name) in _SIZE_NAMES and _NUMBER.fullmatch(value) and int(value):
            return int(value)
    # Links to the first and the last part alone would show too large a step: what all have in common is the step.
    known = [abs(number - own.number) for number in numbers if number != own.number]
    # The first offset that is not 0 is one step.
    return gcd(*known) if known else own.number


def _with_number(url: str, part: ListingPart, number: int) -> str:
    parts = split_url(url)
    assert parts is not None
    path, fields = parts.path, parts.query.split("&") if parts.query else []
    if part.name:
        at = fields.index(next(one for one in fields if one.partition("=")[0] == part.name))
        fields[at] = f"{part.name}={number}"
    else:
        head, _, tail = path.rpartition(str(re.findall(r"[0-9]+", path)[-1]))
        path = f"{head}{number}{tail}"
    query = "&".join(fields)
    return f"{parts.scheme}://{parts.authority}{path}{'?' + query if query else ''}"


def _same_host(one: str, other: str) -> bool:
    return one.startswith(("http:", "https:")) and urlsplit(one).netloc.lower() == urlsplit(other).netloc.lower()


def _last_name(name: str) -> str:
    """Return the "page" of "filter[page]" and of "page[number]"."""
    steps = name.lower().replace("%5d", "").replace("]", "").replace("%5b", "[").split("[")
    return steps[-2] if len(steps) > 1 and steps[-1] == "number" else steps[-1]


def _place_and_number(url: str) -> tuple[str, int]:
    """Return the path of a listing, and the number of the part that the URL asks for: 1 where it names none.

    Sites that count pages from 0 ask for their second by "page=1"; that one is left to a comparison of contents.
    """
    parts = urlsplit(normalize_url(url, LOOSE_RULES))
    match = _PATH.match(parts.path)
    assert match is not None
    numbers = [int(match["number"] or 1)]
    for name, _, value in (each.partition("=") for each in parts.query.split("&")):
        last = name.lower().replace("%5d", "").rpartition("%5b")[2]
        if _NUMBER.fullmatch(value) and last in _PAGE_NAMES:
            numbers.append(int(value))
        elif _NUMBER.fullmatch(value) and last in _OFFSET_NAMES:
            numbers.append(int(value) + 1)
    return match["place"] or "/", max(numbers)
