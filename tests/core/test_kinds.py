from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.kinds import Evidence, Kind, name_kind

PLAIN = Evidence("https://example.com/a", "A", status=200, chars=300, link_chars=30, items=1, headings=0, longest=80)
TEXT = replace(PLAIN, chars=2_000, longest=400)


@pytest.mark.parametrize(
    ("pages", "kind", "reason"),
    [
        pytest.param([PLAIN], Kind.PAGE, "nothing speaks clearly", id="weak-evidence"),
        pytest.param([TEXT, TEXT, PLAIN], Kind.ARTICLE, "2000 characters of its own text", id="text"),
        pytest.param([replace(TEXT, link_chars=900)], Kind.PAGE, "0.45 of it links", id="text-with-many-links"),
        pytest.param([replace(PLAIN, items=8, link_chars=20)], Kind.LISTING, "8 linked entries", id="grid-of-entries"),
        pytest.param([replace(TEXT, items=8, link_chars=1_200)], Kind.LISTING, "0.60 of its", id="list-of-links"),
        pytest.param([replace(TEXT, items=8)], Kind.ARTICLE, "links", id="text-with-a-list-of-links"),
        pytest.param([replace(TEXT, headings=6)], Kind.LISTING, "6 of its headings are links", id="index-of-a-blog"),
        pytest.param([replace(TEXT, url="https://example.com/")], Kind.HOME, "root", id="home"),
        pytest.param([replace(TEXT, url="https://example.com/index.html")], Kind.HOME, "root", id="index"),
        pytest.param([replace(TEXT, url="mailto:a")], Kind.ARTICLE, "", id="no-url"),
        pytest.param([replace(TEXT, status=404)] * 2 + [TEXT], Kind.ERROR, "2 of 3 came with an error", id="status"),
        pytest.param([replace(PLAIN, title="Page not found | X")], Kind.ERROR, "1 of 1 titles", id="title"),
        pytest.param([replace(PLAIN, title="Error 404")], Kind.ERROR, "titles", id="number-in-title"),
        pytest.param([replace(TEXT, title="How a 404 works")], Kind.ARTICLE, "", id="text-about-errors"),
        pytest.param([replace(PLAIN, title="Room 1404")], Kind.PAGE, "", id="part-of-a-number"),
    ],
)
def test_name_has_a_reason(pages: list[Evidence], kind: Kind, reason: str) -> None:
    named = name_kind(pages)

    assert named.name is kind
    assert reason in named.reason


@given(
    st.lists(
        st.builds(
            Evidence,
            st.text(max_size=9),
            st.text(max_size=9),
            *[st.integers(0, 2_000)] * 6,
        ),
        min_size=1,
        max_size=5,
    ),
    st.randoms(use_true_random=False),
)
def test_order_of_pages_does_not_matter(pages: list[Evidence], random: "st.DataObject") -> None:
    mixed = list(pages)
    random.shuffle(mixed)  # type: ignore[attr-defined]

    assert name_kind(mixed) == name_kind(pages)
