"""One page to its clean text, title, date and author, by what is known of its site, or by itself."""

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

from msgspec import Struct

from scrapy_dedup.core.boilerplate.observations import observe, text_numbers
from scrapy_dedup.core.boilerplate.repeats import Removal, RemovalRule
from scrapy_dedup.core.boilerplate.verdict_model import learn
from scrapy_dedup.core.metadata import Metadata, metadata_of
from scrapy_dedup.core.pages.blocks import Block, Page
from scrapy_dedup.core.pages.marking import marked_blocks
from scrapy_dedup.core.pages.tags import BODY, Place
from scrapy_dedup.core.templates.layouts import Skeleton, skeleton_of
from scrapy_dedup.core.templates.templates import MORE_CAUTION, Cut, Template, Why, cut, template_of
from scrapy_dedup.core.urls.normal_form import page_key
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


def frame_of(page: Page, url: str, knowledge: SiteKnowledge | None) -> list[bool]:
    """Return of each block whether it stands in a card of another page, of which the template keeps nothing.

    Such cards come and go: what others bought, what is read most. What else the template leaves out, such as a list of
    facts in a side column, may be told of no other page. Empty where no template is live, where it may not be made for
    such pages, and where people have changed it.
    """
    chosen = knowledge.template_for(knowledge.layout_of(skeleton_of(page)), url) if knowledge is not None else None
    if chosen is None or chosen.overrides:
        return []
    template = chosen.template.at(_FRAME_CAUTION)
    found = cut(page, template)
    if found.own < _MOST_OF_IT or _misfit(page, template, found) or _doubt(found):
        return []
    out = [why is not None for why in found.removed]
    return [card is not None and all(out[card[0] : card[1]]) for card in _cards(page)]


# By 0.9, cards that all others of a kind leave out stay; by 0.5, some of listings go.
_FRAME_CAUTION: Final = 0.7
# Of a page's own text: where less is left, the page may be a list of others itself.
_MOST_OF_IT: Final = 0.5
# Blocks of picture, title, maker, prices and label of something that leads to its page.
_LARGEST_CARD: Final = 8


def _cards(page: Page) -> list[tuple[int, int] | None]:
    """Return for each block the first and the last of the largest card around it, the last excluded; None for none."""
    cards: list[tuple[int, int] | None] = [None] * len(page.blocks)
    # Of each open element: its first block, and how many blocks before it have a link.
    opened = [(0, 0)]
    here, met, links = BODY, 0, 0
    for step in page.walk.steps:
        if isinstance(step, int):
            met, links = step + 1, links + (page.blocks[step].link_chars > 0)
        elif isinstance(step, Place):
            if step.outer is here:
                opened.append((met, links))
            elif here.outer is step and len(opened) > 1:
                first, before = opened.pop()
                if met - first <= _LARGEST_CARD and links > before:
                    cards[first:met] = [(first, met)] * (met - first)
            here = step
    return cards


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
