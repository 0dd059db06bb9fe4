"""How much of the true main content is kept, and how much noise is left, on real sites?

Learns from all pages of a site, then cuts them: HTML method, text output, store in memory, no Scrapy.
"""

import argparse
import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from benchmarks import results
from benchmarks.corpus import pages, sites
from benchmarks.words import Score, mean, score, truth, words
from scrapy_dedup.core.pages.blocks import Page, parse_page
from scrapy_dedup.core.pages.render import render
from scrapy_dedup.core.urls.normal_form import extract_domain, page_key
from scrapy_dedup.service.stored.analysis import DomainDedupService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import SourceRecord
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.store import Store


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path, help="folder of sites, each with manifest.json")
    parser.add_argument("--lines", type=Path, help="write {url, cleaned_content} a page as JSON lines")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    lines = args.lines.open("w") if args.lines else None
    print(f"{'site':28}{'precision':>10}{'recall':>10}{'F1':>10}{'removed':>10}")
    judged, figures = [], {}
    for manifest, folder in sites(args.corpus):
        found, removed = judge(manifest, folder, lines)
        doubtful = manifest.get("gold_quality", "checked") != "checked"
        judged += [] if doubtful else [found]
        figures[manifest["name"]] = asdict(found) | {"removed": removed}
        note = "  (doubtful, not in the mean)" if doubtful else ""
        print(f"{_row(manifest['name'], found)}{removed:10.3f}{note}")
    print(_row(f"mean of {len(judged)} sites", mean(judged)))
    results.write(args.json, figures)


def _row(name: str, found: Score) -> str:
    return f"{name:28}{found.precision:10.3f}{found.recall:10.3f}{found.f1:10.3f}"


def judge(manifest: dict[str, Any], folder: Path, lines: TextIO | None) -> tuple[Score, float]:
    """Return a site's mean score, and the share of its visible characters that was removed."""
    cleaned = clean(manifest, folder)
    scores, before, after = [], 0, 0
    for url, html in pages(manifest, folder):
        text = cleaned.get(url) or ""
        if lines is not None:
            lines.write(json.dumps({"url": url, "cleaned_content": text}) + "\n")
        page = parse_page(html)
        before += len(render(page, [True] * len(page.blocks), "text")) if isinstance(page, Page) else len(text)
        after += len(text)
        if (known := truth(html, manifest["gold"])) is not None:
            scores.append(score(words(text), known.true, known.lenient))
    return mean(scores), 1 - after / max(1, before)


def clean(manifest: dict[str, Any], folder: Path) -> dict[str, str | None]:
    """Return the cleaned text of each of a site's pages, by URL."""
    at = datetime.now(UTC)
    settings = Settings(output="text")
    with Store.open("sqlite://") as store:
        project = store.project("quality")
        project.write(
            SourceRecord(page_key(url), url, _domain(manifest, url), "html", html, at)
            for url, html in pages(manifest, folder)
        )
        with store.session() as session:
            DomainDedupService(session, settings).analyze_project(project.id)
            sources = SourceRepository(session)
            domains = [domain for domain, _ in sources.get_domains_for_project(project.id)]
            found = (source for domain in domains for source in sources.iterate(project.id, domain))
            return {source.url: source.cleaned_content for source in found}


def _domain(manifest: dict[str, Any], url: str) -> str:
    """One site is one domain, also where its pages have several hosts."""
    return manifest.get("domain") or extract_domain(url) or ""


if __name__ == "__main__":
    main()
