"""The layouts of a project's domains: which there are, how often runs met them, and what is known of each."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from scrapy_dedup.core.errors import MissingError
from scrapy_dedup.core.pages.fingerprints import to_digits
from scrapy_dedup.store.records.stored import LayoutFigures, MetRun, StoredAlarm
from scrapy_dedup.store.tables.models import REST
from scrapy_dedup.store.writer import ProjectStore

REST_NAME: Final = "rest"
_NAMED: Final = 5


class UnknownLayoutError(MissingError):
    """Nothing is known of the domain or layout that was asked for."""


class DomainLayout(LayoutFigures, frozen=True, kw_only=True):
    """A layout, and how many of its pages each of the domain's runs met: 0 where it met none."""

    pages_by_run: tuple[int, ...]


class DomainLayouts(Struct, frozen=True):
    """A domain's layouts, those with most visits first.

    Attributes:
        runs: that met pages of the domain, oldest first.
        alarms: layouts whose template does not fit at present.
    """

    domain: str
    runs: tuple[MetRun, ...]
    layouts: tuple[DomainLayout, ...]
    alarms: tuple[StoredAlarm, ...]


def name_of(layout: int) -> str:
    """Return a layout as a person names it: 16 hexadecimal digits, or `rest`, the pages of no known layout."""
    return REST_NAME if layout == REST else to_digits(layout)


def domain_layouts(project: ProjectStore, domain: str | Sequence[str] | None = None) -> list[DomainLayouts]:
    """Return the layouts of a domain, of some, or of all that have any, by domain.

    Raises:
        UnknownLayoutError: there is none.
        StoreError: the store failed.
    """
    found = project.layouts(domain)
    if not found:
        raise UnknownLayoutError(_nothing_known(project, domain if isinstance(domain, str) else None))
    alarms = project.alarms(domain, open_only=True)
    return [
        _of_domain(name, list(layouts), [alarm for alarm in alarms if alarm.domain == name])
        for name, layouts in groupby(found, key=lambda each: each.domain)
    ]


def _of_domain(domain: str, layouts: Sequence[LayoutFigures], alarms: Iterable[StoredAlarm]) -> DomainLayouts:
    met = {run for each in layouts for run in each.runs}
    # What was met outside of a run comes first: it has no time.
    runs = sorted(met, key=lambda run: (run.started_at is not None, run.started_at, str(run.id)))
    rows = [DomainLayout(**asdict(each), pages_by_run=tuple(each.runs.get(run, 0) for run in runs)) for each in layouts]
    return DomainLayouts(domain, tuple(runs), tuple(rows), tuple(alarms))


def find_layout(known: Iterable[int], given: str, domain: str) -> int:
    """Return the layout that a person named: `rest`, or the first digits of its signature.

    Raises:
        UnknownLayoutError: none of those that are known begins with them, or several do.
    """
    layouts = sorted(set(known))
    word = given.lower()
    fitting = [each for each in layouts if name_of(each) == word or name_of(each).startswith(word)]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(map(name_of, (fitting or layouts)[:_NAMED])) or "none"
    problem = "is the beginning of several layouts" if fitting else "is no layout"
    raise UnknownLayoutError(f"{given!r} {problem} of {domain}: it has {names}")


def _nothing_known(project: ProjectStore, domain: str | None) -> str:
    others = project.some_domains_with_layouts(_NAMED) if domain is not None else []
    if not others:
        return (
            f"project {project.name!r} knows no layouts: run a crawl with DEDUP_BOILERPLATE_METHOD = auto first, "
            "or `scrapy dedup templates analyze` where pages are stored"
        )
    some = ", ".join(others)
    return f"project {project.name!r} knows no layouts of {domain!r}: it knows those of {some}"
