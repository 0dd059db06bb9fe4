"""Which part of a listing a URL asks for."""

import re
from typing import Final
from urllib.parse import urlsplit

from scrapy_dedup.core.urls import LOOSE_RULES, normalize_url

_PAGE_NAMES: Final = frozenset(
    [
        *("page", "paged", "pagenum", "page_num", "pageno", "page_no", "pagenumber", "page_number", "currentpage"),
        *("cpage", "p", "pg", "pagen_1", "seite", "pagina", "sida", "side", "strona", "sayfa"),
    ]
)
_OFFSET_NAMES: Final = frozenset(["offset", "start", "startat", "limitstart", "skip", "from", "first"])
# "/blog/page/2", "/blog/2", "/blog/page-2.html", "/blog_seite2"; matches any path, the number is optional.
_PATH: Final = re.compile(
    r"(?P<place>.*?)"
    r"(?:(?:/|[/_-](?:paged?|pg?|seite|pagina|sida|side|strona|sayfa)[/_.-]?)(?P<number>[0-9]{1,9}))?"
    r"(?:\.[a-z]{2,5})?\Z",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER: Final = re.compile(r"[0-9]{1,9}")


def is_page_one(target: str, url: str) -> bool:
    """Whether the target is the beginning of a listing of which the other URL is a later part.

    Both are valid http(s) URLs. Other parameters do not matter: part two in another order is not part one either.
    """
    place, number = _place_and_number(url)
    first_place, first_number = _place_and_number(target)
    return place == first_place and first_number <= 1 < number


def _place_and_number(url: str) -> tuple[str, int]:
    """Return the path of a listing, and the number of the part that the URL asks for: 1 where it names none.

    Sites that count pages from 0 ask for their second by "page=1"; that one is left to a comparison of contents.
    """
    parts = urlsplit(normalize_url(url, LOOSE_RULES))
    match = _PATH.match(parts.path)
    assert match is not None
    numbers = [int(match["number"] or 1)]
    for name, _, value in (each.partition("=") for each in parts.query.split("&")):
        last = name.lower().replace("%5d", "").rpartition("%5b")[2]  # the "number" of "page[number]"
        if _NUMBER.fullmatch(value) and last in _PAGE_NAMES:
            numbers.append(int(value))
        elif _NUMBER.fullmatch(value) and last in _OFFSET_NAMES:
            numbers.append(int(value) + 1)
    return match["place"] or "/", max(numbers)
