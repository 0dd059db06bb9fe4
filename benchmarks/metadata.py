"""Are title, date and author found where no page declares them; beside trafilatura and htmldate?

Truth is what pages declare as JSON-LD and OpenGraph; both are taken out before any method sees a page. On listings,
which have no date and author of their own, any value is counted as wrong. A title is right when its words are those of
a declared one, the name of the site aside at either. A date is right when the day is; "zone aside" a day is right,
too, that the declared moment has elsewhere on earth.
"""

import argparse
import importlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.corpus import decode
from benchmarks.single_pages import is_right
from scrapy_dedup.core.locators import folded
from scrapy_dedup.core.metadata import DeclaredFacts, metadata_of, values_of
from scrapy_dedup.core.pages.blocks import Page, parse_page

FIELDS = ("title", "date", "author")
Values = dict[str, str | None]

_JSON_LD = re.compile(r"<script[^>]*ld\+json[^>]*>.*?</script>", re.DOTALL | re.IGNORECASE)
_GRAPH = re.compile(r"<meta[^>]*(?:property|name)\s*=\s*[\"']?(?:og|article|twitter):[^>]*>", re.IGNORECASE)
_LISTINGS = frozenset(["listing", "collection"])


def stripped(html: str) -> str:
    """Return a page without JSON-LD and OpenGraph."""
    return _GRAPH.sub("", _JSON_LD.sub("", html))


def declared(html: str, url: str) -> Values:
    """Return what a page says about itself there."""
    page = parse_page(html)
    if not isinstance(page, Page):
        return {}
    found = metadata_of(page, url)
    return {
        field: getattr(found, field)
        for field in FIELDS
        if field != "title" and re.match(r"json-ld|og:|article:|twitter:", found.sources.get(field, ""))
    }


class Titles:
    """The titles that a page declares in JSON-LD and OpenGraph, also where a heading says the same."""

    def __init__(self, html: str, url: str) -> None:
        page = parse_page(html)
        self.facts = DeclaredFacts(page, url, None) if isinstance(page, Page) else None
        metas = self.facts.metas if self.facts else {}
        headlines = values_of(self.facts.things, "headline") if self.facts else ()
        found = [*metas.get("og:title", ()), *metas.get("twitter:title", ()), *headlines]
        self.forms = {form for title in found if isinstance(title, str) for form in self.forms_of(title)}

    def forms_of(self, title: str) -> set[str]:
        """Return the words of a title, with the site's name and without; the same for every method."""
        cut = self.facts.site.cut_off(title) if self.facts else title
        return {words for words in (folded(unescape(title)), folded(unescape(cut))) if words}

    def has(self, value: str) -> bool:
        return not self.forms.isdisjoint(self.forms_of(value))


def is_same_moment(value: str, gold: str) -> bool:
    """Tell whether a day is that of a declared moment in any zone of the earth."""
    try:
        day, moment = date.fromisoformat(value[:10]), datetime.fromisoformat(gold)
    except ValueError:
        return False
    if len(gold) <= 10 or moment.tzinfo is None:
        return day == moment.date()
    moment = moment.astimezone(UTC)
    return (moment - timedelta(hours=12)).date() <= day <= (moment + timedelta(hours=14)).date()


def ours(html: str, url: str) -> Values:
    page = parse_page(html)
    found = metadata_of(page, url) if isinstance(page, Page) else None
    return {field: getattr(found, field, None) for field in FIELDS}


def trafilatura(html: str, url: str) -> Values:
    found = importlib.import_module("trafilatura").extract_metadata(html, default_url=url)
    return {field: getattr(found, field, None) for field in FIELDS}


def htmldate(html: str, url: str) -> Values:
    find_date = importlib.import_module("htmldate").find_date
    try:
        return {"date": find_date(html, url=url, original_date=True)}
    except (ValueError, TypeError):
        return {"date": None}


_METHODS: dict[str, Callable[[str, str], Values]] = {"ours": ours, "trafilatura": trafilatura, "htmldate": htmldate}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("single", type=Path, help="folder of sets, each with pages.jsonl")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for folder in sorted(path.parent for path in args.single.glob("*/pages.jsonl")):
        for line in (folder / "pages.jsonl").open():
            judge(json.loads(line), folder, counts)
    figures: dict[str, Any] = {}
    for name, found in sorted(counts.items()):
        figures[name] = {key: found[key] for key in ("pages", "right", "wrong", "empty")}
        pages = max(1, found["pages"])
        print(f"{name:36}{found['pages']:6} pages", end="")
        print("".join(f"  {key} {found[key] / pages:.3f}" for key in ("right", "wrong", "empty")))
    results.write(args.json, figures)


def judge(row: dict[str, Any], folder: Path, counts: defaultdict[str, Counter[str]]) -> None:
    """Count what each method makes of one page."""
    html = decode((folder / row["html_file"]).read_bytes())
    true, titles, bare = declared(html, row["url"]), Titles(html, row["url"]), stripped(html)
    is_listing = row.get("page_type") in _LISTINGS
    for name, method in _METHODS.items():
        found = method(bare, row["url"])
        if "title" in found and titles.forms:
            count(counts[f"title: {name}"], found["title"], titles.has)
        for field in ("date", "author"):
            if field not in found:
                continue
            gold = true.get(field)
            if gold and not is_listing:
                count(counts[f"{field}: {name}"], found[field], partial(is_right, field, gold=gold))
                if field == "date":
                    count(counts[f"date, zone aside: {name}"], found[field], partial(is_same_moment, gold=gold))
            elif is_listing and not row.get("publish_date" if field == "date" else field):
                count(counts[f"{field} of listings: {name}"], found[field], lambda _: False)


def count(counter: Counter[str], value: str | None, is_true: Callable[[str], bool]) -> None:
    """Count a value as right, wrong or missing."""
    counter.update(["pages", "empty" if not value else "right" if is_true(value) else "wrong"])


if __name__ == "__main__":
    main()
