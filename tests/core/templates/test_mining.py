from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scrapy_dedup.core.templates.mining import (
    Cluster,
    ClusterKind,
    KindEvidence,
    MinedPage,
    PageBlocks,
    families,
    mine,
    name_kind,
    split_subtrees,
)
from tests.core.builders import parsed
from tests.tables import table

HOST = "https://example.com"
HEAD = "<body><header><a href=/>Home</a><a href=/news>News</a></header>"
FOOT = "<footer>Imprint and all that stands below</footer>"

PLAIN = KindEvidence(
    "https://example.com/a", "A", status=200, chars=300, link_chars=30, items=1, headings=0, longest=80
)


def a_page(path: str, html: str, title: str = "T", status: int = 200) -> MinedPage:
    page = parsed(f"<title>{title}</title>{HEAD}{html}{FOOT}")
    return MinedPage.of(HOST + path, page, status)


def article(number: int) -> MinedPage:
    text = f"Words of article {number} that no other article has. " * 20
    return a_page(f"/news/a-{number}", f"<main class=post><h1>Title {number}</h1><p>{text}</p><p>x{number}</p></main>")


def listing(number: int) -> MinedPage:
    entries = "".join(f"<li><a href=/news/{number}{at}>Entry {number} {at}</a></li>" for at in range(8))
    return a_page(
        f"/page/{number}",
        f"<section class=list><div class=grid><ul>{entries}</ul></div></section><aside></aside><nav><div></div></nav>",
    )


def error(number: int) -> MinedPage:
    return a_page(f"/gone{number}/x/y", "<div class=e><div class=f><form></form></div></div><div></div>", "404", 404)


PAGES = [*map(article, range(12)), *map(listing, range(6)), *map(error, range(5))]


def test_clusters_are_named_with_counts_examples_and_patterns():
    found = mine(PAGES)

    assert [(one.named.name, len(one.pages), one.url_pattern) for one in found] == [
        (ClusterKind.ARTICLE, 12, r"^/news/a-\d+/?$"),
        (ClusterKind.LISTING, 6, r"^/page/\d+/?$"),
        (ClusterKind.ERROR, 5, r"^/[^/]+/x/y/?$"),
    ]
    assert all(set(one.examples) <= set(one.pages) and len(one.examples) == 5 for one in found)
    assert found[0].pages == tuple(range(12))


def test_order_of_pages_matters_for_indexes_only():
    backwards = mine(PAGES[::-1])
    last = len(PAGES) - 1

    def told(one: Cluster) -> tuple[object, ...]:
        return one.signature, one.named, one.url_pattern, one.structures

    assert [told(one) for one in backwards] == [told(one) for one in mine(PAGES)]
    assert [sorted(last - index for index in one.pages) for one in backwards] == [
        list(one.pages) for one in mine(PAGES)
    ]


def test_families_are_structures_of_several_domains():
    one, other = mine(PAGES), mine(PAGES[:3])

    found = families({"b.example": other, "a.example": one})

    assert [(family.domains, family.names) for family in found] == [
        ((("a.example", 12), ("b.example", 3)), (ClusterKind.ARTICLE,))
    ]
    assert found[0].pages == 15
    assert found[0].l2 == one[0].structures[0][0]
    assert families({"a.example": one}) == []


@table("core/name_has_a_reason")
def test_name_has_a_reason(pages, kind, reason):
    named = name_kind([replace(PLAIN, **about) for about in pages])

    assert named.name == kind
    assert reason in named.reason


@given(
    st.lists(
        st.builds(KindEvidence, st.text(max_size=9), st.text(max_size=9), *[st.integers(0, 2_000)] * 6),
        min_size=1,
        max_size=5,
    ),
    st.randoms(use_true_random=False),
)
def test_order_of_pages_does_not_matter(pages, random):
    mixed = list(pages)
    random.shuffle(mixed)

    assert name_kind(mixed) == name_kind(pages)


MENU_BLOCK, FOOT_BLOCK = ("body>nav>ul>li", 1, 10), ("body>footer", 2, 20)


def blocks_of_page(number: int, *more: tuple[str, int, int]) -> PageBlocks:
    return [MENU_BLOCK, ("body>main>h1", 100 + number, 8), ("body>main>p", 200 + number, 90), FOOT_BLOCK, *more]


def paths(pages: list[PageBlocks]) -> tuple[list[str], list[str]]:
    common, varying = split_subtrees(pages)
    return [one.path for one in common], [one.path for one in varying]


def test_largest_subtrees_are_told_apart_with_their_evidence():
    common, varying = split_subtrees([blocks_of_page(n) for n in range(10)])

    told = [(one.path, one.pages, one.same, one.chars) for one in common]
    assert told == [("body>footer", 10, 10, 20), ("body>nav", 10, 10, 10)]
    assert [(one.path, one.pages, one.same, one.chars) for one in varying] == [("body>main", 10, 1, 98)]


def test_deep_pages_are_seen_as_their_beginning():
    deep = [[(">".join(["div"] * 5_000), n, 1)] for n in range(3)]

    assert paths(deep) == ([], ["div"])  # type: ignore[arg-type]


blocks = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map(
            lambda steps: ">".join(["body", *steps])
        ),
        st.integers(0, 3),
        st.integers(0, 9),
    ),
    max_size=8,
)


@given(st.lists(blocks, max_size=6), st.randoms(use_true_random=False))
def test_subtrees_never_overlap_and_pages_come_in_any_order(pages, random):
    found = split_subtrees(pages)
    every = [one.path for one in (*found[0], *found[1])]
    random.shuffle(pages)

    assert split_subtrees(pages) == found
    assert not [one for one in every for other in every if other.startswith(f"{one}>")]
