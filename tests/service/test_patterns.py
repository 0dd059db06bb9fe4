from dataclasses import replace

import pytest

from scrapy_dedup.core.patterns import SiteConfig
from scrapy_dedup.service import patterns as configs
from scrapy_dedup.service.cut.reading import Reading, read_again
from scrapy_dedup.service.stored.refining import Refiner, recleaned, write_refined
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored.test_refining import LATER, put
from tests.service.stored_pages import DOMAIN, NOON, a_url, html_page
from tests.store.builders import stale_pages

HEADER = "Welcome to the shop of ropes and cords."
CONFIG = SiteConfig((".promo",), ("Welcome.*",))


def put_pages(project: ProjectStore) -> None:
    for number in range(3):
        put(project, a_url(number), html_page(number, HEADER))


class TestRefining:
    def test_stored_pages_lose_what_their_site_names_and_wait_no_more(self, store, project):
        for number in range(3):
            # Within the content, where a site's own patterns alone remove it.
            html = html_page(number).replace("<main>", f"<main><p>{HEADER} {number * 7919}</p>")
            put(project, a_url(number), html)
        configs.put_config(project, DOMAIN, CONFIG, Settings(), NOON)
        refiner = Refiner(store, project, Settings())

        pages = [page for lot in refiner.lots(refiner.domains()) for page in lot]
        for page in pages:
            write_refined(store, project, Settings(), [recleaned(page.source, page.cleaned, LATER)])

        assert len(pages) == 3
        assert all(HEADER not in page.cleaned.content for page in pages)
        assert stale_pages(project) == 0
        (decision,) = [one for one in project.decisions(pages[0].source.page_key) if one.layer == "patterns"]
        assert decision.reason.startswith("1 blocks, ")

    def test_pages_that_stay_as_they_are_wait_no_more_either(self, store, project):
        put_pages(project)
        configs.put_config(project, DOMAIN, SiteConfig((".nowhere",)), Settings(), NOON)
        first = Refiner(store, project, Settings())
        for page in [page for lot in first.lots(first.domains()) for page in lot]:
            write_refined(store, project, Settings(), [recleaned(page.source, page.cleaned, LATER)])
        configs.put_config(project, DOMAIN, SiteConfig((".elsewhere",)), Settings(), NOON)
        refiner = Refiner(store, project, Settings())

        assert [page for lot in refiner.lots(refiner.domains()) for page in lot] == []
        assert refiner.settle() == 3
        assert stale_pages(project) == 0


class TestTrying:
    def test_each_pattern_tells_what_it_does_on_a_page(self, store, project):
        settings = replace(Settings(), fallback="whole", boilerplate_text_patterns=("length,",))
        configs.put_config(project, DOMAIN, SiteConfig(("header", "body")), settings, NOON)

        for known in (project, None):
            found = configs.try_on_page(known, DOMAIN, self.reading(store, project, settings), settings)
            told = [(one.tier, one.pattern, one.blocks, one.chars, one.sample) for one in found.patterns]
            own = [(2, "header", 1, len(HEADER), HEADER)] if known else []
            assert told == [*own, (3, "length,", 1, 7, "length,")]
            assert [one.pattern for one in found.held] == (["body"] if known else [])

    def reading(self, store: Store, project: ProjectStore, settings: Settings) -> Reading:
        put_pages(project)
        with store.session(read_only=True) as session:
            source = next(SourceRepository(session).iterate(project.id, DOMAIN))
        found = read_again(source, settings)
        assert found is not None
        return found


class TestFiles:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("{", "no JSON"),
            ("[" * 100_000, "no JSON"),
            ("{}", "say of which"),
            ('{"domains": {}}', "no file of format"),
            ('{"format": "scrapy-dedup-config", "version": 1, "domains": []}', "no mapping"),
        ],
    )
    def test_what_is_none_is_refused(self, text, told):
        with pytest.raises(configs.ConfigFileError, match=told):
            configs.read_configs(text)
