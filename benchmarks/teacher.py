"""How much does a browser teach, on sites that neither the model nor the weight of its looks was trained on?

Of the marked sites those whose style sheets are known are left out of one training, all together. Each is learned from
sixty pages and from seven, without a browser and with three of these shown: no network, the site's own sheets. How far
looks move the model's log odds, slope and shift, is fitted to the paths of the other shown sites. F1 of words, means of
a site's pages.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np

from benchmarks import results
from benchmarks.corpus import pages, sites
from benchmarks.marked_sites import Floats, MarkedPage, MarkedSite, read_folders, rows_of, spread
from benchmarks.marked_texts import marked_texts
from benchmarks.train import domains_of, fit, logistic, to_json
from scrapy_dedup.core.boilerplate import verdict_model as judging
from scrapy_dedup.core.boilerplate.names import PathLooks, looks_by_path
from scrapy_dedup.core.boilerplate.verdict_model import VerdictModel, learn
from scrapy_dedup.core.teacher import numbered
from scrapy_dedup.core.templates.templates import cut, template_of
from scrapy_dedup.service.model_file import verdict_model
from scrapy_dedup.service.templates.site_knowledge import seen_page
from scrapy_dedup.teacher import RenderedPage, Resource, Showing, WantedResource
from scrapy_dedup.teacher.browser import Browser

_KNOWN: Final = (60, 7)
# As in the fitting of the calibration: what is certain already teaches nothing.
_CLIP: Final = 6.0

Looks = Sequence[Mapping[str, PathLooks]]


@dataclass(slots=True)
class Paths:
    """Paths of one site whose text a browser showed, in arrays of one length."""

    odds: Floats
    share: Floats
    """Of the text that is seen, what looks like content."""
    true: Floats
    weights: Floats
    """Share of a page's text that stands there."""


@dataclass(slots=True)
class Learned:
    """Pages of a site that it is learned from, and what a browser showed of three of them."""

    site: MarkedSite
    pages: list[MarkedPage]
    looks: Looks
    paths: Paths


@dataclass(frozen=True, slots=True)
class SiteFigures:
    """Mean F1 of one site."""

    site: str
    known: int
    shown: int
    static: float
    visual: float
    """With the slope and shift of the other sites."""
    shipped: float
    """With those that are in the code."""


def shown_sites(folders: Sequence[Path], model: VerdictModel, left_out: Sequence[MarkedSite]) -> Iterator[Learned]:
    """Yield the sites of some folders that are left out, learned from many pages and from few."""
    by_name = {site.name: site for site in left_out}
    browser = Browser()
    try:
        for manifest, place in (one for folder in folders for one in sites(folder)):
            if (site := by_name.get(manifest["name"])) is not None:
                html = dict(pages(manifest, place))
                for known in _KNOWN:
                    some = spread(site.pages, known)
                    looks = list(_looks(manifest, place, browser, [(one, html[one.url]) for one in spread(some, 3)]))
                    yield Learned(site, some, looks, _paths(some, looks, model))
    finally:
        browser.close()


def _looks(
    manifest: Mapping[str, Any], folder: Path, browser: Browser, wanted: Sequence[tuple[MarkedPage, str]]
) -> Iterator[Mapping[str, PathLooks]]:
    sheets = {one["url"]: folder / one["file"] for one in manifest.get("assets") or ()}

    def fetch(resource: WantedResource) -> Future[Resource | None]:
        answer: Future[Resource | None] = Future()
        file = sheets.get(resource.url)
        answer.set_result(Resource(200, {"content-type": "text/css"}, file.read_bytes()) if file else None)
        return answer

    for one, html in wanted:
        page = numbered(html, one.page)
        shown = browser.show(Showing(one.url, page), fetch).result() if page else None
        if page is not None and isinstance(shown, RenderedPage):
            seen = seen_page(one.key, one.url, one.page, page, shown.snapshot).seen
            if not seen.is_odd:
                yield seen.paths
                continue
        print(f"  not shown, or oddly: {one.url}")


def _paths(some: Sequence[MarkedPage], looks: Looks, model: VerdictModel) -> Paths:
    rows = rows_of(some)
    by_path = looks_by_path(looks, rows.found.folding)
    figures = dict(zip(rows.nodes, rows.features.tolist(), strict=True))
    judged = model.judge(figures)
    told = [
        (np.clip(judged[node].odds, -_CLIP, _CLIP), there.main / there.seen, true, weight)
        for node, true, weight in zip(rows.nodes, rows.main, rows.weights, strict=True)
        if (there := by_path.get(node.path)) is not None and there.seen and not np.isnan(true)
    ]
    return Paths(*(np.array(column, dtype=float) for column in zip(*told, strict=True)))


def fitted(paths: Sequence[Paths]) -> tuple[float, float]:
    """Return (slope, shift) that make the log odds of some sites true; each site counts alike."""
    odds, share, true = (np.concatenate([getattr(one, name) for one in paths]) for name in ("odds", "share", "true"))
    return logistic(share, true, np.concatenate([one.weights / one.weights.sum() for one in paths]), odds)


@contextmanager
def weighed(slope: float, shift: float) -> Iterator[None]:
    """Let looks weigh so much, instead of as the code has it."""
    before = judging.LOOKS_SLOPE, judging.LOOKS_SHIFT
    judging.LOOKS_SLOPE, judging.LOOKS_SHIFT = slope, shift  # type: ignore[misc]
    try:
        yield
    finally:
        judging.LOOKS_SLOPE, judging.LOOKS_SHIFT = before  # type: ignore[misc]


def _f1(learned: Learned, model: VerdictModel, looks: Looks) -> float:
    template = template_of(learn([one.observation for one in learned.pages], model, 0.5, looks))
    scored = [one for one in learned.site.pages if one.scored]
    return fmean(
        one.score(np.array([why is None for why in cut(one.page, template).removed], dtype=bool))[2] for one in scored
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="+", help="folders of sites, each with manifest.json")
    parser.add_argument("--single-pages", type=Path, help="folder of sets of single pages, each with pages.jsonl")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with_sheets = {
        manifest["name"] for folder in args.folders for manifest, _ in sites(folder) if manifest.get("assets")
    }
    all_sites = read_folders(args.folders)
    left_out = [site for site in all_sites if site.name in with_sheets and not site.doubtful]
    texts = list(marked_texts(args.single_pages)) if args.single_pages else []
    domains = domains_of(all_sites, texts)
    for site in left_out:
        domains.pop(site.domain, None)
    made = verdict_model()
    model = VerdictModel.from_json(json.loads(json.dumps(to_json(fit(domains), made.scale, made.shift, {}))))
    learned = list(shown_sites(args.folders, model, left_out))
    found: list[SiteFigures] = []
    print(f"{'site':28}{'known':>6}{'shown':>6}{'static':>9}{'visual':>9}{'shipped':>9}")
    for one in learned:
        slope, shift = fitted([other.paths for other in learned if other.site is not one.site])
        with weighed(slope, shift):
            visual = _f1(one, model, one.looks)
        known, shown = len(one.pages), len(one.looks)
        figures = SiteFigures(one.site.name, known, shown, _f1(one, model, ()), visual, _f1(one, model, one.looks))
        found.append(figures)
        print(f"{figures.site:28}{known:6}{shown:6}", end="")
        print(f"{figures.static:9.4f}{figures.visual:9.4f}{figures.shipped:9.4f}", flush=True)
    for place, known in enumerate(_KNOWN):
        of_known = found[place :: len(_KNOWN)]
        means = [fmean(getattr(each, name) for each in of_known) for name in ("static", "visual", "shipped")]
        worst = min(each.visual - each.static for each in of_known)
        print(f"mean of {len(of_known)} sites, {known} pages: static {means[0]:.4f}, visual {means[1]:.4f}, ", end="")
        print(f"shipped {means[2]:.4f}; worst of visual - static {worst:+.4f}")
    slope, shift = fitted([one.paths for one in learned])
    print(f"of all sites: slope {slope:.2f}, shift {shift:+.2f}")
    results.write(args.json, {"sites": [asdict(each) for each in found], "slope": slope, "shift": shift})


if __name__ == "__main__":
    main()
