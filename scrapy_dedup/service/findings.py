"""What one crawl found beside what was known before it: verdicts, what that spared, and some of the changes."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from scrapy_dedup.report import values
from scrapy_dedup.service.cache import spared, total_of
from scrapy_dedup.service.changes import Choice, PageChange, Since, iterate_changes
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.cache import StoredCache
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.stored import StoredRun
from scrapy_dedup.store.writer import ProjectStore

DIFFS = 3
READABLE_CHARS = 3_000
"""Longer diffs are shown only where there are not enough that are shorter."""

_KNOWN_BEFORE = ("changed", "unchanged", "removed")
# Where no diff was kept with its change, each costs a parse of both versions.
_CHANGES_SEARCHED = 60


def findings(store: Store, project: ProjectStore, settings: Settings, run: StoredRun) -> values.Recrawl | None:
    """Return what a run found; None where no page was known before it.

    Raises:
        StoreError: the store failed.
    """
    cache = StoredCache(store, project.id)
    traffic = cache.traffic(run.id)
    pages: Counter[str] = Counter()
    for one in traffic:
        pages[one.verdict or ""] += one.visits
    if not any(pages[verdict] for verdict in _KNOWN_BEFORE):
        return None
    total = total_of(spared(cache, run, {}))
    return values.Recrawl(
        began_at=run.started_at,
        new=pages["new"],
        changed=pages["changed"],
        unchanged=pages["unchanged"],
        removed=pages["removed"],
        requests=sum(one.visits for one in traffic if one.fetched != "skip"),
        not_modified=total.not_modified,
        callbacks_run=total.misses,
        callbacks_saved=total.hits,
        bytes_received=total.bytes_received,
        bytes_saved=total.bytes_saved,
        diffs=tuple(_diffs(project, settings, run)) if pages["changed"] else (),
    )


def _diffs(project: ProjectStore, settings: Settings, run: StoredRun) -> Iterator[values.ChangedPage]:
    """Iterate over a small, a middling and a large change, of those that can be read at a glance."""
    changes = iterate_changes(project, Since(run.started_at, run.id), Choice(verdict="changed", diff=True), settings)
    of_run = (change for change in changes if change.visit.run_id == run.id)
    # By page: of one that was visited twice in the run, the last diff is kept, and stands for both.
    found = {change.visit.page_key: change for change in islice(of_run, _CHANGES_SEARCHED) if change.diff}
    ranked = sorted(found.values(), key=lambda change: (len(change.diff or ""), change.url or "", str(change.visit.at)))
    readable = [change for change in ranked if len(change.diff or "") <= READABLE_CHARS]
    if len(readable) < DIFFS:
        readable = ranked[:DIFFS]
    # The middles of as many equal parts.
    for place in sorted({(2 * part + 1) * len(readable) // (2 * DIFFS) for part in range(DIFFS)}):
        yield from (_changed_page(project, change) for change in readable[place : place + 1])


def _changed_page(project: ProjectStore, change: PageChange) -> values.ChangedPage:
    page = project.page(change.visit.page_key)
    document = page.document if page else None
    return values.ChangedPage(
        url=change.url or "",
        title=(document.title if document else None) or "",
        change=change.visit.change_class or "",
        diff=change.diff or "",
    )
