"""When an item is safe (DEDUP_ACK): only then its page counts as seen, and what says so waits till then in a file."""

import json
import logging
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from io import BufferedReader, FileIO
from pathlib import Path
from typing import Any, get_args
from weakref import WeakSet

from msgspec import Struct, convert, field, to_builtins
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter

from scrapy_dedup.store.records.records import Recleaned, Record

logger = logging.getLogger(__name__)


class _Feed(Struct):
    """One of FEEDS, whose items may be spread over files.

    Attributes:
        slots: its files that are not done.
        done: items of the others.
        given: items that it was to take.
    """

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


class Delivery:
    """Holds what says that pages were seen, until the feeds that took their items are stored.

    `feed_slot_closed` is sent after a failed store, too, and does not say so: Scrapy's own counts do.
    """

    def __init__(self, crawler: Crawler, *, follows_feeds: bool, count: Callable[[str, int], None]) -> None:
        self._crawler = crawler
        self._count = count
        self._follows_feeds = follows_feeds
        self._exporter: FeedExporter | None = None
        self._last_slots: tuple[Any, ...] = ()
        self._held: dict[frozenset[Any], Spool] = {}
        self._lost: WeakSet[Any] = WeakSet()
        self._closed: WeakSet[Any] = WeakSet()
        self._signals: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._feeds: dict[str, _Feed] = {}
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
        # Connected this late, it is called after the exporter took an item, or failed to.
        connect: Callable[..., None] = self._crawler.signals.connect
        connect(self._taken, signals.item_scraped)

    def _taken(self, item: Any) -> None:
        """Find out whether the feeds took an item: the exporter's exception, as that of a full disk, is logged alone.

        A feed that did not take one is no evidence of any other either: what its file held back may be gone, too.
        """
        slots = self._slots()
        for feed in self._feeds.values():
            if any(slot.filter.accepts(item) for slot in feed.slots):
                feed.given += 1
            taken = feed.taken()
            if feed.given > taken:
                feed.given = taken
                self._lost.update(feed.slots)
                self._count("ack/not_taken", 1)
                logger.warning("A feed did not take an item: the pages of what it holds come again")
            feed.leave_out(self._closed, slots)

    def feeds_of(self, item: Any) -> set[Any]:
        """Return the feeds that take an item, as they stand when it was scraped.

        The exporter may have taken it before this is called, and begun a new batch with it: then the item is in the
        slot before, so that those that were open at the last call count, too.
        """
        before, after = self._last_slots, self.look()
        took = {slot for slot in (*before, *after) if slot.filter.accepts(item)}
        return {slot for slot in took if slot not in self._closed or slot in self._lost}

    def refuses(self, item: Any) -> bool:
        """Say whether there are feeds, and none of them takes an item."""
        slots = self._slots()
        return bool(slots) and not any(slot.filter.accepts(item) for slot in slots)

    def look(self) -> tuple[Any, ...]:
        """Return the feeds that are open, and remember them for the next item."""
        self._last_slots = self._slots()
        return self._last_slots

    def put(self, records: list[Any], waits_for: Iterable[Any], write: Callable[[list[Any]], None]) -> bool:
        """Write records now, or when all that they wait for has come; say whether they wait."""
        slots = frozenset(waits_for)
        open_slots = frozenset(slot for slot in slots if slot not in self._closed)
        if any(slot in self._lost for slot in slots):
            self._count("ack/not_stored", 1)
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
            self._count("ack/not_stored", sum(1 for _ in spool.take()))
        self._held.clear()

    def _slots(self) -> tuple[Any, ...]:
        if not self._follows_feeds:
            return ()
        if self._exporter is None:
            self._exporter = self._crawler.get_extension(FeedExporter)
        slots = tuple(getattr(self._exporter, "slots", ()))
        for slot in slots:
            self._feeds.setdefault(slot.uri_template, _Feed()).slots.add(slot)
        return slots

    def _slot_closed(self, slot: Any) -> None:
        kind = type(slot.storage).__name__
        self._closed.add(slot)
        if self._has_failed(kind):
            self._lost.add(slot)
            logger.warning("The feed %s was not stored: its pages come again", slot.uri)
        for slots in [slots for slots in self._held if slot in slots]:
            if any(one in self._lost for one in slots):
                self._held.pop(slots).close()
                self._count("ack/not_stored", 1)
            elif all(one in self._closed for one in slots):
                self._released.append(self._held.pop(slots))

    def _exporter_closed(self) -> None:
        """Release what waits for a last batch that stayed empty: that is not stored, and nobody is told of its end."""
        for slots in list(self._held):
            if all(one in self._closed or not one.itemcount for one in slots):
                self._released.append(self._held.pop(slots))

    def _has_failed(self, kind: str) -> bool:
        """Say whether the feed that was closed now may be one that failed.

        Two feeds may have ended before the first signal came: then neither is believed.
        """
        stats = self._crawler.stats
        failed = stats.get_value(f"feedexport/failed_count/{kind}", 0)
        ended = failed + stats.get_value(f"feedexport/success_count/{kind}", 0)
        self._signals[kind] += 1
        may_be = failed > self._failures[kind]
        if self._signals[kind] >= ended:
            self._failures[kind] = failed
        return bool(may_be)


_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (*get_args(Record), Recleaned)}
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
