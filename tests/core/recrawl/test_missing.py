import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.runs import Lead, Unfound, missed

ALONE = Unfound()
GONE = Unfound(was_asked=True, is_gone=True)
ELSEWHERE = Unfound(was_asked=True)


def by(parent: str) -> Unfound:
    return Unfound(parent.encode())


@pytest.mark.parametrize(
    ("unfound", "leads", "expected"),
    [
        pytest.param({"page": ALONE}, {}, "page", id="nothing-led-to-it"),
        pytest.param({"page": by("list")}, {"list": Lead.READ}, "page", id="its-list-was-read"),
        pytest.param({"page": by("list")}, {"list": Lead.GONE}, "page", id="its-list-is-gone"),
        pytest.param({"page": by("list")}, {}, "page", id="nothing-is-known-of-its-list"),
        pytest.param({"page": by("list")}, {"list": Lead.UNREAD}, "", id="its-list-failed"),
        pytest.param({"page": by("list"), "list": GONE}, {}, "list page", id="its-list-says-that-it-is-gone"),
        pytest.param({"page": by("list"), "list": ELSEWHERE}, {}, "list", id="its-list-redirects"),
        pytest.param(
            {"page": by("list"), "list": Unfound(is_gone=True)}, {}, "list page", id="its-list-is-left-gone-unasked"
        ),
        pytest.param(
            {"page": Unfound(b"list", was_asked=True, is_gone=True)}, {"list": Lead.UNREAD}, "page", id="gone-itself"
        ),
        pytest.param(
            {"page": by("list"), "list": by("section"), "section": by("home")},
            {"home": Lead.READ},
            "list page section",
            id="its-section-was-given-up",
        ),
        pytest.param(
            {"page": by("list"), "list": by("section")}, {"section": Lead.UNREAD}, "", id="its-section-failed"
        ),
        pytest.param({"a": by("b"), "b": by("a")}, {}, "a b", id="each-led-to-the-other"),
    ],
)
def test_page_counts_as_missed_where_somebody_knows_that_nothing_leads_to_it(unfound, leads, expected):
    found = missed(
        {key.encode(): page for key, page in unfound.items()}, {key.encode(): one for key, one in leads.items()}
    )

    assert found == set(expected.encode().split())


keys = st.sampled_from([bytes([number]) for number in range(8)])
pages = st.builds(Unfound, st.none() | keys, was_asked=st.booleans(), is_gone=st.booleans())


@given(st.dictionaries(keys, pages), st.dictionaries(keys, st.sampled_from(Lead)))
def test_order_of_pages_does_not_matter_and_more_reading_misses_no_fewer(unfound, leads):
    found = missed(unfound, leads)

    assert missed(dict(sorted(unfound.items(), reverse=True)), leads) == found
    assert found <= missed(unfound, dict.fromkeys(leads, Lead.READ)) <= unfound.keys()
