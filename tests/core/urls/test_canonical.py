import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.urls.canonical import (
    MAX_ALTERNATES,
    MAX_HREF_CHARS,
    Address,
    Alias,
    CanonicalEvidence,
    CanonicalPolicy,
    Declaration,
    Own,
    OwnReason,
    judge,
    redirect_aliases,
    resolve,
)
from scrapy_dedup.core.urls.normal_form import UrlRules, page_key

CASES = json.loads((Path(__file__).parents[2] / "data" / "urls" / "canonical.json").read_text(encoding="utf-8"))
SITE = "https://example.com"
PAGE = f"{SITE}/a"

Case = dict[str, Any]


def declaration_of(case: Case) -> Declaration:
    alternates = tuple((language, href) for language, href in case.get("alternates", []))
    return Declaration(case["page"], tuple(case["hrefs"]), case.get("base"), case.get("lang"), alternates)


def evidence_of(case: Case) -> CanonicalEvidence:
    declared = {page_key(SITE + one): page_key(SITE + other) for one, other in case.get("declared", {}).items()}
    return CanonicalEvidence(case.get("pages", 0), case.get("claims", 0), declared)


def policy_of(case: Case) -> CanonicalPolicy:
    return CanonicalPolicy(allowed_domains=frozenset(case.get("allowed", [])))


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_declaration_is_believed_or_not(case):
    answer = judge(declaration_of(case), evidence_of(case), policy_of(case))

    expected: Alias | Own
    if "alias" in case:
        expected = Alias(Address(case["alias"], page_key(case["alias"])))
    else:
        expected = Own(OwnReason(case["own"]))
    assert answer == expected, case["why"]


def test_rules_decide_what_is_the_page_itself():
    declaration = Declaration(f"{SITE}/a/index.html", ("/a/",))

    assert judge(declaration, CanonicalEvidence(), rules=UrlRules(index_page=True)) == Own(OwnReason.SELF)


@pytest.mark.parametrize("href", ["/" + "x" * 1_000_000, "https://" + "é" * MAX_HREF_CHARS, "data:," + "x" * 1_000_000])
def test_endless_href_is_not_read(href):
    assert resolve(Declaration(PAGE, (href,))) == Own(OwnReason.TOO_LONG)


def test_endless_alternates_do_not_help_a_page_to_hide():
    """Only so many are read; a target among the others is left to the comparison of contents."""
    alternates = (("nl", "/nl/b"),) * MAX_ALTERNATES + (("en", "/b"),)

    assert isinstance(judge(Declaration(PAGE, ("/b",), None, "nl", alternates), CanonicalEvidence()), Alias)


texts = st.text() | st.text(st.sampled_from("ah/:.?#@\\[]%2 \n&=")) | st.just("https://example.com/b")


@given(
    st.builds(
        Declaration,
        texts | st.just(PAGE),
        st.lists(texts, max_size=3).map(tuple),
        st.none() | texts,
        st.none() | texts,
        st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    )
)
def test_any_declaration_gets_an_answer(declaration):
    answer = judge(declaration, CanonicalEvidence())

    if isinstance(answer, Alias):
        assert answer.target == resolve(declaration)
        assert answer.target.page_key == page_key(answer.target.url) != page_key(declaration.url)


def test_redirects_make_aliases():
    passed = [f"{SITE}/old", "data:,x", f"{SITE}/older", f"{SITE}/old?utm_source=x", f"{SITE}/a#top"]

    aliases = redirect_aliases(passed, PAGE)

    assert aliases == tuple(Address(url, page_key(url)) for url in (f"{SITE}/old", f"{SITE}/older"))
