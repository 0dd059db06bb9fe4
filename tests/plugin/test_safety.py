"""With Scrapy's own feed slots and counts; what the exporter would send is sent by hand."""

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FileFeedStorage, ItemFilter

from scrapy_dedup.plugin.safety import Safety
from scrapy_dedup.store.records import Record
from tests.plugin.builders import a_crawler
from tests.store.builders import a_sight


class OnlyBoats(ItemFilter):
    def accepts(self, item: Any) -> bool:
        return bool(item.get("boat"))


class Slot:
    """As far as a feed's slot is looked at."""

    def __init__(self, uri: str, accepts: type[ItemFilter] = ItemFilter) -> None:
        self.uri = uri
        self.uri_template = uri.rstrip("0123456789")
        self.filter = accepts({})
        self.storage = FileFeedStorage(uri)
        self.itemcount = 1


class Feeds:
    """A crawl whose feeds a test opens and closes."""

    def __init__(self, *, follows: bool = True) -> None:
        self.crawler: Crawler = a_crawler()
        self.counts: Counter[str] = Counter()
        self.written: list[Record] = []
        self.safety = Safety(self.crawler, follows_feeds=follows, count=lambda what, n: self.counts.update({what: n}))
        self.exporter = cast("Any", SimpleNamespace(slots=[]))
        # In place of Scrapy's, which would open files.
        self.safety._exporter = self.exporter

    def open(self, *slots: Slot) -> None:
        self.exporter.slots = list(slots)

    def end(self, slot: Slot, *, stored: bool = True, told: bool = True) -> None:
        """Store a feed; *told*: its signal comes at once."""
        word = "success" if stored else "failed"
        self.crawler.stats.inc_value(f"feedexport/{word}_count/FileFeedStorage")
        if told:
            self.tell(slot)

    def tell(self, slot: Slot) -> None:
        self.crawler.signals.send_catch_log(signals.feed_slot_closed, slot=slot)

    def put(self, name: str, slots: set[Any]) -> None:
        self.safety.put([a_sight(name)], slots, self.written.extend)

    def scrape(self, name: str, **item: Any) -> None:
        self.put(name, self.safety.feeds_of(item))

    @property
    def released(self) -> list[Record]:
        self.written += self.safety.released()
        return self.written


@pytest.fixture
def feeds() -> Feeds:
    return Feeds()


def test_records_wait_until_their_feed_is_stored(feeds: Feeds) -> None:
    slot = Slot("a.jsonl")
    feeds.open(slot)
    feeds.scrape("x")
    before = list(feeds.released)
    feeds.end(slot)

    assert before == []
    assert feeds.released == [a_sight("x")]


def test_records_wait_for_the_last_of_their_feeds(feeds: Feeds) -> None:
    one, other = Slot("a.jsonl"), Slot("b.jsonl")
    feeds.open(one, other)
    feeds.scrape("x")
    feeds.end(one)
    before = list(feeds.released)
    feeds.end(other)

    assert (before, feeds.released) == ([], [a_sight("x")])


@pytest.mark.parametrize("first_fails", [True, False])
def test_records_of_a_feed_that_was_not_stored_are_given_up(
    feeds: Feeds, caplog: pytest.LogCaptureFixture, *, first_fails: bool
) -> None:
    one, other = Slot("a.jsonl"), Slot("b.jsonl")
    feeds.open(one, other)
    feeds.scrape("x")
    feeds.end(one, stored=not first_fails)
    feeds.end(other, stored=first_fails)

    assert feeds.released == []
    assert feeds.counts == {"ack/not_stored": 1}
    assert f"The feed {'a' if first_fails else 'b'}.jsonl was not stored" in caplog.text


def test_failure_of_one_feed_does_not_harm_what_only_the_other_took(feeds: Feeds) -> None:
    boats, everything = Slot("boats.jsonl", OnlyBoats), Slot("all.jsonl")
    feeds.open(boats, everything)
    feeds.scrape("boat", boat=True)
    feeds.scrape("car")
    feeds.end(boats, stored=False)
    feeds.end(everything)

    assert feeds.released == [a_sight("car")]


def test_item_that_no_feed_takes_is_safe_at_once(feeds: Feeds) -> None:
    feeds.open(Slot("boats.jsonl", OnlyBoats))

    feeds.scrape("car")

    assert feeds.written == [a_sight("car")]


def test_item_that_ended_a_batch_waits_for_it(feeds: Feeds) -> None:
    """The exporter took it and opened the next file before anybody else heard of the item."""
    first, second = Slot("1.jsonl"), Slot("2.jsonl")
    feeds.open(first)
    feeds.safety.look()
    feeds.open(second)
    feeds.scrape("x")
    feeds.end(first, stored=False)
    feeds.end(second)

    assert feeds.released == []
    assert feeds.counts["ack/not_stored"] == 1


@pytest.mark.parametrize("empty", [True, False])
def test_item_that_ended_the_last_batch_does_not_wait_for_an_empty_one(feeds: Feeds, *, empty: bool) -> None:
    """Scrapy opens the next batch at once, and says nothing of it if nothing comes."""
    last, following = Slot("1.jsonl"), Slot("2.jsonl")
    feeds.open(last)
    feeds.safety.look()
    feeds.open(following)
    feeds.scrape("x")
    following.itemcount = 0 if empty else 1
    feeds.end(last)
    feeds.crawler.signals.send_catch_log(signals.feed_exporter_closed)

    assert feeds.released == ([a_sight("x")] if empty else [])


def test_item_that_comes_after_its_batch_has_failed_is_given_up(feeds: Feeds) -> None:
    first, second = Slot("1.jsonl"), Slot("2.jsonl")
    feeds.open(first)
    feeds.safety.look()
    feeds.open(second)
    feeds.end(first, stored=False)
    feeds.scrape("x")
    feeds.end(second)

    assert feeds.released == []
    assert feeds.counts["ack/not_stored"] == 1


def test_item_that_comes_after_its_batch_was_stored_is_safe_with_the_next(feeds: Feeds) -> None:
    first, second = Slot("1.jsonl"), Slot("2.jsonl")
    feeds.open(first)
    feeds.safety.look()
    feeds.open(second)
    feeds.end(first)
    feeds.scrape("x")
    feeds.end(second)

    assert feeds.released == [a_sight("x")]


def test_neither_of_two_feeds_is_believed_where_one_of_them_failed_before_they_were_told(feeds: Feeds) -> None:
    one, other = Slot("a.jsonl"), Slot("b.jsonl")
    feeds.open(one, other)
    feeds.put("x", {one})
    feeds.put("y", {other})
    feeds.end(one, told=False)
    feeds.end(other, stored=False, told=False)
    feeds.tell(one)
    feeds.tell(other)

    assert feeds.released == []


def test_feed_after_a_failed_one_is_believed_again(feeds: Feeds) -> None:
    one, other = Slot("a.jsonl"), Slot("b.jsonl")
    feeds.open(one, other)
    feeds.end(one, stored=False)
    feeds.put("y", {other})
    feeds.end(other)

    assert feeds.released == [a_sight("y")]


def test_what_waits_at_the_end_is_given_up(feeds: Feeds) -> None:
    feeds.open(Slot("a.jsonl"))
    feeds.scrape("x")
    feeds.safety.end()

    assert feeds.released == []
    assert feeds.counts == {"ack/not_stored": 1}


def test_feeds_do_not_count_where_scraped_is_safe() -> None:
    feeds = Feeds(follows=False)
    feeds.open(Slot("a.jsonl"))

    feeds.scrape("x")

    assert feeds.written == [a_sight("x")]


def test_crawl_without_feeds_has_none() -> None:
    feeds = Feeds()
    feeds.safety._exporter = None
    feeds.scrape("x")

    assert feeds.written == [a_sight("x")]


@pytest.mark.parametrize("batch", [100, 2, 1], ids=["one-file", "files-of-two", "files-of-one"])
@pytest.mark.parametrize("fails", [None, 0, 1, 4], ids=["none", "the-first", "the-second", "the-last"])
def test_feed_that_did_not_take_an_item_is_no_evidence_of_what_it_holds(
    feeds: Feeds, batch: int, fails: int | None
) -> None:
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
        if item["number"] == fails:
            raise OSError("no space left on device")
        open_slot.itemcount += 1
        if open_slot.itemcount >= batch:
            closing, open_slot = open_slot, new_slot()
            feeds.end(closing)

    feeds.crawler.signals.connect(export, signals.item_scraped, weak=False)
    feeds.crawler.signals.send_catch_log(signals.spider_opened)
    for number in range(5):
        slots = feeds.safety.feeds_of({"number": number})
        feeds.crawler.signals.send_catch_log(signals.item_scraped, item={"number": number})
        feeds.put(str(number), slots)
    if open_slot.itemcount:
        feeds.end(open_slot)

    released = feeds.released
    if fails is None:
        assert len(released) == 5
        assert all(a_sight(str(number)) in released for number in range(5))
        assert feeds.counts["ack/not_taken"] == 0
        return
    assert a_sight(str(fails)) not in released
    assert feeds.counts["ack/not_taken"] == 1
