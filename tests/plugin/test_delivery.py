"""With Scrapy's own feed slots and counts; what the exporter would send is sent by hand."""

import asyncio
from collections import Counter
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import ItemFilter

from scrapy_dedup.core.chunks.chunks import StoredChunk
from scrapy_dedup.plugin.acknowledgement import _IN_MEMORY, Delivery, Spool
from scrapy_dedup.store.records.records import ChunksRecord, GoneRecord, Recleaned, Record, SignatureRecord
from tests.plugin.builders import a_crawler
from tests.small_disk import small_disk
from tests.store.builders import NOON, a_crawled_url, a_document, a_key, a_snapshot, a_visit
from tests.tables import table


class OnlyBoats(ItemFilter):
    def accepts(self, item: Any) -> bool:
        return bool(item.get("boat"))


class Storage:
    def __init__(self, slot: "Slot") -> None:
        self._slot = slot

    def store(self, file: None) -> None:  # noqa: ARG002 - as Scrapy calls it
        if self._slot.fails:
            raise OSError("no space left on device")


class Slot:
    """As far as a feed's slot is looked at."""

    def __init__(self, uri: str, accepts: type[ItemFilter] = ItemFilter) -> None:
        self.uri = uri
        self.uri_template = uri.rstrip("0123456789")
        self.filter = accepts({})
        self.fails = False
        self.storage: Any = Storage(self)
        self.itemcount = 1


class Feeds:
    """A crawl whose feeds a test opens and closes."""

    def __init__(self) -> None:
        self.crawler: Crawler = a_crawler()
        self.counts: Counter[str] = Counter()
        self.written: list[Record] = []
        self.delivery = Delivery(self.crawler, follows_feeds=True, count=lambda what, n: self.counts.update({what: n}))
        self.exporter = cast("Any", SimpleNamespace(slots=[], filters={}))
        # In place of Scrapy's, which would open files.
        self.delivery._exporter = self.exporter

    def open(self, *slots: Slot) -> None:
        self.exporter.slots = list(slots)

    def end(self, slot: Slot, *, stored: bool = True) -> None:
        """Store a feed, as Scrapy does."""
        slot.fails = not stored
        with suppress(OSError):
            asyncio.run(slot.storage.store(None))
        self.crawler.signals.send_catch_log(signals.feed_slot_closed, slot=slot)

    def put(self, name: str, slots: set[Any]) -> None:
        self.delivery.put([a_snapshot(name)], slots, self.written.extend)

    def scrape(self, name: str, **item: Any) -> None:
        self.put(name, self.delivery.feeds_of(item))

    def take(self, step: str, slots: dict[str, Slot]) -> None:
        """Do what a case of the table says; a feed of boats takes no more than boats."""
        word, *names = step.split()
        for name in names:
            slots.setdefault(name, Slot(f"{name}.jsonl", OnlyBoats if name == "boats" else ItemFilter))
        match word:
            case "open":
                self.open(*(slots[name] for name in names))
            case "scrape":
                self.scrape(names[0], boat=names[0] == "boat")
            case "end" | "fail":
                self.end(slots[names[0]], stored=word == "end")
            case "take":
                self.put(names[0], {slots[names[1]]})
            case "empty":
                slots[names[0]].itemcount = 0
            case "closed":
                self.crawler.signals.send_catch_log(signals.feed_exporter_closed)
            case "look":
                self.delivery.look()
            case "over":
                self.delivery.end()
            case "nothing-released":
                assert self.released == []

    @property
    def released(self) -> list[Record]:
        self.written += self.delivery.released()
        return self.written


@pytest.fixture
def feeds() -> Feeds:
    return Feeds()


@table("plugin/feeds")
def test_records_are_released_when_every_feed_that_took_them_is_stored(feeds, caplog, steps, released, given_up, told):
    slots: dict[str, Slot] = {}
    for step in steps:
        feeds.take(step, slots)

    assert feeds.released == [a_snapshot(name) for name in released]
    assert feeds.counts["ack/not_stored"] == given_up
    assert told in caplog.text


@pytest.mark.parametrize("batch", [100, 2, 1], ids=["one-file", "files-of-two", "files-of-one"])
@pytest.mark.parametrize("fails", [None, 0, 1, 4, "each"], ids=["none", "the-first", "the-second", "the-last", "each"])
def test_feed_that_did_not_take_an_item_is_no_evidence_of_what_it_holds(feeds, batch, fails):
    """Scrapy logs the exporter's exception, and closes the feed as if nothing had been."""
    made = iter(range(100))

    def new_slot() -> Slot:
        slot = Slot(f"feed{next(made)}")
        slot.itemcount = 0
        feeds.open(slot)
        return slot

    open_slot = new_slot()

    def export(item: dict[str, Any]) -> None:
        nonlocal open_slot
        if open_slot.filter.accepts(item) and fails in (item["number"], "each"):
            raise OSError("no space left on device")
        open_slot.itemcount += 1
        if open_slot.itemcount >= batch:
            closing, open_slot = open_slot, new_slot()
            feeds.end(closing)

    feeds.crawler.signals.connect(export, signals.item_scraped, weak=False)
    feeds.crawler.signals.send_catch_log(signals.spider_opened)
    for number in range(5):
        item = {"number": number}
        feeds.put(str(number), feeds.delivery.feeds_of(item))
        feeds.crawler.signals.send_catch_log(signals.item_scraped, item=item)
    if open_slot.itemcount:
        feeds.end(open_slot)
    feeds.crawler.signals.send_catch_log(signals.feed_exporter_closed)

    released = feeds.released
    if fails is None:
        assert len(released) == 5
        assert all(a_snapshot(str(number)) in released for number in range(5))
        assert feeds.counts["ack/not_taken"] == 0
        return
    assert a_snapshot(str(fails)) not in released
    assert (feeds.counts["ack/not_taken"], released) == (5, []) if fails == "each" else (1, released)


class EverySecond(ItemFilter):
    """Fails with an item without a number."""

    asked = 0

    def accepts(self, item: Any) -> bool:
        self.asked += item["number"] > 0
        return self.asked % 2 == 0


@pytest.mark.parametrize("is_first", [True, False], ids=["before-the-exporter", "after-it"])
def test_filter_is_asked_once_about_each_item_and_one_with_which_it_fails_comes_again(feeds, is_first):
    slot = Slot("seconds", EverySecond)
    slot.itemcount = 0
    feeds.open(slot)
    connect = feeds.crawler.signals.connect
    taken = []

    def ours(item: dict[str, Any]) -> None:
        feeds.put(str(item), feeds.delivery.feeds_of(item))

    def export(item: dict[str, Any]) -> None:
        if slot.filter.accepts(item):
            taken.append(item)
            slot.itemcount += 1

    for receiver in (ours, export) if is_first else (export, ours):
        connect(receiver, signals.item_scraped, weak=False)
    feeds.crawler.signals.send_catch_log(signals.spider_opened)
    one = {"number": 1}
    for item in (one, one, {}, one):
        feeds.crawler.signals.send_catch_log(signals.item_scraped, item=item)
    before = list(feeds.released)
    feeds.end(slot)

    assert taken == [one]
    # What the filter refuses is in no feed that could be lost.
    assert before == [a_snapshot(str(one))] * 2
    assert feeds.released == [a_snapshot(str(one))] * 3
    assert feeds.counts == {"ack/not_stored": 1}


def test_an_item_is_refused_where_there_are_feeds_and_none_takes_it():
    feeds = Feeds()
    assert not feeds.delivery.refuses({})
    feeds.open(Slot("boats", OnlyBoats))
    assert [feeds.delivery.refuses(item) for item in ({"boat": True}, {})] == [False, True]


CHUNKS = ChunksRecord(a_key(1), (StoredChunk(0, "id", b"\xff", "added", "text", 3, 3, "two\n", holder=a_key(2)),))
EVERY_KIND: list[Record | Recleaned] = [
    a_document(
        1, content_hash=b"\xff" * 32, blocks=b"\x00\x01", title="\ud800 \x00 ü", interval_seconds=1.5, lastmod=NOON
    ),
    a_snapshot(1, blocks=b"", validated_at=NOON),
    a_crawled_url(1),
    a_visit(1, change_class="title", callback_run=True),
    GoneRecord(a_key(1), NOON),
    Recleaned(
        a_key(1),
        "\ud83d",
        9,
        5,
        [],
        fetched_at=NOON,
        compared=[SignatureRecord(a_key(1), "a.example", b"text"), CHUNKS],
    ),
]


def test_memory_is_bounded_and_nothing_is_left_on_the_disk(tmp_path):
    waiting = Spool(folder=tmp_path)
    for number in range(5_000):
        waiting.add([a_visit(number)])

    assert len(waiting._records) < _IN_MEMORY
    assert list(tmp_path.iterdir()) == []
    waiting.close()


def test_what_a_full_disk_does_not_take_stays_in_memory_in_order(tmp_path, caplog):
    records = EVERY_KIND * 450
    with small_disk(tmp_path / "disk", 50 * 4_096) as disk:
        waiting = Spool(folder=disk.folder)
        for start in range(0, len(records), 7):
            waiting.add(records[start : start + 7])

        assert list(waiting.take()) == records
        assert disk.free_bytes == 50 * 4_096
    assert not waiting.is_given_up
    assert len(caplog.records) == 1


def test_too_much_for_memory_and_disk_is_given_up_as_a_whole(tmp_path):
    with small_disk(tmp_path / "disk", 100_000) as disk:
        waiting = Spool(most_in_memory=1_000, folder=disk.folder)
        for number in range(5_000):
            waiting.add([a_visit(number)])

        assert waiting.is_given_up
        assert list(waiting.take()) == []
