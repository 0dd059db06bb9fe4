"""One page to its clean text, title, date and author, by what is known of its site, or by itself."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from functools import lru_cache
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.boilerplate.observations import observe, text_numbers
from scrapy_dedup.core.boilerplate.repeats import Removal, RemovalRule
from scrapy_dedup.core.boilerplate.verdict_model import learn
from scrapy_dedup.core.metadata import Metadata, metadata_of
from scrapy_dedup.core.pages.blocks import Block, Page, shown_in
from scrapy_dedup.core.pages.marking import marked_blocks
from scrapy_dedup.core.pages.tags import BODY, Place, Tag, plain
from scrapy_dedup.core.recrawl.verdicts import NO_FRAME, Frame, mask
from scrapy_dedup.core.templates.layouts import Skeleton, skeleton_of
from scrapy_dedup.core.templates.templates import MORE_CAUTION, Cut, Template, Why, cut, template_of
from scrapy_dedup.core.urls.normal_form import page_key, target_of
from scrapy_dedup.service.cut.cleaning import Cleaned, judged, without
from scrapy_dedup.service.cut.site_patterns import SitePatterns, patterns_of
from scrapy_dedup.service.model_file import verdict_model
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.service.templates.site_knowledge import REST, LayoutTemplate, Override, SiteKnowledge
from scrapy_dedup.settings import Settings

# Of a page's text on paths that the template knows; below, it was not made for such pages.
MIN_FIT: Final = 0.5

ROOT_LOST: Final = "content root lost"
UNKNOWN_PATHS: Final = "unknown paths"
NO_LAYOUT: Final = "no layout known"
NOTHING_LEFT: Final = "next to nothing left"
MOVED: Final = "surroundings elsewhere"
GONE: Final = "surroundings gone"
NEW_PATHS: Final = "new paths"
# Of the texts that surround the content: where so many stand elsewhere, the site was designed anew.
_MOVED: Final = 0.5
_GONE: Final = 0.5
# Of a page's text on paths that the template knows: below, it cuts the page, but the site may have changed.
_WELL_KNOWN: Final = 0.8
# Of a page's own text: no page is only its site's. By itself a page may show more of others than of its own.
_NEXT_TO_NOTHING: Final = 0.05
_NOTHING: Final = 0.01


class How(StrEnum):
    """What cut a page."""

    TEMPLATE = "template"
    FALLBACK = "fallback"
    WHOLE = "whole"


class SiteCut(Struct, frozen=True):
    """A page, cut."""

    cleaned: Cleaned
    metadata: Metadata
    how: How
    skeleton: Skeleton
    layout: int = REST
    misfit: str = ""
    """Why the template of the page's layout was not used."""
    doubt: str = ""
    """Why the site may have been designed anew, where it was used."""


def cut_page(
    html: str,
    page: Page,
    url: str,
    knowledge: SiteKnowledge | None,
    settings: Settings,
    patterns: SitePatterns | None = None,
) -> SiteCut:
    """Return a page without what its site repeats, and without what selectors and expressions name.

    The template of the page's layout cuts it, with more caution where that leaves next to nothing; where there is none
    that is live, or it does not fit, the page is judged by itself, by the model that made the templates. Never raises
    for any page.

    *knowledge* is that of its site, None for nothing; *patterns* None: those of the settings alone.

    Raises:
        PatternError: no patterns are given, and those of the settings cannot be used.
    """
    patterns = patterns or patterns_of(settings)
    layout, chosen, skeleton = REST, None, skeleton_of(page)
    if knowledge is not None:
        layout = knowledge.layout_of(skeleton)
        chosen = knowledge.template_for(layout, url)
    misfit = "" if knowledge is None or not knowledge.templates else NO_LAYOUT
    if chosen is not None:
        template = chosen.template.at(settings.cut_caution)
        found = cut(page, template)
        misfit, doubt = _misfit(page, template, found), _doubt(found)
        if misfit == NOTHING_LEFT and template.caution < MORE_CAUTION:
            template = template.at(MORE_CAUTION)
            found = cut(page, template)
            misfit, doubt = _misfit(page, template, found), NOTHING_LEFT
        if not misfit:
            removals, decided = _overridden(_removals(page.blocks, found), html, page, chosen.overrides)
            protected = [is_judged or place in decided for place, is_judged in enumerate(found.judged)]
            cleaned = _finished(html, page, url, (removals, protected), settings, patterns)
            metadata = metadata_of(page, url, chosen.locators)
            return SiteCut(cleaned, metadata, How.TEMPLATE, skeleton, layout, doubt=doubt)
    known = chosen or (knowledge.templates.get(REST) if knowledge is not None else None)
    removals, protected, how = _alone(page, known, settings)
    cleaned = _finished(html, page, url, (removals, protected), settings, patterns)
    return SiteCut(cleaned, metadata_of(page, url), how, skeleton, layout, misfit)


def frames_of(old: Page, new: Page, url: str, knowledge: SiteKnowledge | None) -> tuple[Frame, Frame]:
    """Return what the template of its layout says of the blocks of two versions: what it keeps, and cards of others.

    Such cards come and go: what others bought, what is read most. A template keeps nothing of them, but what else it
    leaves out, such as a list of facts in a side column, may be told of no other page; so may a card that leads where
    it led and says something else, such as the price of the page's own ware above the button that sells it. Nothing
    where no template is live, where it may not be made for such pages, and where people have changed it.
    """
    (kept, ours), (kept_now, theirs) = _cards(old, url, knowledge), _cards(new, url, knowledge)
    if not ours or not theirs:
        return NO_FRAME, NO_FRAME
    return Frame(_come_or_stayed(ours, theirs), kept), Frame(_come_or_stayed(theirs, ours), kept_now)


# By 0.9, cards that all others of a kind leave out stay; by 0.5, some of listings go.
_FRAME_CAUTION: Final = 0.7
# Of a page's own text: where less is left, the page may be a list of others itself.
_MOST_OF_IT: Final = 0.5
# Of a box of which half leads elsewhere than it did, the rest is of other pages, too: what else is sold, at its price.
_FEWEST_ROTATING: Final = 3
# Blocks of picture, title, maker, prices and label of something that leads to its page.
_LARGEST_CARD: Final = 8


class _Card(Struct, frozen=True, eq=False):
    """The smallest element around a block that leads to another page."""

    path: str
    """Of its first block: those of one box share it."""
    says: tuple[str, ...]
    leads_to: frozenset[str]
    """Addresses, with and without their queries, and what is written on them, whatever its numbers."""
    is_own: bool
    """It leads to the page itself, with another query: a size or a colour of the page's own ware."""


def _come_or_stayed(cards: Sequence[_Card | None], others: Sequence[_Card | None]) -> list[bool]:
    said = {(link, card.says) for card in others if card is not None for link in card.leads_to}
    led_to = {link for link, _ in said}
    new: dict[str, dict[_Card, bool]] = {}
    for card in cards:
        if card is not None:
            new.setdefault(card.path, {})[card] = led_to.isdisjoint(card.leads_to)
    rotating = {path for path, box in new.items() if 2 * sum(box.values()) >= len(box) >= _FEWEST_ROTATING}
    return [
        card is not None
        and (
            (card.path in rotating and not card.is_own)
            or new[card.path][card]
            or any((link, card.says) in said for link in card.leads_to)
        )
        for card in cards
    ]


def _cards(page: Page, url: str, knowledge: SiteKnowledge | None) -> tuple[list[bool], list[_Card | None]]:
    """Return whether each block is kept, and its card; None where it is in none, or in one of which some may be kept.

    Nothing where the template does not fit.
    """
    chosen = knowledge.template_for(knowledge.layout_of(skeleton_of(page)), url) if knowledge is not None else None
    if chosen is None or chosen.overrides:
        return [], []
    template = chosen.template.at(_FRAME_CAUTION)
    found = cut(page, template)
    if found.own < _MOST_OF_IT or _misfit(page, template, found) or _doubt(found):
        return [], []
    out = [why is not None for why in found.removed]
    smallest, largest = _elements_with_links(page)
    spans = [
        inner if inner is not None and outer is not None and all(out[slice(*outer)]) else None
        for inner, outer in zip(smallest, largest, strict=True)
    ]
    links = [frozenset(_links(block)) if span else frozenset() for block, span in zip(page.blocks, spans, strict=True)]
    common = _in_several_places(links)
    made: dict[tuple[int, int] | None, _Card | None] = {None: None}
    for span in spans:
        if span is not None and span not in made:
            made[span] = _card(page.blocks[slice(*span)], frozenset().union(*links[slice(*span)]), common, url)
    boxes = Counter(card.path for card in made.values() if card is not None)
    kept = [place for place, gone in enumerate(out) if not gone]
    for span, card in made.items():
        # Alone amid the page's own text: who wrote it, not what else there is.
        if span is not None and card is not None and boxes[card.path] == 1 and kept[0] < span[0] < kept[-1]:
            made[span] = None
    return [not gone for gone in out], [made[span] for span in spans]


def _card(blocks: Sequence[Block], links: frozenset[str], common: AbstractSet[str], url: str) -> _Card | None:
    shown = [text for block in blocks for text in shown_in(block)]
    # Each page's own file is behind the same "Download", and who is written to stands in no card of another page.
    if not links or any(text.startswith("<") for text in shown):
        return None
    # Cards of many pages have one section or button.
    here = url.partition("#")[0]
    own = here + ("&" if "?" in here else "?")
    is_own = any((target_of(link, url) or "").startswith(own) for link in links if link[:1].strip())
    return _Card(blocks[0].path, (*(block.text for block in blocks), *shown), links - common or links, is_own)


def _links(block: Block) -> Iterator[str]:
    """Yield where a block leads, and what is written there; nothing where it leads to no page."""
    written, address = list[str](), ""
    # A link around several blocks is closed in none of them.
    for piece in (*block.pieces, _LINK_ENDS):
        if isinstance(piece, str):
            written.append(plain(piece))
        elif piece.name == "a" and not piece.closing:
            written, address = [], dict(piece.attributes).get("href", "").strip().partition("#")[0]
            if _OTHER_SCHEME.match(address):
                address = ""
        elif piece.name == "a" and address:
            yield from (address, address.partition("?")[0], " " + mask("".join(written)))
            address = ""


_LINK_ENDS: Final = Tag("a", closing=True)
_OTHER_SCHEME: Final = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*+:", re.IGNORECASE)


def _in_several_places(links: Sequence[AbstractSet[str]]) -> set[str]:
    """Return the links that blocks have which do not follow each other."""
    last: dict[str, int] = {}
    several: set[str] = set()
    for place, found in enumerate(links):
        several.update(link for link in found if last.get(link, place) < place - 1)
        last.update(dict.fromkeys(found, place))
    return several


_Spans = list[tuple[int, int] | None]
"""Of each block, the first and the last block of an element around it, the last excluded; None for none."""


def _elements_with_links(page: Page) -> tuple[_Spans, _Spans]:
    """Return for each block the smallest element around it that has a link, and the largest that may be a card."""
    smallest: _Spans = [None] * len(page.blocks)
    largest: _Spans = [None] * len(page.blocks)
    # Of each open element: its first block, how many blocks before it have a link, and its blocks in none that has.
    opened = [(0, 0, list[int]())]
    here, met, links = BODY, 0, 0
    for step in page.walk.steps:
        if isinstance(step, int):
            met, links = step + 1, links + (page.blocks[step].link_chars > 0)
            opened[-1][2].append(step)
        elif isinstance(step, Place):
            if step.outer is here:
                opened.append((met, links, []))
            elif here.outer is step and len(opened) > 1:
                first, before, waiting = opened.pop()
                if links == before:
                    opened[-1][2].extend(waiting)
                    waiting = []
                elif met - first <= _LARGEST_CARD:
                    largest[first:met] = [(first, met)] * (met - first)
                for place in waiting:
                    smallest[place] = (first, met)
            here = step
    return smallest, largest


_Verdicts = tuple[list[Removal | None], list[bool]]
"""What goes, and what no generic selector may take; one value a block."""


def _finished(
    html: str, page: Page, url: str, verdicts: _Verdicts, settings: Settings, patterns: SitePatterns
) -> Cleaned:
    """Return a page without what was judged to go, and what patterns add to that."""
    removals, protected = verdicts
    if patterns.keep_pages and patterns.keeps_page(page_key(url, url_rules(settings))):
        return without(page, [None] * len(removals), settings.output, url)
    found = patterns.judge(html, page, removals, protected)
    return judged(page, found, settings.output, url, patterns=patterns)


def _alone(
    page: Page, chosen: LayoutTemplate | None, settings: Settings
) -> tuple[list[Removal | None], list[bool], How]:
    """Return what goes of a page that is judged by itself, and of what surrounds the content on other pages."""
    whole: list[Removal | None] = [None] * len(page.blocks)
    if settings.fallback == "whole":
        # Who wants pages whole means it of what holds on any site, too; selectors of the site itself are their word.
        return whole, [True] * len(page.blocks), How.WHOLE
    found = cut(page, page_template(page, settings.cut_caution))
    if found.own < _NOTHING:
        found = cut(page, page_template(page, max(settings.cut_caution, MORE_CAUTION)))
    if found.own < _NOTHING:
        return whole, [False] * len(page.blocks), How.WHOLE
    surrounding = chosen.template.surrounding if chosen is not None else {}
    removals = [
        Removal(block.fingerprint, _by_itself(why))
        if why is not None
        else Removal(block.fingerprint, _surrounds(pages, chosen.template.pages))
        if chosen is not None and (pages := surrounding.get(text, 0))
        else None
        for why, block, text in zip(found.removed, page.blocks, text_numbers(page.blocks), strict=True)
    ]
    # Nothing of it is protected: a page alone tells less than a selector of all sites.
    return removals, [False] * len(page.blocks), How.FALLBACK if any(removals) else How.WHOLE


def page_template(page: Page, caution: float) -> Template:
    """Return what the model says of a page by itself."""
    return template_of(learn([observe(page)], verdict_model(), caution))


def _misfit(page: Page, template: Template, found: Cut) -> str:
    """Say what does not fit; empty where all does."""
    if found.fit < MIN_FIT:
        standing = template.lookup.standing
        return UNKNOWN_PATHS if any(standing(block.path).inside for block in page.blocks) else ROOT_LOST
    if found.moved >= _MOVED:
        return MOVED
    return NOTHING_LEFT if found.own < _NEXT_TO_NOTHING else ""


def _doubt(found: Cut) -> str:
    """Say what makes it likely that a page is of another design; empty where nothing does."""
    if found.gone >= _GONE:
        return GONE
    return NEW_PATHS if found.fit < _WELL_KNOWN else ""


def _removals(blocks: Sequence[Block], found: Cut) -> list[Removal | None]:
    return [
        None if why is None else Removal(block.fingerprint, _rule(why))
        for why, block in zip(found.removed, blocks, strict=True)
    ]


@lru_cache(maxsize=8_192)
def _rule(why: Why) -> RemovalRule:
    return RemovalRule(f"template: {why.reason}", why.evidence, why.on_pages, why.of_pages, why.path)


@lru_cache(maxsize=8_192)
def _by_itself(why: Why) -> RemovalRule:
    return RemovalRule(f"fallback: {why.reason}", why.evidence, path=why.path)


@lru_cache(maxsize=64)
def _surrounds(on_pages: int, of_pages: int) -> RemovalRule:
    why = "the same text was left out of other pages of its site"
    return RemovalRule("fallback: repeats", why, on_pages, of_pages)


def _overridden(
    removals: list[Removal | None], html: str, page: Page, overrides: Sequence[Override]
) -> tuple[list[Removal | None], frozenset[int]]:
    """Return the removals with what a person decided, and which blocks that was.

    Of two decisions about a block the later one counts.
    """
    if not overrides:
        return removals, frozenset()
    marks = marked_blocks(html, page, [one.selector for one in overrides])
    for place, (marked, block) in enumerate(zip(marks, page.blocks, strict=True)):
        if marked:
            decided = overrides[max(marked)]
            rule = RemovalRule("a person's rule", f"drop {decided.selector}", path=decided.selector)
            removals[place] = Removal(block.fingerprint, rule) if decided.action == "drop" else None
    return removals, frozenset(place for place, marked in enumerate(marks) if marked)
