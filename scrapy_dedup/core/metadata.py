"""Title, date and author of a page: what it declares, then what its layout is known for, then what a reader sees.

Nothing is guessed where evidence contradicts itself: no value is better than a wrong one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from scrapy_dedup.core.metadata_dates import day_in_url, declared_day
from scrapy_dedup.core.metadata_facts import Facts, is_heading, says_author
from scrapy_dedup.core.metadata_json_ld import names_of, values_of
from scrapy_dedup.core.metadata_people import declared_names, is_byline
from scrapy_dedup.core.metadata_seen import day_of_places, day_of_times, marked_author, seen_author, seen_days
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


def _seen_day(facts: Facts, near: Sequence[Block]) -> _Found | None:
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


def _day_of_metas(facts: Facts, names: Sequence[str]) -> _Found | None:
    for name in names:
        for value in facts.metas.get(name, ()):
            if day := declared_day(value):
                return day, name
    return None


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
    if marked := marked_author(facts.page):
        return marked
    if located := facts.located.get(Field.AUTHOR):
        return located, "locator"
    name = seen_author(near)
    return (name, "byline") if name else None
