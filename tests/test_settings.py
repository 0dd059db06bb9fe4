import contextlib
import dataclasses
import json
import re
import runpy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import BaseSettings

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.recrawl.plan import FreshRule
from scrapy_dedup.settings import PARAMETERS, PREFIX, SettingError, Settings, public_name
from scrapy_dedup.settings.parsers import FAMILIES, PLACES, FreshFor, kind_of
from tests.tables import table

PROJECT = Path(__file__).parents[1]
_HOUR = timedelta(hours=1)
FIELDS = {field.name: field for field in dataclasses.fields(Settings)}


def test_without_settings_the_defaults_hold():
    assert Settings.read({}) == Settings()
    assert Settings.read({"BOT_NAME": "bot", "RETRY_TIMES": 3, 7: "no name"}) == Settings()  # type: ignore[dict-item]


def public(field: str, value: Any, *, as_json: bool = False) -> dict[str, Any]:
    """Return how a user gives a field by its public name."""
    family, key = PLACES.get(field, (field, ""))
    members = json.dumps({key: value}) if as_json else {key: value}
    return {PREFIX + family.upper(): members if key else value}


@pytest.mark.parametrize("name", FIELDS)
def test_every_default_may_be_written_down_and_given_on_the_command_line_and_on_a_spider(name):
    """On the command line, `-s NAME=VALUE`, every value is text; of a family the text is JSON."""
    default = FIELDS[name].default
    written: Any = f"{default.total_seconds():g}s" if isinstance(default, timedelta) else default
    listed: Any = sorted(written) if isinstance(default, frozenset | tuple) else str(written)

    method = of_method(name)
    changed = Settings.read(method)
    for one in (public(name, written), public(name, listed), public(name, listed, as_json=True)):
        assert Settings.read({**one, **method}) == changed
        attributes = {key.removeprefix(PREFIX).lower(): value for key, value in one.items()}
        assert changed.override(attributes, "dedup_") == changed


def test_there_are_at_most_70_names():
    """And each field has one, each key a field."""
    assert len({public_name(field).partition("[")[0] for field in FIELDS}) <= 70
    assert len(set(map(public_name, FIELDS))) == len(FIELDS)
    assert set(PLACES) <= set(FIELDS)
    assert len(PLACES) == sum(map(len, FAMILIES.values()))


METHOD = f"{PREFIX}BOILERPLATE_METHOD"


def of_method(name: str) -> dict[str, str]:
    """Return the method beside which a setting may be named."""
    return {METHOD: "text"} if name in PARAMETERS else {}


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("enabled", "0", False),
        ("enabled", 0, False),
        ("enabled", "False", False),
        ("enabled", " yes ", True),
        ("threshold_pct", "1", 1.0),
        ("threshold_pct", 0.1, 0.1),
        ("min_pages", " 100 ", 100),
        ("max_wait", "0.5", timedelta(seconds=0.5)),
        ("max_wait", timedelta(minutes=1), timedelta(minutes=1)),
        ("output", "HTML", "html"),
        ("project", None, ""),
        ("project", " news ", "news"),
        ("canonical_domains", "B.example, a.example,,", frozenset({"a.example", "b.example"})),
        ("canonical_domains", ["A.example"], frozenset({"a.example"})),
        ("keep_pages", "None", "none"),
        ("keep_pages", "3", 3),
        ("fallback_request_fingerprinter_class", dict, dict),
        ("max_wait", "2m", timedelta(minutes=2)),
        ("max_304_age", 7, timedelta(days=7)),
        ("max_304_age", "12h", timedelta(hours=12)),
        ("cache_max_age", "off", None),
        ("cache_max_age", "0.5", timedelta(hours=12)),
        ("change_classes", "content, Title", frozenset({"content", "title"})),
        ("refresh", "example.com https://a.example/b", ("example.com", "https://a.example/b")),
        ("fresh_for", 7, FreshFor(timedelta(days=7))),
        ("fresh_for", '{"a.example": "1h", "*": 2}', FreshFor(timedelta(days=2), (FreshRule("a.example", _HOUR),))),
    ],
)
def test_value_is_read(name, value, read):
    settings = Settings.read({**public(name, value), **of_method(name)})

    assert getattr(settings, name) == read
    assert type(getattr(settings, name)) is type(read)


LISTS = {name: field for name, field in FIELDS.items() if isinstance(field.default, frozenset | tuple)}
_ENTRIES = {
    "languages": ["de", "nl"],
    "shadow": ["title", "url"],
    "change_classes": ["content", "title"],
    "discovery": ["archives", "feeds"],
    "item_details": ["chunks", "removed"],
}


@pytest.mark.parametrize("name", LISTS)
def test_every_list_may_be_given_as_json_or_with_commas(name):
    """Expressions hold commas: one a line. The message names the forms."""
    entries = _ENTRIES.get(name, ["a.example", "b.example"])
    allowed = kind_of(LISTS[name]).allowed
    between = "\n" if allowed.endswith("one a line") else ", "

    assert "JSON" in allowed
    assert allowed.endswith(("with commas", "one a line"))
    for text in (json.dumps(entries), between.join(entries), entries):
        assert sorted(getattr(Settings.read(public(name, text)), name)) == entries
    assert not getattr(Settings.read(public(name, "[]")), name)


def test_a_selector_in_brackets_is_one():
    assert Settings.read({"DEDUP_BOILERPLATE_CSS_SELECTORS": "[data-ad]"}).boilerplate_css_selectors == ("[data-ad]",)


@table("settings/wrong_values")
def test_wrong_value_is_refused_with_name_value_and_way_out(name, value, message):
    with pytest.raises(SettingError) as refused:
        Settings.read(public(name, value))

    assert str(refused.value) == message
    assert isinstance(refused.value, DedupError)


DEEP: Any = 1
for _ in range(9_999):
    DEEP = {"after": DEEP}
# What no file of cases can hold.
HOSTILE = {
    "[7] is not a setting of scrapy_dedup: its keys are ": {7: 1},
    "[None] is not a setting of scrapy_dedup: its keys are ": {None: 1},
    " is text that is no dict in JSON: needs a dict": "[" * 99_999,
    '["after"]=<dict object at ': DEEP,
    '["after"]=<int object at ': {"after": 10**5_000},
}


@pytest.mark.parametrize("message", HOSTILE)
def test_no_value_of_a_family_makes_a_traceback(message):
    test_what_no_family_has_is_refused_with_its_name(HOSTILE[message], message)


@table("settings/families")
def test_what_no_family_has_is_refused_with_its_name(value, message):
    with pytest.raises(SettingError) as of_project:
        Settings.read({"DEDUP_STALL": value})
    with pytest.raises(SettingError) as of_spider:
        Settings().override({"stall": value}, "dedup_")

    assert str(of_project.value).startswith(f"DEDUP_STALL{message}")
    assert str(of_spider.value).startswith(f"dedup_stall{message}")


@pytest.mark.parametrize("name", sorted(PLACES.keys() - FAMILIES))
def test_field_of_a_family_is_no_name_and_its_place_is_told(name):
    with pytest.raises(SettingError, match=r" is not a setting of scrapy_dedup: did you mean ") as refused:
        Settings.read({PREFIX + name.upper(): 1})

    assert str(refused.value).endswith(f"did you mean {public_name(name)}?")


@table("settings/misspelt_names")
def test_misspelt_name_is_refused_with_the_nearest_one(name, hint):
    with pytest.raises(SettingError) as refused:
        Settings.read({name: 1})

    assert str(refused.value) == f"{name} is not a setting of scrapy_dedup: {hint}"


@table("settings/parameters_beside_a_method")
def test_parameters_of_a_method_are_refused_beside_another(given, told):
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
    def test_who_goes_back_to_the_default_method_leaves_its_parameters_behind(self):
        counting = Settings.read({METHOD: "html", "DEDUP_MIN_PAGES": 9, "DEDUP_OUTPUT": "text"})

        assert counting.override({"boilerplate_method": "auto"}, "") == Settings(output="text")
        assert counting.override({"threshold_pct": 0.5}, "").min_pages == 9

    def test_named_fields_change_and_nothing_changes_nothing(self):
        changed = Settings().override({"output": "TEXT", "batch": {"learn_pages": "7"}}, "dedup_")

        assert changed == dataclasses.replace(Settings(), output="text", learn_pages=7)
        assert changed.override({}, "spider attribute dedup_") is changed

    def test_of_a_family_only_the_keys_change_that_are_named(self):
        """`read` knows no project below it: there what is not named has its default."""
        project = Settings.read({"DEDUP_STALL": BaseSettings({"after": 120, "action": "stop"})})

        assert project.override({"stall": '{"action": "exit"}'}, "dedup_") == Settings(
            stall_after=timedelta(minutes=2), stall_action="exit"
        )

    def test_wrong_value_says_where_it_was_given(self):
        with pytest.raises(SettingError, match=r"^dedup_output='pdf': needs markdown, text or html$"):
            Settings().override({"output": "pdf"}, "dedup_")

    def test_unknown_field_says_where_it_was_given(self):
        with pytest.raises(SettingError, match=r"^dedup_ouput is not a setting .*: did you mean dedup_output\?$"):
            Settings().override({"ouput": "text"}, "dedup_")


@given(
    st.sampled_from(sorted(FIELDS)), st.one_of(st.none(), st.integers(), st.floats(), st.text(), st.lists(st.text()))
)
def test_any_value_is_read_or_refused(name, value):
    with contextlib.suppress(SettingError):
        settings = Settings.read(of_method(name) | public(name, value))
        ((again, read),) = public(name, getattr(settings, name)).items()
        assert settings.override({again.removeprefix(PREFIX).lower(): read}, "again: ") == settings


def test_docs_are_made_from_the_declarations():
    made = runpy.run_path(str(PROJECT / "docs" / "settings_page.py"))["as_markdown"]()

    assert (PROJECT / "docs" / "settings.md").read_text(encoding="utf-8") == made, "run `make docs`"


NO_SETTINGS = {"DEDUP_HEARTBEAT", "DEDUP_SERVE_TOKEN"}
"""Variables of the environment."""


def test_names_in_messages_and_docs_are_those_of_settings():
    files = [PROJECT / "README.md", *(PROJECT / "docs").rglob("*"), *(PROJECT / "scrapy_dedup").rglob("*")]
    texts = [file.read_text(encoding="utf-8") for file in files if file.suffix in {".py", ".md", ".html", ".json"}]

    named = {name for text in texts for name in re.findall(r'DEDUP_[A-Z0-9_]*[A-Z0-9](?:\["\w+"\])?', text)}
    known = {*map(public_name, FIELDS), *(PREFIX + family.upper() for family in FAMILIES)}
    assert named - known == NO_SETTINGS


@pytest.mark.parametrize("name", FIELDS)
def test_every_setting_says_what_it_means_and_allows(name):
    meaning, allowed = FIELDS[name].metadata["meaning"], kind_of(FIELDS[name]).allowed

    assert meaning.endswith((".", "folder."))
    assert "|" not in meaning + allowed
    assert allowed or isinstance(FIELDS[name].default, str)
