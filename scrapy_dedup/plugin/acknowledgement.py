"""When an item is safe (DEDUP_ACK), and when its page is done: the callback has ended, all items are out and safe.

Only then the page counts as seen; what says so waits till then in a file.
"""

import json
import logging
import tempfile
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from datetime import UTC, datetime
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from itemadapter import ItemAdapter
from msgspec import Struct, convert, field, to_builtins
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter
from scrapy.http import Response
from scrapy.utils.defer import ensure_awaitable
from twisted.python.failure import Failure

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.urls.normal_form import UrlRules, extract_domain, page_key
from scrapy_dedup.core.urls.seen import KeyTable
from scrapy_dedup.plugin.domains import DomainRegistry
from scrapy_dedup.plugin.items import REPORT, DuplicateItem, passed, url_of, value_of
from scrapy_dedup.plugin.overrides import with_request
from scrapy_dedup.plugin.recrawl.removed import RemovedPages
from scrapy_dedup.plugin.recrawl.reuse import Reuse
from scrapy_dedup.plugin.requests import callback_name
from scrapy_dedup.plugin.visits import Visit, Visits
from scrapy_dedup.plugin.write_behind import WriteBehind
from scrapy_dedup.service.crawl.commits import Stay, commit, failed_fetch
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.crawl.drafts import Draft
from scrapy_dedup.service.cut.cleaning import method_of
from scrapy_dedup.service.recrawl import Delivered, GivenPages, is_tombstone
from scrapy_dedup.store.records.records import DeliveryRecord, DocumentRecord, LeaseRecord, Recleaned, Record

logger = logging.getLogger(__name__)


class _AskedOnce:
    """A feed's filter, asked once about each item as without the plugin: it may count, or fail."""

    def __init__(self, asked: Any, look: Callable[[], Any]) -> None:
        self._asked = asked
        self._look = look
        self.forget()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._asked, name)

    def forget(self) -> None:
        """Forget what it said of an item, with which all are done."""
        self._about: list[Any] = []
        self._said: bool | Exception = False
        self.gave = False
        """Whether the exporter was told to take the item."""

    def accepts(self, item: Any) -> bool:
        """Answer the exporter, of whose files all are seen before they take anything."""
        self._look()
        if isinstance(said := self.says(item), Exception):
            raise said
        self.gave = said
        return said

    def says(self, item: Any) -> bool | Exception:
        """Return whether it accepts an item, or how it fails with it."""
        if not self._about or self._about[0] is not item:
            self._about = [item]
            try:
                self._said = bool(self._asked.accepts(item))
            except Exception as error:  # noqa: BLE001 (a class of the user's)
                self._said = error
        return self._said


class _Told:
    """A feed's storage for one file, which tells when that is stored: Scrapy's counts may be kept by nobody."""

    def __init__(self, slot: Any, stored: Callable[[Any], None]) -> None:
        self._slot, self._storage, self._stored = slot, slot.storage, stored

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    async def store(self, file: Any) -> None:
        """Store the file."""
        self._slot.storage = self._storage
        await ensure_awaitable(self._storage.store(file))
        self._stored(self._slot)


class _Feed(Struct):
    """One of FEEDS, whose items may be spread over files.

    Attributes:
        filter: what says which items it takes.
        slots: its files that are not done.
        done: items of the others.
        given: items that it was to take.
    """

    filter: _AskedOnce
    slots: set[Any] = field(default_factory=set)
    done: int = 0
    given: int = 0

    def taken(self) -> int:
        """Return how many items are in its files."""
        return self.done + sum(int(slot.itemcount) for slot in self.slots)

    def leave_out(self, closed: Container[Any], still_open: Collection[Any]) -> None:
        """Add up the files that are done, and forget them."""
        for slot in [slot for slot in self.slots if slot in closed and slot not in still_open]:
            self.slots.discard(slot)
            self.done += slot.itemcount


_NO_FEED: Final = object()
"""What an item waits for in vain that is in no feed: a filter failed with it, or it came to a file that is done."""


class Delivery:
    """Holds what says that pages were seen, until the feeds that took their items are stored."""

    def __init__(self, crawler: Crawler, *, follows_feeds: bool, count: Callable[[str, int], None]) -> None:
        self._crawler = crawler
        self._count = count
        self._follows_feeds = follows_feeds
        self._exporter: FeedExporter | None = None
        self._last_slots: tuple[Any, ...] = ()
        self._held: dict[frozenset[Any], Spool] = {}
        self._lost: WeakSet[Any] = WeakSet()
        self._closed: WeakSet[Any] = WeakSet()
        self._unstored: WeakSet[Any] = WeakSet()
        self._feeds: dict[str, _Feed] = {}
        self._given_up = KeyTable("B")
        self._released: deque[Spool] = deque()
        """What may be written now."""
        self._taking: Iterator[Any] = iter(())
        """What is left of the one that was released first."""
        if follows_feeds:
            connect: Callable[..., None] = crawler.signals.connect
            connect(self._opened, signals.spider_opened)
            connect(self._slot_closed, signals.feed_slot_closed)
            connect(self._exporter_closed, signals.feed_exporter_closed)

    def _opened(self) -> None:
        self._slots()
        for template, asked in list(getattr(self._exporter, "filters", {}).items()):
            self._feed(template, asked)
        # Connected this late, it is called after the exporter took an item, or failed to.
        connect: Callable[..., None] = self._crawler.signals.connect
        connect(self._taken, signals.item_scraped)

    def _taken(self) -> None:
        """Find out whether the feeds took an item: the exporter's exception, as that of a full disk, is logged alone.

        A feed that did not take one is no evidence of any other either: what its file held back may be gone, too.
        """
        slots = self._slots()
        for feed in self._feeds.values():
            feed.given += feed.filter.gave
            feed.filter.forget()
            taken = feed.taken()
            if feed.given > taken:
                feed.given = taken
                if any(slot not in self._lost for slot in feed.slots):
                    logger.warning("A feed did not take an item: the pages of what it holds come again")
                self._lost.update(feed.slots)
                self._count("ack/not_taken", 1)
            feed.leave_out(self._closed, slots)

    def feeds_of(self, item: Any) -> set[Any]:
        """Return the feeds that take an item, as they stand when it was scraped.

        The exporter may have taken it before this is called, and begun a new batch with it: then the item is in the
        slot before, so that those that were open at the last call count, too.
        """
        before, after = self._last_slots, self.look()
        took = set()
        for slot in (*before, *after):
            said = slot.filter.says(item)
            if isinstance(said, Exception):
                return {_NO_FEED}
            if said and slot in self._closed and slot in after:
                # Another feed failed as this one began a new batch: the exporter goes on with a file that is done.
                took.add(_NO_FEED)
            elif said and (slot not in self._closed or slot in self._lost):
                took.add(slot)
        return took

    def refuses(self, item: Any) -> bool:
        """Say whether there are feeds, and none of them takes an item."""
        slots = self._slots()
        return bool(slots) and not any(slot.filter.says(item) for slot in slots)

    def look(self) -> tuple[Any, ...]:
        """Return the feeds that are open, and remember them for the next item."""
        self._last_slots = self._slots()
        return self._last_slots

    def put(self, records: list[Any], waits_for: Iterable[Any], write: Callable[[list[Any]], None]) -> bool:
        """Write records now, or when all that they wait for has come; say whether they wait."""
        slots = frozenset(waits_for)
        open_slots = frozenset(slot for slot in slots if slot not in self._closed)
        if _NO_FEED in slots or any(slot in self._lost for slot in slots):
            self._give_up(records)
        elif open_slots:
            self._held.setdefault(open_slots, Spool()).add(records)
        else:
            write(records)
            return False
        return True

    def released(self) -> Iterator[Any]:
        """Iterate over the records that may be written now: of a whole crawl, perhaps; what is not taken waits."""
        while True:
            # Not by `yield from`: who stops half way would end what is left.
            while (record := next(self._taking, None)) is not None:
                yield record
            if not self._released:
                return
            self._taking = self._released.popleft().take()

    def end(self) -> None:
        """Give up what still waits: its items are in no stored feed."""
        for spool in self._held.values():
            self._give_up(spool.take())
        self._held.clear()

    def _give_up(self, records: Iterable[Any]) -> None:
        """Count the pages that records say were seen, each once."""
        before = len(self._given_up)
        for record in records:
            if hasattr(record, "page_key"):
                self._given_up.put(record.page_key, 0)
        if len(self._given_up) > before:
            self._count("ack/not_stored", len(self._given_up) - before)

    def _slots(self) -> tuple[Any, ...]:
        if not self._follows_feeds:
            return ()
        if self._exporter is None:
            self._exporter = self._crawler.get_extension(FeedExporter)
        slots = tuple(getattr(self._exporter, "slots", ()))
        for slot in slots:
            feed = self._feed(slot.uri_template, slot.filter)
            if slot not in feed.slots:
                feed.slots.add(slot)
                self._unstored.add(slot)
                slot.filter = feed.filter
                # By the name of the class Scrapy counts what is stored.
                slot.storage = type(type(slot.storage).__name__, (_Told,), {})(slot, self._unstored.discard)
        return slots

    def _feed(self, template: str, asked: Any) -> _Feed:
        if template not in self._feeds:
            assert self._exporter is not None
            feed = self._feeds[template] = _Feed(_AskedOnce(asked, self._slots))
            # Of the files that it begins from now on.
            self._exporter.filters[template] = feed.filter  # type: ignore[assignment] # it answers as one
        return self._feeds[template]

    def _slot_closed(self, slot: Any) -> None:
        self._closed.add(slot)
        if slot in self._unstored:
            self._lost.add(slot)
            logger.warning("The feed %s was not stored: its pages come again", slot.uri)
        for slots in [slots for slots in self._held if slot in slots]:
            if any(one in self._lost for one in slots):
                self._give_up(self._held.pop(slots).take())
            elif all(one in self._closed for one in slots):
                self._released.append(self._held.pop(slots))

    def _exporter_closed(self) -> None:
        """Release what waits for a last batch that stayed empty: that is not stored, and nobody is told of its end.

        One that could not be opened is empty, too.
        """
        for slots in list(self._held):
            if all(one in self._closed or not (one.itemcount or one in self._lost) for one in slots):
                self._released.append(self._held.pop(slots))


_KINDS: dict[str, Any] = {kind.__name__: kind for kind in Record.__subclasses__()} | {"Recleaned": Recleaned}
# So many are held in memory, and written at once: encoding them holds the reactor for some milliseconds.
_IN_MEMORY = 250
# Where the file cannot grow. Beyond this all is given up: half of what says that a page was seen is worse than nothing.
_MOST_IN_MEMORY = 50_000


class Spool:
    """A list of records that is read once. The file has no name: it goes with the process."""

    def __init__(self, most_in_memory: int = _MOST_IN_MEMORY, folder: Path | None = None) -> None:
        """Take how many records may stay in memory, and where its file is to be; None: where temporary files are."""
        self._records: list[Any] = []
        self._file: FileIO | None = None
        self._due = _IN_MEMORY
        self._most_in_memory = most_in_memory
        self._folder = folder
        self.is_given_up = False
        """Whether the disk was full for so long that nothing is held any more: all its pages come again."""

    def add(self, records: list[Any]) -> None:
        """Add records; they stay in memory while the disk of temporary files is full."""
        if self.is_given_up:
            return
        self._records += records
        if len(self._records) >= self._due:
            self._try_file()

    def _try_file(self) -> None:
        try:
            if self._file is None:
                # Not buffered: what a full disk does not take must not come up later, at another write.
                self._file = tempfile.TemporaryFile("w+b", buffering=0, dir=self._folder)  # noqa: SIM115 (it outlives this call)
            self._to_file(self._file)
            self._due = _IN_MEMORY
        except OSError as error:
            self._not_kept(error)

    def _not_kept(self, error: OSError) -> None:
        if self._due == _IN_MEMORY:
            logger.warning("What waits for a feed cannot be kept in a temporary file, and stays in memory: %s", error)
        self._due = len(self._records) + _IN_MEMORY
        if len(self._records) > self._most_in_memory:
            logger.error("Too much waits for a feed: its pages come again")
            self.is_given_up = True
            self._records.clear()
            self.close()

    def take(self) -> Iterator[Any]:
        """Give the records back, in order."""
        if self._file is not None:
            self._file.seek(0)
            with BufferedReader(self._file) as lines:
                for line in lines:
                    name, values = json.loads(line.decode("utf-8", "surrogatepass"))
                    yield convert(values, _KINDS[name])
            self._file = None
        records, self._records = self._records, []
        yield from records

    def close(self) -> None:
        """Forget what is in the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _to_file(self, file: FileIO) -> None:
        """Write all or nothing of what is in memory."""
        end = file.tell()
        try:
            left = memoryview(b"".join(map(_line, self._records)))
            while left:
                left = left[file.write(left) :]
        except OSError:
            file.seek(end)
            file.truncate()
            raise
        self._records.clear()


def _line(record: Record | Recleaned) -> bytes:
    try:
        told = json.dumps([type(record).__name__, to_builtins(record)], ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        # An outcome beyond all bounds: its page comes again.
        return b""
    return told.encode("utf-8", "surrogatepass") + b"\n"


# Scrapy has some hundred items in the pipelines at once; beyond this an item's URL was changed on its way.
_MOST_LOOSE = 1_000


class Acknowledgement:
    """Completes pages. Where a page's response is not known, its item is known by its URL."""

    def __init__(  # noqa: PLR0913, PLR0917 (each is asked for something else of a page that is done)
        self,
        crawl: Crawl,
        visits: Visits,
        writer: WriteBehind,
        delivery: Delivery,
        rules: UrlRules,
        reuse: Reuse,
        registry: DomainRegistry,
        removed_pages: RemovedPages,
        giver_of: Callable[[str], bytes],
    ) -> None:
        """Begin with no page; *giver_of* returns what stands for a callback of the crawl's spider."""
        self._crawl = crawl
        self._visits = visits
        self._writer = writer
        self._delivery = delivery
        self._rules = rules
        self._count = crawl.count
        self._reuse = reuse
        self._registry = registry
        self._removed_pages = removed_pages
        self._giver_of = giver_of
        self._loose: OrderedDict[bytes, Draft] = OrderedDict()
        self._manual = crawl.settings.ack == "manual"
        self._said: Counter[bytes] = Counter()
        """Items that the user has acknowledged, by page, of pages that are not done."""
        self._unsaid: dict[bytes, tuple[int, list[Record]]] = {}
        """Pages that are done but for the user's word: how many items they gave, and what is to be written."""
        self.given = GivenPages()
        self.leases = LeaseTracking()

    def __len__(self) -> int:
        """Return how many pages are held."""
        return len(self._loose) + len(self._unsaid)

    async def begin(self, visit: Visit) -> None:
        """Write down that another version of a known page goes out from now on: a kill must not leave the old one."""
        now = datetime.now(UTC)
        self._crawl.rows.append(DocumentRecord(visit.page_key, visit.url, visit.domain, "processing", now))
        await self._writer.catch_up()

    async def begin_signpost(self, visit: Visit) -> None:
        """Forget what a feed gave the last time, as nothing else says after a kill that other items went out."""
        if visit.giver:
            nothing = DeliveryRecord(visit.page_key, visit.giver, visit.domain, visit.fetched_at, b"")
            self._crawl.rows.append(nothing)
            await self._writer.catch_up()

    def hold(self, draft: Draft) -> None:
        """Remember the page of an item that goes on, where it is not its response's."""
        self._loose[draft.page_key] = draft
        if len(self._loose) > _MOST_LOOSE:
            self._delivery.put(self._complete(self._loose.popitem(last=False)[1]), (), self._write)

    def item_scraped(self, item: Any, response: Response | Failure | None) -> None:
        """Note that an item passed all pipelines; an errback's comes with the failure."""
        passed()
        feeds = self._delivery.feeds_of(item)
        if is_tombstone(item):
            self._delivery.put(self._removed_pages.records_of(item), feeds, self._write)
        visit = self._visits.of_response(response) if isinstance(response, Response) else None
        self._judge(item, visit, feeds)
        if visit is not None:
            if not feeds and self._delivery.refuses(item):
                # One that equals it may be for one of them.
                self._withdraw(visit)
            visit.scraped += 1
            visit.waits_for |= feeds
        elif isinstance(response, Failure) and (request := getattr(response, "request", None)) is not None:
            self._told_of_failure(request, feeds)
        self._item_left(item, visit, feeds)

    def _judge(self, item: Any, visit: Visit | None, feeds: set[Any]) -> None:
        """Note how good an item is, to be written with its page."""
        if visit is not None and not visit.settings.enabled:
            return
        if visit is not None and visit.judgement is not None and visit.judgement.is_unchanged:
            # It was counted when it was new.
            return
        record = self._registry.judged(item, visit.domain if visit is not None else "")
        if record is None:
            return
        if visit is not None:
            visit.confidences.append(record)
        else:
            self._delivery.put([record], feeds, self._write)

    def item_dropped(self, item: Any, response: Response | None, exception: BaseException) -> None:
        """Note that an item was dropped; by another pipeline: its page stands for none that was equal."""
        stands = passed()
        visit = self._visits.of_response(response) if response is not None else None
        if visit is not None and not isinstance(exception, DuplicateItem):
            self._withdraw(visit)
            visit.delivered.was_dropped(stands)
        self._item_left(item, visit, set())

    def _withdraw(self, visit: Visit) -> None:
        if not visit.scraped:
            for draft in visit.drafts:
                self._crawl.evidence.withdraw(draft.page_key)

    def _item_left(self, item: Any, visit: Visit | None, feeds: set[Any]) -> None:
        if (draft := self._loose_draft(item)) is not None:
            self._delivery.put(self._complete(draft), feeds, self._write)
        if visit is not None:
            self._visits.left(item, visit)
            self.settle(visit)

    def item_failed(self, item: Any, response: Response | None, failure: Any) -> None:
        """Note that a later pipeline failed: the item's page is not done."""
        passed()
        visit = self._visits.of_response(response) if response is not None else None
        drafts = [draft] if (draft := self._loose_draft(item)) is not None else []
        if visit is not None:
            visit.failed = True
            self._visits.left(item, visit)
            drafts += visit.drafts
            visit.drafts.clear()
        for draft in drafts:
            self._crawl.fail(draft, f"{failure.type.__name__}: {failure.value}"[:500], datetime.now(UTC))

    def said(self, item: Any) -> None:
        """Note the user's word that an item is safe."""
        key = self._key_of(item)
        if not self._manual or key is None:
            return
        self._said[key] += 1
        if key in self._unsaid and self._said[key] >= self._unsaid[key][0]:
            self._write(self._unsaid.pop(key)[1])
            del self._said[key]

    def _key_of(self, item: Any) -> bytes | None:
        report = value_of(ItemAdapter(item), REPORT) if ItemAdapter.is_item(item) else None
        if isinstance(report, dict) and "visited" in report:
            return bytes.fromhex(report["visited"])
        return self._named_key(item)

    def _named_key(self, item: Any) -> bytes | None:
        url = url_of(ItemAdapter(item), self._crawl.settings) if ItemAdapter.is_item(item) else None
        return page_key(url, self._rules) if url else None

    def _loose_draft(self, item: Any) -> Draft | None:
        key = self._named_key(item) if self._loose else None
        return self._loose.pop(key, None) if key is not None else None

    def settle(self, visit: Visit) -> None:
        """Write down that a page is done, when its callback has ended and all of its items have left."""
        if visit.failed and not visit.items:
            self._note_met(visit)
        if visit.items or visit.failed or (visit.from_spider and not visit.callback_ended):
            return
        drafts = [draft for draft in visit.drafts if draft.duplicate is None]
        if visit.drafts and not drafts:
            drafts = self._as_duplicate(visit)
        elif not visit.drafts and visit.delivered.items and not visit.scraped:
            _stays_left_out(visit)
        visit.drafts.clear()
        if visit.judgement is None:
            for draft in drafts:
                self._when_safe(visit, self._complete(draft))
            # A failed page that gave nothing leaves what was known of it.
            told = visit.had_items or 200 <= visit.http_status < 300
            if visit.giver and visit.callback_ended and told and not visit.noted:
                visit.noted = True
                self._when_safe(visit, self._delivery_of(visit))
        elif not visit.noted and visit.callback_ended:
            self._commit(visit, drafts)
        if visit.callback_ended and not (visit.had_items or visit.noted) and visit.settings.enabled:
            if visit.judgement is None and visit.is_page and not visit.is_error_page:
                self._crawl.note_empty(visit.url, visit.page_key, visit.domain, visit.http_status, visit.fetched_at)
            visit.noted = True
        if visit.confidences or visit.lease:
            self._when_safe(visit, [])
        # A response and its selector hold each other, so that a visit stays until garbage is collected.
        visit.parsed = None

    def _note_met(self, visit: Visit) -> None:
        """Note for the last worker of the run that a page is not missing: nobody else knows that it was met."""
        is_shared = self._crawl.run.worker is not None and visit.settings.enabled
        if is_shared and not visit.noted and visit.page_key not in self._crawl.given:
            visit.noted = True
            at = datetime.now(UTC)
            self._crawl.rows.append(failed_fetch(visit.url, visit.page_key, visit.domain, visit.http_status, at))

    def _as_duplicate(self, visit: Visit) -> list[Draft]:
        """Return a page of which all items were dropped, as far as it is to be remembered."""
        duplicate = visit.drafts[-1].duplicate
        if visit.judgement is None or duplicate is None or duplicate.document_key == visit.page_key:
            # Another visit of this run gave the page's items, and says what became of it.
            visit.noted = True
            return []
        visit.judgement.duplicate_of = duplicate.document_key
        visit.judgement.duplicate_by = duplicate.layer
        for draft in visit.drafts:
            draft.bare = True
        return visit.drafts[-1:]

    def _commit(self, visit: Visit, drafts: list[Draft]) -> None:
        """Write what a visit comes to."""
        judgement = visit.judgement
        assert judgement is not None
        visit.noted = True
        draft = drafts[-1] if drafts else self._bare(visit)
        stay = Stay(
            url=visit.url,
            page_key=visit.page_key,
            domain=visit.domain,
            at=visit.fetched_at,
            http_status=visit.http_status,
            seconds=time.monotonic() - judgement.began,
            callback_run=not judgement.replays,
        )
        recorded = None if judgement.replays else visit.recorded
        if recorded is not None and recorded.unkeepable is not None:
            self._count("reuse/not_kept/value", 1)
        if visit.audited is not None and recorded is not None:
            self._reuse.audited(visit.audited, recorded, visit.domain, visit.settings)
        at_once, when_safe = commit(stay, judgement, recorded, draft, visit.settings, datetime.now(UTC))
        self._crawl.rows += at_once
        self._when_safe(visit, [*when_safe, *self._delivery_of(visit)])

    def _delivery_of(self, visit: Visit) -> list[Record]:
        """Return which items a page gave by this and its earlier visits of the run, delivered or left out."""
        if not visit.giver:
            return []
        given = self.given.of(visit.page_key, visit.giver)
        given.add(visit.delivered, visit.waits_for)
        visit.waits_for |= given.waits_for
        # The page that stands for a duplicate may have been fetched after it.
        is_duplicate = visit.judgement is not None and visit.judgement.duplicate_of is not None
        at = visit.delivered.as_at or (datetime.now(UTC) if is_duplicate else visit.fetched_at)
        return [given.record(visit.page_key, visit.giver, visit.domain, at)]

    def _told_of_failure(self, request: Request, feeds: set[Any]) -> None:
        """Note that an errback made an item of a page's failure: what the last run gave is not the last word on it."""
        settings = self._crawl.settings
        domain = extract_domain(request.url, settings.domain_scope)
        is_asked = request.method == "GET" and with_request(settings, request) is not None
        if domain is None or not (is_asked and "unchanged" in settings.acting):
            return
        key, giver = page_key(request.url, self._rules), self._giver_of(callback_name(request))
        given = self.given.of(key, giver)
        given.add(Delivered(), feeds)
        self._delivery.put([given.record(key, giver, domain, datetime.now(UTC))], given.waits_for, self._write)

    def _bare(self, visit: Visit) -> Draft | None:
        """Return a page that gave no item, as it would have gone out."""
        judgement = visit.judgement
        if judgement is None or judgement.blocks is None or visit.honoured.noindex:
            return None
        html, page = (None if judgement.is_stored else visit.html()), visit.parsed
        if html is None or not isinstance(page, Page):
            return None
        draft = Draft(visit.url, visit.page_key, visit.domain, html, visit.fetched_at, page=page)
        draft.of_response = draft.bare = True
        draft.method = method_of(visit.settings, has_html=True)
        return self._crawl.bare(draft, visit.settings)

    def _when_safe(self, visit: Visit, records: list[Record]) -> None:
        confidences, visit.confidences = visit.confidences, []
        records = [*records, *confidences]
        if token := self.leases.take(visit):
            records.append(LeaseRecord(token))
        waits = True
        if not self._manual:
            waits = self._delivery.put(records, visit.waits_for, self._write)
        elif visit.scraped > self._said[visit.page_key]:
            _, earlier = self._unsaid.get(visit.page_key, (0, []))
            self._unsaid[visit.page_key] = (visit.scraped, [*earlier, *records])
        else:
            self._said.pop(visit.page_key, None)
            self._write(records)
            waits = False
        self.leases.note(token, waits=waits)

    def settle_gone(self) -> None:
        """Settle pages whose response is gone: another middleware kept some of their items from the pipelines."""
        for visit in self._visits.take_gone():
            self._visits.forget_items(visit)
            self.settle(visit)

    def settle_all(self) -> None:
        """Settle every page, once the pipelines are closed."""
        self.settle_gone()
        for visit in self._visits.all():
            self._visits.forget_items(visit)
            if visit.from_spider and not visit.callback_ended:
                # A middleware wants no more of it, or failed, and garbage was not collected since.
                visit.cut_short()
                visit.callback_ended = True
            self.settle(visit)
            if not visit.callback_ended:
                self._note_met(visit)
        for draft in self._loose.values():
            self._delivery.put(self._complete(draft), (), self._write)
        self._loose.clear()

    def end(self) -> None:
        """Give up pages that nobody acknowledged: they come again."""
        if self._unsaid:
            self._count("ack/never", len(self._unsaid))

    def _complete(self, draft: Draft) -> list[Record]:
        """Write of a page what need not wait; return what is written once its items are safe."""
        at_once, when_safe = self._crawl.completed(draft, datetime.now(UTC))
        self._crawl.rows += at_once
        return when_safe

    def _write(self, records: list[Record]) -> None:
        self._crawl.rows += records
        self._writer.if_due()


def _stays_left_out(visit: Visit) -> None:
    """Note of a page whose items are those of its last visit, which left them out for another page's, that it did."""
    judgement = visit.judgement
    state = judgement.known.state if judgement is not None else None
    if judgement is not None and state is not None and state.document_key not in (None, visit.page_key):
        judgement.duplicate_of, judgement.duplicate_by = state.document_key, state.alias_kind or judgement.duplicate_by


class LeaseTracking:
    """Pages whose requests a shared queue lent: which are done, and which of these wait until they are safe.

    It follows a token from the response that it came with to the moment at which its page's rows are written.
    """

    def __init__(self) -> None:
        self._under_way: dict[str, Visit] = {}
        self._noted: dict[str, bool] = {}
        """Of pages that are done: whether that waits for more than to be written."""

    def begin(self, visit: Visit) -> None:
        """Note a response; one that took another's place has its request, too."""
        if visit.lease:
            self._under_way[visit.lease] = visit

    def take(self, visit: Visit) -> str:
        """Return the token of a page that is done, once; else an empty one."""
        if not (visit.lease and visit.callback_ended and self._under_way.get(visit.lease) is visit):
            return ""
        token, visit.lease = visit.lease, ""
        del self._under_way[token]
        return token

    def note(self, token: str, *, waits: bool) -> None:
        """Note that a page's rows are on their way, or wait for a feed or the user's word."""
        if token:
            self._noted[token] = waits

    def gives_back(self, token: str) -> bool:
        """Say of a request with which Scrapy has done whether its page's rows come, or are on their way."""
        if token in self._noted:
            return True
        visit = self._under_way.get(token)
        if visit is None:
            return False
        if visit.failed or not visit.callback_ended:
            # Nothing more comes of it: the page does not count as seen.
            del self._under_way[token]
            return False
        return True

    def waits(self, token: str) -> bool:
        """Say whether a page waits until its items are safe."""
        return self._noted.get(token, False)

    def forget(self, tokens: list[str]) -> None:
        """Forget requests that were given back."""
        for token in tokens:
            self._noted.pop(token, None)
