"""`scrapy dedup templates refine`: clean the stored pages again, and emit those whose text changes.

In a Scrapy project the items go through its pipelines, extensions and feeds, by a Scrapy run that asks for no page;
with -O FILE or -o FILE they are written there as JSON lines. The store has the new text of a page once its items are
safe, so that a call that was stopped goes on where it was, and a second one emits nothing.

JSON: `project`; `dry_run`; `domains`, each with domain, pages (kept, and looked at), changed, chars_before and
chars_after (of the clean texts that change), example (URL), passed_over (pages by why they were not cleaned again:
no_knowledge, unreadable, not_seen, removed, without_items), not_kept (pages whose original is not kept); then, unless
it is a dry run, `output` (file or null), `emitted` (pages, items, made_anew, dropped, failed, stored, complete,
reason).

The exit code is 1 where a page could not be emitted, or the run ended before all were.
"""

import argparse
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from shutil import copyfileobj
from typing import Any, BinaryIO, Final, Self

from itemadapter import ItemAdapter
from msgspec import Struct, field, to_builtins
from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.exporters import JsonLinesItemExporter
from scrapy.http import Response
from scrapy.settings import Settings as ScrapySettings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.project import inside_project
from twisted.internet.defer import Deferred

from scrapy_dedup.commands.call import DONE, INTERRUPTED, NOT_DONE, Call, CommandError, WrongCallError, print_json
from scrapy_dedup.commands.terminal import named_progress, print_table, say, say_dry_run, say_more
from scrapy_dedup.plugin.acknowledgement import Delivery, Spool
from scrapy_dedup.plugin.engine_state import EngineState
from scrapy_dedup.plugin.items import CONTENT, FILLED, METADATA, REPORT, ItemFields, chunk_items, lacks, plain, value_of
from scrapy_dedup.plugin.overrides import settings_of_command
from scrapy_dedup.plugin.recrawl.reuse import OutcomeError, kept_items
from scrapy_dedup.plugin.requests import is_known_component
from scrapy_dedup.plugin.runtime import on_acknowledged
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.service.crawl.drafts import CLEANED_AGAIN, place_among_others
from scrapy_dedup.service.cut.cleaning import as_asked
from scrapy_dedup.service.files.output import replacing_alone
from scrapy_dedup.service.stored.refining import (
    PAGES_AT_ONCE,
    DomainChurn,
    PassedOver,
    Refinement,
    Refiner,
    recleaned,
    write_refined,
)
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.records import PDF, PageKnowledge, Recleaned

logger = logging.getLogger(__name__)

REFINED: Final = "refined"


class Outgoing(Struct, eq=False):
    """A page on its way out: its items, and what became of each."""

    refinement: Refinement
    items: list[Any]
    is_made_anew: bool = False
    """Its callback's items are not held, or cannot be made again: a dict stands for them."""
    waits_for: set[Any] = field(default_factory=set)
    """What must happen before its items are safe."""
    compared: Sequence[PageKnowledge] = ()
    """By what other pages are compared with it from then on."""
    failed: bool = False
    """A pipeline failed: the page comes again."""
    passed: dict[int, bool] = field(default_factory=dict)
    """Number of an item to whether it passed all pipelines."""

    @property
    def is_done(self) -> bool:
        """Whether all items have left."""
        return len(self.passed) == len(self.items)

    @property
    def scraped(self) -> int:
        """How many items passed all pipelines."""
        return sum(self.passed.values())

    def left(self, number: int, item: Any | None) -> None:
        """Note how an item left; None: it was dropped, or a pipeline failed."""
        self.passed[number] = item is not None

    def recleaned(self) -> Recleaned:
        """Return what is written of the page once its items are safe."""
        return recleaned(self.refinement.source, self.refinement.cleaned, datetime.now(UTC), self.compared)


class Renewer:
    """Makes the items of refined pages."""

    def __init__(self, settings: Settings, project: str) -> None:
        self._settings = settings
        self._project = project
        self._fields = ItemFields()

    def outgoing(self, refinement: Refinement) -> Outgoing:
        """Return the items that the page's callback made, with today's text; where they are not held, a dict."""
        outgoing = self._outgoing(refinement)
        if (found := refinement.comparison) is not None:
            outgoing.compared = found.knowledge(self._settings)
            if self._settings.emit_chunks:
                source = refinement.source
                made = chunk_items(source.url, source.page_key, refinement.metadata.title, found.chunks)
                # Behind the others, which are known by their number.
                outgoing.items = [*outgoing.items, *made]
        return outgoing

    def _outgoing(self, refinement: Refinement) -> Outgoing:
        outcome = refinement.outcome
        if outcome is not None and refinement.places:
            held = outcome.items or ()
            try:
                items = kept_items([held[place] for place in refinement.places])
                if self._renew(items, refinement):
                    return Outgoing(refinement, items)
            except OutcomeError:
                pass
            except Exception as error:  # noqa: BLE001 - the item's own class may be what fails
                logger.warning("An item of %s cannot take its new text: %r", refinement.source.url, error)
        return Outgoing(refinement, [self._anew(refinement)], is_made_anew=True)

    def _renew(self, items: Iterable[Any], refinement: Refinement) -> bool:
        """Give items today's text; say whether all of them could take it."""
        for item in items:
            adapter = ItemAdapter(item)
            if not self._fields.can_take_content(item):
                return False
            adapter[CONTENT] = refinement.cleaned.content
            old = value_of(adapter, REPORT)
            filled = old.get(FILLED, ()) if isinstance(old, dict) else ()
            # What a PDF file is called stands in the file, which is not kept.
            for name in () if refinement.source.field == PDF else METADATA:
                if name in filled or lacks(item, adapter, name):
                    self._fields.put(item, adapter, name, getattr(refinement.metadata, name))
            report = old if isinstance(old, dict) else self._origin(refinement)
            kept = {name: value for name, value in report.items() if name != "diff"}
            self._fields.put(item, adapter, REPORT, kept | self._renewed_report(refinement))
        return True

    def _anew(self, refinement: Refinement) -> dict[str, Any]:
        metadata = {name: getattr(refinement.metadata, name) for name in METADATA}
        report = self._origin(refinement) | {FILLED: list(METADATA)} | self._renewed_report(refinement)
        url = {self._settings.url_field: refinement.source.url}
        return url | {CONTENT: refinement.cleaned.content} | metadata | {REPORT: plain(report)}

    def _origin(self, refinement: Refinement) -> dict[str, Any]:
        source = refinement.source
        return {
            "project": self._project,
            "domain": source.domain,
            "url": source.url,
            "page_key": source.page_key.hex(),
            "fetched_at": source.fetched_at.isoformat(),
        }

    def _renewed_report(self, refinement: Refinement) -> dict[str, Any]:
        report = {
            "method": refinement.method,
            "verdict": "changed",
            "change": "none",
            "reason": CLEANED_AGAIN,
            "previous_hash": refinement.before.digits,
            REFINED: True,
        } | as_asked(refinement.cleaned.report, self._settings)
        if refinement.comparison is not None:
            report |= place_among_others(refinement.comparison, self._settings)
        return report


Lots = Iterator[list[Refinement]]
Keep = Callable[[list[Recleaned]], None]
"""Brings the store up to date with pages that are safe; raises StoreError where nothing was written."""


class Emitted(Struct):
    """What became of the pages whose text changes."""

    pages: int = 0
    """Emitted with all of their items."""
    items: int = 0
    """That passed all pipelines."""
    made_anew: int = 0
    """Pages for which a dict stands in place of the items that their callback made."""
    dropped: int = 0
    """Items that a pipeline dropped."""
    failed: int = 0
    """Pages whose items a pipeline failed on, or that could not be written: they come again."""
    stored: int = 0
    """Pages of which the store has the new text: their items are safe."""
    complete: bool = False
    """Whether all that change were emitted."""
    reason: str = ""
    """Why the run ended, as Scrapy says it; empty where it did not begin."""
    errors: list[StoreError] = field(default_factory=list)


class _UnderWay(Struct, eq=False):
    """An item in the pipelines; it is held, so that no other object gets its id."""

    page: Outgoing
    number: int
    item: Any


class Emission:
    """One run. Pages go out a hundred at a time, and what is safe of them is written before the next hundred."""

    def __init__(self, lots: Lots, renewer: Renewer, keep: Keep, emitted: Emitted, ack: str) -> None:
        self._lots = lots
        self._renewer = renewer
        self._keep = keep
        self._emitted = emitted
        self._ack = ack
        self._under_way: dict[int, _UnderWay] = {}
        self._strays: list[tuple[Any, set[Any]]] = []
        """Items that passed all pipelines as other objects, of pages that they do not name; and their feeds."""
        self._safe: list[Recleaned] = []
        self._words: Counter[str] = Counter()
        """Items that the user called safe, by their page's URL."""
        self._unsaid: dict[str, tuple[int, Recleaned]] = {}
        """Pages that are through but for the user's word: how many items they gave, and what is to be written."""
        self._waiting: Deferred[None] | None = None
        self._crawler: Crawler | None = None

    def watch(self, crawler: Crawler) -> None:
        """Begin to follow what becomes of the items."""
        self._crawler = crawler
        self._delivery = Delivery(crawler, follows_feeds=self._ack == "auto", count=self._count)
        connect: Callable[..., None] = crawler.signals.connect
        connect(self._scraped, signals.item_scraped)
        connect(self._dropped, signals.item_dropped)
        connect(self._failed, signals.item_error)
        connect(self._closed, signals.spider_closed)
        connect(self._stopped, signals.engine_stopped)
        if self._ack == "manual":
            on_acknowledged(crawler, self._said)

    def _count(self, what: str, n: int) -> None:
        assert self._crawler is not None
        self._crawler.stats.inc_value(f"dedup/{what}", n)

    async def items(self) -> AsyncIterator[Any]:
        """Yield the items of all pages, as fast as they are taken; end early where the crawler is told to stop."""
        assert self._crawler is not None
        state = EngineState(self._crawler)
        try:
            while (lot := await run_in_thread(next, self._lots, None)) is not None:
                for refinement in lot:
                    page = self._renewer.outgoing(refinement)
                    for number, item in enumerate(page.items):
                        if state.closing():
                            return
                        self._under_way[id(item)] = _UnderWay(page, number, item)
                        yield item
                await self._all_left()
                await self._write()
            self._emitted.complete = True
        except StoreError as error:
            self._emitted.errors.append(error)

    async def _all_left(self) -> None:
        while len(self._under_way) > len(self._strays):
            self._waiting = Deferred()
            await maybe_deferred_to_future(self._waiting)
        self._settle_strays()

    def _scraped(self, item: Any) -> None:
        feeds = self._delivery.feeds_of(item)
        found = self._under_way.pop(id(item), None) or self._named_by(item)
        self._emitted.items += 1
        if found is None:
            self._strays.append((item, feeds))
        else:
            self._left(found, item, feeds)
        self._go_on()

    def _dropped(self, item: Any) -> None:
        self._emitted.dropped += 1
        self._gone(item)

    def _failed(self, item: Any) -> None:
        self._gone(item, failed=True)

    def _gone(self, item: Any, *, failed: bool = False) -> None:
        found = self._under_way.pop(id(item), None)
        if found is not None:
            found.page.failed |= failed
            self._left(found, None, set())
        self._go_on()

    def _named_by(self, item: Any) -> _UnderWay | None:
        """Return the item that a pipeline has put another object in place of, by the page that both name."""
        url = _url_of(item)
        same = (key for key, one in self._under_way.items() if one.page.refinement.source.url == url)
        key = next(same, None) if url else None
        return self._under_way.pop(key) if key is not None else None

    def _settle_strays(self) -> None:
        """Take the strays for the items that are missed, once all others have left."""
        missed = list(self._under_way.values())
        feeds = {slot for _, slots in self._strays for slot in slots}
        self._under_way.clear()
        for found, (item, _) in zip(missed, self._strays, strict=False):
            self._left(found, item, feeds)
        self._strays.clear()

    def _left(self, found: _UnderWay, item: Any | None, feeds: set[Any]) -> None:
        page = found.page
        page.left(found.number, item)
        page.waits_for |= feeds
        if not page.is_done:
            return
        if page.failed:
            self._emitted.failed += 1
            return
        self._emitted.pages += 1
        self._emitted.made_anew += page.is_made_anew
        self._count("refine/pages", 1)
        written, url = page.recleaned(), page.refinement.source.url
        if self._ack != "manual":
            self._delivery.put([written], page.waits_for, self._safe.extend)
        elif self._words[url] >= page.scraped:
            self._safe.append(written)
        else:
            self._unsaid[url] = (page.scraped, written)

    def _said(self, item: Any) -> None:
        """Note the user's word that an item is safe, be it still in the pipelines or through."""
        found = self._under_way.get(id(item))
        url = found.page.refinement.source.url if found is not None else _url_of(item)
        if url is None:
            return
        self._words[url] += 1
        if url in self._unsaid and self._words[url] >= self._unsaid[url][0]:
            self._safe.append(self._unsaid.pop(url)[1])

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    async def _write(self) -> None:
        """Write what is safe by now; of what waited in a file a hundred pages are in memory at a time."""
        safe, self._safe = self._safe, []
        pages = chain(safe, self._delivery.released())
        while some := list(islice(pages, PAGES_AT_ONCE)):
            await run_in_thread(self._keep, some)

    def _closed(self, reason: str) -> None:
        self._emitted.reason = reason

    async def _stopped(self) -> None:
        if self._strays:
            self._settle_strays()
        try:
            await self._write()
        except StoreError as error:
            self._emitted.errors.append(error)
        self._delivery.end()


def _url_of(item: Any) -> str | None:
    """Return the URL of the page that an item was made from, as it says itself."""
    report = value_of(ItemAdapter(item), REPORT) if ItemAdapter.is_item(item) else None
    url = report.get("url") if isinstance(report, dict) else None
    return url if isinstance(url, str) else None


SPIDER: Final = "dedup-refine"

_REACTOR: Final = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


class RefiningSpider(Spider):
    """Gives items that are there already."""

    name = SPIDER
    emission: Emission

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make it, and let its emission follow the crawler's signals."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.emission.watch(crawler)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        """Ask for an empty page of our own.

        Items could be yielded here. But a crawler that is told to stop while such items are in the pipelines waits
        without end (Scrapy 2.19), and nothing would hold back the others until these are through.
        """
        yield Request("data:,", callback=self.refined, dont_filter=True)

    async def refined(self, response: Response) -> AsyncIterator[Any]:  # noqa: ARG002 (Scrapy's signature)
        """Yield the items of refined pages."""
        async for item in self.emission.items():
            yield item


def emit(emission: Emission, settings: ScrapySettings) -> None:
    """Run to the end with the project's settings; blocks, and can be done once in a process."""
    process = _process(settings)
    process.crawl(RefiningSpider, emission=emission)
    process.start()


def _process(settings: ScrapySettings) -> AsyncCrawlerProcess | CrawlerProcess:
    """Return what runs crawls, chosen as `scrapy crawl` chooses it."""
    chosen = settings_of_command(settings, {"DOWNLOADER_MIDDLEWARES": {}}, log_level="WARNING")
    has_reactor = chosen.getbool("TWISTED_REACTOR_ENABLED", True)
    is_plain = has_reactor and (chosen["TWISTED_REACTOR"] != _REACTOR or chosen.getbool("FORCE_CRAWLER_PROCESS"))
    return CrawlerProcess(chosen) if is_plain else AsyncCrawlerProcess(chosen)


def leads_nowhere(settings: ScrapySettings) -> bool:
    """Say whether a project has nothing that would take an item: no feed, no pipeline, and no part that may be one."""
    if settings.get("FEEDS") or settings.get("FEED_URI"):
        return False
    names = ("ITEM_PIPELINES", "EXTENSIONS", "ADDONS")
    return all(_is_ours(component) for name in names for component in _components(settings, name))


def _components(settings: ScrapySettings, name: str) -> list[Any]:
    return [component for component, order in settings.getdict(name).items() if order is not None]


def _is_ours(component: Any) -> bool:
    if isinstance(component, str):
        return component.startswith(("scrapy.", "scrapy_dedup."))
    return is_known_component(component)


class RefinedFile:
    """Writes items one a line, in ASCII, and remembers what is to be stored once the file is complete."""

    def __init__(self, file: BinaryIO, renewer: Renewer, emitted: Emitted) -> None:
        self._file = file
        self._page = BytesIO()
        self._exporter = JsonLinesItemExporter(self._page)
        self._renewer = renewer
        self._emitted = emitted
        self.written = Spool()
        """Of the pages that are in the file; not in memory."""

    def add(self, lot: Iterable[Refinement]) -> None:
        """Write the items of some pages."""
        for refinement in lot:
            page = self._renewer.outgoing(refinement)
            if not self._export(page):
                self._emitted.failed += 1
                continue
            self._emitted.pages += 1
            self._emitted.made_anew += page.is_made_anew
            self.written.add([page.recleaned()])

    def _export(self, page: Outgoing) -> bool:
        """Write the items of a page, or none of them where one cannot be written as JSON."""
        self._page.seek(0)
        self._page.truncate()
        try:
            for item in page.items:
                self._exporter.export_item(item)
        except (TypeError, ValueError) as error:
            logger.warning("An item of %s cannot be written as JSON: %s", page.refinement.source.url, error)
            return False
        self._file.write(self._page.getvalue())
        self._emitted.items += len(page.items)
        for number, item in enumerate(page.items):
            page.left(number, item)
        return True


_DOMAINS_SHOWN: Final = 200
_WHY: Final = {
    PassedOver.NO_KNOWLEDGE: "of domains without a template or other knowledge",
    PassedOver.UNREADABLE: "not to be parsed",
    PassedOver.NOT_SEEN: "whose last version was not acknowledged, and comes again by itself",
    PassedOver.REMOVED: "removed from their site",
    PassedOver.WITHOUT_ITEMS: "whose callback gives no items today",
}

_FINISHED = "finished"
_SHUTDOWN = "shutdown"


class RefineOutcome(Struct, frozen=True):
    """What became of a call."""

    dry_run: bool
    output: str | None
    churns: Mapping[str, DomainChurn]
    emitted: Emitted


def tell(project: str, outcome: RefineOutcome, *, as_json: bool) -> None:
    """Print the outcome: as JSON, or for a person."""
    if as_json:
        print_json(_as_json(project, outcome))
        return
    _show(project, outcome)
    for line in _lines(outcome):
        say(line, limit=1_000)
    say_dry_run(dry_run=outcome.dry_run)


def _as_json(project: str, outcome: RefineOutcome) -> dict[str, Any]:
    churns = to_builtins([*outcome.churns.values()])
    found: dict[str, Any] = {"project": project, "dry_run": outcome.dry_run, "domains": churns}
    if not outcome.dry_run:
        emitted = to_builtins(outcome.emitted)
        del emitted["errors"]
        found |= {"output": outcome.output, "emitted": emitted}
    return found


def _show(project: str, outcome: RefineOutcome) -> None:
    """Print a table, the domains with most changes first."""
    changing = [churn for churn in outcome.churns.values() if churn.changed]
    if not changing:
        return
    changes = "Would change" if outcome.dry_run else "Changed"
    changing.sort(key=lambda churn: (-churn.changed, churn.domain))
    rows = (
        (one.domain, one.example, one.pages, one.changed, one.chars_before, one.chars_after)
        for one in changing[:_DOMAINS_SHOWN]
    )
    columns = f"Domain, Such as, Pages, {changes}, Characters before, After"
    print_table(f"Texts of project {project} that {changes.lower()}", columns, rows, texts=2)
    say_more(len(changing) - _DOMAINS_SHOWN)


def _lines(outcome: RefineOutcome) -> Iterator[str]:
    churns = outcome.churns.values()
    pages, changed = sum(churn.pages for churn in churns), sum(churn.changed for churn in churns)
    changes = "would change" if outcome.dry_run else "changes"
    yield f"The clean text of {whole(changed)} of {count(pages, 'page')} {changes}."
    if not outcome.dry_run:
        yield from _emitted(outcome)
    why = sum((churn.passed_over for churn in churns), Counter[PassedOver]())
    for reason, number in sorted(why.items()):
        yield f"Passed over: {count(number, 'page')} {_WHY[reason]}."
    if not_kept := sum(churn.not_kept for churn in churns):
        yield (
            f"Not to be cleaned again: {count(not_kept, 'page')} whose original is not kept (DEDUP_KEEP_PAGES, "
            'DEDUP_KEEP["store_bytes"]).'
        )


def _emitted(outcome: RefineOutcome) -> Iterator[str]:
    emitted = outcome.emitted
    where = f", to {outcome.output}" if outcome.output else ""
    yield f"Emitted: {count(emitted.pages, 'page')} with {count(emitted.items, 'item')}{where}."
    if emitted.made_anew:
        yield (
            f"Of {count(emitted.made_anew, 'page')} the callback's items are not held, or could not be made again: a "
            "dict with url, cleaned_content, title, date, author and dedup stands for them."
        )
    if emitted.dropped:
        yield f"Dropped by the project's pipelines: {count(emitted.dropped, 'item')}."
    if emitted.failed:
        yield f"Failed: {count(emitted.failed, 'page')}; the next call emits them again."
    if waiting := emitted.pages - emitted.stored:
        yield f"Not stored: {count(waiting, 'page')} whose feed was not stored, or that changed meanwhile."
    if not emitted.complete:
        yield f"Ended early ({emitted.reason}): the next call emits the rest."


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which pages are refined, and where they go."""
    add = parser.add_argument
    add("--domain", metavar="DOMAIN", action="append", help="only this domain (may be repeated)")
    add("--dry-run", action="store_true", help="say how many texts would change, and write nothing")
    add("-O", "--overwrite-output", metavar="FILE", dest="overwrite", help="write JSON lines in place of FILE")
    add("-o", "--output", metavar="FILE", dest="append", help="add JSON lines at the end of FILE")


def run(call: Call) -> int:
    """Look through the pages, and emit those that change."""
    settings = _check(call)
    options = call.options
    output = options.overwrite or options.append
    with call.opened() as project:
        refiner = Refiner(project, call.settings)
        domains = refiner.domains([call.domain(domain) for domain in options.domain or ()])
        emitted = Emitted()
        with named_progress(sum(domains.values())) as progress, closing(refiner.lots(domains, progress)) as lots:
            if options.dry_run:
                for _ in lots:
                    pass
            else:
                _import_spiders(settings)
                renewer = Renewer(call.settings, project.name)

                def keep(pages: list[Recleaned]) -> None:
                    emitted.stored += write_refined(project, call.settings, pages)

                if output is None:
                    emit(Emission(lots, renewer, keep, emitted, call.settings.ack), settings)
                else:
                    _to_file(Path(output), lots, renewer, keep, emitted, appends=options.overwrite is None)
                if emitted.complete:
                    refiner.settle()
    return _ended(call, RefineOutcome(options.dry_run, output, refiner.churns, emitted))


def _check(call: Call) -> ScrapySettings:
    options, settings = call.options, call.source
    assert isinstance(settings, ScrapySettings)
    if options.overwrite and options.append:
        raise WrongCallError("-O replaces its file and -o adds to it: give one of them")
    if options.overwrite or options.append or options.dry_run:
        return settings
    if not inside_project():
        raise WrongCallError(
            "there is no Scrapy project here whose pipelines and feeds could be used: name a file by -O"
        )
    if leads_nowhere(settings):
        raise WrongCallError(
            "this project has no feeds and no pipelines that take items: name a file by -O, or FEEDS in its settings"
        )
    return settings


def _import_spiders(settings: ScrapySettings) -> None:
    """Import the project's spiders, and with them the classes of its items: what is held names them alone."""
    try:
        get_spider_loader(settings)
    except Exception as error:
        raise CommandError(f"the project's spiders cannot be imported ({type(error).__name__}: {error})") from error


def _to_file(path: Path, lots: Lots, renewer: Renewer, keep: Keep, emitted: Emitted, *, appends: bool) -> None:
    """Write a file, which is there whole or as it was before; then the store."""
    with replacing_alone(path) as file:
        if appends:
            _copy(path, file)
        refined = RefinedFile(file, renewer, emitted)
        for lot in lots:
            refined.add(lot)
        emitted.complete = True
    written = refined.written.take()
    while some := list(islice(written, PAGES_AT_ONCE)):
        keep(some)
    emitted.reason = _FINISHED


def _copy(path: Path, file: BinaryIO) -> None:
    """Copy what is in a file; a last line that was broken off is ended, so that the next one is whole."""
    if not path.is_file():
        return
    with path.open("rb") as old:
        copyfileobj(old, file)
        if old.tell():
            old.seek(-1, os.SEEK_END)
            if old.read(1) != b"\n":
                file.write(b"\n")


def _ended(call: Call, outcome: RefineOutcome) -> int:
    emitted = outcome.emitted
    if emitted.errors:
        raise emitted.errors[0]
    if not outcome.dry_run and not emitted.reason:
        raise CommandError("the Scrapy run did not begin, and nothing was emitted; -L ERROR shows why")
    tell(call.project, outcome, as_json=call.options.json)
    if outcome.dry_run or (emitted.complete and not emitted.failed):
        return DONE
    return INTERRUPTED if emitted.reason == _SHUTDOWN else NOT_DONE
