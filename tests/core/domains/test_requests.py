"""Which domains are asked."""

from datetime import UTC, datetime, timedelta

from scrapy_dedup.core.domains.states import (
    DomainRefusal,
    LowQualityPolicy,
    RefusedDomains,
    RequestPolicy,
    judge_domain,
)
from tests.tables import table

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DOMAINS = RefusedDomains(
    {"bad.example": None, "soon.example": NOON, "both.example": NOON}, frozenset({"poor.example", "both.example"})
)
A_SECOND = timedelta(seconds=1)


def judged(
    name: str, policy: LowQualityPolicy = "crawl", requested: int = 0, at: datetime = NOON
) -> DomainRefusal | None:
    return judge_domain(name, DOMAINS, RequestPolicy(policy, 2), requested=requested, at=at)


@table("core/domain_is_asked_unless_it_is_refused")
def test_domain_is_asked_unless_it_is_refused(
    name: str, policy: LowQualityPolicy, requested: int, seconds: int, refusal: str | None
) -> None:
    assert judged(name, policy, requested, NOON + seconds * A_SECOND) == refusal


def test_nothing_is_refused_where_nothing_is_listed() -> None:
    assert not RefusedDomains()
    assert DOMAINS
