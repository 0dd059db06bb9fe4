import pytest

from benchmarks.words import score, words
from scrapy_dedup.service.cut.page_cleaning import clean_page
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.service.templates.site_learning import learn_site
from scrapy_dedup.settings import Settings
from tests.service.site_pages import DOMAIN, article, listing, own_text, pages, url_of

TEXT = Settings(output="text")


@pytest.fixture(scope="module")
def known() -> SiteKnowledge:
    return learn_site(DOMAIN, pages(20, 8), TEXT)


class TestTooFew:
    def test_nothing_is_learned_from_four_pages(self):
        known = learn_site(DOMAIN, pages(4), TEXT)

        assert known.templates == {}
        assert known.pages == 4


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
