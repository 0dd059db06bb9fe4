"""Title, date and author of a page: what it declares, then what its layout is known for, then what a reader sees.

Nothing is guessed where evidence contradicts itself: no value is better than a wrong one.
"""

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from msgspec import Struct, field

from scrapy_dedup.core.locators import (
    LONGEST_LINE,
    LONGEST_TITLE,
    Clue,
    Evidence,
    Field,
    Locators,
    SiteNames,
    byline_name,
    comparable,
    day_in_url,
    declared_day,
    declared_names,
    folded,
    heading,
    is_byline,
    is_label,
    part_with,
    placed_day,
    squeezed,
    value_in,
    written_day,
)
from scrapy_dedup.core.pages.blocks import Block, Page

# A page with more days or names than this is a list or a thread. A thread begins with its oldest post.
_DAYS_OF_ONE_PAGE: Final = 2
_NAMES_OF_ONE_PAGE: Final = 3
_CHANGED: Final = re.compile(r"updat|modif|edited|review|aktualisiert|geändert|mis à jour", re.IGNORECASE)
_CHANGED_LABEL: Final = re.compile(
    r"(?:(?:last|page|was)\s+)*(?:updated|modified|edited|reviewed)(?:\s+on)?\s*:?", re.IGNORECASE
)
_PUBLISHED_WORD: Final = re.compile(r"publi(?:shed|é)|posted|veröffentlicht", re.IGNORECASE)
# Days of people, rights and offers.
_OTHER_DAYS: Final = re.compile(r"joined|registered|member|since|born|copyright|©|expire|deadline|until", re.IGNORECASE)

_SITE_NAMES: Final = ("og:site_name", "application-name", "apple-mobile-web-app-title")
# A byline stands this near to the title, before or after it.
_BLOCKS_BEFORE: Final = 6
_BLOCKS_AFTER: Final = 14
_MOST_HEADINGS: Final = 20
# Characters that a heading may have more than its words have: marks, quotes.
_TITLE_SLACK: Final = 12
# Words of classes, ids and tags, at the beginning of a word.
_HEADING_STEP: Final = re.compile(r">h[1-4](?:$|[>.#])|[.#_-]title(?:$|[>.#_-])", re.IGNORECASE)
_DATE_STEP: Final = re.compile(
    r"[.#_-](?:date(?:line|time)?|published|posted(?:-on)?|timestamp)(?:$|[.#>_-])", re.IGNORECASE
)
_AUTHOR_STEP: Final = re.compile(
    r"[.#_-](?:[a-z]*author|byline|by-line|written-by|writer|creator|poster|contributor)s?"
    r"(?:$|[.#>_-]|name|info|link)",
    re.IGNORECASE,
)

_CHANGED_STEP: Final = re.compile(
    r"[.#_-](?:last-?)?(?:updated?|modified|edited)(?:-?(?:date|at|on|time))?(?:$|[.#>_-])", re.IGNORECASE
)
# What others say on a page: quotes and comments, with days and names of their own.
_ASIDE_STEP: Final = re.compile(r">(?:blockquote|[^>]*[.#]comments?(?:-[a-z]+)?)(?:$|[.#>])", re.IGNORECASE)

# Far above what pages hold.
_MOST_OBJECTS: Final = 2_000
_MOST_NAMES: Final = 10
_POSTING: Final = re.compile(r"Article|Posting|Report|QAPage|Question|Recipe|Review")
_SITE: Final = re.compile(r"WebSite|Organization|Brand")

Thing = dict[str, Any]


def seen_days(near: Sequence[Block]) -> tuple[str | None, str | None]:
    """Return the first day near the title, and the first that is called the day of a change."""
    published: list[tuple[str, str]] = []
    changed: list[str] = []
    is_told_changed = False
    for block in near:
        if is_aside(block.path):
            continue
        if found := placed_day(block.text):
            before = block.text[: found[0]]
            if not _OTHER_DAYS.search(before):
                if is_told_changed or _CHANGED.search(before) or says_changed(block.path):
                    changed.append(found[1])
                else:
                    published.append((block.path, found[1]))
        is_told_changed = _CHANGED_LABEL.fullmatch(block.text.strip()) is not None
    if _is_of_list([day for _, day in published]) or _is_repeated(published):
        return None, None
    return (published[0][1] if published else None), (changed[0] if changed else None)


def day_of_times(page: Page, near: Sequence[Block]) -> str | None:
    """Return the day of a page's `time` elements; where they are those of a list, the one that is told published."""
    days = [
        (day, text)
        for when, text in page.declared.times
        if not _CHANGED.search(text) and (day := declared_day(when) or written_day(text[:LONGEST_LINE]))
    ]
    if not days:
        return None
    if not _is_of_list([day[:10] for day, _ in days]):
        return days[0][0]
    told = [block.text for block in near if _PUBLISHED_WORD.match(block.text)]
    return next((day for day, text in days if text and any(text in line for line in told)), None)


def day_of_places(page: Page) -> str | None:
    """Return the day that stands in places named so; several are those of a list."""
    named = (
        block
        for block in page.blocks
        if len(block.text) <= LONGEST_LINE
        and (says_date(block.path) or _PUBLISHED_WORD.match(block.text))
        and not is_aside(block.path)
    )
    days = {day for block in named if (day := written_day(block.text))}
    return days.pop() if len(days) == 1 else None


def marked_author(page: Page) -> tuple[str, str] | None:
    """Return the first name that is marked as the author's, and the mark; links to many authors are those of a list."""
    found = [
        (name, "rel" if mark == "rel" else "itemprop")
        for mark, value in page.declared.marks
        if "date" not in mark and (name := byline_name(value, is_marked=True))
    ]
    linked = {name for name, mark in found if mark == "rel"}
    return next(((n, mark) for n, mark in found if mark != "rel" or len(linked) <= _NAMES_OF_ONE_PAGE), None)


def seen_author(near: Sequence[Block]) -> str | None:
    """Return who is named in a byline near the title."""
    for is_marked in (True, False):
        found = list(_bylines(near, is_marked=is_marked))
        names = dict.fromkeys(name for name, _ in found)
        if names:
            # Many bylines are those of a list, or of answers.
            return None if len(names) > _NAMES_OF_ONE_PAGE or _has_titles_between(near, found) else next(iter(names))
    return None


def _bylines(near: Sequence[Block], *, is_marked: bool) -> Iterator[tuple[str, int]]:
    """Give the names in bylines, and where: those whose place says so, or those that begin with "by"."""
    labelled = False
    for at, block in enumerate(near):
        told = labelled or (is_marked and says_author(block.path))
        labelled = is_label(block.text)
        if is_aside(block.path):
            continue
        if (told or not is_marked) and not labelled and (name := byline_name(block.text, is_marked=told)):
            yield name, at


def _is_of_list(days: Sequence[str]) -> bool:
    """Tell whether days are those of several pages: many, and the first is not the oldest, as it is in a thread."""
    return len(set(days)) > _DAYS_OF_ONE_PAGE and days[0] != min(days)


def _is_repeated(found: Sequence[tuple[str, str]]) -> bool:
    """Tell whether the first day's place is that of other days, too, and younger than them: the entries of a list."""
    same = [day for path, day in found if path == found[0][0]]
    return len(set(same)) > 1 and same[0] != min(same)


def _has_titles_between(near: Sequence[Block], found: Sequence[tuple[str, int]]) -> bool:
    """Tell whether headings stand between bylines of the same place: each is that of another entry."""
    first, at = found[0]
    for name, other in found[1:]:
        if name != first and near[other].path == near[at].path:
            return any(is_heading(block.path) for block in near[at + 1 : other])
    return False


class DeclaredFacts:
    """A page's declarations, headings and located values."""

    def __init__(self, page: Page, url: str | None, locators: Locators | None) -> None:
        self.page = page
        self.url = url or ""
        self.things: list[Thing] = things_of(page.declared.json_ld)
        self.metas: dict[str, list[str]] = {}
        for name, value in page.declared.metas:
            self.metas.setdefault(name, []).append(value)
        declared = [value for name in _SITE_NAMES for value in self.metas.get(name, ())]
        self.site = SiteNames([*declared, *site_names_of(self.things)], url)
        self.headings = tuple(islice((block for block in page.blocks if _is_in_h1(block.path)), _MOST_HEADINGS))
        self.located = locators.values(page) if locators else {}

    def near(self, title: str | None) -> list[Block]:
        """Return the short blocks after the page's title, then those before it."""
        blocks = self.page.blocks
        at = self._place_of(title)
        if at is None:
            return []
        near = (*blocks[at + 1 : at + 1 + _BLOCKS_AFTER], *blocks[max(0, at - _BLOCKS_BEFORE) : at])
        return [block for block in near if len(block.text) <= LONGEST_LINE]

    def _place_of(self, title: str | None) -> int | None:
        """Return where the title stands: the heading with its words, else any block, else the first heading."""
        wanted = squeezed(title or "")
        most = len(title or "") + _TITLE_SLACK
        same = [
            at
            for at, block in enumerate(self.page.blocks)
            if len(wanted) <= len(block.text) <= most
            and _begins_alike(block.text, wanted)
            and squeezed(block.text) == wanted
        ]
        if same:
            return next((at for at in same if is_heading(self.page.blocks[at].path)), same[0])
        first = self.headings[0] if self.headings else None
        return next((at for at, block in enumerate(self.page.blocks) if block is first), None)


def _told_by(step: re.Pattern[str]) -> Callable[[str], bool]:
    """Return what tells whether a path has such a step; each path is looked at once."""
    return lru_cache(maxsize=8_192)(lambda path: step.search(path) is not None)


is_heading = _told_by(_HEADING_STEP)
"""Tells whether a path leads into a heading, or something called a title; the others, what its names say."""
says_author = _told_by(_AUTHOR_STEP)
says_date = _told_by(_DATE_STEP)
says_changed = _told_by(_CHANGED_STEP)
is_aside = _told_by(_ASIDE_STEP)


@lru_cache(maxsize=8_192)
def _is_in_h1(path: str) -> bool:
    return any(step == "h1" or step.startswith(("h1.", "h1#")) for step in path.split(">"))


def _begins_alike(text: str, wanted: str) -> bool:
    """Tell quickly whether a text can have the same words."""
    first = text[0].lower()
    return first == wanted[:1] or not first.isalnum()


def things_of(texts: Iterable[str]) -> list[Thing]:
    """Return every object in page order, breadth first; texts that are no JSON give none."""
    found: list[Thing] = []
    queue: deque[Any] = deque()
    for text in texts:
        try:
            queue.append(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            continue
    while queue and len(found) < _MOST_OBJECTS:
        value = queue.popleft()
        if isinstance(value, dict):
            found.append(value)
            queue.extend(inner for inner in value.values() if isinstance(inner, dict | list))
        elif isinstance(value, list):
            queue.extend(inner for inner in value[:_MOST_OBJECTS] if isinstance(inner, dict | list))
    return found


def values_of(things: list[Thing], key: str) -> Iterator[Any]:
    """Give the values of a key: those of articles and posts first, then those of anything else."""
    for wanted in (True, False):
        for thing in things:
            if key in thing and bool(_POSTING.search(type_of(thing))) is wanted:
                yield thing[key]


def names_of(value: object, things: list[Thing]) -> list[str]:
    """Return the names of a person or organisation, or of several; references are looked up."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [name for one in value[:_MOST_NAMES] if not isinstance(one, list) for name in names_of(one, things)]
    if not isinstance(value, dict):
        return []
    name = value.get("name")
    if name is None and "@id" in value:
        name = next((t["name"] for t in things if t.get("@id") == value["@id"] and "name" in t), None)
    if isinstance(name, list):
        name = next((one for one in name if isinstance(one, str)), None)
    return [name] if isinstance(name, str) else []


def site_names_of(things: list[Thing]) -> list[str]:
    """Return what sites and organisations are called."""
    return [thing["name"] for thing in things if _SITE.search(type_of(thing)) and isinstance(thing.get("name"), str)]


def type_of(thing: Thing) -> str:
    """Return the `@type`; several are joined by a blank."""
    kind = thing.get("@type")
    if isinstance(kind, list):
        return " ".join(one for one in kind if isinstance(one, str))
    return kind if isinstance(kind, str) else ""


class Metadata(Struct, frozen=True):
    """What is known of a page; None where it does not say."""

    title: str | None = None
    date: str | None = None
    """ISO 8601: the day of publication, with a time where the page declares one."""
    author: str | None = None
    """One name or several, joined by commas."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Field to where its value stood, such as "json-ld", "og:title", "h1", "locator"."""


_Found = tuple[str, str]
"""A value and its source."""

_TITLES: Final = ("og:title", "twitter:title", "dc.title", "citation_title")
# Names that several publishers' systems share; each means the day of publication.
_DATES: Final = tuple(
    "article:published_time article:published og:published_time og:article:published_time datepublished "
    "citation_publication_date citation_online_date dc.date.issued dcterms.issued dcterms.created dc.date.created "
    "parsely-pub-date sailthru.date publish-date publish_date publishdate publication_date published-date pubdate "
    "og:release_date release_date citation_date".split()
)
# What other names have in common that mean it, too.
_PUBLISHED: Final = re.compile(
    r"(?:publi(?:sh|cation)|posted|release|original|upload).{0,8}(?:date|time)|(?:date|time).{0,4}(?:publi|posted|original)"
    r"|pub[._-]?date"
)
_NOT_PUBLISHED: Final = re.compile(r"modif|updat|last|expir|valid|unpubl")
# Days of any kind, often of the last change: believed where a reader sees none.
_ANY_DATES: Final = ("dc.date", "dcterms.date", "date")
_AUTHORS: Final = tuple(
    "author citation_author dc.creator dcterms.creator parsely-author sailthru.author byl article:author "
    "og:article:author".split()
)
_BYLINE_LABELS: Final = frozenset(["written by", "by", "author", "posted by"])
# So many blocks of a page are tried as its title, its day or its author.
_MOST_SHOWN: Final = 12


def metadata_of(page: Page, url: str | None, locators: Locators | None = None) -> Metadata:
    """Return title, date and author of a page, each with its source. Never raises.

    The URL's host names the site, and its path may name the day; *locators* are those of the page's layout.
    """
    facts = DeclaredFacts(page, url, locators)
    title = _title(facts)
    near = facts.near(title[0] if title else None)
    found = {"title": title, "date": _date(facts, near), "author": _author(facts, near)}
    values = {name: value[0] for name, value in found.items() if value}
    return Metadata(
        values.get("title"),
        values.get("date"),
        values.get("author"),
        {name: value[1] for name, value in found.items() if value},
    )


_VISIBLE: Final = frozenset(["h1", "text", "byline", "time", "url", "title", "script"])


def evidence_of(page: Page, url: str | None = None) -> Evidence:
    """Return what a layout's locators are to be learned from, for `learn_locators`; small, and free of the page."""
    known = metadata_of(page, url)
    values = {Field.TITLE: known.title, Field.DATE: known.date, Field.AUTHOR: known.author}
    clues = []
    for wanted, value in values.items():
        if value is None:
            continue
        shown = dict.fromkeys(_shown(page, wanted))
        is_declared = known.sources[wanted] not in _VISIBLE
        clues.append(Clue(wanted, comparable(wanted, value), is_declared, tuple(shown)[:_MOST_SHOWN]))
    return tuple(clues)


def _shown(page: Page, wanted: Field) -> Iterator[tuple[str, str]]:
    for block in page.blocks:
        if len(block.text) > LONGEST_LINE or (wanted is Field.TITLE and not is_heading(block.path)):
            continue
        if wanted is Field.AUTHOR and not says_author(block.path) and not is_byline(block.text):
            continue
        if value := value_in(wanted, block.text):
            yield block.path, comparable(wanted, value)


def _title(facts: DeclaredFacts) -> _Found | None:
    declared = [(facts.page.title or "", "title")]
    declared += [(value, name) for name in _TITLES for value in facts.metas.get(name, ())[:1]]
    declared = [(title[:LONGEST_TITLE], name) for title, name in declared if title.strip()]
    seen = [
        text for block in facts.headings if (text := heading(block.text[:LONGEST_TITLE])) and not facts.site.has(text)
    ]
    for title, _ in declared:
        for text in seen:
            if _is_title_in(title, text):
                return text, "h1"
    if located := facts.located.get(Field.TITLE):
        return located, "locator"
    # What is made for sharing seldom carries the site's name.
    for title, name in sorted(declared, key=lambda found: found[1] == "title"):
        return facts.site.cut_off(title), name
    return (seen[0], "h1") if len(set(seen)) == 1 else None


def _is_title_in(title: str, text: str) -> bool:
    """Tell whether a heading is what a declared title says, and not only a word of it or the site's name behind it."""
    found = part_with(title, text)
    if found is None:
        return False
    part, is_last = found
    return not is_last and 2 * len(folded(text)) >= len(folded(part))


def _date(facts: DeclaredFacts, near: Sequence[Block]) -> _Found | None:
    for value in values_of(facts.things, "datePublished"):
        if day := declared_day(value):
            return day, "json-ld"
    if found := _day_of_metas(facts, _DATES) or _day_of_metas(facts, _publishing(facts.metas)):
        return found
    marked = [value for mark, value in facts.page.declared.marks if "date" in mark]
    if days := [day for value in marked if (day := declared_day(value))]:
        # Questions with answers, threads with posts: the first of all is the page's.
        return min(days, key=lambda day: day[:10]), "itemprop"
    if located := facts.located.get(Field.DATE):
        return located, "locator"
    if day := day_in_url(facts.url):
        return day, "url"
    return _seen_day(facts, near) or _day_of_metas(facts, _ANY_DATES)


def _seen_day(facts: DeclaredFacts, near: Sequence[Block]) -> _Found | None:
    """Return the day that a reader sees, or that a script of the page is told."""
    seen, changed = seen_days(near)
    if seen:
        return seen, "text"
    if day := day_of_times(facts.page, near):
        return day, "time"
    days = {day[:10]: day for value in facts.page.declared.days if (day := declared_day(value))}
    if len(days) == 1:
        return days.popitem()[1], "script"
    day = changed or day_of_places(facts.page)
    return (day, "text") if day else None


def _publishing(names: Iterable[str]) -> list[str]:
    return [name for name in names if _PUBLISHED.search(name) and not _NOT_PUBLISHED.search(name)]


def _day_of_metas(facts: DeclaredFacts, names: Sequence[str]) -> _Found | None:
    for name in names:
        for value in facts.metas.get(name, ()):
            if day := declared_day(value):
                return day, name
    return None


def _author(facts: DeclaredFacts, near: Sequence[Block]) -> _Found | None:
    for value in values_of(facts.things, "author"):
        if name := declared_names(names_of(value, facts.things)):
            return name, "json-ld"
    for meta in _AUTHORS:
        if meta in facts.metas and (name := declared_names(facts.metas[meta])):
            return name, meta
    label = facts.metas.get("twitter:label1", [""])[0].strip().lower()
    if label in _BYLINE_LABELS and (name := declared_names(facts.metas.get("twitter:data1", ()))):
        return name, "twitter:data1"
    if marked := marked_author(facts.page):
        return marked
    if located := facts.located.get(Field.AUTHOR):
        return located, "locator"
    name = seen_author(near)
    return (name, "byline") if name else None
