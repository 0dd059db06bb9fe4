"""Is a page still what it was? Two versions of its main text, under what is known of its site today, to a verdict."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from difflib import unified_diff as _unified_diff
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, takewhile
from operator import or_
from textwrap import dedent
from typing import Final, NamedTuple
from zlib import crc32

from msgspec import Struct

from scrapy_dedup.core.boilerplate.repeats import PageCounts, RepeatPolicy
from scrapy_dedup.core.pages.blocks import FILE, Block, Page, all_shown, picture, shown_in
from scrapy_dedup.core.pages.fingerprints import block_fingerprint
from scrapy_dedup.core.pages.render import kept_pictures
from scrapy_dedup.core.pages.tags import BODY, CURRENCY, Place, Tag, plain
from scrapy_dedup.core.urls.normal_form import is_token, without_trackers

TITLE: Final = "title"
"""Path of the parts of a page's title, where other passages have a DOM path."""
_LINKS: Final = "links"
"""Path of all that a page links to."""

# "Page | Site", "Page — Site 2.0.43 documentation": what the pages of a site share is a part of its own.
_TITLE_SEPARATOR: Final = re.compile(r"\s+[|\-\u2013\u2014\u00b7\u00bb:]\s+")
_HEADING: Final = re.compile(r">h[1-6][^>]*\Z")
# What documentation generators link headings with; they come and go with the generator's version.
_PERMALINK_SIGNS: Final = ("\u00b6", "#", "\u00a7", "\U0001f517")
# Letters of icon fonts have no meaning of their own.
_ICONS: Final = re.compile("[\ue000-\uf8ff]+")
_PREFORMATTED: Final = re.compile(r">pre(?:[.#>]|\Z)")

_INDENTED: Final = re.compile(r"(?:(?<=\n) | {2,})\S+")

_DATE_WORDS: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?|mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?"
    "|sat(?:urday)?|sun(?:day)?|am|pm"
)
_NUMBER: Final = re.compile(rf"\d++(?:[.,:/-]\d++)*+|\b(?:{_DATE_WORDS})\b", re.IGNORECASE)
_DIGIT: Final = re.compile(r"\d")
# What somebody pays or dials is a fact: a sign or code of a currency, two decimals, or seven digits in a row.
_PRICE_OR_PHONE: Final = re.compile(
    CURRENCY + r"|(?<![\d.,])\d++(?:[.,]\d{3})*+[.,]\d\d(?![.,]?\d)|(?:\d[ ()/.\u00a0-]{0,3}){7}", re.IGNORECASE
)
# Footers and bylines are shorter; numbers in prose mean something.
_MOST_FURNITURE_CHARS: Final = 300
_DATE_OR_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d\d(?::\d\d)?+|[12]\d{3}\b")


_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
# Ids of videos and of records have fewer.
_SHORTEST_MADE_UP: Final = 12


class Change(StrEnum):
    """Of what class the difference between two versions is, gravest first."""

    CONTENT = "content"
    NUMBERS = "numbers"  # nothing but numbers and dates: prices, phone numbers
    TITLE = "title"  # the title alone
    FILES = "files"  # pictures, files, addresses to write to or to call, what is struck out
    LINKS = "links"  # where links in the text lead
    VOLATILE = "volatile"  # what says of when the page is read: how long ago, how many looked at it
    BOILERPLATE_ONLY = "boilerplate_only"
    NONE = "none"


class Repeats(Struct, frozen=True):
    """What a site's pages share, in the old version and in today's: a redesign knows its own chrome only."""

    boilerplate: AbstractSet[int] = frozenset()
    links: AbstractSet[int] = frozenset()
    """Fingerprints that are on few pages for boilerplate, on many for links: entries of menus of one section."""


class Passage(NamedTuple):
    """A piece of main text, or what it shows beside its words."""

    path: str
    text: str
    is_link: bool = False
    """The whole text is a link."""
    code: str = ""
    """Of preformatted text, with a space between what inline elements divide, and the lines' indentation."""
    is_shown: bool = False
    """A picture, a file, an address, where a link leads, or what is struck out."""
    beside: str = ""
    """Of where a link leads: the text that it stands in."""
    is_shared: bool = False
    """Other pages have it, too, amid what the template of their layout keeps."""

    @property
    def is_target(self) -> bool:
        """Whether it is where a link leads."""
        return self.is_shown and self.beside != ""

    @property
    def kind(self) -> Change:
        """Of what class a difference is at most."""
        if not self.is_shown:
            return Change.CONTENT
        return Change.LINKS if self.is_target else Change.FILES

    @property
    def form(self) -> str:
        """What is compared: white space means nothing in HTML and is where versions of a generator differ.

        In code it counts between tokens, as far as a highlighter marks them.
        """
        return self.code or "".join(self.text.split())

    @property
    def masked(self) -> str:
        """The same whatever its numbers, dates and times are; of what is shown, whatever it is."""
        if self.is_shown:
            return self.text[:1]
        return _NUMBER.sub("#", self.code) if self.code else mask(self.text)

    @property
    def timeless(self) -> str:
        """What is compared, whatever it says of how long ago something was."""
        # Its expressions take 15 ms to compile, and a first crawl compares nothing.
        from scrapy_dedup.core.recrawl.elapsed import timeless  # noqa: PLC0415

        return self.form if self.code or self.is_shown else "".join(timeless(self.text).split())

    @property
    def number_key(self) -> int:
        """What stands for it whatever its numbers, dates and times are, or whatever is shown in its place."""
        return block_fingerprint(self.path, self.text[:1] if self.is_shown else mask(self.text))


class Frame(Struct, frozen=True):
    """What the template of a page's layout says of its blocks, one value each; nothing where it does not fit."""

    cards: Sequence[bool] = ()
    """Whether it stands where its site puts what is of other pages."""
    kept: Sequence[bool] = ()
    """Whether it is kept: where all pages have it, each says it; so does what stands amid it."""


NO_FRAME: Final = Frame()


class MainText(Struct, frozen=True):
    """What is left of a page when that which it shares with its site is gone."""

    title: tuple[Passage, ...] = ()
    passages: tuple[Passage, ...] = ()
    menus: frozenset[str] = frozenset()
    """Paths at which most links repeat on other pages."""
    furniture: frozenset[int] = frozenset()
    """Number keys of the boilerplate: with other numbers it is boilerplate, too."""
    rest: tuple[int, ...] = ()
    """Page keys of all that is not in *passages*, in order."""
    around: frozenset[str] = frozenset()
    """Paths of the elements that hold boilerplate."""
    said: frozenset[int] = frozenset()
    """Page keys of what the site repeats and each page says."""
    chrome: frozenset[int] = frozenset()
    """Page keys of what the site repeats and no page says; none of a page that is kept whole."""

    @property
    def words(self) -> tuple[Passage, ...]:
        """Its title and its passages of text."""
        return (*self.title, *(one for one in self.passages if not one.is_shown))


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
    """Return what stands for a page's blocks, in order, its title's parts, what it shows beside them, and its links.

    White space within code counts, and so does the case of letters: a page with the same keys is the same.
    """
    keys = [_exact(block.fingerprint, block.text) for block in page.blocks]
    keys += [text_key(TITLE, part) for part in title_parts(page.title)]
    keys += [text_key(path, text) for path, text in all_shown(page)]
    return [*keys, text_key(_LINKS, " ".join(map(page_linked, page.links)))]


def block_key(block: Block) -> int:
    """Return what stands for a block, with its letters and white space as they are."""
    return _exact(block.fingerprint, block.text)


def text_key(path: str, text: str) -> int:
    """Return what stands for a text with its letters as they are."""
    return _exact(block_fingerprint(path, text), text)


def _exact(fingerprint: int, text: str) -> int:
    return fingerprint ^ crc32(text.encode("utf-8", "surrogatepass"))


def title_parts(title: str | None) -> list[str]:
    """Return what separators divide a title into, white space folded."""
    folded = " ".join((title or "").split())
    return [part for part in _TITLE_SEPARATOR.split(folded) if part]


def main_text(page: Page, repeats: Repeats, frame: Frame = NO_FRAME) -> MainText:
    """Return what a page says: what its site does not repeat, and what stands amid what its template keeps.

    A page that would be left empty is kept whole: copies of one page repeat in all their blocks.
    """
    keys = [block_key(block) for block in page.blocks]
    cards, nothing = frame.cards or [False] * len(keys), [False] * len(keys)
    repeated = [key in repeats.boilerplate for key in keys]
    if all(map(or_, repeated, cards)):
        cards = nothing
    whole = all(repeated)
    headings = {_without_sign(block) for block in page.blocks if _HEADING.search(block.path)}
    headings.update(title_parts(page.title))
    chrome = _chrome(page.blocks, repeated, frame.kept or nothing)
    around = [
        Passage(block.path, block.text) for block, is_chrome in zip(page.blocks, chrome, strict=True) if is_chrome
    ]
    keep = [
        whole or not (in_card or is_chrome or _names_heading(block, headings))
        for block, is_chrome, in_card in zip(page.blocks, chrome, cards, strict=True)
    ]
    title = [(Passage(TITLE, part), text_key(TITLE, part)) for part in title_parts(page.title)]
    around += [part for part, key in title if key in repeats.boilerplate]
    rest = [key for key, kept in zip(keys, keep, strict=True) if not kept]
    said = frozenset(
        key for key, is_repeated, out in zip(keys, repeated, chrome, strict=True) if is_repeated and not out
    )
    return MainText(
        title=tuple(part for part, key in title if key not in repeats.boilerplate),
        passages=tuple(_kept(page, keep, cards, frozenset() if whole else repeats.boilerplate)),
        menus=frozenset() if whole else frozenset(_menus(page.blocks, keys, repeats.links)),
        furniture=number_keys(around),
        rest=tuple(rest),
        around=frozenset(_holder(one.path) for one in around if one.path != TITLE),
        said=said,
        chrome=frozenset(() if whole else (key for key in page_keys(page) if key in repeats.boilerplate)) - said,
    )


def _chrome(blocks: Sequence[Block], repeated: Sequence[bool], kept: Sequence[bool]) -> list[bool]:
    """Say of each block whether its site repeats it around the element that holds what is kept of the page's own."""
    own = [
        block.path
        for block, repeats, stays in zip(blocks, repeated, kept, strict=True)
        if stays and not (repeats or _is_link(block))
    ]
    container = _common_holder(own)
    return [
        repeats and (_is_link(block) or not (stays or (container and block.path.startswith(container))))
        for block, repeats, stays in zip(blocks, repeated, kept, strict=True)
    ]


def _kept(page: Page, keep: Sequence[bool], cards: Sequence[bool], boilerplate: AbstractSet[int]) -> Iterator[Passage]:
    """Yield the blocks that are kept, and after each what it shows; a picture between them goes with one of them."""
    pictures = kept_pictures(page, keep)
    here = BODY
    for step in page.walk.steps:
        if isinstance(step, Place):
            here = step
            continue
        found: Iterable[str] = ()
        path = here.path
        if isinstance(step, Tag):
            found = picture(step) if next(pictures) else ()
        else:
            block = page.blocks[step]
            path = block.path
            if keep[step]:
                is_shared = block_key(block) in boilerplate
                yield _passage(block, is_shared=is_shared)
                for target in () if is_shared else links_in(block):
                    yield Passage(path, target, _is_link(block), is_shown=True, beside=block.text)
            # Also of what repeats: each page's own file is behind the same "Download".
            if not cards[step]:
                found = shown_in(block)
        for text in found:
            if text_key(path, text) not in boilerplate:
                yield Passage(path, text, is_shown=True)


def links_in(block: Block) -> Iterator[str]:
    """Yield which pages a block links to, without what says no more than who asks; links to its own page left out."""
    if not block.link_chars:
        return
    for piece in block.pieces:
        if not isinstance(piece, str) and piece.name == "a" and not piece.closing:
            target = page_linked(dict(piece.attributes).get("href", ""))
            if target:
                yield f"\u2192{target}"


@lru_cache(maxsize=8_192)
def page_linked(href: str) -> str:
    """Return host and path of a link to a page, with its query as far as it may say which; empty for any other link.

    What programs make up for a visitor or a day (a session, a token of a form) is left out; numbers of pages stay.
    """
    start, _, query = without_trackers(href.strip()).partition("#")[0].partition("?")
    scheme = _SCHEME.match(start)
    if FILE.search(start) or (scheme and scheme[0].lower() not in ("http:", "https:")):
        return ""
    named = [
        one
        for one in query.split("&")
        if not (len(value := one.partition("=")[2]) >= _SHORTEST_MADE_UP and is_token(value) and not value.isdigit())
    ]
    path = start[scheme.end() :] if scheme else start
    return "?".join(part for part in (path, "&".join(named)) if part)


def same_blocks(old: Sequence[int], new: Sequence[int], ignoring: AbstractSet[int]) -> bool:
    """Whether two versions have the same `page_keys` in the same order; a quick answer before any parsing.

    True is certain; False is not: see `compare`. Two versions of which nothing is left are compared whole.
    """
    if old[-1:] != new[-1:]:
        return False
    ours, theirs = ([key for key in keys[:-1] if key not in ignoring] for keys in (old, new))
    return ours == theirs if ours or theirs else list(old) == list(new)


def number_keys(passages: Iterable[Passage]) -> frozenset[int]:
    """Return the number keys of those that have numbers which may come and go, and of all that is shown."""
    return frozenset(one.number_key for one in passages if one.is_shown or may_be_furniture(one.text))


def mask(text: str) -> str:
    """Return a text with numbers, names of months and of weekdays as `#`, without white space."""
    return "".join(_NUMBER.sub("#", text).split())


def may_be_furniture(text: str) -> bool:
    """Whether a text has numbers that are neither prices nor phone numbers, and is no prose."""
    if len(text) > _MOST_FURNITURE_CHARS or not _DIGIT.search(text):
        return False
    return not _PRICE_OR_PHONE.search(_DATE_OR_TIME.sub("", text))


def _passage(block: Block, *, is_shared: bool) -> Passage:
    code = ""
    if _PREFORMATTED.search(block.path):
        code = " ".join(" ".join(plain(piece) for piece in block.pieces if type(piece) is str).split())
        code += _indentation(block.text)
    return Passage(block.path, _without_sign(block), _is_link(block), code, is_shared=is_shared)


def _indentation(text: str) -> str:
    """Return what stands behind more than one space in code; where lines end means no more than a space."""
    return "".join(_INDENTED.findall(dedent(text.expandtabs())))


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


def _menus(blocks: Sequence[Block], keys: Iterable[int], repeated: AbstractSet[int]) -> Iterator[str]:
    links: Counter[str] = Counter()
    shared: Counter[str] = Counter()
    alone = [False, *map(_is_link, blocks), False]
    for place, (block, key) in enumerate(zip(blocks, keys, strict=True)):
        if alone[place + 1]:
            links[block.path] += 1
            # An entry of a list of pages has something to say of them.
            shared[block.path] += key in repeated and (alone[place] or alone[place + 2])
    return (path for path, count in links.items() if 2 * shared[path] > count)


class VerdictKind(StrEnum):
    """What is told of a page that was found."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class ChangePolicy(Struct, frozen=True):
    """What counts as changed."""

    classes: frozenset[Change] = frozenset({Change.CONTENT, Change.TITLE, Change.NUMBERS, Change.FILES, Change.LINKS})


DEFAULT_POLICY: Final = ChangePolicy()


class Verdict(Struct, frozen=True):
    """What became of a page, and why."""

    kind: VerdictKind
    change: Change
    reason: str


NEW: Final = Verdict(VerdictKind.NEW, Change.NONE, "seen for the first time")

# A design is another one when less than half of the text stands where it stood.
_SAME_DESIGN: Final = 0.5
# Text that both designs show is content; a little of it may be chrome that nobody knew.
_CONTENT_SHARE: Final = 0.98
# Passages from the first that differs to the last: of more it would take seconds to find how long ago something was.
_MOST_TIMELESS: Final = 1_000
# What a new frame may say around a page of next to no text.
_FRAME_CHARS: Final = 200
_EXCERPT_CHARS: Final = 80

_DIFF_LINES: Final = 1_000
_DIFF_LINE_CHARS: Final = 500
_DIFF_CHARS: Final = 20_000


def compare(
    old: MainText, new: MainText, policy: ChangePolicy = DEFAULT_POLICY, everywhere: AbstractSet[int] = frozenset()
) -> Verdict:
    """Return whether two versions of a page, both seen under today's knowledge, have the same main text.

    Order of words and case count, white space and its place in paragraphs do not.

    Args:
        old: the version that was seen last.
        new: today's.
        policy: which classes of change count.
        everywhere: page keys that all pages of today's site have so far, before there are enough of them to know what
            it repeats.
    """
    before, after = _differing(old, new, everywhere)
    titles = _trimmed(old.title, new.title)
    words, files, links = (_of(kind, before, after) for kind in (Change.CONTENT, Change.FILES, Change.LINKS))
    found = {_class_of(*words)}
    found |= {_class_of_shown(*shown, kind) for shown, kind in ((files, Change.FILES), (links, Change.LINKS))}
    of_title = _class_of(_without_furniture(titles[0], new), _without_furniture(titles[1], old))
    found.add(Change.TITLE if of_title in (Change.CONTENT, Change.NUMBERS) else of_title)
    if (old.passages, old.title, old.rest) != (new.passages, new.title, new.rest):
        found.add(Change.BOILERPLATE_ONLY)
    verdict = verdict_of(found, policy)
    if verdict.change in (Change.BOILERPLATE_ONLY, Change.NONE):
        return verdict
    differing = titles if verdict.change is Change.TITLE or not (before or after) else (before, after)
    if verdict.change in (Change.CONTENT, Change.NUMBERS, Change.FILES, Change.LINKS):
        differing = _trimmed(*{Change.FILES: files, Change.LINKS: links}.get(verdict.change, words))
    return Verdict(verdict.kind, verdict.change, verdict.reason + _first_difference(*differing))


def verdict_of(found: AbstractSet[Change], policy: ChangePolicy) -> Verdict:
    """Return what is told of a page in which these classes of change were found: the gravest that counts."""
    change = next(change for change in Change if change in (found & policy.classes or found))
    kind = VerdictKind.CHANGED if change in policy.classes else VerdictKind.UNCHANGED
    return Verdict(kind, change, _REASONS[change])


def unified_diff(old: MainText, new: MainText) -> str:
    """Return the changed passages as a unified diff; a line a passage, more for code and where it is long; bounded."""
    before, after = (
        [line[at : at + _DIFF_LINE_CHARS] for line in _lines(side) for at in range(0, len(line) or 1, _DIFF_LINE_CHARS)]
        for side in _differing(old, new)
    )
    lines = list(_unified_diff(before[:_DIFF_LINES], after[:_DIFF_LINES], "old", "new", n=0, lineterm=""))
    if len(before) > _DIFF_LINES or len(after) > _DIFF_LINES:
        lines.append("...")
    fitting = sum(1 for _ in takewhile(lambda chars: chars <= _DIFF_CHARS, accumulate(len(line) + 1 for line in lines)))
    return "\n".join(lines if fitting == len(lines) else [*lines[:fitting], "..."])


def _lines(passages: Sequence[Passage]) -> list[str]:
    return [line for one in passages for line in one.text.splitlines()]


def _differing(
    old: MainText, new: MainText, everywhere: AbstractSet[int] = frozenset()
) -> tuple[Sequence[Passage], Sequence[Passage]]:
    """Return what of both is compared, from the first passage that differs to the last; nothing where none does."""
    menus = old.menus | new.menus
    sides = []
    for side in (old, new):
        own = [one for one in side.passages if not (one.is_link and one.path in menus)]
        sides.append(own or list(side.passages))
    before, after = _trimmed(*sides)
    if (before or after) and _is_other_design(*sides):
        before, after = _trimmed(*_in_the_same_place(*sides))
    before, after = _without_furniture(before, new), _without_furniture(after, old)
    return _trimmed(before, _without_what_came_around(after, old, sides, everywhere) if after else after)


# Where a site puts what surrounds its content, unless it is part of that.
_SURROUNDS: Final = re.compile(r"body(?:>(?!main\b|article\b)[^>]*)*?>(?:footer|nav|header)\b[^>]*>")


def _without_what_came_around(
    after: Sequence[Passage], old: MainText, sides: Sequence[Sequence[Passage]], everywhere: AbstractSet[int]
) -> Sequence[Passage]:
    """Return what came without what a site puts beside its boilerplate, where no text of the page's own stands.

    That is known by where it stands, or by that all of today's pages have it. Prices and phone numbers are told: no
    page says whose they are.
    """
    forms = {one.form for one in sides[0] if not one.is_shown}
    own = [one.path for one in sides[1] if not one.is_shown and one.form in forms]
    container, replaced = _common_holder(own), {_holder(one.path) for one in sides[0]}

    def is_around(one: Passage) -> bool:
        holder = _holder(one.path)
        if not container or holder.startswith(container) or holder in replaced or holder not in old.around:
            return False
        text = one.beside if one.is_target else one.text
        if _PRICE_OR_PHONE.search(text):
            return False
        return text_key(one.path, text) in everywhere or _SURROUNDS.match(one.path) is not None

    return [one for one in after if (one.is_shown and not one.is_target) or not is_around(one)]


def _holder(path: str) -> str:
    """Return the path of the element around the one that has a path, with a final `>`."""
    return path.rpartition(">")[0] + ">"


def _common_holder(paths: Sequence[str]) -> str:
    """Return the deepest path, with a final `>`, below which all paths go on; "" for body, or where there is none."""
    steps = [path.split(">")[:-1] for path in (min(paths), max(paths))] if paths else [[], []]
    common = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(*steps, strict=False))]
    return ">".join(common) + ">" if len(common) > 1 else ""


def _trimmed(before: Sequence[Passage], after: Sequence[Passage]) -> tuple[Sequence[Passage], Sequence[Passage]]:
    start = _common_start(before, after)
    before, after = before[start:], after[start:]
    end = _common_start(before[::-1], after[::-1])
    return before[: len(before) - end], after[: len(after) - end]


def _common_start(before: Sequence[Passage], after: Sequence[Passage]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0].form == pair[1].form, zip(before, after, strict=False)))


def _without_furniture(passages: Sequence[Passage], other: MainText) -> Sequence[Passage]:
    """Return what is not the other version's boilerplate with other numbers: "© 2024" before all pages have it."""
    texts = (Passage(one.path, one.beside) if one.is_target else one for one in passages)
    return [one for one, text in zip(passages, texts, strict=True) if number_keys([text]).isdisjoint(other.furniture)]


def _class_of(before: Sequence[Passage], after: Sequence[Passage]) -> Change:
    if _joined(before) == _joined(after):
        return Change.NONE
    if _timeless(before) == _timeless(after):
        return Change.VOLATILE
    masked = ("".join(one.masked for one in side) for side in (before, after))
    return Change.NUMBERS if next(masked) == next(masked) else Change.CONTENT


def _class_of_shown(before: Sequence[Passage], after: Sequence[Passage], kind: Change) -> Change:
    found = _class_of(before, after)
    return kind if found in (Change.CONTENT, Change.NUMBERS) else found


def _of(kind: Change, *sides: Sequence[Passage]) -> tuple[list[Passage], list[Passage]]:
    """Return of both versions the passages of which a difference is of a kind; content stands for all words."""
    before, after = ([one for one in side if one.kind is kind] for side in sides)
    return before, after


def _joined(passages: Sequence[Passage]) -> str:
    return "".join(one.form for one in passages)


def _timeless(passages: Sequence[Passage]) -> str:
    is_short = len(passages) <= _MOST_TIMELESS
    return "".join(one.timeless if is_short else one.form for one in passages)


def _is_other_design(before: Sequence[Passage], after: Sequence[Passage]) -> bool:
    """Whether most text stands at paths that the other version does not have."""
    # Of what all pages say a class may say what it is, such as "Sold out".
    before, after = ([one for one in side if not (one.is_target or one.is_shared)] for side in (before, after))
    before_paths, after_paths = {one.path for one in before}, {one.path for one in after}
    return (
        _share_at(before, after_paths) < _SAME_DESIGN and _share_at(after, before_paths) < _SAME_DESIGN
    )  # fmt: skip


def _share_at(passages: Sequence[Passage], paths: AbstractSet[str]) -> float:
    chars = sum(len(one.text) for one in passages)
    return sum(len(one.text) for one in passages if one.path in paths) / chars if chars else 1.0


def _in_the_same_place(before: list[Passage], after: list[Passage]) -> tuple[list[Passage], list[Passage]]:
    """Return both versions without what stands outside the element that holds their common text.

    Content is what a redesign leaves alone; what stands around it is the old and the new design's.
    """
    common = {one.form for one in before if not one.is_target} & {one.form for one in after if not one.is_target}
    sides = []
    for side in (before, after):
        container = _container([one for one in side if one.form in common and not one.is_link])
        held = [one for one in side if f"{one.path}>".startswith(container)]
        # A heading that both versions have does not make the frame of a page of what stands below it.
        left_out = _chars(side) - _chars(held)
        sides.append(held if left_out <= max(_chars(held), _FRAME_CHARS) else side)
    return sides[0], sides[1]


def _chars(passages: Sequence[Passage]) -> int:
    return sum(len(one.text) for one in passages if not (one.is_link or one.is_target))


def _container(passages: Sequence[Passage]) -> str:
    """Return the deepest path, with a final `>`, below which nearly all text stands; "" where there is none."""
    chars: Counter[str] = Counter()
    for one in passages:
        steps = one.path.split(">")[:-1]
        for path in accumulate(f"{step}>" for step in steps):
            chars[path] += len(one.text)
    enough = _CONTENT_SHARE * sum(len(one.text) for one in passages)
    return max((path for path, held in chars.items() if held >= enough), key=lambda path: (len(path), path), default="")


_REASONS: Final = {
    Change.CONTENT: "main text differs",
    Change.NUMBERS: "main text differs in numbers alone",
    Change.TITLE: "title differs",
    Change.FILES: "what it shows beside its words differs",
    Change.LINKS: "where links lead differs",
    Change.VOLATILE: "nothing but what it says of when it is read differs",
    Change.BOILERPLATE_ONLY: "main text is the same, boilerplate differs",
    Change.NONE: "main text is the same",
}


def _first_difference(before: Sequence[Passage], after: Sequence[Passage]) -> str:
    """Return the first passages that differ, for people, from shortly before they do."""
    was, now = (side[0].text if side else "" for side in (before, after))
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, now, strict=False)))
    start = max(0, same - _EXCERPT_CHARS // 2)
    was, now = (text[start : start + _EXCERPT_CHARS] for text in (was, now))
    return f": {was!r} became {now!r}"
