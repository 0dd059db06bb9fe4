"""What does a redesign cost a crawl that knows the site as it was? Ten real sites, each in three new designs.

Taken are, of the sites that are not doubtful and have boilerplate outside of their main content, the one of most pages
(of equals the first by name) of shops, of forums and of the rest in turn, until there are ten. A crawl meets three of
four of a site's pages (120 at most, evenly spread) as they are; then one that has its store meets all of them, with
their old chrome in new elements (other tags and names, the same texts), with other names and texts of the chrome alone,
with other wrappers of the content alone, and unchanged. Crawls are whole, in processes of their own. *Old chrome* is
what half of the pages have outside of their main content and the first crawl left out of each of its items: an item
that has one such line holds it.
"""

import argparse
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from benchmarks import results
from benchmarks.corpus import pages, sites
from benchmarks.forked_crawls import Crawls, forking
from benchmarks.marked_sites import marked_page, spread
from benchmarks.redesigned import DESIGNS, Design, redesigned
from benchmarks.words import Score, mean, score, truth, words
from scrapy_dedup.core.templates.templates import WINDOW
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.store.store import Store
from tests.server import Answer, WebServer, serving

_SITES: Final = 10
_PAGES: Final = 120
_KINDS: Final = ("shop", "forum", "rest")
_PROJECT: Final = "redesigns"
_SETTINGS: Final = {
    "ADDONS": {"scrapy_dedup.Addon": 700},
    "SPIDER_MODULES": ["benchmarks.spiders"],
    "DEDUP_PROJECT": _PROJECT,
    "DEDUP_OUTPUT": "text",
    # What is measured is how pages are cut, so that all of them come.
    "DEDUP_LAYERS": dict.fromkeys(("canonical", "title", "duplicate", "near_duplicate", "patterns"), False),
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
}


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and the lines that stand outside of its main content, and in it."""

    url: str
    html: str
    outside: frozenset[str]
    inside: frozenset[str]


@dataclass(frozen=True, slots=True)
class Site:
    """A site that is redesigned."""

    name: str
    kind: str
    gold: dict[str, Any]
    pages: list[Page]


@dataclass(frozen=True, slots=True)
class Figures:
    """How a crawl of one site went."""

    site: str
    design: str
    pages: int
    alarm_after: int | None
    """So many pages had come when the alarm was raised."""
    old_chrome: float
    """Share of the items that hold some of it."""
    precision: float
    recall: float
    f1: float


def chosen(folders: Sequence[Path]) -> list[Site]:
    """Return the sites that are redesigned."""
    by_kind: dict[str, list[tuple[int, str, dict[str, Any], Path]]] = {kind: [] for kind in _KINDS}
    for folder in folders:
        for manifest, place in sites(folder):
            if manifest.get("gold_quality", "checked") == "checked":
                kind = manifest.get("kind", "")
                of_kind = by_kind[kind if kind in by_kind else "rest"]
                of_kind.append((-len(manifest["pages"]), manifest["name"], manifest, place))
    waiting = {kind: iter(sorted(found, key=lambda one: one[:2])) for kind, found in by_kind.items()}
    taken: list[Site] = []
    while waiting and len(taken) < _SITES:
        for kind in list(waiting):
            found = next((site for one in waiting[kind] if (site := _site(kind, *one[2:])) is not None), None)
            if found is None:
                del waiting[kind]
            elif len(taken) < _SITES:
                taken.append(found)
    return taken


def _site(kind: str, manifest: dict[str, Any], place: Path) -> Site | None:
    """Return a site with what is marked on its pages; None where there is nothing around its content."""
    found = [page for url, html in pages(manifest, place) if (page := _page(url, html, manifest["gold"])) is not None]
    some = spread(found, _PAGES)
    return Site(manifest["name"], kind, manifest["gold"], some) if chrome_of(some) else None


def _page(url: str, html: str, gold: dict[str, Any]) -> Page | None:
    marked = marked_page(url, html, gold)
    if marked is None or not marked.scored:
        return None
    stride = -(-len(marked.page.blocks) // len(marked.main)) if marked.main else 1
    told = list(zip(marked.page.blocks[::stride], marked.main, strict=True))
    outside = {line for block, main in told if main == 0 for line in lines(block.text)}
    inside = {line for block, main in told if main != 0 for line in lines(block.text)}
    return Page(url, html, frozenset(outside), frozenset(inside))


def lines(text: str) -> Iterator[str]:
    """Yield the lines of a text that have words, with single spaces."""
    for line in text.splitlines():
        if words(line):
            yield " ".join(line.split())


def chrome_of(found: Sequence[Page]) -> set[str]:
    """Return the lines that half of the pages have outside of their main content, and none in it."""
    counts = Counter(line for page in found for line in page.outside)
    inside = {line for page in found for line in page.inside}
    return {line for line, count in counts.items() if 2 * count >= len(found) and line not in inside}


class Bench:
    """One site, its server and its stores."""

    def __init__(self, site: Site, crawls: Crawls, web: WebServer, folder: Path) -> None:
        self._site, self._crawls, self._web, self._folder = site, crawls, web, folder
        self._paths = {f"/{number}/": page for number, page in enumerate(site.pages)}
        self._domain = extract_domain(web.origins[0]) or ""

    def run(self, designs: Collection[str]) -> Iterator[Figures]:
        """Crawl the site as it is, then in each design; yield how the later crawls went."""
        known = [path for number, path in enumerate(self._paths) if number % 4]
        before = self._crawl("before", Design(), known)
        left = {line for item in before.values() for line in lines(item["cleaned_content"])}
        chrome = chrome_of(self._site.pages) - left
        for name in designs:
            shutil.copy(self._folder / "before.db", self._folder / f"{name}.db")
            items = self._crawl(name, DESIGNS[name], list(self._paths))
            yield self._figures(name, items, {DESIGNS[name].text(line) for line in chrome})

    def _crawl(self, name: str, design: Design, paths: Sequence[str]) -> dict[str, dict[str, Any]]:
        origin, feed = self._web.origins[0], self._folder / f"{name}.jsonl"
        for path in paths:
            html = redesigned(self._paths[path].html, self._site.gold, design)
            self._web.site[origin + path] = Answer(html.encode("utf-8", "surrogatepass"))
        settings = _SETTINGS | {
            "DEDUP_DATABASE_URL": f"sqlite:///{self._folder}/{name}.db",
            "FEEDS": {str(feed): {"format": "jsonlines"}},
        }
        ended = self._crawls.crawl("listed", settings, urls=" ".join(origin + path for path in paths))
        items = [json.loads(line) for line in feed.open()]
        if ended.exit_code or len(items) != len(paths):
            raise RuntimeError(f"{self._site.name}, {name}: {len(items)} of {len(paths)} pages, {ended}")
        return {item["url"].removeprefix(origin): item for item in items}

    def _figures(self, name: str, items: dict[str, dict[str, Any]], chrome: set[str]) -> Figures:
        scores: list[Score] = []
        holding = 0
        for path, item in items.items():
            true = truth(self._paths[path].html, self._site.gold)
            if true is not None:
                scores.append(score(words(item["cleaned_content"]), true.true, true.lenient))
            holding += not chrome.isdisjoint(lines(item["cleaned_content"]))
        found = mean(scores)
        share = holding / len(items)
        return Figures(
            self._site.name, name, len(items), self._alarm(name, items), share, found.precision, found.recall, found.f1
        )

    def _alarm(self, name: str, items: dict[str, dict[str, Any]]) -> int | None:
        """Return how many pages were cut when the first alarm was raised.

        A crawl looks at its last ten pages: up to there an alarm says how many they were, beyond that the number of
        pages that had been received until then is an upper bound.
        """
        fetched = sorted(item["dedup"]["fetched_at"] for item in items.values())
        with Store.open(f"sqlite:///{self._folder}/{name}.db") as store:
            alarms = store.project(_PROJECT).alarms(self._domain)
        raised = [(one.raised_at.isoformat(), one.pages_looked) for one in alarms]
        after = [
            looked if looked < WINDOW else sum(at <= when for at in fetched)
            for when, looked in raised
            if when >= fetched[0]
        ]
        return min(after, default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="+", help="folders of sites, each with manifest.json")
    parser.add_argument("--only", nargs="+", help="of the ten sites those of these names")
    parser.add_argument("--designs", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found: list[Figures] = []
    print(f"{'site':22} {'design':28} alarm after  old chrome  precision  recall     F1")
    with forking() as crawls:
        for site in chosen(args.folders):
            if args.only and site.name not in args.only:
                continue
            with serving(1, lambda _: {}) as web, tempfile.TemporaryDirectory() as folder:
                for one in Bench(site, crawls, web, Path(folder)).run(args.designs):
                    print(_row(one, one.site, str(one.alarm_after or "none")), flush=True)
                    found.append(one)
    for name in args.designs:
        of_design = [one for one in found if one.design == name]
        means = {each: fmean(getattr(one, each) for one in of_design) for each in _MEANT}
        alarms = [one.alarm_after for one in of_design if one.alarm_after is not None]
        told = f"{len(alarms)} of {len(of_design)}" + (f", {max(alarms)}" if alarms else "")
        print(_row(Figures("", name, 0, None, **means), "mean, or most", told))
    results.write(args.json, {"sites": [asdict(one) for one in found]})


_MEANT: Final = ("old_chrome", "precision", "recall", "f1")


def _row(one: Figures, site: str, alarm: str) -> str:
    figures = f"{one.old_chrome:11.3f} {one.precision:10.3f} {one.recall:7.3f} {one.f1:6.3f}"
    return f"{site:22} {one.design:28} {alarm:>11} {figures}"


if __name__ == "__main__":
    main()
