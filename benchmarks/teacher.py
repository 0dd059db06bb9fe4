"""How much better are templates when a browser has shown some pages, on sites whose style sheets are known?

Each site is learned from its first pages by page key, once without and once with up to three shown pages a layout; the
browser gets no network, but the site's own sheets. Then all pages are cut as in a crawl: by the live template of their
layout, or by the fallback. Confidence is compared with the true F1 over sites: Spearman's rank correlation.
"""

import argparse
import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks import results
from benchmarks.corpus import pages, sites
from benchmarks.peers import text_of
from benchmarks.words import Truth, score, truth, words
from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.layouts import skeleton_of
from scrapy_dedup.core.numbering import numbered
from scrapy_dedup.core.render import render
from scrapy_dedup.core.templates import cut
from scrapy_dedup.core.urls import page_key
from scrapy_dedup.service.site_cleaning import cut_page
from scrapy_dedup.service.site_knowledge import REST, SiteKnowledge
from scrapy_dedup.service.site_learning import PageSight, learn_sample, seen_page
from scrapy_dedup.service.site_sample import FEWEST_PAGES, SiteSample, learned_page
from scrapy_dedup.settings import Settings
from scrapy_dedup.teacher.browser import Browser
from scrapy_dedup.teacher.values import Resource, Showing, Shown, Wanted

_MOST_LAYOUTS = 4
_MOST_PAGES = 9


@dataclass(frozen=True, slots=True)
class SiteScore:
    """F1 of one site's pages, mean."""

    static: float
    visual: float
    alone: float
    """With the visual templates, fit or not, and never the fallback."""
    trafilatura: float
    shown: int
    """Pages that the browser showed."""
    confidence: float
    """Of the templates, weighed by the pages of their layouts."""
    taught: int
    """Templates that the browser's evidence is in, and that are live."""
    pages: int
    doubtful: bool


@dataclass(slots=True)
class _Read:
    url: str
    key: bytes
    html: str
    page: Page
    truth: Truth | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path, help="folder of sites, each with manifest.json")
    parser.add_argument("--learn", type=int, default=60, help="learn from so many pages of each site")
    parser.add_argument("--pages", type=int, default=2, help="show so many pages a layout, 1 to 3")
    parser.add_argument("--all", action="store_true", help="sites without style sheets, too")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found: dict[str, SiteScore] = {}
    print(
        f"{'site':28}{'static':>9}{'visual':>9}{'alone':>9}{'trafil.':>9}{'shown':>7}{'live':>6}{'confid.':>9}{'pages':>7}"
    )
    browser = Browser()
    try:
        for manifest, folder in sites(args.corpus):
            if args.all or manifest.get("assets"):
                found[manifest["name"]] = site = judge(manifest, folder, browser, args)
                note = "  (doubtful, not in the mean)" if site.doubtful else ""
                print(_row(manifest["name"], site) + note, flush=True)
    finally:
        browser.close()
    judged = [site for site in found.values() if not site.doubtful]
    for name in ("static", "visual", "alone", "trafilatura"):
        values = [getattr(site, name) for site in judged]
        print(f"{name:12} mean {fmean(values):.4f}  worst {min(values):.4f}")
    print(f"worst of visual - static: {min(site.visual - site.static for site in judged):+.4f}")
    rank = spearman([site.confidence for site in judged], [site.visual for site in judged])
    print(f"rank correlation of confidence and F1 over {len(judged)} sites: {rank:.2f}")
    results.write(args.json, {name: asdict(site) for name, site in found.items()} | {"rank_correlation": rank})


def judge(manifest: dict[str, Any], folder: Path, browser: Browser, args: argparse.Namespace) -> SiteScore:
    """Learn a site twice, and cut all its pages."""
    read = sorted(_read(manifest, folder), key=lambda one: one.key)
    settings = Settings(learn_pages=args.learn, output="text")
    sample = SiteSample(args.learn)
    for one in read[: args.learn]:
        sample.add(learned_page(one.key, one.url, one.page), one.html)
    static = learn_sample(manifest["domain"], sample, settings)
    wanted = to_show(read[: args.learn], static, sample, args.pages)
    sights = list(_sights(manifest, folder, browser, wanted))
    visual = learn_sample(manifest["domain"], sample, settings, sights)
    f1 = _f1(read)
    return SiteScore(
        static=f1(lambda one: _cut(one, static, settings)),
        visual=f1(lambda one: _cut(one, visual, settings)),
        alone=f1(lambda one: _cut_alone(one, visual)),
        trafilatura=f1(_trafilatura),
        shown=len(sights),
        confidence=_confidence(read, visual),
        taught=sum(one.source == "visual" and one.state == "live" for one in visual.templates.values()),
        pages=len(read),
        doubtful=manifest.get("gold_quality", "checked") != "checked",
    )


def to_show(read: list[_Read], known: SiteKnowledge, sample: SiteSample, most: int) -> list[_Read]:
    """Return the pages to show: some of each of the largest layouts."""
    if len(sample) < FEWEST_PAGES:
        return read[:most]
    layouts: dict[int, list[_Read]] = {}
    for one in read:
        layouts.setdefault(known.layout_of(skeleton_of(one.page)), []).append(one)
    largest = sorted(layouts.values(), key=lambda found: (-len(found), found[0].key))[:_MOST_LAYOUTS]
    chosen = [one for found in largest for one in found[:most]]
    return chosen[:_MOST_PAGES]


def _read(manifest: dict[str, Any], folder: Path) -> Iterator[_Read]:
    for url, html in pages(manifest, folder):
        page = parse_page(html)
        if isinstance(page, Page):
            yield _Read(url, page_key(url), html, page, truth(html, manifest["gold"]))


def _sights(manifest: dict[str, Any], folder: Path, browser: Browser, wanted: list[_Read]) -> Iterator[PageSight]:
    sheets = {one["url"]: folder / one["file"] for one in manifest.get("assets") or ()}

    def fetch(resource: Wanted) -> Future[Resource | None]:
        answer: Future[Resource | None] = Future()
        file = sheets.get(resource.url)
        answer.set_result(Resource(200, {"content-type": "text/css"}, file.read_bytes()) if file else None)
        return answer

    for one in wanted:
        page = numbered(one.html, one.page)
        shown = browser.show(Showing(one.url, page), fetch).result() if page else None
        if page is not None and isinstance(shown, Shown):
            yield seen_page(one.key, one.url, one.page, page, shown.sight)
        else:
            print(f"  not shown: {one.url}: {shown}")


def _cut(one: _Read, known: SiteKnowledge, settings: Settings) -> str:
    return cut_page(one.html, one.page, one.url, known, settings).cleaned.content


def _cut_alone(one: _Read, known: SiteKnowledge) -> str:
    chosen = known.templates.get(known.layout_of(skeleton_of(one.page))) or known.templates[REST]
    keep = [why is None for why in cut(one.page, chosen.template).removed]
    return render(one.page, keep, "text")


def _trafilatura(one: _Read) -> str:
    library = importlib.import_module("trafilatura")
    return text_of(lambda source: library.extract(source, include_comments=False, include_tables=True) or "", one.html)


def _f1(read: list[_Read]) -> Callable[[Callable[[_Read], str]], float]:
    def of(method: Callable[[_Read], str]) -> float:
        return fmean(
            score(words(method(one)), one.truth.true, one.truth.lenient).f1 for one in read if one.truth is not None
        )

    return of


def _confidence(read: list[_Read], known: SiteKnowledge) -> float:
    used = [known.template_for(known.layout_of(skeleton_of(one.page)), one.url) for one in read]
    return fmean(one.confidence if one is not None else 0.0 for one in used)


def spearman(one: list[float], other: list[float]) -> float:
    """Return the correlation of two rankings, -1.0 to 1.0; equal values share their rank."""
    first, second = _ranks(one), _ranks(other)
    left, right = fmean(first), fmean(second)
    common = sum((a - left) * (b - right) for a, b in zip(first, second, strict=True))
    spread = sum((a - left) ** 2 for a in first) * sum((b - right) ** 2 for b in second)
    return float(common / spread**0.5) if spread else 0.0


def _ranks(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def _row(name: str, site: SiteScore) -> str:
    return (
        f"{name:28}{site.static:9.4f}{site.visual:9.4f}{site.alone:9.4f}{site.trafilatura:9.4f}"
        f"{site.shown:7}{site.taught:6}{site.confidence:9.3f}{site.pages:7}"
    )


if __name__ == "__main__":
    main()
