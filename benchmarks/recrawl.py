"""Does a re-crawl find the pages whose main content changed, and no others?

For each two dates of a site: boilerplate is learned from the older pages as a first crawl does, then from the newer.
True is what the manifest's selectors say of the main content, or the set's own `gold_equal`; a difference in nothing
but the title is a change to the plugin and none to that truth, and counts against the plugin. Differences in nothing
but where links lead are counted apart: the truth does not know them.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from benchmarks import results
from benchmarks.corpus import decode
from scrapy_dedup.core.boilerplate.repeats import PageCounts
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.recrawl.verdicts import (
    Change,
    Repeats,
    Verdict,
    VerdictKind,
    compare,
    main_text,
    page_keys,
    repeats_of,
)
from scrapy_dedup.service.cut.site_cleaning import frames_of
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge, learn_site
from scrapy_dedup.settings import Settings

LEARN_PAGES = 60
# Of today's pages; before the first, all that is known is of the earlier crawl.
RELEARN_AT = (5, 8, 16, 32, 60)


@dataclass(frozen=True, slots=True)
class Pair:
    """One page at two dates."""

    url: str
    old: Page
    new: Page
    changed: bool


@dataclass(slots=True)
class Recrawl:
    """A site at two dates; some of its pages may be in one of them only."""

    name: str
    pairs: list[Pair]
    old_pages: list[Page]
    new_pages: list[Page]
    templates: SiteKnowledge
    """What the first crawl learned."""


@dataclass(slots=True)
class Outcome:
    """What the verdicts were worth."""

    pages: int = 0
    changed: int = 0
    missed: list[str] = field(default_factory=list)
    false_alarms: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    """Told for nothing but where a link leads, of which the truth, a matter of words, says nothing."""
    classes: Counter[str] = field(default_factory=Counter)

    def add(self, pair: Pair, verdict: Verdict) -> None:
        self.pages += 1
        self.changed += pair.changed
        self.classes[verdict.change] += 1
        if pair.changed is not (verdict.kind is VerdictKind.CHANGED):
            wrong = self.links if verdict.change is Change.LINKS else self.false_alarms
            wrong = self.missed if pair.changed else wrong
            wrong.append(f"{pair.url}: {verdict.change}: {verdict.reason}")

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(
            self.pages + other.pages,
            self.changed + other.changed,
            self.missed + other.missed,
            self.false_alarms + other.false_alarms,
            self.links + other.links,
            self.classes + other.classes,
        )

    def figures(self) -> dict[str, Any]:
        return {
            "pages": self.pages,
            "changed": self.changed,
            "missed": self.missed,
            "false_alarms": self.false_alarms,
            "links": self.links,
            "classes": {change: self.classes[change] for change in Change},
        }

    def row(self, name: str) -> str:
        unchanged = self.pages - self.changed
        return (
            f"{name:52}{self.pages:6}{self.changed:9}{len(self.missed):8}{len(self.missed) / max(1, self.changed):8.1%}"
            f"{len(self.false_alarms):8}{len(self.false_alarms) / max(1, unchanged):8.1%}{len(self.links):8}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path, help="folder with histories/ and neardup/")
    parser.add_argument("--folders", type=Path, nargs=2, help="one more site: its pages at two dates")
    parser.add_argument("--gold", default="div[role=main]", help="CSS of the main content of these")
    parser.add_argument(
        "--as-crawled", action="store_true", help="each page is judged by what the pages before it told"
    )
    parser.add_argument("--wrong", action="store_true", help="list the wrong verdicts")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    judge = judge_as_crawled if args.as_crawled else judge_afterwards
    recrawls = [_histories(args.data / "histories"), _pairs(args.data / "neardup")]
    recrawls += [_folders(args.folders, args.gold)] if args.folders else []
    header = f"{'site, from and to':52}{'pages':>6}{'changed':>9}{'missed':>8}{'':8}{'false':>8}{'':8}{'links':>8}"
    print(header)
    total, figures = Outcome(), {}
    for recrawl in (recrawl for group in recrawls for recrawl in group):
        found = judge(recrawl)
        total += found
        figures[recrawl.name] = found.figures()
        print(found.row(recrawl.name))
        if args.wrong:
            print("".join(f"    missed {line}\n" for line in found.missed), end="")
            print("".join(f"    false  {line}\n" for line in found.false_alarms), end="")
            print("".join(f"    link   {line}\n" for line in found.links), end="")
    print(total.row("total"))
    print("  ".join(f"{change}: {total.classes[change]}" for change in Change))
    results.write(args.json, figures)


def judge_afterwards(recrawl: Recrawl) -> Outcome:
    """Judge all pages by what is known when the second crawl is over."""
    repeats = repeats_of([_counts(recrawl.old_pages), _counts(recrawl.new_pages)])
    outcome = Outcome()
    for pair in recrawl.pairs:
        outcome.add(pair, _verdict(pair, repeats, recrawl.templates))
    return outcome


def judge_as_crawled(recrawl: Recrawl) -> Outcome:
    """Judge each page by what is known when it comes: all of the first crawl, and the second until then."""
    earlier, today = _counts(recrawl.old_pages), PageCounts[int]()
    repeats, outcome = repeats_of([earlier]), Outcome()
    for pair in recrawl.pairs:
        if today.pages < LEARN_PAGES:
            today.add(page_keys(pair.new))
            repeats = repeats_of([earlier, today]) if today.pages in RELEARN_AT else repeats
        outcome.add(pair, _verdict(pair, repeats, recrawl.templates))
    return outcome


def _verdict(pair: Pair, repeats: Repeats, templates: SiteKnowledge) -> Verdict:
    if page_keys(pair.old) == page_keys(pair.new):
        return Verdict(VerdictKind.UNCHANGED, Change.NONE, "the same blocks")
    frames = frames_of(pair.old, pair.new, pair.url, templates)
    old, new = (main_text(page, repeats, frame) for page, frame in zip((pair.old, pair.new), frames, strict=True))
    return compare(old, new)


def _templates(name: str, pages: Iterable[tuple[str, str]]) -> SiteKnowledge:
    listed = [(f"https://{name}.invalid/{url}" if "://" not in url else url, html) for url, html in pages]
    return learn_site(f"{name}.invalid", listed[:LEARN_PAGES], Settings())


def _counts(pages: Iterable[Page]) -> PageCounts[int]:
    counts = PageCounts[int]()
    for page in list(pages)[:LEARN_PAGES]:
        counts.add(page_keys(page))
    return counts


def _histories(folder: Path) -> Iterator[Recrawl]:
    for path in sorted(folder.glob("*/manifest.json")):
        manifest = json.loads(path.read_text())
        numbers = [revision["n"] for revision in manifest["revisions"]]
        for one, other in pairwise(numbers):
            recrawl = _two_folders(path.parent / str(one), path.parent / str(other), manifest["gold"])
            recrawl.name = f"{manifest['name']} {one} {other}"
            yield recrawl


def _folders(folders: Sequence[Path], main: str) -> Iterator[Recrawl]:
    yield _two_folders(folders[0], folders[1], {"main": main, "exclude": ["a.headerlink"]})


def _two_folders(old: Path, new: Path, gold: Mapping[str, Any]) -> Recrawl:
    """Return a site whose pages lie in two folders under equal names; a page without main content is not judged."""
    before, after = (
        {str(path.relative_to(root)): decode(path.read_bytes()) for path in sorted(root.rglob("*.html"))}
        for root in (old, new)
    )
    pages_before, pages_after = ({url: _parsed(html) for url, html in side.items()} for side in (before, after))
    pairs = []
    for url in before.keys() & after.keys():
        was, now = _main(before[url], gold), _main(after[url], gold)
        if was is not None and now is not None:
            pairs.append(Pair(url, pages_before[url], pages_after[url], changed=was != now))
    pairs.sort(key=lambda pair: pair.url)
    name = f"{old.parent.name} {new.parent.name}"
    templates = _templates(old.parent.name, before.items())
    return Recrawl(name, pairs, list(pages_before.values()), list(pages_after.values()), templates)


def _pairs(folder: Path) -> Iterator[Recrawl]:
    """Yield the sites that were crawled again, at each two dates; equal HTML needs no verdict."""
    for path in sorted(folder.glob("recrawl-*/pairs.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        files = {line[side]["file"] for line in lines for side in "ab"}
        sources = {file: decode((path.parent / file).read_bytes()) for file in sorted(files)}
        pages = {file: _parsed(html) for file, html in sources.items()}
        crawls: dict[str, dict[str, Page]] = {}
        crawled: dict[str, dict[str, str]] = {}
        for line in lines:
            for side, date in zip("ab", line["crawl"], strict=True):
                url, file = line[side]["url"].partition("#")[0], line[side]["file"]
                crawls.setdefault(date, {})[url] = pages[file]
                crawled.setdefault(date, {})[url] = sources[file]
        for old, new in sorted({(line["crawl"][0], line["crawl"][1]) for line in lines}):
            pairs = [
                Pair(line["b"]["url"], pages[line["a"]["file"]], pages[line["b"]["file"]], not line["gold_equal"])
                for line in lines
                if line["crawl"] == [old, new]
            ]
            name = f"{path.parent.name.removeprefix('recrawl-')} {old} {new}"
            templates = _templates(path.parent.name, crawled[old].items())
            yield Recrawl(name, pairs, list(crawls[old].values()), list(crawls[new].values()), templates)


def _parsed(html: str) -> Page:
    page = parse_page(html)
    return page if isinstance(page, Page) else Page()


def _main(html: str, gold: Mapping[str, Any]) -> list[str] | None:
    """Return the words of the main content, as inline elements divide them; the sets' `gold_equal` was made so."""
    tree = LexborHTMLParser(html)
    for node in tree.css(", ".join([*gold.get("exclude", []), "script", "style", "noscript", "template", "button"])):
        node.decompose()
    main = tree.css_first(gold["main"])
    return None if main is None else main.text(separator=" ").split()


if __name__ == "__main__":
    main()
