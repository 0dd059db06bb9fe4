import pytest

from scrapy_dedup.core.patterns import SiteConfig, SiteConfigError, get_site_config_with_db_overrides
from tests.tables import table

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
