import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.service.ledger_aliases import Pair, group_aliases

HOST = "https://example.com"


def grouped(*pairs: tuple[str, str]) -> list[tuple[str, str, int]]:
    found = group_aliases([Pair(HOST + alias, HOST + target, "canonical") for alias, target in pairs])
    return [(one.alias, one.target, one.count) for one in found]


def test_the_causes_of_a_hospital_are_told() -> None:
    """What a hospital's site had: 66 pages under two paths, 7 under their number, too."""
    paths = [(f"/werking/reglement-{number}", f"/reglement-{number}") for number in range(57)]
    paths += [(f"/reglement-{number}", f"/werking/reglement-{number}") for number in range(57, 66)]
    nodes = [(f"/node/{2000 + number}", f"/dr-{number}") for number in range(7)]

    assert grouped(*paths, *nodes) == [("/werking/*", "/*", 66), ("/node/*", "/*", 7)]


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        pytest.param([("/a", "/")], [("/*", "/", 1)], id="home"),
        pytest.param([("/a/", "/a"), ("/b/", "/b")], [("/*/", "/*", 2)], id="slash"),
        pytest.param([("/a/print", "/a"), ("/b/print", "/b")], [("/*/print", "/*", 2)], id="last-step"),
        pytest.param([("/a/index.html", "/a/"), ("/b/index.html", "/b/")], [("/*/index.html", "/*/", 2)], id="index"),
        pytest.param([("/a?print=1&x=2", "/a")], [("/*?print=*&x=*", "/*", 1)], id="query"),
        pytest.param([("/2024/05/a", "/a")], [("/*/*/*", "/*", 1)], id="numbers"),
        pytest.param([("/en/a", "/de/a")], [("/en/*", "/de/*", 1)], id="folders"),
        pytest.param(
            [(f"/shop-{number}/a-{number}", f"/s/{number}") for number in range(20)],
            [("/*/*", "/s/*", 20)],
            id="a-list",
        ),
        pytest.param([("/" + "a/" * 500, "/b")], [(f"/{'a/' * 10}*/", "/*", 1)], id="endless"),
    ],
)
def test_addresses_are_told_by_how_they_look(pairs: list[tuple[str, str]], told: list[tuple[str, str, int]]) -> None:
    assert grouped(*pairs) == told


def test_hosts_are_told_where_they_differ() -> None:
    (found,) = group_aliases([Pair("http://www.example.com/a", "https://example.com/a", "redirect")])

    assert (found.alias, found.target) == ("http://www.example.com/*", "https://example.com/*")
    assert (found.example, found.example_target) == ("http://www.example.com/a", "https://example.com/a")


def test_what_found_them_is_counted() -> None:
    layers = ("title", "canonical", "title")
    pairs = [Pair(f"{HOST}/x/{number}", f"{HOST}/{number}", layer) for number, layer in enumerate(layers)]

    (found,) = group_aliases(pairs)

    assert dict(found.found_by) == {"title": 2, "canonical": 1}


URLS = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(["a", "b", "node", "7", "", "x" * 80]), max_size=4).map(lambda s: f"{HOST}/{'/'.join(s)}"),
)
PAIRS = st.lists(st.builds(Pair, URLS, URLS, st.sampled_from(["title", "redirect"])), unique=True, max_size=30)


@given(PAIRS, st.randoms())
def test_every_pair_is_counted_once_in_any_order(pairs: list[Pair], random: object) -> None:
    found = group_aliases(pairs)
    random.shuffle(pairs)  # type: ignore[attr-defined]

    assert sum(one.count for one in found) == len(pairs)
    assert sum(sum(one.found_by.values()) for one in found) == len(pairs)
    assert group_aliases(pairs) == found
