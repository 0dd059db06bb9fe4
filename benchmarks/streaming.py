"""What does it cost that a crawl hands pages on while it still learns their site?

Each site is crawled whole, in a process of its own, its pages shuffled (the same way each time), or in the order of
their addresses, so that whole kinds of pages come late; then `scrapy dedup clean` cuts the same pages, which learns the
site from all of them first. Both begin with an empty store; the layers that compare pages are off. F1 of words against
the marked content, means of pages.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, Final

from benchmarks import results
from benchmarks.corpus import pages, sites
from benchmarks.forked_crawls import Crawls, forking
from benchmarks.words import Truth, score, truth, words
from tests.server import Answer, WebServer, serving

_LAYERS: Final = ("canonical", "title", "duplicate", "near_duplicate", "patterns", "chunk")
_DEDUP: Final = {"DEDUP_OUTPUT": "text", "DEDUP_LAYERS": json.dumps(dict.fromkeys(_LAYERS, False))}
_SETTINGS: Final = {
    "ADDONS": {"scrapy_dedup.Addon": 700},
    "SPIDER_MODULES": ["benchmarks.spiders"],
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    **_DEDUP,
}


@dataclass(frozen=True, slots=True)
class SiteFigures:
    """Mean F1 of a site's pages, each way."""

    site: str
    pages: int
    crawled: float
    batch: float
    doubtful: bool


def judged(manifest: dict[str, Any], place: Path, web: WebServer, crawls: Crawls, *, in_order: bool) -> SiteFigures:
    """Crawl a site, and clean the same pages as a batch."""
    listed = sorted(pages(manifest, place))
    if not in_order:
        Random(1).shuffle(listed)
    read = [(f"{web.origins[0]}/{at}/", html) for at, (_, html) in enumerate(listed)]
    true = {url: found for url, html in read if (found := truth(html, manifest["gold"])) is not None}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        crawled, batch = _f1(_crawled(read, web, crawls, folder), true), _f1(_batch(read, folder), true)
    is_doubtful = manifest.get("gold_quality", "checked") != "checked"
    return SiteFigures(manifest["name"], len(true), crawled, batch, is_doubtful)


def _crawled(read: list[tuple[str, str]], web: WebServer, crawls: Crawls, folder: Path) -> Path:
    web.site.clear()
    web.site.update({url: Answer(html.encode("utf-8", "surrogatepass")) for url, html in read})
    feed = folder / "crawled.jsonl"
    settings = _SETTINGS | {
        "DEDUP_DATABASE_URL": f"sqlite:///{folder}/crawl.db",
        "FEEDS": {str(feed): {"format": "jsonlines"}},
    }
    ended = crawls.crawl("listed", settings, urls=" ".join(url for url, _ in read))
    if ended.exit_code:
        raise RuntimeError(f"the crawl ended with {ended}")
    return feed


def _batch(read: list[tuple[str, str]], folder: Path) -> Path:
    source, feed = folder / "pages.jsonl", folder / "batch.jsonl"
    source.write_text("".join(json.dumps({"url": url, "html": html}) + "\n" for url, html in read))
    given = [part for name, value in _DEDUP.items() for part in ("-s", f"{name}={value}")]
    command = ["-m", "scrapy", "dedup", "clean", str(source), "-O", str(feed), "--nolog", *given]
    subprocess.run([sys.executable, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return feed


def _f1(feed: Path, true: Mapping[str, Truth]) -> float:
    with feed.open() as lines:
        texts = {item["url"]: item["cleaned_content"] for item in map(json.loads, lines)}
    if missing := true.keys() - texts.keys():
        raise RuntimeError(f"{len(missing)} pages did not come out, {min(missing)} is one")
    return fmean(score(words(texts[url]), one.true, one.lenient).f1 for url, one in true.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="+", help="folders of sites, each with manifest.json")
    parser.add_argument("--only", nargs="+", help="of the sites those of these names")
    parser.add_argument("--in-order", action="store_true", help="of their addresses, instead of shuffled")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found: list[SiteFigures] = []
    print(f"{'site':28}{'pages':>6}{'crawled':>9}{'batch':>8}")
    with forking() as crawls, serving(1, lambda _: {}) as web:
        for manifest, place in (one for folder in args.folders for one in sites(folder)):
            if args.only and manifest["name"] not in args.only:
                continue
            found.append(one := judged(manifest, place, web, crawls, in_order=args.in_order))
            note = "  (doubtful, not in the mean)" if one.doubtful else ""
            print(f"{one.site:28}{one.pages:6}{one.crawled:9.3f}{one.batch:8.3f}{note}", flush=True)
    usual = [one for one in found if not one.doubtful]
    crawled, batch = fmean(one.crawled for one in usual), fmean(one.batch for one in usual)
    print(f"{'mean':28}{sum(one.pages for one in usual):6}{crawled:9.4f}{batch:8.4f}  {crawled - batch:+.4f}")
    results.write(args.json, {"sites": [asdict(one) for one in found]})


if __name__ == "__main__":
    main()
