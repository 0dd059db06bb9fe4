# ruff: noqa: INP001 - a script, in a folder with a dot
"""Crawl the offline site with an installed scrapy_dedup, from a copy of example_project, and look at the result."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))

from demo_site import served
from offline_site.build import build


def main(work: Path) -> None:
    """Crawl, read the feed, ask for the report.

    Raises:
        SystemExit: the result is not what this site must give.
    """
    import scrapy_dedup  # noqa: PLC0415 - after the working folder is known

    if not Path(scrapy_dedup.__file__).is_relative_to(work):
        raise SystemExit(f"the sources were used: {scrapy_dedup.__file__}")
    site, feed, store = work / "site", work / "pages.jsonl", work / "dedup.db"
    setting = ["-s", f"DEDUP_DATABASE_URL=sqlite:///{store}"]
    site.mkdir()
    with served(site) as origin:
        files = build(site, origin)
        run("crawl", "site", "-a", f"start={origin}/index.html", "-O", f"{feed}:jsonlines", "-L", "WARNING", *setting)
    pages = [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()]
    report = json.loads(run("dedup", "report", "--json", "--html", str(work / "report.html"), *setting))

    html_files = sum(file.suffix == ".html" for file in files)
    texts = [page.get("cleaned_content") or "" for page in pages]
    checks = {
        "every page once": len(pages) == len({page["url"] for page in pages}),
        # One HTML file is an alias of another; the PDF passes through.
        "all pages but the alias": len(pages) == html_files,
        "cookie banner gone": not any("We use cookies" in text for text in texts),
        "prose kept": any("The wall is eight hundred metres long" in text for text in texts),
        "report says so": report["pages_fetched"] >= html_files - 1 and bool(report["repeated"]),
    }
    for name, passed in checks.items():
        print(f"{'ok  ' if passed else 'FAIL'} {name}")  # noqa: T201
    if not all(checks.values()):
        raise SystemExit("the smoke crawl failed")


def run(*arguments: str) -> str:
    """Return what a Scrapy command printed."""
    command = [sys.executable, "-m", "scrapy", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603


if __name__ == "__main__":
    main(Path(sys.argv[1]))
