"""A template is never worse than each page judged by itself, on pages that it did not learn from."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from benchmarks.words import Score, mean, score, words
from scrapy_dedup.core.pages.render import render
from scrapy_dedup.core.templates.layouts import skeleton_of
from scrapy_dedup.core.templates.templates import cut
from scrapy_dedup.service.cut.site_cleaning import How, cut_page, page_template
from scrapy_dedup.service.templates.site_learning import learn_site
from scrapy_dedup.settings import Settings
from tests.core.builders import parsed
from tests.real_sites.conftest import Pages
from tests.real_sites.fetching import SITES, RealSite

SETTINGS = Settings(output="text")
HELD_BACK = 40
LOST = 0.05


@dataclass(frozen=True, slots=True)
class Compared:
    """One page, cut in both ways."""

    url: str
    layout: int
    template: Score
    fallback: Score


def compared(site: RealSite, pages: Pages) -> Iterator[Compared]:
    """Learn a site from its first pages, and cut the next ones that a template fits."""
    learned, held = pages[: SETTINGS.learn_pages], pages[SETTINGS.learn_pages :][:HELD_BACK]
    knowledge = learn_site(f"{site.name}.example", learned, SETTINGS)
    for url, html in held:
        page = parsed(html)
        found = cut_page(html, page, url, knowledge, SETTINGS)
        chosen = knowledge.template_for(knowledge.layout_of(skeleton_of(page)), url)
        if found.how is How.TEMPLATE and chosen is not None:
            alone = cut(page, page_template(page, SETTINGS.cut_caution)).removed
            other = render(page, [why is None for why in alone], "text")
            yield Compared(url, chosen.layout, scored(site, html, found.cleaned.content), scored(site, html, other))


def scored(site: RealSite, html: str, text: str) -> Score:
    truth = site.truth(html)
    assert truth is not None
    return score(words(text), truth.true, truth.lenient)


@pytest.mark.parametrize("name", [site.name for site in SITES])
def test_a_template_is_never_worse_than_each_page_by_itself(
    name: str, pages_of: Callable[[str], tuple[RealSite, Pages]]
):
    site, pages = pages_of(name)
    by_layout: dict[int, list[Compared]] = defaultdict(list)
    for one in compared(site, pages):
        by_layout[one.layout].append(one)

    assert sum(map(len, by_layout.values())) >= min(HELD_BACK, len(pages) - SETTINGS.learn_pages) / 2
    for ones in by_layout.values():
        assert mean([one.template for one in ones]).f1 >= mean([one.fallback for one in ones]).f1
    every = [one for ones in by_layout.values() for one in ones]
    lost = [one for one in every if one.template.recall < one.fallback.recall - LOST]
    assert [(one.url, one.template.recall) for one in lost] == []
