"""Selectors that an element's start tag alone answers, those of what is no content on any site among them.

The walk through a page knows its tags, no tree is needed.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.tags import BODY, LONG_TAG, Place, name_and_attributes


class GenericSelector(NamedTuple):
    """A selector that holds on any site."""

    selector: str
    reason: str
    outside_content: bool = False
    """Within `main` and `article` it means something else, and there matches nothing."""


GENERIC_SELECTORS: Final[tuple[GenericSelector, ...]] = (
    # Elements and roles that HTML and ARIA made for what surrounds content.
    GenericSelector("nav", "HTML's element for ways through a site"),
    GenericSelector("header", "a page's head; within an article it is the article's own", outside_content=True),
    GenericSelector("footer", "a page's foot; within an article it may hold notes", outside_content=True),
    GenericSelector("aside", "beside the content; within an article it may be a note", outside_content=True),
    GenericSelector('[role="navigation"]', "ARIA's word for ways through a site"),
    GenericSelector('[role="banner"]', "ARIA's word for a site's head", outside_content=True),
    GenericSelector('[role="contentinfo"]', "ARIA's word for a site's foot"),
    GenericSelector('[role="complementary"]', "ARIA's word for what stands beside content", outside_content=True),
    GenericSelector('[role="search"]', "ARIA's word for a search form"),
    GenericSelector('[role="menu"], [role="menubar"]', "ARIA's words for menus of commands"),
    # Ways through a site, by the names that independent designs share.
    GenericSelector(".breadcrumb, .breadcrumbs", "the way to this page"),
    GenericSelector("#breadcrumb, #breadcrumbs", "the way to this page"),
    GenericSelector('[itemtype$="schema.org/BreadcrumbList"]', "the way to this page, as schema.org marks it"),
    GenericSelector(".navbar", "the bar of a site's menu"),
    GenericSelector(".main-menu, .mega-menu, .tb-megamenu", "a site's menu"),
    GenericSelector(".pagination, .pager", "the way to more pages of a list"),
    GenericSelector(".skip-link, .skip-to-content", "a way past the menu, for readers of screens"),
    GenericSelector(".sidebar", "a column beside the content"),
    GenericSelector("#sidebar", "a column beside the content"),
    GenericSelector(".widget-area", "WordPress's place for boxes beside the content"),
    GenericSelector(".site-header, #masthead", "a site's head", outside_content=True),
    GenericSelector(".site-footer, #colophon", "a site's foot"),
    # Consent, by the tools that ask for it.
    GenericSelector(".cookie-banner, .cookie-notice, .cookie-consent", "asks for consent"),
    GenericSelector("#cookie-banner, #cookie-notice, #cookie-law-info-bar", "asks for consent"),
    GenericSelector("#onetrust-consent-sdk, #CybotCookiebotDialog, .cc-window", "asks for consent: widespread tools"),
    GenericSelector(".eu-cookie-compliance-banner, #sliding-popup", "asks for consent: Drupal's module"),
    # What sites want of their readers.
    GenericSelector(".social-share, .share-buttons, .addtoany_share_save_container", "sends the page to others"),
    GenericSelector(".social-links, .social-icons", "leads to the site's accounts elsewhere"),
    GenericSelector(".newsletter-signup, .newsletter-form", "asks for an address"),
    GenericSelector(".search-form, #search-form", "searches the site"),
    GenericSelector(".print-link, .back-to-top", "works the page itself"),
    # What other pages say.
    GenericSelector(".related-posts, .jp-relatedposts", "titles of other articles"),
    GenericSelector(".advertisement, .adsbygoogle", "another's words"),
    GenericSelector(".language-switcher, .lang-switcher", "the same page in other languages"),
)


_NAME: Final = r"[A-Za-z_][\w-]*"
_SIMPLE: Final = re.compile(
    rf"""(?:(?P<tag>[a-z][a-z0-9]*)|\.(?P<cls>{_NAME})|#(?P<id>{_NAME})"""
    rf"""|\[(?P<attribute>{_NAME})(?P<ends>\$?)="(?P<value>[^"\\]+)"\])""",
    re.ASCII,
)
# As HTML divides the value of `class`.
_SPACE: Final = re.compile(r"[ \t\n\f\r]+")
_KNOWN: Final = 16_384

Marks = frozenset[int]
_NONE: Final[Marks] = frozenset()


class _Match(NamedTuple):
    marks: Marks
    """Places of the selectors that match."""
    in_doubt: bool
    """Whether a page that is read as those of the nineties are, names in any case, matches more."""


class TagSelectors:
    """Selectors of a tag, a class, an id, or an attribute's value or end; of each of them several, with commas."""

    def __init__(self, selectors: Sequence[str]) -> None:
        """Read selectors.

        Raises:
            ValueError: one needs more than a start tag.
        """
        self._tags: defaultdict[str, set[int]] = defaultdict(set)
        self._names: defaultdict[str, set[int]] = defaultdict(set)
        """By class and id, with "." and "#"."""
        self._values: list[tuple[str, str, bool, int]] = []
        for place, selector in enumerate(selectors):
            for part in selector.split(","):
                self._read(part.strip(), place)
        self._folded: defaultdict[str, set[int]] = defaultdict(set)
        for name, places in self._names.items():
            self._folded[name.lower()] |= places
        self._of_source = lru_cache(maxsize=_KNOWN)(self._match_source)

    def _read(self, part: str, place: int) -> None:
        found = _SIMPLE.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} needs more than a start tag")
        if found["tag"]:
            self._tags[found["tag"]].add(place)
        elif found["attribute"]:
            self._values.append((found["attribute"], found["value"], bool(found["ends"]), place))
        else:
            self._names[part].add(place)

    def marks(self, page: Page) -> list[Marks] | None:
        """Return for each block of a page the selectors that match an element around it, by their place.

        None where tags do not tell: the page may be read with names in any case, or not as it came.
        """
        if page.is_redrawn:
            return None
        around = [self._match(name, attributes) for name, attributes in page.around]
        if any(one.in_doubt for one in around):
            return None
        known: dict[Place, Marks] = {BODY: _NONE.union(*(one.marks for one in around))}
        found: list[Marks] = []
        here = BODY
        for step in page.walk.steps:
            if isinstance(step, Place):
                here = step
            elif isinstance(step, int):
                marks = known.get(here)
                if marks is None:
                    marks = self._around(here, known)
                    if marks is None:
                        return None
                found.append(marks)
        return found

    def _around(self, place: Place, known: dict[Place, Marks]) -> Marks | None:
        """Return what matches a place, or what it stands in, and note it of them all; None where that is in doubt."""
        unknown = []
        while place not in known:
            unknown.append(place)
            place = place.outer or BODY
        marks = known[place]
        for inner in reversed(unknown):
            one = self._of_source(inner.source) if len(inner.source) < LONG_TAG else self._match_source(inner.source)
            if one.in_doubt:
                return None
            marks = known[inner] = marks | one.marks if one.marks else marks
        return marks

    def _match_source(self, source: str) -> _Match:
        name, attributes = name_and_attributes(source)
        found = self._match(name, attributes)
        # A name that holds a quote: who reads on from there may read anything.
        is_odd = source.count('"') != 2 * len(attributes)
        return found._replace(in_doubt=True) if is_odd else found

    def _match(self, tag: str, attributes: Mapping[str, str]) -> _Match:
        marks = set(self._tags.get(tag, ()))
        in_doubt = False
        for name in _names(attributes):
            exact = self._names.get(name, set())
            marks |= exact
            in_doubt |= exact != self._folded.get(name.lower(), set())
        for attribute, value, only_end, place in self._values:
            there = attributes.get(attribute)
            if there is not None and (there.endswith(value) if only_end else there == value):
                marks.add(place)
        return _Match(frozenset(marks), in_doubt)


def _names(attributes: Mapping[str, str]) -> Iterator[str]:
    if classes := attributes.get("class"):
        yield from (f".{name}" for name in _SPACE.split(classes) if name)
    if called := attributes.get("id"):
        yield f"#{called}"
