"""The law: what a crawl with the add-on may give, beside what the same crawl gives without it."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.item_schema import faults_of
from tests.law.crawls import Crawl, Visit

ADDED = frozenset({"cleaned_content", "dedup"})
ADDED_WHERE_LACKING = frozenset({"title", "date", "author"})
FEW = 4
"""So many differences of one sort are shown."""


def emitted(bare: Crawl, crawl: Crawl, varies: Iterable[str] = ()) -> list[str]:
    """Return how a crawl differs from the bare one: items by page and in order, requests, errors, the way it ended."""
    strip = Stripped.of(bare, varies)
    wanted, found = (Counter(map(strip.visit, one.visits)) for one in (bare, crawl))
    differences = [
        *_some("missing", (f"{url}: {' '.join(items)}" for url, items in (wanted - found).elements())),
        *_some("surplus", (f"{url}: {' '.join(items)}" for url, items in (found - wanted).elements())),
    ]
    return differences + beside(bare, crawl)


def left_over(bare: Crawl, crawl: Crawl, before: Sequence[Crawl], varies: Iterable[str] = ()) -> list[str]:
    """Return how a delta feed differs from its rule.

    A page's items are those of the bare crawl without, as a multiset, those of the page's last acknowledged visit; of
    these, items with the text of a page that changed may come, too.

    Args:
        bare: without the add-on, the same version of the site.
        crawl: with DEDUP_UNCHANGED = "skip".
        before: the bare crawls of the versions that the same store has seen; an equal item was delivered or left out.
        varies: names of DEDUP_IGNORE_FIELDS.
    """
    strip = Stripped.of(bare, varies)
    last = _last_visits(before, strip)
    wanted, found = strip.by_page(bare), strip.by_page(crawl)
    differences = []
    for page in sorted(wanted.keys() | found.keys()):
        whole, here = wanted.get(page, _NO_ITEMS), found.get(page, _NO_ITEMS)
        known = last.get(page, [Counter()])
        times = sum(count for url, count in bare.called.items() if _page(url) == page)
        # Two visits of one page in one crawl: which of them is beside which is nobody's promise, only its bounds.
        lasts = known if times <= 1 else [sum(known, Counter())]
        leasts = [whole.counted - one for one in lasts]
        fits = here.counted <= whole.counted and any(
            least <= here.counted and (times > 1 or (here.counted - least).keys() <= here.changed) for least in leasts
        )
        if not fits:
            rests = " or ".join(str(sorted((whole.counted - one).elements())) for one in known)
            differences.append(f"{page}: {list(here.items)} instead of {rests}")
        elif times <= 1 and not _is_in_order(here.items, whole.items):
            differences.append(f"{page}: order {list(here.items)} instead of {list(whole.items)}")
    return _some("delta feed", differences) + beside(bare, crawl)


def beside(bare: Crawl, crawl: Crawl) -> list[str]:
    """Return the differences in all but the items: no request more or less, no error of ours, the same end."""
    differences = [
        *_some("not asked for", map(str, (bare.asked - crawl.asked).elements())),
        *_some("asked for without need", map(str, (crawl.asked - bare.asked).elements())),
        *_some("error", (Counter(map(_error, crawl.errors)) - Counter(map(_error, bare.errors))).elements()),
    ]
    if crawl.reason != bare.reason:
        differences.append(f"it ended by {crawl.reason}, the bare one by {bare.reason}")
    return differences


@dataclass(frozen=True, slots=True)
class Stripped:
    """Takes from items what the add-on adds, and makes texts of them."""

    without: frozenset[str]
    varies: frozenset[str]
    """Of these only the type counts."""

    @classmethod
    def of(cls, bare: Crawl, varies: Iterable[str]) -> "Stripped":
        """Return what strips items beside those of a bare crawl."""
        has = {name for item in bare.items for name in item}
        return cls(ADDED | (ADDED_WHERE_LACKING - has), frozenset(varies))

    def item(self, item: Mapping[str, object]) -> str:
        assert faults_of(item.get("dedup") or {}) == []
        kept = {
            name: type(value).__name__ if name in self.varies else value
            for name, value in item.items()
            if name not in self.without
        }
        return json.dumps(kept, sort_keys=True, ensure_ascii=False)

    def visit(self, visit: Visit) -> tuple[str, tuple[str, ...]]:
        return visit.url, tuple(map(self.item, visit.items))

    def by_page(self, crawl: Crawl) -> dict[str, "PageItems"]:
        found: dict[str, list[Mapping[str, object]]] = {}
        for visit in crawl.visits:
            found.setdefault(_page(visit.url), []).extend(visit.items)
        return {
            page: PageItems(
                tuple(map(self.item, items)),
                Counter(map(self.item, items)),
                frozenset(self.item(item) for item in items if "cleaned_content" in item and _is_changed(item)),
            )
            for page, items in found.items()
        }


@dataclass(frozen=True, slots=True)
class PageItems:
    """A page's items in order, and how often each."""

    items: tuple[str, ...] = ()
    counted: Counter[str] = field(default_factory=Counter)
    changed: frozenset[str] = frozenset()
    """Those with the text of a page that changed."""


_NO_ITEMS = PageItems()


def _last_visits(before: Sequence[Crawl], strip: Stripped) -> dict[str, list[Counter[str]]]:
    """Return what the items of each page's last acknowledged visit can be: as a rule one multiset.

    A page that failed, redirected, was seen twice in one crawl or whose callback raised was visited in a way of which
    no rule says whether it is the last acknowledged visit, so both answers are right.
    """
    last: dict[str, list[Counter[str]]] = {}
    for crawl in before:
        items = strip.by_page(crawl)
        statuses: dict[str, set[int]] = {}
        for path, status in crawl.statuses:
            statuses.setdefault(path, set()).add(status)
        for page in {*map(_page, crawl.called), *items, *statuses}:
            here = items.get(page, _NO_ITEMS)
            raised = any(f"{page}>" in error for error in crawl.errors)
            times = sum(count for url, count in crawl.called.items() if _page(url) == page)
            if times == 1 and statuses.get(page, {200}) <= {200, 304} and not raised:
                last[page] = [here.counted]
                continue
            each = [Counter(map(strip.item, visit.items)) for visit in crawl.visits if _page(visit.url) == page]
            last[page] = [*last.get(page, []), Counter(), here.counted, *each]
    return last


def _is_changed(item: Mapping[str, object]) -> bool:
    report = item.get("dedup")
    return isinstance(report, dict) and report.get("verdict") != "unchanged"


def _error(line: str) -> str:
    """Return an error without the page that asked first for the one that failed: two do, in the order of answers."""
    return re.sub(r" \(referer: [^)]*\)", "", line)


def _page(url: str) -> str:
    """Return what names a page of the only host: its path and query."""
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _is_in_order(some: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(one in rest for one in some)


def _some(what: str, differences: Iterable[str]) -> list[str]:
    found = list(differences)
    shown = [f"{what}: {one[:300]}" for one in found[:FEW]]
    return shown + ([f"{what}: {len(found) - FEW} more"] if len(found) > FEW else [])
