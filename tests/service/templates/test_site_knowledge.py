from typing import Any

import pytest

from benchmarks.words import score, words
from scrapy_dedup.core.boilerplate.names import PathLooks
from scrapy_dedup.core.teacher import SeenPage
from scrapy_dedup.core.templates.layouts import skeleton_of
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cut.page_cleaning import clean_page
from scrapy_dedup.service.templates.site_knowledge import (
    REST,
    PageSnapshot,
    SiteKnowledge,
    SiteSample,
    learn_sample,
    learn_site,
    learned_page,
)
from scrapy_dedup.settings import Settings
from tests.service.site_pages import DOMAIN, article, listing, own_text, page_of, pages, url_of

TEXT = Settings(output="text")


@pytest.fixture(scope="module")
def known() -> SiteKnowledge:
    return learn_site(DOMAIN, pages(20, 8), TEXT)


class TestKnowledge:
    def test_comes_back_from_json_and_cuts_alike(self, known):
        back = SiteKnowledge.from_json(known.to_json())

        assert back.to_json() == known.to_json()
        for url, html in [(url_of("a", 99), article(99)), (url_of("list", 99), listing(99))]:
            assert clean_page(html, url, back, TEXT) == clean_page(html, url, known, TEXT)

    def test_a_page_it_never_saw_keeps_its_own_text_alone(self, known):
        found = clean_page(article(99), url_of("a", 99), known, TEXT)

        assert found.how == "template"
        assert found.cleaned.content.split("\n\n")[1:] == own_text(99)


class TestUntrustedPages:
    """What users of a site can write is evidence, too."""

    @pytest.mark.parametrize("wears", ["menu", "content"])
    def test_ten_of_sixty_pages_change_nothing_for_the_others(self, wears):
        """They repeat the sentences of a page, as its menu or its content is called, and more often than it does."""
        honest = pages(50)
        victim = own_text(7)
        name = {"menu": '<nav class="menu sidebar footer">', "content": '<article class="post content main">'}[wears]
        hostile = [
            (url_of("a", 1_000 + number), article(1_000 + number).replace("<body", "<body data-x", 1).replace(
                '<div class="page">', f'<div class="page">{name}{"".join(f"<p>{one}</p>" for one in victim * 3)}'
            ))
            for number in range(10)
        ]  # fmt: skip
        clean = learn_site(DOMAIN, honest, TEXT)
        mixed = learn_site(DOMAIN, honest + hostile, TEXT)

        scores = []
        for url, html in honest:
            expected, found = (words(clean_page(html, url, known, TEXT).cleaned.content) for known in (clean, mixed))
            scores.append(score(found, expected, expected).f1)

        assert min(scores) >= 0.98
        assert all(one in clean_page(article(7), url_of("a", 7), mixed, TEXT).cleaned.content for one in victim)


def sample_of(found: list[tuple[str, str]]) -> SiteSample:
    sample = SiteSample(60)
    for url, html in found:
        sample.add(learned_page(page_key(url), url, page_of(html)))
    return sample


def snapshot_of(url: str, html: str, *, js_share: float = 0.0, static_chars: int = 900) -> PageSnapshot:
    """Return what a browser shows of a page of this site: the article or list as content, all else apart from it."""
    page = page_of(html)
    paths = {}
    for block in page.blocks:
        is_content = "article" in block.path or "section" in block.path
        paths[block.path] = PathLooks(100, 100 if is_content else 5, 0)
    seen = SeenPage(paths, static_chars=static_chars, js_share=js_share)
    return PageSnapshot(page_key(url), url, skeleton_of(page), seen)


def learned(number: int, shown: int, **looks: Any) -> SiteKnowledge:
    found = pages(number)
    sample = sample_of(found)
    return learn_sample(DOMAIN, sample, TEXT, [snapshot_of(url, html, **looks) for url, html in found[:shown]])


def test_a_young_site_has_a_template_by_what_a_browser_showed():
    known = learned(3, shown=2)
    rest = known.templates[REST]

    assert (rest.source, rest.state, rest.pages) == ("visual", "live", 3)
    text = clean_page(article(9), url_of("a", 9), known, TEXT).cleaned.content
    assert all(paragraph in text for paragraph in own_text(9))
    assert "Related" not in text
    assert "cookies" not in text


def test_without_a_browser_five_pages_teach_and_with_it_three():
    assert learned(5, shown=0).templates
    few = learned(4, shown=0)
    assert (few.templates, few.pages) == ({}, 4)
    assert learned(3, shown=1).templates
    assert learned(2, shown=2).templates == {}


def test_layouts_of_which_a_page_was_shown_have_visual_templates():
    found = pages(12, 8)
    sample = sample_of(found)
    wanted = [one for one in found if "/a/" in one[0]][:2]
    known = learn_sample(DOMAIN, sample, TEXT, [snapshot_of(*one) for one in wanted])
    sources = {one.kind: one.source for layout, one in known.templates.items() if layout != REST}

    assert sources == {"article": "visual", "listing": "static"}
    assert {one.state for one in known.templates.values()} == {"live"}


def test_a_browser_that_saw_everything_the_wrong_way_round_does_not_get_its_way():
    found = pages(12)
    sample = sample_of(found)
    snapshots = []
    for url, html in found:
        right = snapshot_of(url, html)
        wrong = {path: PathLooks(0, 0, 100) if there.main > 50 else there for path, there in right.seen.paths.items()}
        snapshots.append(PageSnapshot(right.page_key, url, right.skeleton, SeenPage(wrong)))
    known = learn_sample(DOMAIN, sample, TEXT, snapshots)

    assert {(one.source, one.state) for one in known.templates.values()} == {("static", "live")}
