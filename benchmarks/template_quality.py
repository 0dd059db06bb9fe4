"""How much of the true main content do learned templates keep, and how much noise do they leave, on real sites?

Each site's template is learned from some of its pages (those with the smallest page keys, which spread over a site) and
cuts all of them; with --stream it cuts only the pages that it did not learn from.
"""

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from benchmarks import results
from benchmarks.corpus import pages, sites
from benchmarks.words import Score, Truth, mean, score, truth, words
from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.observations import observe
from scrapy_dedup.core.render import render
from scrapy_dedup.core.templates import Template, cut, learn_template
from scrapy_dedup.core.urls import page_key

# Knowledge of a site at this point of a crawl, with --stream.
_STREAM_PAGES = 20


@dataclass(frozen=True, slots=True)
class SiteScore:
    """The pages of one site, with what it cost in milliseconds a page."""

    precision: float
    recall: float
    f1: float
    loss: float
    """Share of pages with a recall below 0.9."""
    noise: float
    """Share of pages with a precision below 0.8."""
    pages: int
    doubtful: bool
    template_bytes: int
    parse_ms: float
    learn_ms: float
    """Per learning page."""
    cut_ms: float


@dataclass(slots=True)
class _Read:
    url: str
    key: bytes
    page: Page
    truth: Truth | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path, help="folder of sites, each with manifest.json")
    parser.add_argument("--learn", type=int, help="learn from so many pages of each site (60; with --stream 20)")
    parser.add_argument("--stream", action="store_true", help="cut only pages that were not learned from")
    parser.add_argument("--lines", type=Path, help="write {url, cleaned_content} a page as JSON lines")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    number = args.learn or (_STREAM_PAGES if args.stream else 60)
    lines = args.lines.open("w") if args.lines else None
    print(f"{'site':28}{'precision':>10}{'recall':>10}{'F1':>10}{'loss':>8}{'noise':>8}{'pages':>7}")
    found: dict[str, SiteScore] = {}
    for manifest, folder in sites(args.corpus):
        site = judge(manifest, folder, number, lines, stream=args.stream)
        if site is not None:
            found[manifest["name"]] = site
            print(_row(manifest["name"], site) + ("  (doubtful, not in the mean)" if site.doubtful else ""))
    judged = [site for site in found.values() if not site.doubtful]
    print(_row(f"mean of {len(judged)} sites", _mean(judged)), f" worst site F1 {min(site.f1 for site in judged):.3f}")
    results.write(args.json, {name: asdict(site) for name, site in found.items()} | {"mean": asdict(_mean(judged))})


def judge(
    manifest: dict[str, Any], folder: Path, number: int, lines: TextIO | None, *, stream: bool
) -> SiteScore | None:
    """Learn a site and cut it; None where no page is left to be cut."""
    start = time.process_time()
    parsed = {url: (html, parse_page(html)) for url, html in pages(manifest, folder)}
    parse_ms = _per_page(start, len(parsed))
    read = [
        _Read(url, page_key(url), page, truth(html, manifest["gold"]))
        for url, (html, page) in parsed.items()
        if isinstance(page, Page)
    ]
    read.sort(key=lambda one: one.key)
    start = time.process_time()
    template = learn_template([observe(one.page) for one in read[:number]])
    learn_ms = _per_page(start, min(number, len(read)))
    rest = read[number:] if stream else read
    scores = list(_scores(rest, template, lines))
    start = time.process_time()
    for one in rest:
        cut(one.page, template)
    cut_ms = _per_page(start, len(rest))
    if not scores:
        return None
    both = mean(scores)
    return SiteScore(
        precision=both.precision,
        recall=both.recall,
        f1=both.f1,
        loss=sum(one.recall < 0.9 for one in scores) / len(scores),
        noise=sum(one.precision < 0.8 for one in scores) / len(scores),
        pages=len(scores),
        doubtful=manifest.get("gold_quality", "checked") != "checked",
        template_bytes=len(json.dumps(template.to_json())),
        parse_ms=parse_ms,
        learn_ms=learn_ms,
        cut_ms=cut_ms,
    )


def _scores(read: Iterable[_Read], template: Template, lines: TextIO | None) -> Iterable[Score]:
    for one in read:
        keep = [why is None for why in cut(one.page, template).removed]
        text = render(one.page, keep, "text")
        if lines is not None:
            lines.write(json.dumps({"url": one.url, "cleaned_content": text}) + "\n")
        if one.truth is not None:
            yield score(words(text), one.truth.true, one.truth.lenient)


def _per_page(start: float, count: int) -> float:
    return round(1_000 * (time.process_time() - start) / max(1, count), 3)


def _mean(judged: list[SiteScore]) -> SiteScore:
    def of(name: str) -> float:
        return sum(float(getattr(site, name)) for site in judged) / len(judged)

    return SiteScore(
        precision=of("precision"),
        recall=of("recall"),
        f1=of("f1"),
        loss=of("loss"),
        noise=of("noise"),
        pages=sum(site.pages for site in judged),
        doubtful=False,
        template_bytes=max(site.template_bytes for site in judged),
        parse_ms=of("parse_ms"),
        learn_ms=of("learn_ms"),
        cut_ms=of("cut_ms"),
    )


def _row(name: str, site: SiteScore) -> str:
    return (
        f"{name:28}{site.precision:10.3f}{site.recall:10.3f}{site.f1:10.3f}"
        f"{site.loss:8.3f}{site.noise:8.3f}{site.pages:7}"
    )


if __name__ == "__main__":
    main()
