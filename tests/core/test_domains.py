import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scrapy_dedup.core.domains import (
    MOST_CHARS,
    Blacklisting,
    CandidateOutcome,
    DomainRefusal,
    DomainStanding,
    DomainStatus,
    LowQualityPolicy,
    RefusedDomains,
    RequestPolicy,
    TwinEvidence,
    TwinReason,
    after_run,
    blacklisted,
    domain_name,
    is_blacklisted,
    is_pattern,
    judge_domain,
    judge_twins,
    name_pattern,
    of_pair,
    outcome_of_known,
    outcome_of_new,
    present_status,
    standing_for_both,
    twin_of,
    unblacklisted,
    with_status,
)
from tests.tables import table

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
DISCOVERED, HIGH, LOW, BLACKLISTED = DomainStatus
ANN = Blacklisting(NOON, "ann", "spam", NOON + DAY)
STANDINGS = st.builds(DomainStanding, st.sampled_from([DISCOVERED, HIGH, LOW])).flatmap(
    lambda one: st.sampled_from([one, blacklisted(one, ANN), blacklisted(one, replace(ANN, at=NOON + DAY))])
)


@table("core/the_best_confidence_makes_a_status")
def test_the_best_confidence_makes_a_status(before, best, after):
    assert after_run(DomainStanding(DomainStatus(before)), best, 0.6) == DomainStanding(DomainStatus(after))


def test_a_blacklisted_domain_stays_so_after_a_run_and_remembers_what_it_would_be():
    standing = after_run(blacklisted(DomainStanding(), ANN), 0.9, 0.6)

    assert (standing.status, standing.blacklist_reason) == (BLACKLISTED, "spam")
    assert unblacklisted(standing) == DomainStanding(HIGH)


@pytest.mark.parametrize(
    ("hours", "holds"),
    [pytest.param(0, True, id="now"), pytest.param(23.9, True, id="before"), pytest.param(24, False, id="at-its-end")],
)
def test_a_blacklist_ends_by_itself(hours, *, holds):
    standing, at = blacklisted(DomainStanding(LOW), ANN), NOON + timedelta(hours=hours)

    assert is_blacklisted(standing, at) is holds
    assert present_status(standing, at) == (BLACKLISTED if holds else LOW)


@pytest.mark.parametrize("status", list(DomainStatus))
@given(standing=STANDINGS)
def test_a_status_that_is_set_is_the_status(status, standing):
    changed = with_status(standing, status, NOON)

    assert changed.status == status
    assert (changed.blacklisted_at is not None) == (status == BLACKLISTED)
    assert with_status(changed, status, NOON + DAY) == changed


@given(STANDINGS, STANDINGS)
def test_a_pair_keeps_a_blacklist_and_else_the_better_status(one, other):
    both = of_pair(one, other)

    assert (both.status == BLACKLISTED) == (BLACKLISTED in {one.status, other.status})
    assert unblacklisted(both) == of_pair(unblacklisted(one), unblacklisted(other))
    assert of_pair(both, both) == both == of_pair(other, one)


@table("core/twins_are_one_if_enough_pages_agree_and_few_differ")
def test_twins_are_one_if_enough_pages_agree_and_few_differ(alike, unlike, reason):
    verdict = judge_twins(TwinEvidence(alike, unlike), 3)

    assert (verdict.reason, verdict.is_one) == (reason, reason == TwinReason.ALIKE)


@table("core/the_name_with_more_pages_stands_for_both")
def test_the_name_with_more_pages_stands_for_both(bare, www, name):
    assert standing_for_both({"www.example.org": www, "example.org": bare}) == name


@pytest.mark.parametrize(
    ("standing", "outcome"),
    [
        pytest.param(DomainStanding(), CandidateOutcome.KNOWN, id="discovered"),
        pytest.param(DomainStanding(HIGH), CandidateOutcome.PROCESSED, id="high"),
        pytest.param(DomainStanding(LOW), CandidateOutcome.PROCESSED, id="low"),
        pytest.param(blacklisted(DomainStanding(LOW), ANN), CandidateOutcome.BLACKLISTED, id="blacklisted"),
        pytest.param(
            blacklisted(DomainStanding(LOW), replace(ANN, expires_at=NOON)),
            CandidateOutcome.PROCESSED,
            id="blacklist-is-over",
        ),
    ],
)
def test_a_registered_domain_brings_no_candidate(standing, outcome):
    assert outcome_of_known(standing, NOON) is outcome


@pytest.mark.parametrize(
    ("twin", "has_candidate", "outcome"),
    [
        pytest.param(None, False, CandidateOutcome.NEW, id="no-twin"),
        pytest.param(DomainStanding(), False, CandidateOutcome.TWIN, id="twin"),
        pytest.param(blacklisted(DomainStanding(), ANN), False, CandidateOutcome.NEW, id="blacklisted-twin"),
        pytest.param(
            blacklisted(DomainStanding(), ANN), True, CandidateOutcome.TWIN, id="blacklisted-twin-with-candidate"
        ),
    ],
)
def test_a_twin_stands_for_a_new_domain_unless_it_is_blacklisted(twin, has_candidate, outcome):
    assert outcome_of_new(twin, NOON, twin_has_candidate=has_candidate) is outcome


DOMAINS = RefusedDomains(
    {"bad.example": None, "soon.example": NOON, "both.example": NOON}, frozenset({"poor.example", "both.example"})
)
A_SECOND = timedelta(seconds=1)


def judged(
    name: str, policy: LowQualityPolicy = "crawl", requested: int = 0, at: datetime = NOON
) -> DomainRefusal | None:
    return judge_domain(name, DOMAINS, RequestPolicy(policy, 2), requested=requested, at=at)


@table("core/domain_is_asked_unless_it_is_refused")
def test_domain_is_asked_unless_it_is_refused(name, policy, requested, seconds, refusal):
    assert judged(name, policy, requested, NOON + seconds * A_SECOND) == refusal


CASES = json.loads((Path(__file__).parents[1] / "data" / "domains" / "names.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
@pytest.mark.parametrize("scope", ["host", "registrable"])
def test_a_text_names_the_domain_that_a_crawl_would_know(case, scope):
    expected = case["host"] and case[scope]

    assert domain_name(str(case["text"]), scope) == expected


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if "twin" in case])
def test_a_name_has_this_twin(case):
    assert twin_of(str(case["host"])) == case["twin"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" * 300 + ".org", id="label-of-300"),
        pytest.param(".".join(["a" * 60] * 5) + ".org", id="name-of-300"),
        pytest.param("http://" + "a" * 10_000_000, id="10-megabytes"),
        pytest.param("ü" * 60_000, id="quadratic-for-idna"),
        pytest.param("xn--" * 10_000, id="many-hyphens"),
    ],
)
def test_what_is_endless_is_no_domain(text):
    assert domain_name(text) is None


@given(st.text())
def test_any_text_is_a_domain_or_none(text):
    name = domain_name(text)

    assert name is None or (name.isascii() and len(name) <= MOST_CHARS + len(":65535"))


def test_a_name_that_would_be_too_long_with_www_has_no_twin():
    name = ".".join(["a" * 60] * 4) + ".orgorg"

    assert len(name) <= MOST_CHARS < len("www." + name)
    assert twin_of(name) is None


@table("urls/spelt_patterns")
def test_a_pattern_is_spelt_as_names_are(typed, pattern):
    assert name_pattern(typed) == pattern


@table("urls/name_patterns")
def test_star_and_question_mark_make_a_pattern(text, *, expected):
    assert is_pattern(text) is expected
