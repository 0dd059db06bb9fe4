from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.templates.site_sample import KEPT_WHOLE, SiteSample, learned_page
from tests.service.site_pages import page_of, pages


def a_sample(found: list[tuple[str, str]], most: int = 10) -> SiteSample:
    sample = SiteSample(most)
    for url, html in found:
        key = page_key(url)
        if sample.wants(key):
            sample.add(learned_page(key, url, page_of(html)), html)
    return sample


class TestKeptWhole:
    def test_html_of_the_first_few_is_kept(self) -> None:
        found = dict(pages(30))
        sample = a_sample(list(found.items()))

        held = list(sample.sources())

        assert [page.page_key for page, _ in held] == [page.page_key for page in sample.pages()[:KEPT_WHOLE]]
        assert [html for _, html in held] == [found[page.url] for page, _ in held]
