"""Examples, as Hypothesis draws them: a spider, a site, its server, what changes between the crawls; their trial."""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.law import compare
from tests.law.crawls import ADDON, Crawl, Crawls, Job
from tests.law.site import (
    CACHE_CONTROLS,
    MUCHES,
    ORIGIN,
    SLOTS,
    VALIDATORS,
    VARIES,
    WHATS,
    Change,
    Server,
    World,
    version,
)
from tests.law.spiders import KINDS, SHAPES, Plan

MODES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "skip": {"DEDUP_UNCHANGED": "skip"},
    "body": {"DEDUP_REUSE": "body"},
    "skip and body": {"DEDUP_UNCHANGED": "skip", "DEDUP_REUSE": "body"},
}
"""What is set beside the store."""

_PAGES = (6, 6, 6, 5, 7, 4, 6, 5, 7, 48)
"""Products: with their lists eight pages, in one example of ten sixty."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One example."""

    kind: str
    plan: Plan
    seed: int
    products: int
    server: Server
    changes: tuple[tuple[Change, ...], ...]
    """Before the second crawl, before the third."""
    neighbour: str = ""
    """A spider of another kind that crawls the same versions into the same store, each time before this one."""
    origin: str = ORIGIN

    def job(self, crawl: int, addon: str = "", settings: Mapping[str, Any] | None = None, *, kind: str = "") -> Job:
        """Return a crawl of a version, counted from 0; that of the neighbour where its kind is given."""
        chosen = KINDS[kind or self.kind]
        sites = tuple(version(self.seed, self.products, self.changes[:number]) for number in range(crawl + 1))
        return Job(
            spider=chosen.path,
            world=World(sites, self.server, bans=chosen.bans),
            arguments={"plan": self.plan.to_argument(), "origin": self.origin},
            addon=addon,
            settings={**chosen.settings, **(settings or {})},
        )


@st.composite
def scenarios(draw: st.DrawFn, kind: str) -> Scenario:
    slots = st.sampled_from(sorted(SLOTS))
    reads = draw(st.lists(st.tuples(slots, st.sampled_from(sorted(SHAPES))), min_size=1, max_size=3))
    plan = Plan(tuple(reads), draw(st.booleans()), draw(st.booleans()), draw(st.booleans()))
    # Half of what changes is read by the spider.
    target = st.one_of(st.sampled_from([slot for slot, _ in reads]), slots)
    numbers = st.integers(0, 47)
    change = st.one_of(
        st.builds(Change, st.just("slot"), numbers, target, st.sampled_from(MUCHES)),
        st.builds(Change, st.sampled_from(WHATS[1:]), numbers, target, st.sampled_from(MUCHES), numbers),
    )
    server = Server(
        validators=draw(st.sampled_from(VALIDATORS)),
        gzip=draw(st.booleans()),
        nonce=draw(st.sampled_from([False, False, True])),
        personal=draw(st.sampled_from([False, False, True])) and not KINDS[kind].jars,
        vary=draw(st.sampled_from(VARIES)),
        cache_control=draw(st.sampled_from(CACHE_CONTROLS)),
        stale_links=draw(st.booleans()),
    )
    return Scenario(
        kind=kind,
        plan=plan,
        seed=draw(st.integers(0, 10_000)),
        products=draw(st.sampled_from(_PAGES)),
        server=server,
        changes=tuple(map(tuple, draw(st.lists(st.lists(change, max_size=4), min_size=2, max_size=2)))),
        neighbour=draw(
            st.just("") | st.just("") | st.just("") | st.sampled_from([one for one in KINDS if one != kind])
        ),
    )


def tried(scenario: Scenario, mode: str, crawls: Crawls, addon: str = ADDON) -> list[str]:
    """Return how its crawls differ from what the law says; an empty list is right."""
    kind = KINDS[scenario.kind]
    bares: list[Crawl] = []
    differences: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        chosen = {"DEDUP_DATABASE_URL": f"sqlite:///{Path(folder) / 'dedup.db'}", **MODES[mode]}
        if kind.varies and mode != "default":
            chosen["DEDUP_IGNORE_FIELDS"] = list(kind.varies)
        for number in range(len(scenario.changes) + 1):
            bare = crawls.run(scenario.job(number))
            if scenario.neighbour:
                crawls.run(scenario.job(number, addon, chosen, kind=scenario.neighbour))
            crawl = crawls.run(scenario.job(number, addon, chosen))
            if "skip" in mode:
                found = compare.left_over(bare, crawl, bares, kind.varies)
            else:
                found = compare.emitted(bare, crawl, kind.varies)
            differences += [f"crawl {number + 1}: {one}" for one in found]
            bares.append(bare)
    return differences


def shares(examples: int) -> Counter[tuple[str, str]]:
    """Return how many examples of a total each kind gets in each mode: in the default one each kind first."""
    others = [mode for mode in MODES if mode != "default"]
    turned = [(kind, others[(at + turn) % 3]) for turn in range(3) for at, kind in enumerate(KINDS)]
    return Counter(islice(cycle([*((kind, "default") for kind in KINDS), *turned]), examples))


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried."""

    examples: int
    seed: int = 1
    """The same one gives the same examples."""
    shrink: bool = False
    """Look for a smaller example that fails, which takes minutes."""


def search(kind: str, mode: str, crawls: Crawls, effort: Effort) -> None:
    """Try examples of a kind in a mode.

    Raises:
        AssertionError: one breaks the law; it is shown.
    """
    phases = [Phase.generate, Phase.shrink] if effort.shrink else [Phase.generate]

    # By one seed each kind and mode would draw the same site and the same changes. One more than asked for, for the one
    # that follows.
    @seed(f"{effort.seed} {kind} {mode}")
    @settings(
        max_examples=effort.examples + 1,
        phases=phases,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(scenario=scenarios(kind))
    def law(scenario: Scenario) -> None:
        # What Hypothesis tries first, always, is the simplest; the test of unchanged sites has it.
        if scenario.seed or any(scenario.changes):
            differences = tried(scenario, mode, crawls)
            assert not differences, "\n".join([f"LAW_SEED={effort.seed}, {mode}: {scenario}", *differences])

    check: Callable[[], None] = law
    check()
