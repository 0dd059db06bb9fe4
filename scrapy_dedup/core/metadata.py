"""Title, date and author of a page: what it declares, then what its layout is known for, then what a reader sees.

Nothing is guessed where evidence contradicts itself: no value is better than a wrong one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scrapy_dedup.core.blocks import Block, Page
from scrapy_dedup.core.locators import (
    LONGEST_LINE,
    LONGEST_TITLE,
    Clue,
    Evidence,
    Field,
    Locators,
    comparable,
    value_in,
)
from scrapy_dedup.core.metadata_dates import day_in_url, declared_day, placed_day, written_day
from scrapy_dedup.core.metadata_facts import Facts, is_heading, says_author, says_date
from scrapy_dedup.core.metadata_json_ld import names_of, values_of
from scrapy_dedup.core.metadata_people import byline_name, declared_names, is_byline, is_label
from scrapy_dedup.core.metadata_titles import folded, heading, part_with

__all__ = ["Evidence", "Metadata", "evidence_of", "metadata_of"]


@dataclass(frozen=True, slots=True)
class Metadata:
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
# Days of any kind, often of the last change: believed where a reader sees none.
_ANY_DATES: Final = ("dc.date", "dcterms.date", "date")
_AUTHORS: Final = tuple(
    "author citation_author dc.creator dcterms.creator parsely-author sailthru.author byl article:author "
    "og:article:author".split()
)
_BYLINE_LABELS: Final = frozenset(["written by", "by", "author", "posted by"])
# So many blocks of a page are tried as its title, its day or its author.
_MOST_SHOWN: Final = 12
# A page with more days than this is a list or a thread. A thread begins with its oldest post.
_DAYS_OF_ONE_PAGE: Final = 3
_NAMES_OF_ONE_PAGE: Final = 3
_CHANGED: Final = re.compile(r"updat|modif|edited|review|aktualisiert|geändert|mis à jour", re.IGNORECASE)
# Days of people, rights and offers.
_OTHER_DAYS: Final = re.compile(r"joined|registered|member|since|born|copyright|©|expire|deadline|until", re.IGNORECASE)


def metadata_of(page: Page, url: str | None, locators: Locators | None = None) -> Metadata:
    """Return title, date and author of a page, each with its source. Never raises.

    Args:
        page: what `parse_page` returned.
        url: the page's address; its host names the site, and its path may name the day.
        locators: what is known of the page's layout.
    """
    facts = Facts(page, url, locators)
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


_VISIBLE: Final = frozenset(["h1", "text", "byline", "time", "url", "title"])


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


def _title(facts: Facts) -> _Found | None:
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


def _date(facts: Facts, near: Sequence[Block]) -> _Found | None:
    for value in values_of(facts.things, "datePublished"):
        if day := declared_day(value):
            return day, "json-ld"
    if found := _day_of_metas(facts, _DATES):
        return found
    marked = [value for mark, value in facts.page.declared.marks if "date" in mark]
    if days := [day for value in marked if (day := declared_day(value))]:
        # Questions with answers, threads with posts: the first of all is the page's.
        return min(days, key=lambda day: day[:10]), "itemprop"
    if located := facts.located.get(Field.DATE):
        return located, "locator"
    if day := day_in_url(facts.url):
        return day, "url"
    seen, changed = _seen_days(near)
    return seen or _day_of_times(facts) or changed or _day_of_places(facts.page) or _day_of_metas(facts, _ANY_DATES)


def _day_of_metas(facts: Facts, names: Sequence[str]) -> _Found | None:
    for name in names:
        for value in facts.metas.get(name, ()):
            if day := declared_day(value):
                return day, name
    return None


def _day_of_times(facts: Facts) -> _Found | None:
    days = [
        day
        for when, text in facts.page.declared.times
        if not _CHANGED.search(text) and (day := declared_day(when) or written_day(text[:LONGEST_LINE]))
    ]
    return (days[0], "time") if days and not _is_of_list([day[:10] for day in days]) else None


def _seen_days(near: Sequence[Block]) -> tuple[_Found | None, _Found | None]:
    """Return the first day near the title, and the first that is called the day of a change."""
    published: list[str] = []
    changed: list[str] = []
    for block in near:
        if found := placed_day(block.text):
            before = block.text[: found[0]]
            if not _OTHER_DAYS.search(before):
                (changed if _CHANGED.search(before) else published).append(found[1])
    if _is_of_list(published):
        return None, None
    return (published[0], "text") if published else None, (changed[0], "text") if changed else None


def _is_of_list(days: Sequence[str]) -> bool:
    """Tell whether days are those of several pages: many, and the first is not the oldest, as it is in a thread."""
    return len(set(days)) > _DAYS_OF_ONE_PAGE and days[0] != min(days)


def _day_of_places(page: Page) -> _Found | None:
    """Return the day that stands in places named so; several are those of a list."""
    named = (block for block in page.blocks if len(block.text) <= LONGEST_LINE and says_date(block.path))
    days = {day for block in named if (day := written_day(block.text))}
    return (days.pop(), "text") if len(days) == 1 else None


def _author(facts: Facts, near: Sequence[Block]) -> _Found | None:
    for value in values_of(facts.things, "author"):
        if name := declared_names(names_of(value, facts.things)):
            return name, "json-ld"
    for meta in _AUTHORS:
        if name := declared_names(facts.metas.get(meta, ())):
            return name, meta
    label = facts.metas.get("twitter:label1", [""])[0].strip().lower()
    if label in _BYLINE_LABELS and (name := declared_names(facts.metas.get("twitter:data1", ()))):
        return name, "twitter:data1"
    for mark, value in facts.page.declared.marks:
        if "date" not in mark and (name := byline_name(value, is_marked=True)):
            return name, "rel" if mark == "rel" else "itemprop"
    if located := facts.located.get(Field.AUTHOR):
        return located, "locator"
    return _seen_author(near)


def _seen_author(near: Sequence[Block]) -> _Found | None:
    for is_marked in (True, False):
        names = dict.fromkeys(_bylines(near, is_marked=is_marked))
        if names:
            # Many bylines are those of a list, or of answers.
            return (next(iter(names)), "byline") if len(names) <= _NAMES_OF_ONE_PAGE else None
    return None


def _bylines(near: Sequence[Block], *, is_marked: bool) -> Iterator[str]:
    """Give the names in bylines: those whose place says so, or those that begin with "by"."""
    labelled = False
    for block in near:
        told = labelled or (is_marked and says_author(block.path))
        labelled = is_label(block.text)
        if (told or not is_marked) and not labelled and (name := byline_name(block.text, is_marked=told)):
            yield name
