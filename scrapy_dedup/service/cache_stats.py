"""What coming again spared: callbacks, bytes, seconds, money, by domain and by the way in which a page was answered."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from scrapy_dedup.core.trust import LastmodTrust, Trust, ValidatorTrust
from scrapy_dedup.store.cache_figures import CacheFigures, FullCost, Traffic
from scrapy_dedup.store.cache_reads import CacheReads
from scrapy_dedup.store.records import ValidatorRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import StoredRun
from scrapy_dedup.store.stored_visits import ExtractionFigures
from scrapy_dedup.store.writer import ProjectStore

Way = Literal["304", "text", "skip"]
WAYS: Final[tuple[Way, ...]] = ("304", "text", "skip")
"""How a page is answered without its callback: the site said so, its text was the same, it was not asked for."""

_NO_COST: Final = FullCost("", 0, 0, 0.0)
_NO_EXTRACTIONS: Final = ExtractionFigures(0, 0)


@dataclass(frozen=True, slots=True)
class Answered:
    """Visits of one way.

    Attributes:
        pages: that were answered; each spared a callback.
        bytes_saved: by which they received less than their pages weighed when they were last received whole, or, where
            that is not known, than the domain's pages weigh on average.
        seconds_saved: by which they took less than the domain's visits with a callback, on average.
    """

    pages: int = 0
    bytes_saved: int = 0
    seconds_saved: float = 0.0

    def __add__(self, other: "Answered") -> "Answered":
        pages, saved = self.pages + other.pages, self.bytes_saved + other.bytes_saved
        return Answered(pages, saved, self.seconds_saved + other.seconds_saved)


@dataclass(frozen=True, slots=True)
class DomainCache:
    """A domain, or all of them."""

    domain: str
    visits: int = 0
    callbacks_run: int = 0
    bytes_received: int = 0
    ways: Mapping[Way, Answered] = field(default_factory=lambda: dict.fromkeys(WAYS, Answered()))
    extractions: int = 0
    packed_bytes: int = 0
    validators: ValidatorRecord | None = None

    @property
    def saved(self) -> Answered:
        """The sum of all ways."""
        return sum(self.ways.values(), Answered())

    @property
    def hit_rate(self) -> float:
        """Share of the visits that were answered without a callback, 0.0 to 1.0."""
        return self.saved.pages / self.visits if self.visits else 0.0

    @property
    def trust(self) -> Trust | None:
        """Whether the domain's validators are believed; None where none was ever sent."""
        counts = self.validators
        if counts is None or not counts.sent:
            return None
        return ValidatorTrust(counts.sent, counts.not_modified, counts.useless, counts.changed_304).judge()

    @property
    def lastmod_trust(self) -> Trust | None:
        """Whether the dates in the domain's sitemap are believed; None where they were never checked."""
        counts = self.validators
        if counts is None or not counts.lastmod_right + counts.lastmod_wrong:
            return None
        return LastmodTrust(counts.lastmod_right, counts.lastmod_wrong).judge()


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What coming again spared.

    Attributes:
        run: whose visits are counted; None: all visits that are kept.
        domains: those with visits or extractions, in alphabetical order.
        price: of one callback.
    """

    project: str
    run: StoredRun | None
    domains: tuple[DomainCache, ...]
    price: float | None = None

    @property
    def total(self) -> DomainCache:
        """The sums over all domains."""
        return DomainCache(
            domain="",
            visits=sum(one.visits for one in self.domains),
            callbacks_run=sum(one.callbacks_run for one in self.domains),
            bytes_received=sum(one.bytes_received for one in self.domains),
            ways={way: sum((one.ways[way] for one in self.domains), Answered()) for way in WAYS},
            extractions=sum(one.extractions for one in self.domains),
            packed_bytes=sum(one.packed_bytes for one in self.domains),
        )

    @property
    def money_saved(self) -> float | None:
        """The price of the callbacks that were spared; None where no price is given."""
        return None if self.price is None else self.price * self.total.saved.pages


def cache_stats(
    store: Store, project: ProjectStore, *, all_runs: bool = False, price: float | None = None
) -> CacheStats:
    """Return what the last run spared, or all visits that are kept.

    Raises:
        StoreError: the store failed.
    """
    run = None if all_runs else next(iter(project.last_runs(1)), None)
    with store.session(read_only=True) as session:
        figures = CacheFigures(session, project.id)
        traffic = figures.traffic(run.id if run else None)
        costs = {cost.domain: cost for cost in figures.full_costs()}
        validators = {record.domain: record for record in CacheReads(session, project.id).validators()}
    domains = tally(traffic, costs, project.extraction_figures(), validators)
    return CacheStats(project.name, run, domains, price)


def tally(
    traffic: Iterable[Traffic],
    costs: Mapping[str, FullCost],
    extractions: Mapping[str, ExtractionFigures],
    validators: Mapping[str, ValidatorRecord],
) -> tuple[DomainCache, ...]:
    """Add up what there is of each domain, in alphabetical order."""
    by_domain: dict[str, list[Traffic]] = {domain: [] for domain in [*extractions, *validators]}
    for one in traffic:
        by_domain.setdefault(one.domain, []).append(one)
    return tuple(
        DomainCache(
            domain=domain,
            visits=sum(one.visits for one in some),
            callbacks_run=sum(one.visits for one in some if one.callback_run),
            bytes_received=sum(one.bytes_received for one in some),
            ways=_ways(some, costs.get(domain, _NO_COST)),
            extractions=extractions.get(domain, _NO_EXTRACTIONS).extractions,
            packed_bytes=extractions.get(domain, _NO_EXTRACTIONS).packed_bytes,
            validators=validators.get(domain),
        )
        for domain, some in sorted(by_domain.items())
    )


def way_of(traffic: Traffic) -> Way | None:
    """Return how visits were answered without a callback; None where they were not."""
    if traffic.callback_run or traffic.verdict != "unchanged":
        return None
    return "304" if traffic.fetched == "304" else "skip" if traffic.fetched == "skip" else "text"


def _ways(some: Iterable[Traffic], cost: FullCost) -> dict[Way, Answered]:
    ways = dict.fromkeys(WAYS, Answered())
    for one in some:
        way = way_of(one)
        if way is not None:
            ways[way] += _answered(one, cost, way)
    return ways


def _answered(one: Traffic, cost: FullCost, way: Way) -> Answered:
    seconds = one.visits * cost.seconds / cost.visits - one.seconds if cost.visits else 0.0
    if way == "text":  # it was received whole
        return Answered(one.visits, 0, max(0.0, seconds))
    guessed = (one.visits - one.weighed) * cost.bytes_received // cost.visits if cost.visits else 0
    return Answered(one.visits, max(0, one.full_bytes + guessed - one.bytes_received), max(0.0, seconds))
