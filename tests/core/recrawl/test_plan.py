from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from scrapy_dedup.core.recrawl.plan import (
    GONE,
    AdaptivePolicy,
    Fetch,
    FetchReason,
    FreshRule,
    LastmodTrust,
    PageState,
    RecrawlPolicy,
    Revalidate,
    Situation,
    Skip,
    SkipReason,
    ValidatorTrust,
    decide,
    next_interval,
)
from tests.machines import run_machine
from tests.tables import table

NOON = datetime(2025, 6, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)
URL = "https://example.com/news/1"
WEEK = RecrawlPolicy(fresh_for=7 * DAY)
ETAG = Revalidate('"1"', None)


def seen(days_ago: float, status: int = 200, **fields: object) -> PageState:
    state = PageState(at=NOON - days_ago * DAY, status=status, etag='"1"')
    return replace(state, **fields)


def fetch(reason: FetchReason) -> Fetch:
    return Fetch(reason)


@pytest.mark.parametrize(
    ("state", "situation", "answer"),
    [
        pytest.param(None, Situation(), fetch(FetchReason.NEVER_SEEN), id="never-seen"),
        pytest.param(seen(1), Situation(refresh=True), fetch(FetchReason.REFRESH), id="the-user-wants-it"),
        pytest.param(seen(1, 404), Situation(refresh=True), fetch(FetchReason.REFRESH), id="gone-and-wanted"),
        pytest.param(seen(1), Situation(is_met=True), fetch(FetchReason.MET), id="met-in-this-run"),
        pytest.param(seen(1, 404), Situation(is_met=True), fetch(FetchReason.MET), id="gone-in-this-run"),
        pytest.param(seen(1), Situation(is_held=False), fetch(FetchReason.NOT_HELD), id="nothing-held"),
        pytest.param(seen(1, 503), Situation(), fetch(FetchReason.FAILED), id="failed"),
        pytest.param(seen(1, 302), Situation(), fetch(FetchReason.FAILED), id="never-got-there"),
        pytest.param(seen(-1), Situation(), fetch(FetchReason.CLOCK), id="clock-was-wrong"),
        pytest.param(seen(1, 404), Situation(), fetch(FetchReason.GONE_BEFORE), id="gone-may-be-back"),
        pytest.param(seen(1), Situation(), ETAG, id="etag"),
        pytest.param(
            seen(1, etag=None, last_modified="Sat, 14 Jun 2025 12:00:00 GMT"),
            Situation(),
            Revalidate(None, "Sat, 14 Jun 2025 12:00:00 GMT"),
            id="last-modified",
        ),
        pytest.param(seen(1, etag=None), Situation(), fetch(FetchReason.NO_VALIDATORS), id="no-validators"),
        pytest.param(seen(1), Situation(trusts_validators=False), fetch(FetchReason.DISTRUSTED), id="worthless"),
        pytest.param(seen(29.9), Situation(), ETAG, id="304-still-believed"),
        pytest.param(seen(30), Situation(), fetch(FetchReason.LONG_UNSEEN), id="304-no-longer-believed"),
        pytest.param(
            seen(1, validated_at=NOON - 30 * DAY), Situation(), fetch(FetchReason.LONG_UNSEEN), id="a-month-of-304s"
        ),
    ],
)
def test_answer_without_freshness(state, situation, answer):
    assert decide(URL, state, NOON, RecrawlPolicy(), situation) == answer


@pytest.mark.parametrize(
    ("age_days", "skipped"), [pytest.param(29.9, True, id="just-inside"), pytest.param(30.0, False, id="boundary")]
)
def test_page_that_is_gone_has_a_wait_of_its_own(age_days, *, skipped):
    answer = decide(URL, seen(age_days, 410), NOON, RecrawlPolicy(gone_for=30 * DAY), Situation(is_held=False))

    assert answer == (
        Skip(SkipReason.GONE, NOON + (30 - age_days) * DAY) if skipped else fetch(FetchReason.GONE_BEFORE)
    )


def test_what_is_held_is_not_used_beyond_its_age():
    """A 304 does not make it younger."""
    policy = RecrawlPolicy(fresh_for=7 * DAY, cache_max_age=10 * DAY)

    assert decide(URL, seen(1, validated_at=NOON - 9 * DAY), NOON, policy) == Skip(SkipReason.FRESH, NOON + DAY)
    assert decide(URL, seen(1, validated_at=NOON - 10 * DAY), NOON, policy) == fetch(FetchReason.EXPIRED)


@table("urls/rules")
def test_rule_is_for_a_domain_or_a_pattern(pattern, url, *, matches):
    assert FreshRule(pattern, DAY).matches(url) is matches
    assert not FreshRule("*/" + "a*" * 1_000, DAY).matches("https://example.com/" + "a" * 500)


def test_first_rule_that_matches_counts():
    rules = (FreshRule("example.com/news/*", timedelta(0)), FreshRule("example.com", 30 * DAY))
    policy = RecrawlPolicy(fresh_for=7 * DAY, rules=rules, adaptive=AdaptivePolicy())
    state = seen(8, interval=9 * DAY)

    assert decide(URL, state, NOON, policy) == ETAG
    assert decide("https://example.com/about", state, NOON, policy) == Skip(SkipReason.FRESH, NOON + 22 * DAY)
    assert decide("https://example.org/", state, NOON, policy) == Skip(SkipReason.ADAPTIVE, NOON + DAY)
    assert decide("https://example.org/", replace(state, interval=None), NOON, policy) == ETAG


def test_interval_of_a_page_settles_near_its_rate_of_change():
    """A page that changes every ten days, visited for two years on a simulated clock."""
    now, changed_at, interval, waits = NOON, NOON, None, []
    while now < NOON + 730 * DAY:
        changed = now - changed_at >= 10 * DAY
        changed_at = now if changed else changed_at
        interval = next_interval(interval, AdaptivePolicy(), changed=changed)
        waits.append(interval)
        now += interval

    assert 3 * DAY < sum(waits[10:], timedelta()) / len(waits[10:]) < 12 * DAY


@pytest.mark.parametrize(
    ("trusted", "lastmod", "answer"),
    [
        pytest.param(False, NOON - 20 * DAY, ETAG, id="not-shown-to-be-true"),
        pytest.param(True, None, ETAG, id="says-nothing"),
        pytest.param(True, NOON - 20 * DAY, Skip(SkipReason.LASTMOD, NOON + 20 * DAY), id="unchanged-and-believed"),
        pytest.param(True, NOON - DAY, ETAG, id="changed"),
    ],
)
def test_dates_of_sitemaps_count_where_they_are_trusted(lastmod, answer, *, trusted):
    situation = Situation(lastmod=lastmod, trusts_lastmod=trusted)

    assert decide(URL, seen(10), NOON, WEEK, situation) == answer


def test_endless_wait_does_not_overflow():
    answer = decide(URL, seen(1), NOON, RecrawlPolicy(fresh_for=timedelta.max))

    assert answer == Skip(SkipReason.FRESH, datetime.max.replace(tzinfo=UTC))


@table("core/validators_are_sent_while_they_are_of_use")
def test_validators_are_sent_while_they_are_of_use(counts, *, trusted):
    assert ValidatorTrust(**counts).is_earned() is trusted


@table("core/dates_are_believed_once_shown_to_be_true")
def test_dates_are_believed_once_shown_to_be_true(counts, *, trusted):
    assert LastmodTrust(**counts).is_earned() is trusted


def test_old_counts_lose_weight():
    assert ValidatorTrust(1_000, 600, 300, 10).halved() == ValidatorTrust(500, 300, 150, 5)
    assert LastmodTrust(900, 100).halved() == LastmodTrust(450, 50)
    assert ValidatorTrust(999, 9).halved() == ValidatorTrust(999, 9)
    assert LastmodTrust(999).halved() == LastmodTrust(999)


days = st.floats(0, 90).map(lambda count: count * DAY)
maybe_days = st.none() | days
states = st.builds(
    lambda at, validated, lastmod, **fields: PageState(
        at=NOON - at,
        validated_at=None if validated is None else NOON - at - validated,
        lastmod=None if lastmod is None else NOON - lastmod,
        **fields,
    ),
    days,
    maybe_days,
    maybe_days,
    status=st.sampled_from([200, 301, 404, 410, 500]),
    etag=st.none() | st.just('"1"'),
    interval=maybe_days,
)
policies = st.builds(
    RecrawlPolicy,
    fresh_for=days,
    rules=st.lists(st.builds(FreshRule, st.sampled_from(["example.com/news/*", "example.org"]), days)).map(tuple),
    gone_for=days,
    cache_max_age=maybe_days,
    max_304_age=days,
    adaptive=st.none() | st.builds(AdaptivePolicy, longest=st.sampled_from([2 * DAY, 30 * DAY])),
)
situations = st.builds(
    Situation,
    is_held=st.booleans(),
    refresh=st.booleans(),
    is_met=st.booleans(),
    trusts_validators=st.booleans(),
    lastmod=st.none() | st.integers(-30, 60).map(lambda days: NOON + days * DAY),
    trusts_lastmod=st.booleans(),
)


@given(states, policies, situations)
def test_skip_says_exactly_when_it_ends(state, policy, situation):
    """Whoever waits until `until` is never told to wait again, whoever comes earlier is."""
    answer = decide(URL, state, NOON, policy, situation)

    if isinstance(answer, Skip):
        assert answer.until > NOON
        assert not isinstance(decide(URL, state, answer.until, policy, situation), Skip)
        before = max(NOON, answer.until - timedelta(microseconds=1))
        assert decide(URL, state, before, policy, situation) == answer


@given(states, policies, situations)
def test_nothing_stands_for_a_page_of_which_nothing_is_held(state, policy, situation):
    answer = decide(URL, state, NOON, policy, replace(situation, is_held=False))

    assert isinstance(answer, Fetch) or (isinstance(answer, Skip) and answer.reason is SkipReason.GONE)


class PlanMachine(RuleBasedStateMachine):
    """One page, its server, and a clock that may go back."""

    @initialize(policy=policies)
    def begin(self, policy: RecrawlPolicy) -> None:
        self.policy, self.now, self.state = policy, NOON, None
        self.situation = Situation()

    state: PageState | None

    @rule(wait=st.timedeltas(timedelta(hours=-30), timedelta(days=50)))
    def wait(self, wait: timedelta) -> None:
        self.now += wait

    @rule(situation=situations)
    def look(self, situation: Situation) -> None:
        self.situation = situation

    @rule(
        status=st.sampled_from([200, 200, 200, 404, 503]),
        etag=st.none() | st.just('"1"'),
        changed=st.booleans(),
        lies=st.booleans(),
    )
    def visit(self, status: int, etag: str | None, *, changed: bool, lies: bool) -> None:
        said = decide(URL, self.state, self.now, self.policy, self.situation)
        if isinstance(said, Skip):
            return
        old, now = self.state, self.now
        if isinstance(said, Revalidate) and old is not None and (lies or not changed) and status == 200:
            self.state = replace(old, at=now, validated_at=old.seen_at, interval=self._interval(changed=False))
        else:
            self.state = PageState(
                now, status, etag, None, now, self._interval(changed=changed), self.situation.lastmod
            )

    def _interval(self, *, changed: bool) -> timedelta | None:
        adaptive = self.policy.adaptive
        if adaptive is None:
            return None
        found = next_interval(self.state.interval if self.state else None, adaptive, changed=changed)
        assert adaptive.shortest <= found <= adaptive.longest
        return found

    @invariant()
    def the_plan_holds(self) -> None:
        """Ask now, when the wait is over, and late enough for all waits."""
        if not hasattr(self, "policy"):
            return
        state, policy, now = self.state, self.policy, self.now
        said = decide(URL, state, now, policy, self.situation)
        if state is None:
            assert said == Fetch(FetchReason.NEVER_SEEN)
            return
        if isinstance(said, Skip):
            assert not self.situation.refresh
            assert not self.situation.is_met
            assert state.at <= now < said.until
            assert self.situation.is_held or state.status in GONE
            assert not isinstance(decide(URL, state, said.until, policy, self.situation), Skip)
        if isinstance(said, Revalidate):
            assert (said.etag, said.last_modified) == (state.etag, state.last_modified) != (None, None)
            assert self.situation.trusts_validators
            assert self.situation.is_held
            assert now < state.seen_at + policy.max_304_age
        longest = max(
            policy.fresh_for,
            policy.gone_for,
            policy.max_304_age,
            *(one.fresh_for for one in policy.rules),
            policy.adaptive.longest if policy.adaptive else timedelta(0),
        )
        # Whatever the sitemap and 304s say, the page itself is asked for.
        assert isinstance(decide(URL, state, max(state.at, state.seen_at) + longest, policy, self.situation), Fetch)


def test_every_page_is_seen_in_time_by_a_machine():
    run_machine(PlanMachine)
