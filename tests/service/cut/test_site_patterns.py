import logging
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from scrapy_dedup.core.boilerplate.repeats import Boilerplate
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.fingerprints import to_hex
from scrapy_dedup.core.patterns import HeldBack, PatternError, PatternHeld, SiteConfig
from scrapy_dedup.service import patterns as configs
from scrapy_dedup.service.cut.cleaning import Cleaned, clean_html, clean_text
from scrapy_dedup.service.cut.reading import Reading, read_again
from scrapy_dedup.service.cut.removals import SHADOW, removal_decisions, removals_in
from scrapy_dedup.service.cut.site_cleaning import cut_page
from scrapy_dedup.service.cut.site_patterns import Strikes, check_configs, patterns_of
from scrapy_dedup.service.patterns import effects_of
from scrapy_dedup.service.stored.refining import Refiner, recleaned, write_refined
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.stored import StoredDecision
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.core.builders import parsed
from tests.service.stored.test_refining import LATER, put
from tests.service.stored_pages import DOMAIN, NOON, a_url, html_page
from tests.store.builders import stale_pages
from tests.tables import table

URL = "https://www.example.com/page"
WIDGET = r"Hard to read\?.*"
HTML = (
    "<body><div class=top>Top of the site</div><main><h1>Title</h1><p>Own text of some length.</p>"
    "<p>Hard to read? <a href=/help>Help</a></p><p>More text, with code A-17 in it.</p></main></body>"
)
WHOLE = Settings(fallback="whole")


def a_page(html: str = HTML) -> Page:
    return parsed(html)


def cut(config: SiteConfig, html: str = HTML, **settings: Any) -> Cleaned:
    chosen = replace(WHOLE, **settings)
    return cut_page(html, a_page(html), URL, None, chosen, patterns_of(chosen, config, "www.example.com")).cleaned


def paths(cleaned: Cleaned) -> list[tuple[str, str]]:
    return [(one.removal.rule.path, one.text) for one in cleaned.removed]


class TestSelectors:
    @pytest.mark.parametrize("selector", [".top", "//div[@class='top']"], ids=["css", "xpath"])
    def test_what_a_site_names_goes_with_its_reason(self, selector):
        cleaned = cut(SiteConfig((selector,)))

        assert paths(cleaned) == [(selector, "Top of the site")]
        assert {one.removal.rule.layer for one in cleaned.removed} == {"patterns"}
        assert "Top of the site" not in cleaned.content

    @pytest.mark.parametrize("selector", ["*", "body", "p, h1, div"])
    def test_a_selector_that_matches_everything_is_held_back(self, selector):
        cleaned = cut(SiteConfig((selector,)))

        assert cleaned.removed == []
        assert cleaned.held == (HeldBack(selector, PatternHeld.WHOLE_PAGE),)

    def test_selectors_that_match_everything_together_are_held_back(self):
        cleaned = cut(SiteConfig(("main", ".top")))

        assert cleaned.removed == []
        assert {one.reason for one in cleaned.held} == {PatternHeld.WHOLE_PAGE}

    @pytest.mark.parametrize("key", ["boilerplate_css_selectors", "boilerplate_text_patterns"])
    def test_a_bad_entry_is_named_with_its_place(self, key):
        with pytest.raises(PatternError, match=rf"{key} of www\.example\.com: .*div\["):
            cut(SiteConfig(**{key: ("div[",)}))
        with pytest.raises(PatternError, match=rf"DEDUP_{key.upper()}: .*div\["):
            patterns_of(Settings.read({f"DEDUP_{key.upper()}": ["div["]}))


class TestGenericSelectors:
    def judged(self, html: str, protected: list[bool] | None = None) -> list[str]:
        page = a_page(html)
        found = patterns_of(Settings()).judge(html, page, [None] * len(page.blocks), protected)
        return [block.text for block, one in zip(page.blocks, found.removals, strict=True) if one is not None]

    def test_what_surrounds_content_on_any_site_goes(self):
        html = "<body><header>Head</header><nav>Menu</nav><main><p>Own text of some length</main><footer>Foot</footer>"

        assert self.judged(html) == ["Head", "Menu", "Foot"]

    def test_the_head_of_an_article_is_its_own(self):
        html = "<body><article><header><h1>Title</h1></header><p>Own text of some length<aside>A note</aside></article>"

        assert self.judged(html) == []

    def test_what_something_better_knows_stays(self):
        html = "<body><nav>Menu</nav><nav>Index</nav><p>Own text of some length"

        assert self.judged(html, [True, False, False]) == ["Index"]
        assert self.judged(html, [True, True, True]) == []

    def test_what_holds_most_of_a_page_is_its_content(self):
        html = "<body><aside>The whole text of this page stands here</aside><p>Small"
        page = a_page(html)

        found = patterns_of(Settings()).judge(html, page, [None, None])

        assert found.removals == [None, None]
        assert found.held == (HeldBack("aside", PatternHeld.PROTECTED),)

    def test_an_extractor_s_choice_stays(self):
        text = "A sentence of the article, which says something of its own, at length. " * 5
        html = f"<body><nav>Menu</nav><aside class=sidebar><p>{text}</p></aside><p>{text[:60]}</p></body>"

        assert text.strip() in cut_page(html, a_page(html), URL, None, Settings(output="text")).cleaned.content


class TestTextPatterns:
    @table("service/they_see_markdown_whatever_goes_out")
    def test_they_see_markdown_whatever_goes_out(self, output, content):
        cleaned = cut(SiteConfig(boilerplate_text_patterns=(WIDGET.replace("?.*", r"?.*\)"), "A-17 ")), output=output)

        assert cleaned.content == content
        assert [text for _, text in paths(cleaned)] == ["Hard to read? Help", "A-17"]
        assert cleaned.chars_in == a_page().chars

    def test_items_without_html_lose_it_from_their_text(self):
        patterns = patterns_of(Settings(), SiteConfig(boilerplate_text_patterns=(WIDGET,)))

        cleaned = clean_text("Own.\n\nHard to read? Yes\n\nMore.", Boilerplate(), 50, patterns=patterns)

        assert cleaned.content == "Own.\n\nMore."
        assert paths(cleaned) == [(WIDGET, "Hard to read? Yes")]

    def test_look_ahead_runs_unless_it_is_switched_off(self):
        """As the specification writes its patterns."""
        config = SiteConfig(boilerplate_text_patterns=(r"Hard to read\?.*?(?=\n\n|\Z)",))

        assert [text for _, text in paths(cut(config))] == ["Hard to read? Help"]
        with pytest.raises(PatternError, match="DEDUP_ALLOW_SLOW_PATTERNS = True"):
            cut(config, allow_slow_patterns=False)

    def test_a_file_of_more_than_is_checked_in_seconds_is_refused(self):
        large = tuple(rf"\w{{3,100}} {number}" for number in range(10))
        found = {f"{name}.example": SiteConfig(boilerplate_text_patterns=large) for name in "abcdef"}

        with pytest.raises(PatternError, match=r"up to d\.example .*: divide it"):
            check_configs(found, allow_slow=False)

    def test_those_of_pdf_files_are_of_the_fourth_tier(self):
        config = SiteConfig((), (WIDGET,), (r"Campus Sint-Jan\s+B 3600",))
        patterns = patterns_of(Settings(), config)

        cleaned = clean_text(
            "Own.\n\nCampus Sint-Jan B 3600\n\n" + "Hard to read? Yes",
            Boilerplate(),
            50,
            patterns=patterns,
            of_pdf=True,
        )

        told = [(one.tier, one.sample) for one in effects_of(cleaned, patterns)]
        assert told == [(3, "Hard to read? Yes"), (4, "Campus Sint-Jan B 3600")]
        reasons = [(one["reason"], one["path"]) for one in cleaned.report["removed"]]
        assert reasons[0] == ("pdf pattern: somebody said so", config.pdf_boilerplate_patterns[0])
        (decision,) = removal_decisions(b"k" * 16, cleaned, NOON)
        assert {rule[0] for rule in (decision.detail or {})["rules"]} == {"pdf pattern", "text pattern"}
        kept = patterns_of(Settings(), structs.replace(config, keep_rules=("pdf pattern",)))
        assert (kept.pdf.members, len(kept.text.members)) == ((), 1)

    def test_slow_ones_that_take_too_long_are_switched_off_and_told_once(self, caplog):
        strikes = Strikes()

        with caplog.at_level(logging.WARNING):
            for reason in [PatternHeld.WHOLE_PAGE, *[PatternHeld.TIMEOUT] * 5]:
                strikes.note([HeldBack("a\u202e+", reason)])

        assert strikes.off == {"a\u202e+"}
        assert [one.getMessage().count("\\u202e") for one in caplog.records] == [1]


class TestShadow:
    def test_nothing_is_carried_out_and_all_is_told(self):
        config = SiteConfig((".top",), (WIDGET,))

        cleaned = cut(config, shadow=frozenset(["patterns"]))

        assert cleaned == structs.replace(cut(SiteConfig()), shadowed=cleaned.shadowed)
        assert [one.text for one in cleaned.shadowed] == ["Top of the site", "Hard to read? Help"]
        (decision,) = removal_decisions(b"k" * 16, cleaned, NOON)
        assert (decision.layer, decision.action) == ("patterns", SHADOW)


class TestKeeping:
    def test_a_block_that_is_kept_stays_whichever_layer_drops_it(self):
        page = a_page()
        top = page.blocks[0]
        config = SiteConfig((".top",), keep_blocks=(to_hex(top.fingerprint),))
        known = Boilerplate(9, {top.fingerprint: 9, page.blocks[1].fingerprint: 9})
        patterns = patterns_of(replace(Settings(), patterns_enabled=False), config)

        cleaned = clean_html(page, known, "text", html=HTML, patterns=patterns)

        assert cut(config).removed == []
        assert [one.text for one in cleaned.removed] == ["Title"]
        text = "Own text that is long enough to be counted as a block of its own."
        kept = patterns_of(Settings(), SiteConfig(keep_rules=("repeated block: the same text",)))
        from scrapy_dedup.core.boilerplate.repeats import hash_block
        from scrapy_dedup.core.pages.fingerprints import from_hex

        assert clean_text(text, Boilerplate(9, {from_hex(hash_block(text)): 9}), 50, patterns=kept).content == text


class TestRecords:
    def test_each_layer_has_its_decision_and_reads_it_back(self):
        page = a_page()
        known = Boilerplate(9, {page.blocks[1].fingerprint: 9})
        patterns = patterns_of(Settings(), SiteConfig((".top",)))

        cleaned = clean_html(page, known, "text", html=HTML, patterns=patterns)
        decisions = removal_decisions(b"k" * 16, cleaned, NOON)

        assert [one.layer for one in decisions] == ["boilerplate", "patterns"]
        assert [one.reason for one in decisions] == [
            f"1 block, 5 of {page.chars} characters",
            f"1 block, 15 of {page.chars} characters",
        ]
        for one in decisions:
            stored = StoredDecision(one.page_key, one.layer, one.action, one.reason, NOON, one.detail)
            rules = {removal.rule for removal in removals_in(stored).values()}
            assert rules == {own.removal.rule for own in cleaned.removed if own.removal.rule.layer == one.layer}


HEADER = "Welcome to the shop of ropes and cords."
CONFIG = SiteConfig((".promo",), ("Welcome.*",))


def put_pages(project: ProjectStore) -> None:
    for number in range(3):
        put(project, a_url(number), html_page(number, HEADER))


class TestRefining:
    def test_stored_pages_lose_what_their_site_names_and_wait_no_more(self, project):
        for number in range(3):
            # Within the content, where a site's own patterns alone remove it.
            html = html_page(number).replace("<main>", f"<main><p>{HEADER} {number * 7919}</p>")
            put(project, a_url(number), html)
        configs.put_config(project, DOMAIN, CONFIG, Settings(), NOON)
        refiner = Refiner(project, Settings())

        pages = [page for lot in refiner.lots(refiner.domains()) for page in lot]
        for page in pages:
            write_refined(project, Settings(), [recleaned(page.source, page.cleaned, LATER)])

        assert len(pages) == 3
        assert all(HEADER not in page.cleaned.content for page in pages)
        assert stale_pages(project) == 0
        (decision,) = [one for one in project.decisions(pages[0].source.page_key) if one.layer == "patterns"]
        assert decision.reason.startswith("1 block, ")

    def test_pages_that_stay_as_they_are_wait_no_more_either(self, project):
        put_pages(project)
        configs.put_config(project, DOMAIN, SiteConfig((".nowhere",)), Settings(), NOON)
        first = Refiner(project, Settings())
        for page in [page for lot in first.lots(first.domains()) for page in lot]:
            write_refined(project, Settings(), [recleaned(page.source, page.cleaned, LATER)])
        configs.put_config(project, DOMAIN, SiteConfig((".elsewhere",)), Settings(), NOON)
        refiner = Refiner(project, Settings())

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
