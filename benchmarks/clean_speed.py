"""How fast is a page of a known site cleaned, and one of which nothing is known, beside page-at-a-time extractors?

CPU time of one process on the same pages; in each round all are run in turn, and the figures are medians of the rounds'
ratios. What is not installed is left out. Then, how long the paths of a layout, and of a page, are judged.
"""

import argparse
import contextlib
import statistics
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from benchmarks import corpus, results
from scrapy_dedup.core.boilerplate.observations import Observation, observe
from scrapy_dedup.core.boilerplate.path_features import rows, survey
from scrapy_dedup.core.boilerplate.verdict_model import learn
from scrapy_dedup.core.pages.blocks import Unparsed, parse_page
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.cut.page_cleaning import CleanedPage, clean_page
from scrapy_dedup.service.cut.site_cleaning import How
from scrapy_dedup.service.model_file import verdict_model
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge, learn_site
from scrapy_dedup.settings import Settings

OURS, ALONE, PARSE, BLOCKS, FINGERPRINTS = (
    "scrapy_dedup", "scrapy_dedup, page by itself", "bare parse", "blocks", "blocks, fingerprints"
)  # fmt: skip
# The paths of a page: the page with about so many is judged.
_PATHS_OF_A_PAGE = 60
_LARGEST = 3
SETTINGS = Settings(output="text")

Page = tuple[str, str]
Extract = Callable[[str, str], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pages", type=int, default=4, help="of each site")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    known: dict[str, SiteKnowledge] = {}
    measured: list[tuple[str, Page]] = []
    learning: list[float] = []
    seen: dict[str, list[Observation]] = {}
    for manifest, folder in corpus.sites(args.corpus):
        site, sample = manifest["domain"], sample_of(list(corpus.pages(manifest, folder)))
        known[site], ratio = learned(site, sample)
        learning.append(ratio)
        seen[site] = [observe(page) for _, html in sample if not isinstance(page := parse_page(html), Unparsed)]
        measured += [(site, page) for page in sample[: args.pages]]
    sites = {page[0]: site for site, page in measured}
    pages = [page for _, page in measured]
    clean = ours(known, sites)
    ways = {PARSE: bare, BLOCKS: blocks, FINGERPRINTS: fingerprints, OURS: clean, ALONE: by_itself, **peers()}
    of_known_layouts = [page for page in pages if clean(*page).how is How.TEMPLATE]
    found = {
        name: report(name, some, rounds(ways, some, args.rounds))
        for name, some in (("all pages", pages), ("pages of known layouts", of_known_layouts))
    }
    ratio = statistics.median(learning)
    print(f"learning a page costs {ratio:.2f} times cutting it ({min(learning):.2f} to {max(learning):.2f} by site)")
    judged = {"layouts": judged_layouts(seen, args.rounds), "page": judged_page(seen, args.rounds)}
    results.write(args.json, {**found, "learning_over_cutting": learning, "judging": judged})


def sample_of(pages: list[Page]) -> list[Page]:
    """Return the pages that a site is learned from, in the order of their keys."""
    return sorted(pages, key=lambda page: page_key(page[0]))[: SETTINGS.learn_pages]


def learned(site: str, sample: list[Page]) -> tuple[SiteKnowledge, float]:
    """Return what a site teaches, and how much longer that took than cutting the same pages by it."""
    begin = process_time()
    knowledge = learn_site(site, sample, SETTINGS)
    middle = process_time()
    for url, html in sample:
        clean_page(html, url, knowledge, SETTINGS)
    return knowledge, (middle - begin) / (process_time() - middle)


def judged_layouts(seen: dict[str, list[Observation]], count: int) -> list[dict[str, Any]]:
    """Return how long the paths of the largest sites are judged, from all pages that these are learned from."""
    sizes = {site: len(rows(survey(some))) for site, some in seen.items()}
    largest = sorted(sizes, key=lambda site: (-sizes[site], site))[:_LARGEST]
    return [{"site": site, **judging(seen[site], count)} for site in largest]


def judged_page(seen: dict[str, list[Observation]], count: int) -> dict[str, Any]:
    """Return how long the paths of one page are judged, of the page that has about as many as is asked."""
    pages = [(site, one) for site, some in seen.items() for one in some]
    sizes = [abs(len(rows(survey([one]))) - _PATHS_OF_A_PAGE) for _, one in pages]
    site, one = pages[sizes.index(min(sizes))]
    return {"site": site, **judging([one], count)}


def judging(observations: Sequence[Observation], count: int) -> dict[str, Any]:
    """Return the fewest milliseconds of some rounds: for figures and odds of the paths, for all reasons, for all."""
    model = verdict_model()
    judge: list[float] = []
    reasons: list[float] = []
    whole: list[float] = []
    for _ in range(max(3, count)):
        begin = process_time()
        learn(observations, model)
        middle = process_time()
        found = survey(observations)
        counted = process_time()
        paths = model.judge(rows(found))
        judged = process_time()
        for one in paths.values():
            # They are worked out when somebody reads them.
            len(one.reasons)
        reasons.append(process_time() - judged)
        judge.append(judged - counted)
        whole.append(middle - begin)
    figures = {
        "pages": len(observations),
        "paths": len(paths),
        "judge_ms": 1_000 * min(judge),
        "reasons_ms": 1_000 * min(reasons),
        "learn_ms": 1_000 * min(whole),
    }
    print(
        "judging {pages} pages' {paths} paths: {judge_ms:.1f} ms; reasons of all {reasons_ms:.1f} ms;"
        " learning without them {learn_ms:.1f} ms".format(**figures)
    )
    return figures


def bare(_url: str, html: str) -> object:
    return LexborHTMLParser(html)


def blocks(_url: str, html: str) -> object:
    return parse_page(html)


def fingerprints(_url: str, html: str) -> object:
    """Return what a crawl needs of every page."""
    page = parse_page(html)
    return None if isinstance(page, Unparsed) else page.fingerprints


def ours(known: dict[str, SiteKnowledge], sites: dict[str, str]) -> Callable[[str, str], CleanedPage]:
    return lambda url, html: clean_page(html, url, known[sites[url]], SETTINGS)


def by_itself(url: str, html: str) -> object:
    """Return a page cut with nothing known of its site."""
    return clean_page(html, url, None, SETTINGS)


def peers() -> dict[str, Extract]:
    """Return the extractors that are installed."""
    found: dict[str, Extract] = {}
    for name, make in _PEERS.items():
        with contextlib.suppress(ImportError):
            found[name] = make()
    return found


def _trafilatura() -> Extract:
    extract: Any = import_module("trafilatura").extract
    return lambda _url, html: extract(html, include_comments=False, include_tables=True)


def _resiliparse() -> Extract:
    extract: Any = import_module("resiliparse.extract.html2text").extract_plain_text
    return lambda _url, html: extract(html, main_content=True, links=False)


def _readability() -> Extract:
    document: Any = import_module("readability").Document
    tree: Any = import_module("lxml.html").fromstring
    return lambda _url, html: tree(document(html).summary()).text_content()


def _justext() -> Extract:
    justext: Any = import_module("justext")
    words = justext.get_stoplist("English")
    return lambda _url, html: [one.text for one in justext.justext(html, words) if not one.is_boilerplate]


_PEERS = {
    "trafilatura": _trafilatura,
    "resiliparse": _resiliparse,
    "readability-lxml": _readability,
    "jusText": _justext,
}


def rounds(ways: dict[str, Extract], pages: list[Page], count: int) -> dict[str, list[float]]:
    """Return the CPU seconds of each way in each round, after one that warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(count + 1):
        for name, extract in ways.items():
            begin = process_time()
            for url, html in pages:
                # A peer that fails on a page has extracted nothing.
                with contextlib.suppress(Exception):
                    extract(url, html)
            if number:
                seconds[name].append(process_time() - begin)
    return seconds


def report(title: str, pages: list[Page], seconds: dict[str, list[float]]) -> dict[str, Any]:
    """Print and return what each way costs, and how much faster ours is."""
    chars = sum(len(html) for _, html in pages)
    print(f"{title}: {len(pages)} of {chars / len(pages) / 1_000:.1f} thousand characters each")
    print(f"{'':22}{'ms a page':>10}{'pages/s':>10}{'ours is faster by (range of the rounds)':>44}")
    figures: dict[str, Any] = {}
    for name, each in seconds.items():
        ratios = [other / own for other, own in zip(each, seconds[OURS], strict=True)]
        one = statistics.median(each) / len(pages)
        figures[name] = {"ms_a_page": 1_000 * one, "pages_a_second": 1 / one, "times_ours": statistics.median(ratios)}
        print(f"{name:22}{1_000 * one:10.2f}{1 / one:10.0f}{results.spread(ratios):>44}")
    over = 1 / figures[PARSE]["times_ours"]
    print(f"ours costs {over:.2f} times the bare parse")
    return {"pages": len(pages), "ways": figures, "over_bare_parse": over}


if __name__ == "__main__":
    main()
