"""Which domains are asked."""

from datetime import UTC, datetime, timedelta

import pytest

from scrapy_dedup.core.domain_requests import LowQualityPolicy, Refusal, RefusedDomains, RequestPolicy, judge_domain

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOMAINS = RefusedDomains(
    {"bad.example": None, "soon.example": NOON, "both.example": NOON}, frozenset({"poor.example", "both.example"})
)
A_SECOND = timedelta(seconds=1)


def judged(name: str, policy: LowQualityPolicy = "crawl", requested: int = 0, at: datetime = NOON) -> Refusal | None:
    return judge_domain(name, DOMAINS, RequestPolicy(policy, 2), requested=requested, at=at)


@pytest.mark.parametrize(
    ("name", "policy", "requested", "at", "refusal"),
    [
        pytest.param("good.example", "skip", 9, NOON, None, id="not-listed"),
        pytest.param("bad.example", "crawl", 0, NOON, Refusal.BLACKLISTED, id="blacklisted"),
        pytest.param("soon.example", "crawl", 0, NOON - A_SECOND, Refusal.BLACKLISTED, id="before-the-end"),
        pytest.param("soon.example", "crawl", 0, NOON, None, id="boundary-is-over"),
        pytest.param("poor.example", "crawl", 9, NOON, None, id="low-quality-crawled"),
        pytest.param("poor.example", "skip", 0, NOON, Refusal.LOW_QUALITY, id="low-quality-skipped"),
        pytest.param("poor.example", "sample", 1, NOON, None, id="within-the-sample"),
        pytest.param("poor.example", "sample", 2, NOON, Refusal.SAMPLED, id="beyond-the-sample"),
        pytest.param("both.example", "skip", 0, NOON - A_SECOND, Refusal.BLACKLISTED, id="blacklist-comes-first"),
        pytest.param("both.example", "skip", 0, NOON, Refusal.LOW_QUALITY, id="what-it-was-before-the-blacklist"),
    ],
)
def test_domain_is_asked_unless_it_is_refused(
    name: str, policy: LowQualityPolicy, requested: int, at: datetime, refusal: Refusal | None
) -> None:
    assert judged(name, policy, requested, at) is refusal


def test_nothing_is_refused_where_nothing_is_listed() -> None:
    assert not RefusedDomains()
    assert DOMAINS
