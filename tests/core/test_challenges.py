import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.challenges import challenge_of
from tests.growth import assert_in_proportion

ARTICLE = f"<p>{'Boats leave the harbour every day at nine. ' * 60}</p>"


def page(mark: str, *, rest: str = "<p>Please wait</p>") -> str:
    return f"<!doctype html><html><head><title>One moment</title></head><body>{mark}{rest}</body></html>"


MARKS = [
    pytest.param('<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script>', "cloudflare"),
    pytest.param('<div class="g-recaptcha" data-sitekey="x"></div>', "recaptcha"),
    pytest.param('<div class="box h-captcha"></div>', "hcaptcha"),
    pytest.param('<script src="https://ct.captcha-delivery.com/c.js"></script>', "datadome"),
    pytest.param('<div id="px-captcha"></div>', "perimeterx"),
    pytest.param('<iframe src="/_Incapsula_Resource?SWUDNSAI=31"></iframe>', "imperva"),
    pytest.param('<div id="sec-if-cpt-container"></div>', "akamai"),
    pytest.param('<script src="https://x.token.awswaf.com/x/challenge.js"></script>', "aws"),
    pytest.param('<script src="https://static.geetest.com/static/tools/gt.js"></script>', "geetest"),
    pytest.param('<script src="https://client-api.arkoselabs.com/v2/api.js"></script>', "arkose"),
    pytest.param('<div class="frc-captcha"></div>', "friendly"),
    pytest.param('<form action="/unblock"><img src="/captcha.png"><input name="answer"></form>', "form"),
    pytest.param('<form method="post"><input type="text" name="captcha_code"></form>', "form"),
]


@pytest.mark.parametrize(("mark", "maker"), MARKS)
@pytest.mark.parametrize("status", [200, 403, 503])
def test_challenge_is_known_by_its_makers_mark(mark: str, maker: str, status: int) -> None:
    assert challenge_of(status, {}, page(mark)) == maker


@pytest.mark.parametrize(("mark", "maker"), MARKS)
def test_article_with_a_captcha_for_its_comments_is_none(mark: str, maker: str) -> None:
    assert challenge_of(200, {}, page(mark, rest=ARTICLE)) is None


@pytest.mark.parametrize(
    ("status", "headers", "maker"),
    [
        pytest.param(403, {"cf-mitigated": "challenge"}, "cloudflare", id="cloudflare"),
        pytest.param(202, {"x-amzn-waf-action": "challenge"}, "aws", id="aws"),
        pytest.param(403, {"x-datadome": "protected"}, "datadome", id="datadome-refuses"),
        pytest.param(200, {"x-datadome": "protected"}, None, id="datadome-lets-pass"),
        pytest.param(403, {}, None, id="plain-403"),
    ],
)
def test_challenge_is_known_by_its_headers(status: int, headers: dict[str, str], maker: str | None) -> None:
    assert challenge_of(status, headers, "<p>No</p>") == maker


@pytest.mark.parametrize(
    "html",
    [
        pytest.param("", id="nothing"),
        pytest.param("captcha", id="no-markup"),
        pytest.param("<p>Our story about captcha and how it came to be</p>", id="text-about-captchas"),
        pytest.param("<form><input name=q></form>", id="search-form"),
    ],
)
def test_other_pages_are_none(html: str) -> None:
    assert challenge_of(200, {}, html) is None


@given(st.integers(100, 599), st.text("<>/scriptform captcha='\"=", max_size=300))
def test_any_text_is_looked_at(status: int, html: str) -> None:
    challenge_of(status, {}, html)


@pytest.mark.parametrize(
    ("head", "unit"), [("", "<script>"), ("", "<form "), ("", "<div class="), ("", "<"), ('<div class="', "x ")]
)
def test_hostile_page_takes_time_in_proportion_to_its_length(head: str, unit: str) -> None:
    assert_in_proportion(lambda html: challenge_of(200, {}, html), lambda size: head + unit * size, 200_000)
