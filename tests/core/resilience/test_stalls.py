from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from scrapy_dedup.core.resilience.stalls import Figures, HostFigures, SeenTexts, challenge_of, judge
from tests.growth import assert_in_proportion
from tests.tables import table

TIMEOUT = {"ResponseFailed": 4}
SILENT = {"silent.example": HostFigures(4, 0, 4)}
ANSWERING = {"a.example": HostFigures(10, 10, 0)}

ARTICLE = f"<p>{'Boats leave the harbour every day at nine. ' * 60}</p>"


def figures(**known: Any) -> Figures:
    return Figures(**{"quiet_seconds": 300, "waiting": 5, **known})


@table("core/cause_is_told_from_figures")
def test_cause_is_told_from_figures(found, cause):
    hosts = {name: HostFigures(*counts) for name, counts in found.get("hosts", {}).items()}
    statuses = {int(status): number for status, number in found.get("statuses", {}).items()}

    assert judge(figures(**found | {"hosts": hosts, "statuses": statuses})).cause == cause


def test_evidence_tells_the_figures():
    found = figures(
        statuses={200: 3, 404: 1, 410: 1, 301: 1, 302: 1, 307: 1},
        hosts={**ANSWERING, **SILENT},
        challenges={"form": 1},
        dropped={"exact": 2},
        held_back=7,
        failures=TIMEOUT,
        known=4,
        probe=True,
    )

    assert judge(found).evidence == (
        "300 s without a new page",
        "14 requests sent",
        "answers 200: 3, 301: 1, 302: 1, 307: 1, 404: 1 and 1 more",
        "failures ResponseFailed: 4",
        "4 pages with known content",
        "5 requests waiting",
        "0 in the downloader",
        "0 responses in work",
        "captchas form: 1",
        "items dropped exact: 2",
        "7 requests held back as traps",
        "hosts without an answer silent.example: 4; 1 others answer",
        "the probe answers",
    )


COUNTS = st.integers(0, 1_000)
WORDS = st.text("abc", min_size=1, max_size=2)


@given(
    st.builds(
        Figures,
        quiet_seconds=st.floats(0, 1e6),
        idle_seconds=st.floats(0, 1e6),
        statuses=st.dictionaries(st.integers(100, 599), COUNTS, max_size=4),
        failures=st.dictionaries(WORDS, COUNTS, max_size=3),
        hosts=st.dictionaries(WORDS, st.builds(HostFigures, COUNTS, COUNTS, COUNTS), max_size=3),
        challenged_pages=COUNTS,
        known=COUNTS,
        shapes=st.dictionaries(WORDS, COUNTS, max_size=4),
        bred=COUNTS,
        waiting=st.none() | COUNTS,
        probe=st.none() | st.booleans(),
    )
)
def test_whatever_happens_has_a_cause_that_does_not_depend_on_order(found):
    turned = {name: dict(reversed(value.items())) for name, value in asdict(found).items() if isinstance(value, dict)}

    assert judge(replace(found, **turned)) == judge(found)


@given(st.lists(st.lists(st.text(max_size=60), max_size=4), max_size=8))
def test_memory_is_bounded_and_no_page_is_news_twice_in_a_row(pages):
    texts = SeenTexts(most=4)
    for page in pages:
        texts.is_news(page)

        assert len(texts) <= 4
        assert not texts.is_news(page)


def test_what_was_forgotten_is_news_again():
    texts = SeenTexts(most=2)

    assert [texts.is_new_key(key) for key in [b"a", b"b", b"c", b"a"]] == [True] * 4


def page(mark: str, *, rest: str = "<p>Please wait</p>") -> str:
    return f"<!doctype html><html><head><title>One moment</title></head><body>{mark}{rest}</body></html>"


@table("core/marks_of_challenges")
@pytest.mark.parametrize("status", [200, 403, 503])
def test_challenge_is_known_by_its_makers_mark(mark, maker, status):
    assert challenge_of(status, {}, page(mark)) == maker


@table("core/marks_of_challenges")
def test_article_with_a_captcha_for_its_comments_is_none(mark, maker):
    assert challenge_of(200, {}, page(mark, rest=ARTICLE)) is None


@table("core/challenge_is_known_by_its_headers")
def test_challenge_is_known_by_its_headers(status, headers, maker):
    assert challenge_of(status, headers, "<p>No</p>") == maker


@given(st.integers(100, 599), st.text("<>/scriptform captcha='\"=", max_size=300))
def test_any_text_is_looked_at(status, html):
    challenge_of(status, {}, html)


@pytest.mark.parametrize(
    ("head", "unit"), [("", "<script>"), ("", "<form "), ("", "<div class="), ("", "<"), ('<div class="', "x ")]
)
def test_hostile_page_takes_time_in_proportion_to_its_length(head, unit):
    assert_in_proportion(lambda html: challenge_of(200, {}, html), lambda size: head + unit * size, 50_000)
