from pathlib import Path

import pytest

from scrapy_dedup.plugin.crawl.delivery import _IN_MEMORY, Spool
from scrapy_dedup.store.records.records import GoneRecord, Record
from tests.small_disk import small_disk
from tests.store.builders import NOON, a_crawled_url, a_document, a_key, a_snapshot, a_visit

EVERY_KIND: list[Record] = [
    a_document(
        1, content_hash=b"\xff" * 32, blocks=b"\x00\x01", title="\ud800 \x00 ü", interval_seconds=1.5, lastmod=NOON
    ),
    a_snapshot(1, blocks=b"", validated_at=NOON),
    a_crawled_url(1),
    a_visit(1, change_class="title", callback_run=True),
    GoneRecord(a_key(1), NOON),
]


def test_memory_is_bounded_and_nothing_is_left_on_the_disk(tmp_path: Path) -> None:
    waiting = Spool(folder=tmp_path)
    for number in range(5_000):
        waiting.add([a_visit(number)])

    assert len(waiting._records) < _IN_MEMORY
    assert list(tmp_path.iterdir()) == []
    waiting.close()


def test_what_a_full_disk_does_not_take_stays_in_memory_in_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    records = EVERY_KIND * 450
    with small_disk(tmp_path / "disk", 50 * 4_096) as disk:
        waiting = Spool(folder=disk.folder)
        for start in range(0, len(records), 7):
            waiting.add(records[start : start + 7])

        assert list(waiting.take()) == records
        assert disk.free_bytes == 50 * 4_096
    assert not waiting.is_given_up
    assert len(caplog.records) == 1


def test_too_much_for_memory_and_disk_is_given_up_as_a_whole(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 100_000) as disk:
        waiting = Spool(most_in_memory=1_000, folder=disk.folder)
        for number in range(5_000):
            waiting.add([a_visit(number)])

        assert waiting.is_given_up
        assert list(waiting.take()) == []
