import contextlib
import dataclasses
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.recrawl.plan import FreshRule
from scrapy_dedup.settings import PARAMETERS, PREFIX, SettingError, Settings
from scrapy_dedup.settings.page import as_markdown
from scrapy_dedup.settings.parsers import LIST, FreshFor, kind_of
from tests.tables import table

PROJECT = Path(__file__).parents[1]
_HOUR = timedelta(hours=1)
FIELDS = {field.name: field for field in dataclasses.fields(Settings)}


def test_without_settings_the_defaults_hold() -> None:
    assert Settings.read({}) == Settings()
    assert Settings.read({"BOT_NAME": "bot", "RETRY_TIMES": 3, 7: "no name"}) == Settings()  # type: ignore[dict-item]


@pytest.mark.parametrize("name", FIELDS)
def test_every_default_may_be_written_down_and_given_on_the_command_line(name: str) -> None:
    """There, `-s NAME=VALUE`, every value is text."""
    default = FIELDS[name].default
    written = f"{default.total_seconds():g}s" if isinstance(default, timedelta) else default

    method = of_method(name)
    assert Settings.read({f"{PREFIX}{name.upper()}": written, **method}) == Settings.read(method)
    as_text = {f"{PREFIX}{name.upper()}": str(written), **method}
    assert isinstance(default, frozenset | tuple) or Settings.read(as_text) == Settings.read(method)


METHOD = f"{PREFIX}BOILERPLATE_METHOD"


def of_method(name: str) -> dict[str, str]:
    """Return the method beside which a setting may be named."""
    return {METHOD: "text"} if name.lower() in PARAMETERS else {}


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("ENABLED", "0", False),
        ("ENABLED", 0, False),
        ("ENABLED", "False", False),
        ("ENABLED", " yes ", True),
        ("THRESHOLD_PCT", "1", 1.0),
        ("THRESHOLD_PCT", 0.1, 0.1),
        ("MIN_PAGES", " 100 ", 100),
        ("MAX_WAIT", "0.5", timedelta(seconds=0.5)),
        ("MAX_WAIT", timedelta(minutes=1), timedelta(minutes=1)),
        ("OUTPUT", "HTML", "html"),
        ("PROJECT", None, ""),
        ("PROJECT", " news ", "news"),
        ("CANONICAL_DOMAINS", "B.example, a.example,,", frozenset({"a.example", "b.example"})),
        ("CANONICAL_DOMAINS", ["A.example"], frozenset({"a.example"})),
        ("KEEP_PAGES", "None", "none"),
        ("KEEP_PAGES", "3", 3),
        ("FALLBACK_REQUEST_FINGERPRINTER_CLASS", dict, dict),
        ("MAX_WAIT", "2m", timedelta(minutes=2)),
        ("MAX_304_AGE", 7, timedelta(days=7)),
        ("MAX_304_AGE", "12h", timedelta(hours=12)),
        ("CACHE_MAX_AGE", "off", None),
        ("CACHE_MAX_AGE", "0.5", timedelta(hours=12)),
        ("CHANGE_CLASSES", "content, Title", frozenset({"content", "title"})),
        ("REFRESH", "example.com https://a.example/b", ("example.com", "https://a.example/b")),
        ("FRESH_FOR", 7, FreshFor(timedelta(days=7))),
        ("FRESH_FOR", '{"a.example": "1h", "*": 2}', FreshFor(timedelta(days=2), (FreshRule("a.example", _HOUR),))),
    ],
)
def test_value_is_read(name: str, value: Any, read: Any) -> None:
    settings = Settings.read({f"{PREFIX}{name}": value, **of_method(name)})

    assert getattr(settings, name.lower()) == read
    assert type(getattr(settings, name.lower())) is type(read)


LISTS = {name: field for name, field in FIELDS.items() if isinstance(field.default, frozenset | tuple)}
_ENTRIES = {
    "languages": ["de", "nl"],
    "shadow": ["title", "url"],
    "change_classes": ["content", "title"],
    "discovery": ["archives", "feeds"],
    "item_details": ["chunks", "removed"],
}


@pytest.mark.parametrize("name", LISTS)
def test_every_list_may_be_given_as_json_or_with_commas(name: str) -> None:
    """Expressions hold commas: one a line. The message names the forms."""
    entries = _ENTRIES.get(name, ["a.example", "b.example"])
    allowed = kind_of(LISTS[name]).allowed
    between = "\n" if allowed.endswith("one a line") else ", "

    assert "JSON" in allowed
    assert allowed.endswith(("with commas", "one a line"))
    for text in (json.dumps(entries), between.join(entries), entries):
        assert sorted(getattr(Settings.read({f"{PREFIX}{name.upper()}": text}), name)) == entries
    assert not getattr(Settings.read({f"{PREFIX}{name.upper()}": "[]"}), name)


def test_a_selector_in_brackets_is_one() -> None:
    assert Settings.read({"DEDUP_BOILERPLATE_CSS_SELECTORS": "[data-ad]"}).boilerplate_css_selectors == ("[data-ad]",)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ENABLED", "maybe", "DEDUP_ENABLED='maybe': needs True or False"),
        ("ENABLED", None, "DEDUP_ENABLED=None: needs True or False"),
        ("THRESHOLD_PCT", 0.09, "DEDUP_THRESHOLD_PCT=0.09: needs 0.1 to 1.0"),
        ("THRESHOLD_PCT", 70, "DEDUP_THRESHOLD_PCT=70: needs 0.1 to 1.0"),
        ("THRESHOLD_PCT", True, "DEDUP_THRESHOLD_PCT=True: needs 0.1 to 1.0"),
        ("THRESHOLD_PCT", "nan", "DEDUP_THRESHOLD_PCT='nan': needs 0.1 to 1.0"),
        ("MIN_PAGES", 1, "DEDUP_MIN_PAGES=1: needs 2 to 100"),
        ("MIN_PAGES", 101, "DEDUP_MIN_PAGES=101: needs 2 to 100"),
        ("MIN_PAGES", "5.5", "DEDUP_MIN_PAGES='5.5': needs 2 to 100"),
        ("MIN_PAGES", "many", "DEDUP_MIN_PAGES='many': needs 2 to 100"),
        ("BATCH_PAGES", True, "DEDUP_BATCH_PAGES=True: needs 1 to 1000 pages"),
        ("MIN_BLOCK_CHARS", 9, "DEDUP_MIN_BLOCK_CHARS=9: needs 10 to 500 characters"),
        ("MAX_WAIT", 0, "DEDUP_MAX_WAIT=0: needs 0.1 to 3600 seconds"),
        ("MAX_WAIT", "soon", "DEDUP_MAX_WAIT='soon': needs 0.1 to 3600 seconds"),
        ("MAX_WAIT", timedelta(hours=2), "DEDUP_MAX_WAIT=datetime.timedelta(seconds=7200): needs 0.1 to 3600 seconds"),
        ("OUTPUT", "pdf", "DEDUP_OUTPUT='pdf': needs markdown, text or html"),
        ("DOMAIN_SCOPE", "", "DEDUP_DOMAIN_SCOPE='': needs host or registrable"),
        ("CANONICAL_DOMAINS", 5, f"DEDUP_CANONICAL_DOMAINS=5: needs domains, {LIST}"),
        ("LANGUAGES", "dutch", f"DEDUP_LANGUAGES='dutch': needs two-letter codes, {LIST}"),
        ("IGNORE_FIELDS", "[a,b]", f"DEDUP_IGNORE_FIELDS='[a,b]': needs names, {LIST}"),
        ("STALL_PROXIES", [1], f"DEDUP_STALL_PROXIES=[1]: needs {LIST}"),
        ("KEEP_PAGES", 0, "DEDUP_KEEP_PAGES=0: needs latest, none, or a number of versions"),
        ("KEEP_PAGES", "all", "DEDUP_KEEP_PAGES='all': needs latest, none, or a number of versions"),
    ],
)
def test_wrong_value_is_refused_with_name_value_and_way_out(name: str, value: Any, message: str) -> None:
    with pytest.raises(SettingError) as refused:
        Settings.read({f"{PREFIX}{name}": value})

    assert str(refused.value) == message
    assert isinstance(refused.value, DedupError)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("DEDUP_MINPAGES", "did you mean DEDUP_MIN_PAGES?"),
        ("DEDUP_TRESHOLD_PCT", "did you mean DEDUP_THRESHOLD_PCT?"),
        ("DEDUP_Output", "did you mean DEDUP_OUTPUT?"),
        ("DEDUP_XQZW", "docs/settings.md lists the names"),
    ],
)
def test_misspelt_name_is_refused_with_the_nearest_one(name: str, hint: str) -> None:
    with pytest.raises(SettingError) as refused:
        Settings.read({name: 1})

    assert str(refused.value) == f"{name} is not a setting of scrapy_dedup: {hint}"


@table("settings/parameters_beside_a_method")
def test_parameters_of_a_method_are_refused_beside_another(given: dict[str, Any], told: str) -> None:
    fields = {name.removeprefix(PREFIX).lower(): value for name, value in given.items()}
    if not told:
        assert Settings.read(given) == Settings().override(fields, "")
        return
    with pytest.raises(SettingError) as refused:
        Settings.read(given)
    with pytest.raises(SettingError):
        Settings().override(fields, "dedup_")

    assert str(refused.value).startswith(told)
    assert "choose one of them, or leave it out" in str(refused.value)


class TestOverride:
    def test_who_goes_back_to_the_default_method_leaves_its_parameters_behind(self) -> None:
        counting = Settings.read({METHOD: "html", "DEDUP_MIN_PAGES": 9, "DEDUP_OUTPUT": "text"})

        assert counting.override({"boilerplate_method": "auto"}, "") == Settings(output="text")
        assert counting.override({"threshold_pct": 0.5}, "").min_pages == 9

    def test_named_fields_change_and_nothing_changes_nothing(self) -> None:
        changed = Settings().override({"output": "TEXT", "learn_pages": "7"}, "dedup_")

        assert changed == dataclasses.replace(Settings(), output="text", learn_pages=7)
        assert changed.override({}, "spider attribute dedup_") is changed

    def test_wrong_value_says_where_it_was_given(self) -> None:
        with pytest.raises(SettingError, match=r"^dedup_output='pdf': needs markdown, text or html$"):
            Settings().override({"output": "pdf"}, "dedup_")

    def test_unknown_field_says_where_it_was_given(self) -> None:
        with pytest.raises(SettingError, match=r"^dedup_ouput is not a setting .*: did you mean dedup_output\?$"):
            Settings().override({"ouput": "text"}, "dedup_")


@given(
    st.sampled_from(sorted(FIELDS)), st.one_of(st.none(), st.integers(), st.floats(), st.text(), st.lists(st.text()))
)
def test_any_value_is_read_or_refused(name: str, value: Any) -> None:
    given_so = of_method(name) | {f"{PREFIX}{name.upper()}": value}
    with contextlib.suppress(SettingError):
        settings = Settings.read(given_so)
        assert settings.override({name: getattr(settings, name)}, "again: ") == settings


def test_docs_are_made_from_the_declarations() -> None:
    assert (PROJECT / "docs" / "settings.md").read_text(encoding="utf-8") == as_markdown(), "run `make docs`"


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_says_what_it_means_and_allows(name: str) -> None:
    meaning, allowed = FIELDS[name].metadata["meaning"], kind_of(FIELDS[name]).allowed

    assert meaning.endswith((".", "folder."))
    assert "|" not in meaning + allowed
    assert allowed or isinstance(FIELDS[name].default, str)
