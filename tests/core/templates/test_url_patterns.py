import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.templates.url_patterns import matches_pattern, url_pattern, url_target
from tests.tables import table

HOST = "https://example.com"


def at(paths: str) -> list[str]:
    return [HOST + path for path in paths.split()]


@table("urls/patterns")
def test_pattern_says_what_urls_share(own, others, pattern):
    assert url_pattern(at(own), at(others)) == pattern


def test_what_is_no_url_is_passed_over():
    assert url_pattern([*at("/a/b"), "mailto:x", "http://[", "\ud800"], ["javascript:0"]) == "^/a/b/?$"
    assert url_target("mailto:x") is None
    assert not matches_pattern("x", "mailto:x")


@pytest.mark.parametrize(
    "pattern",
    ["^" + "[^/]+" * 6 + "/$", "^" + "(?:a|b)?" * 40 + "$", "^.+a.+a.+b$", "(?:a+)+$b", "(?=a)", "("],
    ids=["steps", "choices", "anything", "repeated", "look-ahead", "no-expression"],
)
def test_no_expression_takes_for_ever(pattern):
    assert not matches_pattern(pattern, f"{HOST}/{'a' * 2_000}")


steps = st.sampled_from(["a", "b", "1", "22", "C", "x.html", "y.html", "a-b", "(", "é", "%20"])
paths = st.builds(
    lambda parts, slash, query: HOST + "/" + "/".join(parts) + slash + query,
    st.lists(steps, max_size=4),
    st.sampled_from(["", "/"]),
    st.sampled_from(["", "?p=1", "?p=x&q=2", "?q"]),
)
urls = st.lists(paths, max_size=8)


@given(urls, urls)
def test_pattern_matches_all_own_urls_and_no_other(own, others):
    pattern = url_pattern(own, others)

    if pattern is not None:
        assert all(matches_pattern(pattern, url) for url in own)
        assert not any(matches_pattern(pattern, url) for url in others)


@given(urls, urls, st.randoms(use_true_random=False))
def test_order_and_repeats_of_urls_do_not_matter(own, others, random):
    mixed, mixed_others = own + own, list(others)
    random.shuffle(mixed)
    random.shuffle(mixed_others)

    assert url_pattern(mixed, mixed_others) == url_pattern(own, others)


@given(urls)
def test_pattern_has_nothing_that_linear_engines_refuse(own):
    pattern = url_pattern(own, [])

    assert pattern is None or not re.search(r"\\[1-9]|\(\?[=!<P]", pattern)


def test_endless_urls_end_soon():
    own = [f"{HOST}/" + "/".join("a" * i for i in range(1, 60)) + f"/{n}" for n in range(300)]

    assert url_pattern(own, [f"{HOST}/" + "a/" * 900 + f"{n}" for n in range(300)]) is not None
