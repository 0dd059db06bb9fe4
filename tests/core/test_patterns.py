import random
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core import patterns
from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.pages.gather import Block
from scrapy_dedup.core.pages.render import render
from scrapy_dedup.core.patterns import (
    HeldBack,
    PatternError,
    PatternHeld,
    PlacedBlocks,
    Shortened,
    SiteConfig,
    SiteConfigError,
    TextSpan,
    compile_expression,
    compile_expressions,
    covers_all,
    cut_out,
    get_site_config_with_db_overrides,
    place,
    shorten,
    strip_pdf_boilerplate,
)
from tests.core.builders import parsed
from tests.growth import assert_in_proportion
from tests.tables import table

READABLE = r"Moeilijk leesbaar\??\s*(\[.*?leesbaarheid.*?\](\(.*?\))?\s*)?"
LOOK_AHEAD = r"-?\s*ZOL-artsen\s+Overzicht\s+ZOL-artsen.*?(?=\n\n|\Z)"
COVER = r"\*{0,2}ZOL GENK\*{0,2}\s+\*{0,2}ZOL MAAS EN KEMPEN\*{0,2}[\s\S]*?B\s+36\d{2}"
ADDRESS = r"Campus Sint-Jan\s+Synaps Park 1\s+B 3600 Genk"


def matched(sources: list[str], text: str, *, allow_slow: bool = False) -> list[str]:
    found = compile_expressions(sources, allow_slow=allow_slow).find(text)
    return [text[one.start : one.end] for one in found.spans]


class TestPatternsOfARealSite:
    def test_a_widget_goes_with_its_link(self):
        text = "Own.\n\nMoeilijk leesbaar? [Meer leesbaarheid](https://x.example/a)\n\nMore."

        assert matched([READABLE], text) == ["Moeilijk leesbaar? [Meer leesbaarheid](https://x.example/a)\n\n"]

    def test_look_ahead_is_refused_and_the_message_says_what_to_do(self):
        with pytest.raises(PatternError, match="DEDUP_ALLOW_SLOW_PATTERNS = True"):
            compile_expression(LOOK_AHEAD)

    def test_look_ahead_runs_where_slow_patterns_are_allowed(self):
        text = "Own.\n\n- ZOL-artsen Overzicht ZOL-artsen and more\n\nMore."

        assert matched([LOOK_AHEAD], text, allow_slow=True) == ["- ZOL-artsen Overzicht ZOL-artsen and more"]

    def test_covers_and_addresses_go_from_the_text_of_pdf_files(self):
        text = (
            "**ZOL GENK** **ZOL MAAS EN KEMPEN**\nPhone 1\nB 3600\n\nOwn.\n\nCampus Sint-Jan Synaps Park 1 B 3600 Genk"
        )

        left, stripped = strip_pdf_boilerplate(text, [COVER, ADDRESS])

        assert left == "Own."
        assert [one.pattern for one in stripped] == [COVER, ADDRESS]


class TestRefusals:
    @pytest.mark.parametrize(
        ("source", "told"),
        [
            pytest.param("(", "is no expression", id="broken"),
            pytest.param("  ", "1 to 10000 characters", id="blank"),
            pytest.param("a" * 10_001, "1 to 10000 characters", id="long"),
            pytest.param(r"(a)\1", "linear time", id="back-reference"),
            pytest.param("\ud800", "linear time", id="lone-surrogate"),
        ],
    )
    def test_a_bad_expression_is_named(self, source, told):
        with pytest.raises(PatternError, match=told):
            compile_expression(source)

    def test_there_are_only_so_many(self):
        with pytest.raises(PatternError, match="at most 2000"):
            compile_expressions(f"a{number}" for number in range(2_001))

    def test_they_are_only_so_large_together(self):
        with pytest.raises(PatternError, match=r"instructions of RE2, 2,000,000 can be used together: write"):
            compile_expressions(rf"(\w{{3,100}} ){number}" for number in range(30))

    def test_there_are_only_so_many_slow_ones(self):
        with pytest.raises(PatternError, match="at most 50"):
            compile_expressions((f"(?=a)a{number}" for number in range(51)), allow_slow=True)

    def test_what_never_ends_on_a_short_text_is_refused(self):
        with pytest.raises(PatternError, match="takes more than 1 s"):
            compile_expression(r"(?=a)(a|a)+$(?<=b)", allow_slow=True)


class TestMatches:
    def test_a_pattern_that_would_remove_the_page_is_held_back(self):
        found = compile_expressions([".*", "two"]).find("one two")

        assert found == patterns.PatternMatches((TextSpan(4, 7, "two"),), (HeldBack(".*", PatternHeld.WHOLE_PAGE),))

    def test_patterns_that_would_remove_the_page_together_are_held_back(self):
        found = compile_expressions(["one", "two"]).find("one two")

        assert found == patterns.PatternMatches(
            (), (HeldBack("one", PatternHeld.WHOLE_PAGE), HeldBack("two", PatternHeld.WHOLE_PAGE))
        )

    def test_what_is_switched_off_is_not_run(self):
        assert compile_expressions(["a"]).find("a b", off={"a"}).held == (HeldBack("a", PatternHeld.SWITCHED_OFF),)


class TestHostile:
    @table("core/a_line_is_searched_in_time_in_proportion_to_its_length")
    @pytest.mark.parametrize("line", ["a", "abcdefghij klmnop ", "abxyz"])
    def test_a_line_is_searched_in_time_in_proportion_to_its_length(self, source, line):
        known = compile_expressions([source])

        assert_in_proportion(known.find, lambda size: line * (size // len(line)), 100_000)

    def test_a_thousand_patterns_are_found_on_one_page(self):
        known = compile_expressions(f"foo{number} .*? bar{number}" for number in range(1_000))
        text = " ".join(f"foo{number} x bar{number}" for number in random.Random(1).sample(range(1_000), 1_000))

        found = known.find(text + " own")

        assert len({one.pattern for one in found.spans}) == 1_000

    def test_a_page_too_large_for_so_many_patterns_says_so(self):
        known = compile_expressions(f"a.{{{number}}}q?" for number in range(1, 100))

        assert PatternHeld.TOO_MUCH_WORK in {one.reason for one in known.find("ab " * 300_000).held}

    def test_slow_patterns_are_ended_and_say_so(self):
        known = compile_expressions(["(?=a)(a+)+b"], allow_slow=True)

        assert known.find("a" * 5_000 + "c").held == (HeldBack("(?=a)(a+)+b", PatternHeld.TIMEOUT),)
        found = known.find("a" * 5_000 + "c")
        assert found.held == (HeldBack("(?=a)(a+)+b", PatternHeld.TIMEOUT),)

    @given(st.text(max_size=60))
    def test_any_text_compiles_or_is_refused(self, source):
        with suppress(PatternError):
            assert compile_expression(source, allow_slow=True).source == source

    @given(st.lists(st.sampled_from(["a+", "b", "[^c]c", r"\s+", "é", "."]), max_size=4), st.text("abcé \n\ud800"))
    def test_what_is_cut_and_what_is_left_are_the_text(self, sources, text):
        spans = compile_expressions(sources).find(text).spans

        assert all(one.end <= two.start for one, two in pairwise(spans))
        if not spans:
            assert cut_out(text, spans) == text
        assert not text.strip() or not covers_all(text, spans)


class TestDialect:
    @table("text/dialect")
    def test_classes_know_all_scripts_as_in_python(self, source, text):
        assert compile_expression(source).program.search(text.encode()) is not None


def a_page(body: str) -> Page:
    return parsed(f"<body>{body}")


def cut(body: str, *patterns: str) -> tuple[Page, Shortened]:
    page = a_page(body)
    placed = place(page, [True] * len(page.blocks))
    return page, shorten(page, placed, compile_expressions(patterns).find(placed.markdown).spans)


class TestPlaces:
    def test_marks_change_nothing_of_the_markdown(self):
        page = a_page("<h1>One *two*</h1><p>a <a href=/x>b</a> <b>c</b> d_e <ul><li>x<li>y</ul><pre>f\n  g</pre>")
        keep = [True] * len(page.blocks)

        assert place(page, keep).markdown == render(page, keep, "markdown")

    def test_a_page_that_holds_marks_itself_has_no_places(self):
        assert place(a_page("<p>one\ufdd1<p>two"), [True, True]).regions == {}

    def test_a_page_whose_marks_are_lost_has_no_places(self):
        page = a_page("<p>one<p>two")
        page.blocks[0] = Block("body>p", "one", 1, 0, ("  ",))

        assert place(page, [True, True]).regions == {}

    @given(st.text("ab*_`<>&[]()\\ \n#1.-|é", max_size=60))
    def test_any_text_is_placed(self, text):
        page = a_page(f"<p>x {text.replace('<', '&lt;')}</p><p>end</p>")

        assert len(place(page, ([True] * len(page.blocks))).regions) == len(page.blocks)


class TestCuts:
    @table("text/cuts")
    def test_a_block_loses_what_is_covered(self, body, pattern, text, html):
        page, found = cut(body, pattern)

        assert found.blocks[0].text == text
        assert not found.gone
        assert render(Page(blocks=found.blocks, walk=page.walk), [True] * len(page.blocks), "html") == html

    @table("core/an_address_is_no_text")
    def test_an_address_is_no_text(self, body, pattern, gone):
        page, found = cut(body, pattern)

        assert [one.text for one in found.cuts] == [gone]
        assert found.blocks[0].text == page.blocks[0].text.removesuffix(gone).strip()

    @given(st.text("ab*_<&[]( )\\é", min_size=1, max_size=40), st.sampled_from(["a", "b+", r"\w+", r"\[.*?\]", r"\s"]))
    def test_what_goes_and_what_stays_are_the_words(self, text, pattern):
        page, found = cut(f"<p>x<p>{text.replace('&', '&amp;').replace('<', '&lt;')}", pattern)

        for number, block in enumerate(page.blocks):
            gone = sum(len("".join(one.text.split())) for one in found.cuts if one.block == number)
            left = 0 if number in found.gone else len("".join(found.blocks[number].text.split()))
            assert gone + left == len("".join(block.text.split()))

    def test_letters_that_a_converter_lost_stay(self):
        page = a_page("<p>one two")

        found = shorten(page, PlacedBlocks("one", {0: (0, 3)}), [TextSpan(0, 3, "one")])

        assert found.blocks[0].text == "two"


CONFIG = SiteConfig((".custom-header",), ("Hard to read.*",), keep_pages=("ab" * 16,))


class TestForms:
    def test_json_and_back_is_the_same(self):
        assert SiteConfig.from_json(CONFIG.to_json()) == CONFIG
        assert SiteConfig.from_json({}) == SiteConfig()
        assert SiteConfig().is_empty
        assert not CONFIG.is_empty

    @table("core/a_body_may_be_wrapped")
    def test_a_body_may_be_wrapped(self, body):
        assert SiteConfig.from_json(body) == SiteConfig((".a",))

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            pytest.param([], "is a mapping of boilerplate_css_selectors", id="list"),
            pytest.param({"boilerplate_css_selector": []}, "did you mean boilerplate_css_selectors", id="misspelt"),
            pytest.param({"x": []}, "the keys are boilerplate_css_selectors, ", id="unknown"),
            pytest.param({1: []}, "'1' is no key", id="number"),
            pytest.param({"keep_rules": "nav"}, "is a list of texts, not str", id="text"),
            pytest.param({"keep_rules": [1]}, "is a list of texts", id="numbers"),
            pytest.param({"keep_rules": [" "]}, "is empty", id="blank"),
            pytest.param({"keep_blocks": ["xyz"]}, "16 hexadecimal digits", id="no-fingerprint"),
            pytest.param({"keep_pages": ["g" * 32]}, "32 hexadecimal digits", id="no-key"),
            pytest.param({"pdf_boilerplate_patterns": ["a"] * 2_001}, "at most 2000", id="many"),
        ],
    )
    def test_what_is_none_is_refused_by_name(self, given, told):
        with pytest.raises(SiteConfigError, match=told):
            SiteConfig.from_json(given)

    def test_one_key_is_changed(self):
        assert CONFIG.changed("keep_pages", []).keep_pages == ()


class TestMerging:
    def test_a_site_adds_to_what_holds_for_all_and_changes_neither(self):
        base = SiteConfig((".all", ".both"))
        stored = SiteConfig((".both", ".own"), keep_rules=("nav",))

        found = get_site_config_with_db_overrides(base, stored)

        assert found == SiteConfig((".all", ".both", ".own"), keep_rules=("nav",))
        assert base == SiteConfig((".all", ".both"))

    def test_without_a_site_of_its_own_the_base_holds(self):
        assert get_site_config_with_db_overrides(CONFIG, None) is CONFIG
