"""What `scrapy dedup cache` shows of what is held; the JSON is described in `cache`."""

import json
from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from scrapy_dedup.answers.cache import cache_list_answer, cache_stats_answer
from scrapy_dedup.answers.cache_pages import cached_page_answer, is_current, requests_in, unkeepable_in
from scrapy_dedup.commands.call import print_json
from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.core.trust import Trust
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.service.cache_stats import CacheStats
from scrapy_dedup.service.cache_upkeep import Listing, PageInCache
from scrapy_dedup.store.records import ExtractionRecord

_URL_CHARS: Final = 120
_ITEM_CHARS: Final = 500
_ITEMS_SHOWN: Final = 5


def show_stats(stats: CacheStats, *, as_json: bool) -> None:
    """Print what coming again spared."""
    if as_json:
        print_json(cache_stats_answer(stats))
        return
    total = stats.total
    table = a_table("Domain", "Visits", "Hit rate", "304", "Same text", "Not asked", "Bytes saved", "Seconds saved")
    for each in [*stats.domains, *([total] if len(stats.domains) != 1 else [])]:
        pages = [whole(answered.pages) for answered in each.ways.values()]
        saved = (short(each.saved.bytes_saved), f"{each.saved.seconds_saved:,.1f}")
        name = "all" if each is total else each.domain or "(unknown)"
        table.add_row(shown(name, 100), whole(each.visits), percent(each.saved.pages, each.visits), *pages, *saved)
    run = f"run of {stats.run.spider}, {stats.run.started_at:%Y-%m-%d %H:%M} UTC" if stats.run else "all visits kept"
    print_table(f"Cache of project {stats.project}: {run}", table)
    console = output()
    spared = f"{count(total.callbacks_run, 'callback')} run, {whole(total.saved.pages)} spared"
    received = f"{short(total.bytes_received)} bytes received"
    held = f"{count(total.extractions, 'extraction')} held in {short(total.packed_bytes)} bytes"
    console.print(f"\n{spared}; {received}; {held}.")
    if stats.money_saved is not None:
        console.print(f"Saved at {stats.price:g} a callback: {stats.money_saved:,.2f}.")
    _show_trust(stats, console)


def _show_trust(stats: CacheStats, console: Console) -> None:
    table = a_table("Domain", "Validators", "Sitemap dates", texts=3)
    for each in stats.domains:
        if each.trust or each.lastmod_trust:
            table.add_row(shown(each.domain, 100), _believed(each.trust), _believed(each.lastmod_trust))
    if table.row_count:
        console.print()
        print_table("Trust", table)


def _believed(trust: Trust | None) -> Text:
    if trust is None:
        return Text("not yet known", style="dim")
    return shown(f"{'believed' if trust.trusted else 'ignored'}: {trust.reason}")


def show_listing(listing: Listing, *, as_json: bool) -> None:
    """Print pages with extractions."""
    if as_json:
        print_json(cache_list_answer(listing))
        return
    table = a_table("URL", "Extractions", "Current", "Bytes", "Extracted")
    for page in listing.pages:
        figures = (whole(page.extractions), whole(page.current), short(page.packed_bytes))
        table.add_row(shown(page.url, _URL_CHARS), *figures, f"{page.extracted_at:%Y-%m-%d %H:%M}")
    print_table(f"Pages with extractions: {whole(listing.total)}", table)
    if len(listing.pages) < listing.total:
        output().print(f"\n{whole(listing.total - len(listing.pages))} more: --limit 0 lists all.")


def show_page(page: PageInCache, *, as_json: bool) -> None:
    """Print what is held of a page."""
    if as_json:
        print_json(cached_page_answer(page))
        return
    console = output()
    console.print(shown(page.keys.url, 2_000, style="bold"), soft_wrap=True)
    if not page.is_known:
        console.print("This page was never seen, and nothing is held of it.")
        return
    for name, text in _lines(page):
        console.print(Text.assemble((f"{name:<14}", "dim"), shown(text, 2_000)), soft_wrap=True)
    for one in page.extractions:
        _show_extraction(one, page, console)


def _lines(page: PageInCache) -> Iterator[tuple[str, str]]:
    yield "page key", page.keys.page_key.hex()
    if page.stands_for:
        yield "stands for", page.stands_for
    if page.page and page.record and page.metadata:
        document = page.page.document
        yield from (
            (name, str(page.metadata[name])) for name in ("title", "depth", "included") if name in page.metadata
        )
        yield "decision", page.metadata["decision_explanation"]
        yield "crawled", page.metadata["crawl_timestamp"]
        yield "content hash", page.record["content_hash"] or "not known"
        yield "ETag", document.etag or "none"
        yield "Last-Modified", document.last_modified or "none"
    trust = page.domain.trust if page.domain else None
    yield "validators", _believed(trust).plain


def _show_extraction(one: ExtractionRecord, page: PageInCache, console: Console) -> None:
    content = "of the present content" if is_current(one, page) else "of another content"
    version = f", version {one.dedup_version}" if one.dedup_version else ""
    items = "items not kept" if one.items is None else count(len(one.items), "item")
    requests = count(requests_in(one), "request")
    console.print()
    head = f"{one.callback or '(index)'}{version}: {items}, {requests}, {content}, {one.created_at:%Y-%m-%d %H:%M} UTC"
    console.print(shown(head, 300, style="bold"), soft_wrap=True)
    if reason := unkeepable_in(one):
        console.print(shown(f"  its callback runs again: {reason} cannot be kept"), soft_wrap=True)
    for item in (one.items or ())[:_ITEMS_SHOWN]:
        console.print(shown(f"  {json.dumps(item.get('fields'), ensure_ascii=False)}", _ITEM_CHARS), soft_wrap=True)
    if one.items and len(one.items) > _ITEMS_SHOWN:
        console.print(f"  and {whole(len(one.items) - _ITEMS_SHOWN)} more; --json has all.")
