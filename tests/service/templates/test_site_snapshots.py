from typing import Any

from scrapy_dedup.core.boilerplate.names import PathLooks
from scrapy_dedup.core.teacher import SeenPage
from scrapy_dedup.core.templates.layouts import skeleton_of
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cut.page_cleaning import clean_page
from scrapy_dedup.service.templates.site_knowledge import REST, SiteKnowledge
from scrapy_dedup.service.templates.site_learning import PageSnapshot, SiteSample, learn_sample, learned_page
from scrapy_dedup.settings import Settings
from tests.service.site_pages import DOMAIN, article, own_text, page_of, pages, url_of

TEXT = Settings(output="text")


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
    assert learned(4, shown=0).templates == {}
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
