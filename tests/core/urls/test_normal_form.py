import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from string import ascii_letters, ascii_lowercase, digits
from typing import Any
from weakref import ref

import pytest
from _pytest.mark import ParameterSet
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_dedup.core.urls.normal_form import (
    IgnoredParameters,
    UrlRules,
    extract_domain,
    host_of,
    is_token,
    is_tracker,
    names_in,
    normalize_url,
    page_key,
    pages_linked,
    target_of,
    values_in,
    without,
    without_trackers,
)
from scrapy_dedup.core.urls.pagination import shape_of
from tests.tables import table

DATA = Path(__file__).parents[2] / "data" / "urls"
PROJECT = str(Path(__file__).parents[3])

Case = dict[str, Any]
Pairs = Iterable[tuple[str, str]]


def cases(name: str) -> list[ParameterSet]:
    return [
        pytest.param(case, id=case.get("id", case.get("name")))
        for case in json.loads((DATA / name).read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("case", cases("normal.json"))
def test_url_has_its_normal_form(case):
    assert normalize_url(case["url"], UrlRules(**case.get("rules", {}))) == case["normal"], case["why"]


@pytest.mark.parametrize("case", cases("pairs.json"))
def test_two_urls_are_one_page_or_two(case):
    assert (page_key(case["one"]) == page_key(case["other"])) is case["same"]


@pytest.mark.parametrize("case", cases("peers.json"))
def test_two_urls_of_a_peer_s_own_tests_are_one_page_or_two(case):
    """Where the peer says something else, `benchmarks.peer_tables` prints it."""
    assert (page_key(case["one"]) == page_key(case["other"])) is case["same"], case["why"]


@pytest.mark.parametrize("case", cases("parameters.json"))
def test_parameter_says_nothing_about_the_page_or_stays(case):
    assert is_tracker(case["name"]) is case["tracker"], case["why"]


@pytest.mark.parametrize("case", cases("domains.json"))
def test_url_has_its_domain(case):
    assert extract_domain(case["url"]) == case["host"], case["why"]
    assert extract_domain(case["url"], "registrable") == case["registrable"], case["why"]


def test_page_key_never_changes_unnoticed():
    """Stores hold keys."""
    assert page_key("https://example.com/").hex() == "3259687d649f8e86106dd28ba70f1016"
    assert page_key("no URL, but a lone surrogate: \ud800").hex() == "9f4b66c335365b2212ff33013041c29b"


def test_endless_url_is_no_url():
    endless = " HTTP://example.com/" + "x" * 1_000_000

    assert normalize_url(endless) == endless.strip()
    assert extract_domain(endless) is None


class _Found(str):
    """As lxml gives it, which holds its document by it."""

    __slots__ = ("__weakref__",)


@pytest.mark.parametrize("chars", [1, 10_000])
def test_no_url_is_held_that_is_long_or_holds_its_document(chars):
    found = _Found("https://example.com/a b" + "c" * chars)
    document = ref(found)

    assert (extract_domain(found), normalize_url(found)) == ("example.com", found.replace(" ", "%20"))
    del found
    assert document() is None


def test_registrable_domain_needs_no_network_and_no_file(tmp_path):
    """As on a locked-down machine: no home, no connection."""
    script = (
        "import socket\n"
        "socket.socket.connect = None\n"
        "from scrapy_dedup.core.urls.normal_form import extract_domain\n"
        "assert extract_domain('http://a.b.co.uk/', 'registrable') == 'b.co.uk'\n"
    )

    subprocess.run([sys.executable, "-c", script], check=True, env={"HOME": str(tmp_path), "PYTHONPATH": PROJECT})

    assert not list(tmp_path.iterdir())


# Laws

every_rules = st.builds(UrlRules, *[st.booleans()] * 5)
pieces = [*"aA%/.;?&=+#!~:@[]\\ \t|'\"(é\ud800", "%41", "%2e", "%2F", "%E9", "%3d", "%", "..", "utm_a", "index.html"]
tricky = st.lists(st.sampled_from(pieces)).map("".join)
hosts = st.sampled_from(["example.com", "EXAMPLE.com.", "münchen.de", "127.0.0.1", "[::1]", "u:p@a.b", "a-b.co.uk"])
schemes, ports = st.sampled_from(["http", "HTTPS"]), st.sampled_from(["", ":", ":80", ":8000"])
web_urls = st.builds("{}://{}{}/{}".format, schemes, hosts, ports, tricky)
any_urls = st.one_of(st.text(), tricky, web_urls, tricky.map("http://a.b/".__add__), st.text().map("http://".__add__))

words = st.text(ascii_letters + digits, min_size=1, max_size=5)
names = words.filter(lambda name: not is_tracker(name))
fields = st.lists(st.tuples(names, words), max_size=5)
trackers = st.sampled_from(["utm_source", "gclid", "fbclid", "mc_eid", "_ga", "PHPSESSID"])


def a_url(pairs: Pairs, path: str = "/a/b") -> str:
    return f"https://example.com{path}?" + "&".join(f"{name}={value}" for name, value in pairs)


@given(any_urls, every_rules)
@example("http://a.b/index.html/index.html", UrlRules(trailing_slash=True, index_page=True))
@example("http://a.b/%%34%31", UrlRules())
def test_normal_form_is_its_own(url, rules):
    normal = normalize_url(url, rules)

    assert normalize_url(normal, rules) == normal


@given(
    st.text(st.characters()),
    st.sampled_from(["", "http://", "https://a/", "http://a/?", "//", "http://["]),
    every_rules,
)
def test_no_text_raises(text, start, rules):
    normalize_url(start + text, rules)
    extract_domain(start + text, "registrable")

    assert len(page_key(start + text, rules)) == 16


@given(st.dictionaries(names, words, max_size=5), st.randoms(use_true_random=False))
def test_order_of_parameters_changes_nothing(values, random):
    pairs = list(values.items())
    random.shuffle(pairs)

    assert page_key(a_url(pairs)) == page_key(a_url(values.items()))


@given(
    st.sampled_from(["http", "https"]),
    st.text(ascii_lowercase, min_size=1, max_size=5),
    st.lists(words, max_size=3),
    st.text(ascii_letters, max_size=5),
)
def test_case_of_host_default_port_and_fragment_change_nothing(scheme, label, segments, fragment):
    path = "/" + "/".join(segments)
    port = {"http": 80, "https": 443}[scheme]

    decorated = f"{scheme.upper()}://{label.upper()}.COM:{port}{path}#{fragment}"

    assert page_key(decorated) == page_key(f"{scheme}://{label}.com{path}")


@given(fields, trackers, words, st.sampled_from(["", "#part"]))
def test_only_tracking_parameters_are_taken_out_of_a_request(pairs, tracker, value, fragment):
    """Order, empty fields and fragment stay as they are spelled: a site, or a filter, may tell them apart."""
    url = a_url(pairs) if pairs else "https://example.com/a/b"
    joint = "&" if pairs else "?"

    assert without_trackers(f"{url}{joint}{tracker}={value}{fragment}") == url + fragment
    assert page_key(without_trackers(url)) == page_key(url)


PAGE = "https://example.com/a/b.html"


@table("urls/links")
def test_target_is_absolute_and_harmless(href, target):
    assert target_of(href, PAGE) == target


def test_endless_link_has_no_target():
    assert target_of("x" * 4_001, PAGE) is None


def test_pages_linked_are_pages_each_once_in_order():
    hrefs = [
        "z",
        "/a",
        "z",
        "https://example.com/a/z",
        "mailto:a@example.com",
        "ftp://x.example/",
        "javascript:1",
        "#x",
    ]

    assert pages_linked(hrefs, PAGE) == ["https://example.com/a/z", "https://example.com/a", f"{PAGE}#x"]


@given(st.lists(st.text(max_size=20), max_size=8))
def test_every_page_that_is_linked_can_be_asked_for(hrefs):
    found = pages_linked(hrefs, PAGE)

    assert all(one.startswith(("http://", "https://")) for one in found)
    assert len(set(found)) == len(found)


@table("core/url_has_a_shape")
def test_url_has_a_shape(url, path, names):
    shape = shape_of(url)

    assert (shape.host, shape.path, list(shape.names), shape.repeats) == ("a", path, names, False)


@pytest.mark.parametrize("path", ["/a/a/a", "/a/b/a/b/a", "/x/y/x/y", "/" + "/".join(map(str, range(60)))])
def test_path_that_comes_again_is_one_shape(path):
    shape = shape_of(f"http://a:81{path}")

    assert shape.repeats
    assert shape.host == "a:81"


def test_folders_are_told():
    shape = shape_of("http://a/one/2/three/four/five")

    assert shape.prefixes == ("/one/", "/one/#/", "/one/#/three/")
    assert shape.section == "one"


@given(st.text())
def test_any_text_is_taken(text):
    shape_of(text)
    assert shape_of(f"http://a/{text}") is None or shape_of(f"http://a/{text}").path.startswith("/")


@pytest.mark.parametrize(
    "value", ["4F2A9C01D3", "S-7F3A9C01B2", "(S4f2a9c01)", "9f86d081884c", "ABCDEFGHIJ", "20231104"]
)
def test_value_that_a_program_made_up_is_told(value):
    assert is_token(value)


@pytest.mark.parametrize(
    "value", ["", "12", "en", "red", "product-17", "hello-world", "mp3tags", "top10-of-2024", "Contents", "a" * 400]
)
def test_value_that_a_person_chose_is_told(value):
    assert not is_token(value)


@table("urls/without_parameters")
def test_parameters_are_left_out(url, names, left):
    assert without(url, names) == left


def test_names_and_values_of_all_kinds_are_found():
    url = "http://a/4F2A9C01D3/p;sid=1?x=2&&x=3"

    assert names_in(url) == [";sid", "/@0", "x"]
    assert values_in(url, names_in(url)) == ["2", "3", "1", "4F2A9C01D3"]
    assert names_in("http://a") == []


def test_keys_leave_out_what_is_ignored_from_the_moment_on_which_it_is():
    ignored = IgnoredParameters()
    rules = UrlRules(ignored=ignored)
    before = page_key("http://a/p?sid=1", rules)
    ignored.add("a", "sid")

    assert before == page_key("http://a/p?sid=1")
    assert page_key("http://a/p?sid=1", rules) == page_key("http://a/p")
    assert normalize_url("http://b/p?sid=1", rules) == "http://b/p?sid=1"
    ignored.remove("a", "sid")
    assert page_key("http://a/p?sid=1", rules) == before


@given(st.text(), st.lists(st.text(max_size=4), max_size=3))
def test_any_url_has_fields(url, names):
    assert without(without(url, names), names) == without(url, names)
    values_in(url, names_in(url))
    host_of(url)
