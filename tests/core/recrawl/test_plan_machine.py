"""A page over years: whoever asks when the plan says so is told when to come again, and sees each page in time."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from scrapy_dedup.core.recrawl.plan import (
    GONE,
    AdaptivePolicy,
    Fetch,
    FetchReason,
    FreshRule,
    PageState,
    RecrawlPolicy,
    Revalidate,
    Situation,
    Skip,
    decide,
    next_interval,
)
from tests.machines import run_machine

URL = "https://example.com/news/1"
DAY = timedelta(days=1)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

waits = st.sampled_from([timedelta(0), timedelta(hours=5), DAY, 9 * DAY])
policies = st.builds(
    RecrawlPolicy,
    fresh_for=waits,
    rules=st.sampled_from([(), (FreshRule("example.com/news/*", 2 * DAY),), (FreshRule("other.example", 40 * DAY),)]),
    gone_for=waits,
    cache_max_age=st.none() | st.sampled_from([DAY, 20 * DAY]),
    max_304_age=st.sampled_from([DAY, 30 * DAY]),
    adaptive=st.none() | st.builds(AdaptivePolicy, longest=st.sampled_from([2 * DAY, 30 * DAY])),
)
situations = st.builds(
    Situation,
    is_held=st.booleans(),
    refresh=st.booleans(),
    trusts_validators=st.booleans(),
    lastmod=st.none() | st.integers(-30, 60).map(lambda days: BEGIN + days * DAY),
    trusts_lastmod=st.booleans(),
)


class PlanMachine(RuleBasedStateMachine):
    """One page, its server, and a clock that may go back."""

    @initialize(policy=policies)
    def begin(self, policy: RecrawlPolicy) -> None:
        """Begin with a page that was never seen."""
        self.policy, self.now, self.state = policy, BEGIN, None
        self.situation = Situation()

    state: PageState | None

    @rule(wait=st.timedeltas(timedelta(hours=-30), timedelta(days=50)))
    def wait(self, wait: timedelta) -> None:
        """Let time pass."""
        self.now += wait

    @rule(situation=situations)
    def look(self, situation: Situation) -> None:
        """Know other things beside the page's state."""
        self.situation = situation

    @rule(
        status=st.sampled_from([200, 200, 200, 404, 503]),
        etag=st.none() | st.just('"1"'),
        changed=st.booleans(),
        lies=st.booleans(),
    )
    def visit(self, status: int, etag: str | None, *, changed: bool, lies: bool) -> None:
        """Do what the plan says, and note the answer."""
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


def test_every_page_is_seen_in_time_by_a_machine() -> None:
    run_machine(PlanMachine)
