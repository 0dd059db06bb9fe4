"""The main text of a page under what is known of its site today, in a form in which two versions can be compared."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from msgspec import Struct

from scrapy_dedup.core.boilerplate.repeats import PageCounts, RepeatPolicy
from scrapy_dedup.core.pages.blocks import Block, Page
from scrapy_dedup.core.pages.fingerprints import block_fingerprint
from scrapy_dedup.core.pages.tags import plain

TITLE: Final = "title"
"""Path of the parts of a page's title, where other passages have a DOM path."""

# "Page | Site", "Page — Site 2.0.43 documentation": what the pages of a site share is a part of its own.
_TITLE_SEPARATOR: Final = re.compile(r"\s+[|\-\u2013\u2014\u00b7\u00bb:]\s+")
_HEADING: Final = re.compile(r">h[1-6][^>]*\Z")
# What documentation generators link headings with; they come and go with the generator's version.
_PERMALINK_SIGNS: Final = ("\u00b6", "#", "\u00a7", "\U0001f517")
# Letters of icon fonts have no meaning of their own.
_ICONS: Final = re.compile("[\ue000-\uf8ff]+")
_PREFORMATTED: Final = re.compile(r">pre(?:[.#>]|\Z)")

_DATE_WORDS: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?|mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?"
    "|sat(?:urday)?|sun(?:day)?|am|pm"
)
_NUMBER: Final = re.compile(rf"\d++(?:[.,:/-]\d++)*+|\b(?:{_DATE_WORDS})\b", re.IGNORECASE)
_DIGIT: Final = re.compile(r"\d")
# What somebody pays or dials is never a counter: a sign or code of a currency, two decimals, or seven digits in a row.
_PRICE_OR_PHONE: Final = re.compile(
    r"[$\u00a2-\u00a5\u20a0-\u20cf]|\b(?:eur|usd|gbp|chf|jpy|cny|inr|sek|nok|dkk|pln|czk|huf|cad|aud|nzd|brl|kr|z\u0142)\b"
    r"|(?<![\d.,])\d++(?:[.,]\d{3})*+[.,]\d\d(?![.,]?\d)|(?:\d[ ()/.\u00a0-]{0,3}){7}",
    re.IGNORECASE,
)
# Footers and bylines are shorter; numbers in prose mean something.
_MOST_CHURNING_CHARS: Final = 300
_DATE_OR_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d\d(?::\d\d)?+|[12]\d{3}\b")


class Repeats(Struct, frozen=True):
    """What a site's pages share, in the old version and in today's: a redesign knows its own chrome only."""

    boilerplate: AbstractSet[int] = frozenset()
    links: AbstractSet[int] = frozenset()
    """Fingerprints that are on few pages for boilerplate, on many for links: entries of menus of one section."""


class Passage(NamedTuple):
    """A piece of main text."""

    path: str
    text: str
    is_link: bool = False
    """The whole text is a link."""
    code: str = ""
    """Of preformatted text, with a space between what inline elements divide."""

    @property
    def form(self) -> str:
        """What is compared: white space means nothing in HTML and is where versions of a generator differ.

        In code it counts between tokens, as far as a highlighter marks them.
        """
        return self.code or "".join(self.text.split())

    @property
    def masked(self) -> str:
        """The same whatever its numbers, dates and times are."""
        return _NUMBER.sub("#", self.code) if self.code else mask(self.text)


class MainText(Struct, frozen=True):
    """What is left of a page when that which it shares with its site is gone."""

    title: tuple[Passage, ...] = ()
    passages: tuple[Passage, ...] = ()
    menus: frozenset[str] = frozenset()
    """Paths at which most links repeat on other pages."""
    furniture: frozenset[int] = frozenset()
    """Number keys of the boilerplate: with other numbers it is boilerplate, too."""
    rest: tuple[int, ...] = ()
    """Fingerprints of all that is not in *passages*, in order."""


def repeats_of(versions: Iterable[PageCounts[int]], policy: RepeatPolicy | None = None) -> Repeats:
    """Return what repeats in any version of a site; count pages by `page_keys`."""
    policy = policy or RepeatPolicy()
    boilerplate: set[int] = set()
    links: set[int] = set()
    for version in versions:
        boilerplate.update(version.boilerplate(policy).counts)
        links.update(key for key, pages in version.counts.items() if pages >= policy.min_pages)
    return Repeats(frozenset(boilerplate), frozenset(links))


def page_keys(page: Page) -> list[int]:
    """Return the fingerprints of a page's blocks, in order, and after them those of its title's parts."""
    return page.fingerprints + [block_fingerprint(TITLE, part) for part in title_parts(page.title)]


def title_parts(title: str | None) -> list[str]:
    """Return what separators divide a title into, white space folded."""
    folded = " ".join((title or "").split())
    return [part for part in _TITLE_SEPARATOR.split(folded) if part]


def main_text(page: Page, repeats: Repeats) -> MainText:
    """Return what a page has that its site does not.

    A page that would be left empty is kept whole: copies of one page repeat in all their blocks.
    """
    shared = [(block.path, block.text) for block in page.blocks if block.fingerprint in repeats.boilerplate]
    own = [block for block in page.blocks if block.fingerprint not in repeats.boilerplate]
    whole = not own
    headings = {_without_sign(block) for block in page.blocks if _HEADING.search(block.path)}
    headings.update(title_parts(page.title))
    kept = page.blocks if whole else [block for block in own if not _names_heading(block, headings)]
    kept_keys = {id(block) for block in kept}
    others = [block for block in page.blocks if id(block) not in kept_keys]
    title = [(part, block_fingerprint(TITLE, part)) for part in title_parts(page.title)]
    shared += [(TITLE, part) for part, key in title if key in repeats.boilerplate]
    return MainText(
        title=tuple(Passage(TITLE, part) for part, key in title if key not in repeats.boilerplate),
        passages=tuple(_passage(block) for block in kept),
        menus=frozenset() if whole else frozenset(_menus(page.blocks, repeats.links)),
        furniture=number_keys(shared),
        rest=tuple(block.fingerprint for block in others),
    )


def same_blocks(old: Sequence[int], new: Sequence[int], ignoring: AbstractSet[int]) -> bool:
    """Whether two versions have the same `page_keys` in the same order; a quick answer before any parsing.

    True is certain, but for the case of letters; False is not: see `verdicts.compare`. Two versions of which nothing
    is left are compared whole.
    """
    ours, theirs = ([key for key in keys if key not in ignoring] for keys in (old, new))
    return ours == theirs if ours or theirs else list(old) == list(new)


def number_key(path: str, text: str) -> int:
    """Return what stands for a passage whatever its numbers, dates and times are."""
    return block_fingerprint(path, mask(text))


def number_keys(texts: Iterable[tuple[str, str]]) -> frozenset[int]:
    """Return the number keys of those (path, text) that have numbers which may come and go."""
    return frozenset(number_key(path, text) for path, text in texts if may_churn(text))


def mask(text: str) -> str:
    """Return a text with numbers, names of months and of weekdays as `#`, without white space."""
    return "".join(_NUMBER.sub("#", text).split())


def may_churn(text: str) -> bool:
    """Whether a text has numbers that are neither prices nor phone numbers, and is no prose."""
    if len(text) > _MOST_CHURNING_CHARS or not _DIGIT.search(text):
        return False
    return not _PRICE_OR_PHONE.search(_DATE_OR_TIME.sub("", text))


def _passage(block: Block) -> Passage:
    code = ""
    if _PREFORMATTED.search(block.path):
        code = " ".join(" ".join(plain(piece) for piece in block.pieces if type(piece) is str).split())
    return Passage(block.path, _without_sign(block), _is_link(block), code)


def _is_link(block: Block) -> bool:
    return 0 < len(block.text) <= block.link_chars + 1


def _without_sign(block: Block) -> str:
    """Return the text without the sign of a permanent link, which is a text of its own: "C#" keeps its sign."""
    text = _ICONS.sub("", block.text)
    if block.link_chars and text.endswith(_PERMALINK_SIGNS):
        last = next((piece for piece in reversed(block.pieces) if type(piece) is str and not piece.isspace()), "")
        if last.strip() in _PERMALINK_SIGNS:
            return text[:-1].rstrip()
    return text.rstrip()


def _names_heading(block: Block, headings: AbstractSet[str]) -> bool:
    """Whether a block says again what a heading or the title says: a line of contents, a title bar, a breadcrumb."""
    return block.text in headings and not _HEADING.search(block.path)


def _menus(blocks: Iterable[Block], repeated: AbstractSet[int]) -> Iterator[str]:
    links: Counter[str] = Counter()
    shared: Counter[str] = Counter()
    for block in blocks:
        if _is_link(block):
            links[block.path] += 1
            shared[block.path] += block.fingerprint in repeated
    return (path for path, count in links.items() if 2 * shared[path] > count)
