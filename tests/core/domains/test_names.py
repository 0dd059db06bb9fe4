import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.domains import MOST_CHARS, domain_name, is_pattern, name_pattern, twin_of
from scrapy_dedup.core.urls.normal_form import DomainScope
from tests.tables import table

CASES = json.loads((Path(__file__).parents[2] / "data" / "domains" / "names.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
@pytest.mark.parametrize("scope", ["host", "registrable"])
def test_a_text_names_the_domain_that_a_crawl_would_know(case: dict[str, str | None], scope: DomainScope) -> None:
    expected = case["host"] and case[scope]

    assert domain_name(str(case["text"]), scope) == expected


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if "twin" in case])
def test_a_name_has_this_twin(case: dict[str, str | None]) -> None:
    assert twin_of(str(case["host"])) == case["twin"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" * 300 + ".org", id="label-of-300"),
        pytest.param(".".join(["a" * 60] * 5) + ".org", id="name-of-300"),
        pytest.param("http://" + "a" * 10_000_000, id="10-megabytes"),
        pytest.param("ü" * 60_000, id="quadratic-for-idna"),
        pytest.param("xn--" * 10_000, id="many-hyphens"),
    ],
)
def test_what_is_endless_is_no_domain(text: str) -> None:
    assert domain_name(text) is None


@given(st.text())
def test_any_text_is_a_domain_or_none(text: str) -> None:
    name = domain_name(text)

    assert name is None or (name.isascii() and len(name) <= MOST_CHARS + len(":65535"))


def test_a_name_that_would_be_too_long_with_www_has_no_twin() -> None:
    name = ".".join(["a" * 60] * 4) + ".orgorg"

    assert len(name) <= MOST_CHARS < len("www." + name)
    assert twin_of(name) is None


@table("urls/spelt_patterns")
def test_a_pattern_is_spelt_as_names_are(typed: str, pattern: str) -> None:
    assert name_pattern(typed) == pattern


@table("urls/name_patterns")
def test_star_and_question_mark_make_a_pattern(text: str, *, expected: bool) -> None:
    assert is_pattern(text) is expected
