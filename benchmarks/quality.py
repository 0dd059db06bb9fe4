"""How well does a model cut a site that it was not trained on? One site, or a fold of them, is left out at a time.

Folds are by registrable domain. Of each left-out site a template is learned from sixty or five evenly spaced pages and
cuts all of them; from five and the page at hand, or a page by itself, it cuts 25 of them. Cross-page layers are off.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from math import ceil
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from typing import Final

import numpy as np

from benchmarks import results
from benchmarks.marked_sites import MarkedPage, MarkedSite, marked_sites, read_folders, spread
from benchmarks.marked_texts import MarkedText, marked_texts
from benchmarks.redesigned import with_random_names
from benchmarks.train import Domain, domains_of, fit, folds, to_json
from scrapy_dedup.core.boilerplate.verdict_model import VerdictModel, learn
from scrapy_dedup.core.pages.render import render
from scrapy_dedup.core.templates.templates import MORE_CAUTION, Template, cut, is_too_thin, template_of, thin_pages

# Known pages, and whether the page at hand is one of them.
WAYS: Final = {"60": (60, False), "5": (5, False), "5 and the page": (5, True), "1": (0, True)}
# Of a site, where each page has a template of its own.
_JUDGED: Final = 25
# What the figures of single pages of other sites are called.
_OF_TEXTS: Final = "single pages"
_WORKERS: Final = 2
_LOSS: Final = 0.9
_NOISE: Final = 0.8


@dataclass(frozen=True, slots=True)
class SiteFigures:
    """Means of a site's pages."""

    site: str
    kind: str
    way: str
    precision: float
    recall: float
    f1: float
    loss: float
    """Share of pages with a recall below 0.9."""
    noise: float
    """Share of pages with a precision below 0.8."""


def kind_of(site: MarkedSite) -> str:
    """Return the kind of a site as its manifest has it: shop, forum or rest."""
    return site.kind if site.kind in ("shop", "forum") else "rest"


@dataclass(slots=True)
class Bench:
    """How sites are judged."""

    caution: float = 0.5
    most: int = _JUDGED
    """Pages of a site, where each has a template of its own."""
    texts: Path | None = None
    """A folder for WAY.jsonl, with what is left of each page that is judged."""

    def write(self, way: str, page: MarkedPage, template: Template) -> None:
        """Write what is left of a page."""
        if self.texts is not None:
            keep = [why is None for why in cut(page.page, template).removed]
            line = {"url": page.url, "cleaned_content": render(page.page, keep, "text")}
            with (self.texts / f"{way.replace(' ', '-')}.jsonl").open("a") as lines:
                lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def judged(site: MarkedSite, model: VerdictModel, bench: Bench) -> Iterator[SiteFigures]:
    """Yield the figures of one site for each number of known pages."""
    caution = bench.caution
    scored = [page for page in site.pages if page.scored]
    for way, (known, with_page) in WAYS.items():
        learned = spread(site.pages, known) if known else []
        template = None if with_page else _template(learned, model, caution)
        if template:
            # As in a crawl: cut with more caution, or else one by one.
            observations = [one.observation for one in learned]
            if is_too_thin(thin_pages(template, observations), len(observations)):
                template = _template(learned, model, max(caution, MORE_CAUTION))
            if is_too_thin(thin_pages(template, observations), len(observations)):
                template, learned = None, []
        scores = []
        for page in spread(scored, bench.most) if with_page else scored:
            of_page = template or _template([*(one for one in learned if one is not page), page], model, caution)
            scores.append(_score(page, of_page))
            bench.write(way, page, of_page)
        precision, recall, f1 = (fmean(column) for column in zip(*scores, strict=True))
        loss, noise = fmean(one[1] < _LOSS for one in scores), fmean(one[0] < _NOISE for one in scores)
        yield SiteFigures(site.name, kind_of(site), way, precision, recall, f1, loss, noise)


def _template(pages: Sequence[MarkedPage], model: VerdictModel, caution: float) -> Template:
    return template_of(learn([page.observation for page in pages], model, caution))


def _score(page: MarkedPage, template: Template) -> tuple[float, float, float]:
    return page.score(np.array([why is None for why in cut(page.page, template).removed], dtype=bool))


@dataclass(frozen=True, slots=True)
class Marked:
    """All that is marked."""

    sites: Sequence[MarkedSite]
    texts: Sequence[MarkedText]
    domains: Mapping[str, Domain]


def leave_out(marked: Marked, count: int, seeds: Sequence[int], bench: Bench) -> list[list[SiteFigures]]:
    """Return for each seed the figures of all sites and single pages, judged by models trained without their fold."""
    jobs = [(seed, fold) for seed in seeds for fold in range(count)]
    found: dict[int, list[SiteFigures]] = {seed: [] for seed in seeds}
    # What is marked is large: the workers have it from their parent as it is.
    with ProcessPoolExecutor(_WORKERS, get_context("fork"), _begin, (marked, count, bench)) as pool:
        for (seed, fold), figures in zip(jobs, pool.map(_fold, *zip(*jobs, strict=True)), strict=True):
            found[seed] += figures
            print(f"seed {seed}, fold {fold + 1} of {count}: {len(figures)} figures", file=sys.stderr, flush=True)
    return list(found.values())


_given: tuple[Marked, int, Bench]


def _begin(marked: Marked, count: int, bench: Bench) -> None:
    global _given  # noqa: PLW0603 (set once in each worker)
    _given = marked, count, bench


def _fold(seed: int, left_out: int) -> list[SiteFigures]:
    marked, count, bench = _given
    fold = folds(marked.domains, count)
    fitted = fit({name: domain for name, domain in marked.domains.items() if fold[name] != left_out}, seed)
    model = VerdictModel.from_json(json.loads(json.dumps(to_json(fitted, 1.0, 0.0, {}))))
    found: list[SiteFigures] = []
    for site in marked.sites:
        # A doubtful one was in no training.
        if fold.get(site.domain, 0) == left_out:
            found += judged(site, model, bench)
    for text in marked.texts:
        if fold.get(text.domain, 0) == left_out:
            found.append(_of_text(text, _score(text.page, _template([text.page], model, bench.caution))))
    return found


def _of_text(text: MarkedText, scored: tuple[float, float, float]) -> SiteFigures:
    precision, recall, f1 = scored
    return SiteFigures(
        text.domain, f"{text.name} {text.kind}", _OF_TEXTS, precision, recall, f1, recall < _LOSS, precision < _NOISE
    )


def summary(found: Sequence[SiteFigures]) -> dict[str, float]:
    """Return the means of one way over sites, kinds and the worst tenth."""
    of_kind: dict[str, list[float]] = defaultdict(list)
    for one in found:
        of_kind[one.kind].append(one.f1)
    worst = sorted(one.f1 for one in found)[: ceil(len(found) / 10)]
    means = {kind: fmean(values) for kind, values in sorted(of_kind.items())}
    return {
        "sites": fmean(one.f1 for one in found),
        "kinds": fmean(means.values()),
        **means,
        "worst tenth": fmean(worst),
        "precision": fmean(one.precision for one in found),
        "recall": fmean(one.recall for one in found),
        "loss": fmean(one.loss for one in found),
        "noise": fmean(one.noise for one in found),
    }


def of_texts(runs: Sequence[Sequence[SiteFigures]]) -> dict[str, dict[str, float]]:
    """Return the means of single pages by set, and by set and kind; the median of the seeds."""
    sets: dict[str, list[list[SiteFigures]]] = defaultdict(lambda: [[] for _ in runs])
    for number, run in enumerate(runs):
        for one in run:
            if one.way == _OF_TEXTS:
                sets[one.kind.partition(" ")[0]][number].append(one)
                sets[one.kind][number].append(one)
    names = ("precision", "recall", "f1", "loss", "noise")
    return {
        kind: {"pages": len(of_runs[0])}
        | {name: median(fmean(getattr(one, name) for one in found) for found in of_runs) for name in names}
        for kind, of_runs in sorted(sets.items())
    }


def paired(
    found: Sequence[SiteFigures], others: Mapping[tuple[str, str], float], way: str
) -> tuple[float, float, float]:
    """Return the mean difference of the sites that both have, with an interval of 95 % (bootstrap over sites)."""
    differences = np.array(
        [one.f1 - others[one.site, way] for one in found if one.way == way and (one.site, way) in others]
    )
    chance = np.random.default_rng(1)
    means = chance.choice(differences, (10_000, len(differences))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(differences.mean()), float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="+", help="folders of sites, each with manifest.json")
    parser.add_argument("--single-pages", type=Path, help="folder of sets of single pages, each with pages.jsonl")
    parser.add_argument("--folds", type=int, default=11, help="sites left out together, by domain")
    parser.add_argument("--leave-one-site-out", action="store_true", help="as many folds as there are sites")
    parser.add_argument("--random-names", type=int, help="judge so many sites, with other names of classes and ids")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--caution", type=float, default=0.5)
    parser.add_argument("--pages", type=int, default=_JUDGED, help="of a site, where each has its own template")
    parser.add_argument("--texts", type=Path, help="folder for what is left of each page, a file each way")
    parser.add_argument("--by-site", action="store_true", help="print each site, too")
    parser.add_argument("--lines", type=Path, help="write the figures of each site as JSON lines")
    parser.add_argument("--paired", type=Path, help="compare with such lines of another run, site by site")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    sites = read_folders(args.folders)
    doubtful = {site.name for site in sites if site.doubtful}
    texts = list(marked_texts(args.single_pages)) if args.single_pages else []
    domains = domains_of(sites, texts)
    if args.random_names:
        names = {sites[place * len(sites) // args.random_names].name for place in range(args.random_names)}
        sites = [one for each in args.folders for one in marked_sites(each, with_random_names, names)]
        texts = []
    marked = Marked(sites, texts, domains)
    count = sum(domain.is_site for domain in marked.domains.values()) if args.leave_one_site_out else args.folds
    if args.texts:
        args.texts.mkdir(parents=True)
    runs = leave_out(marked, count, range(1, args.seeds + 1), Bench(args.caution, args.pages, args.texts))
    found = runs[0]
    if args.lines:
        args.lines.write_text("".join(json.dumps(asdict(one)) + "\n" for one in found))
    if args.by_site:
        for site in sites:
            own = {one.way: one for one in found if one.site == site.name}
            print(f"{site.name:28}" + "".join(f"{own[way].f1:8.3f}" for way in WAYS) + f"  {kind_of(site)}")
    told = {}
    for way in WAYS:
        figures = [summary([one for one in run if one.way == way and one.site not in doubtful]) for run in runs]
        told[way] = {name: median(each[name] for each in figures) for name in figures[0]}
        spread_of = max(each["kinds"] for each in figures) - min(each["kinds"] for each in figures)
        print(f"{way:>15}  " + "  ".join(f"{name} {value:.3f}" for name, value in told[way].items()), end="")
        print(f"  (kinds of {args.seeds} seeds differ by {spread_of:.3f})" if args.seeds > 1 else "")
    for kind, values in of_texts(runs).items():
        told[f"{_OF_TEXTS}, {kind}"] = values
        print(f"{kind:>40}  " + "  ".join(f"{name} {value:.3f}" for name, value in values.items()))
    if args.paired:
        lines = [json.loads(line) for line in args.paired.open()]
        others = {(one["site"], one["way"]): one["f1"] for one in lines}
        for way in WAYS:
            mean, low, high = paired(found, others, way)
            print(f"{way:>15}  {mean:+.4f} than {args.paired.name} ({low:+.4f} to {high:+.4f}, 95 %, over sites)")
    results.write(args.json, {"means": told, "sites": [asdict(one) for one in found if one.way in WAYS]})


if __name__ == "__main__":
    main()
