"""Which pages of real sites are left out with default settings, and is their true main text that of their keeper?

Wrong is a page whose main text, as marked by hand, differs from its keeper's in anything but white space and case. The
items are bare, so that nothing but text can tell pages apart.
"""

import argparse
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

from scrapy import Request, Spider
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse, Response
from selectolax.lexbor import LexborHTMLParser

from benchmarks import corpus, results
from scrapy_dedup.core.pages.fingerprints import fold
from scrapy_dedup.core.urls.normal_form import page_key

# By key, a page that was left out, its keeper, and the layer.
_DROPPED: Final = """
select d.page_key, u.document_key, d.layer from decisions d
join crawled_urls u on u.project_id = d.project_id and u.page_key = d.page_key
where d.action = 'dropped' and u.document_key <> d.page_key
"""


class _Saved(BaseDownloadHandler):
    """Answers requests from a site's folder."""

    lazy = False

    async def download_request(self, request: Request) -> Response:
        """Return the page that a request is for."""
        body = request.meta["html"].encode("utf-8", "surrogatepass")
        return HtmlResponse(request.url, headers={"Content-Type": "text/html; charset=utf-8"}, body=body)


class _SavedSpider(Spider):
    """Yields each page of a site."""

    name = "saved"

    def __init__(self, *, pages: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pages = pages

    async def start(self) -> AsyncIterator[Request]:
        """Yield a request for each page."""
        for url, html in self.pages:
            yield Request(url, meta={"html": html}, dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page, with no field of its own."""
        yield {"url": response.url}


def crawl(site: Path, database: Path) -> None:
    """Crawl one site, in this process."""
    manifest = next(found for found, folder in corpus.sites(site.parent) if folder == site)
    handler = "benchmarks.right_drops._Saved"
    process = AsyncCrawlerProcess(
        {
            "ADDONS": {"scrapy_dedup.Addon": 700},
            "DEDUP_DATABASE_URL": f"sqlite:///{database}",
            "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(_SavedSpider, pages=list(corpus.pages(manifest, site)))
    process.start()


def true_text(html: str, gold: dict[str, Any]) -> str:
    """Return the main text of a page, folded."""
    tree = LexborHTMLParser(html)
    for node in tree.css(", ".join([*gold.get("exclude", []), "script", "style", "noscript", "template"])):
        node.decompose()
    return fold(" ".join(node.text(separator=" ") for node in tree.css(gold["main"])))


def measure(site: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Return how many pages each layer left out of a site, rightly and wrongly, and the wrong ones."""
    pages = {page_key(url): (url, html) for url, html in corpus.pages(manifest, site)}
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "dedup.db"
        command = [sys.executable, "-m", "benchmarks.right_drops", "--crawl", str(site), str(database)]
        subprocess.run(command, check=True)
        with sqlite3.connect(database) as connection:
            dropped = connection.execute(_DROPPED).fetchall()
    counts: Counter[str] = Counter()
    wrong = []
    for key, keeper, layer in dropped:
        if key not in pages or keeper not in pages:
            continue
        one, other = (true_text(pages[which][1], manifest["gold"]) for which in (key, keeper))
        is_right = one == other
        counts[f"{layer}: {'right' if is_right else 'wrong'}"] += 1
        if not is_right:
            wrong.append([layer, pages[key][0], pages[keeper][0]])
    return {"pages": len(pages), "drops": dict(sorted(counts.items())), "wrong": wrong}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", type=Path, nargs="*", help="folders of sites")
    parser.add_argument("--crawl", type=Path, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.crawl:
        crawl(*args.crawl)
        return
    figures: dict[str, Any] = {}
    totals: Counter[str] = Counter()
    for folder in args.folders:
        for manifest, site in corpus.sites(folder):
            found = figures[site.name] = measure(site, manifest)
            totals.update(found["drops"])
            print(f"{site.name:30} {found['pages']:5} pages  {found['drops']}", flush=True)
            for layer, url, keeper in found["wrong"]:
                print(f"    wrong, {layer}: {url}  for  {keeper}", flush=True)
    figures["all"] = dict(sorted(totals.items()))
    print(figures["all"])
    results.write(args.json, figures)


if __name__ == "__main__":
    main()
