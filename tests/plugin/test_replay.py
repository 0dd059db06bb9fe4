import gc
from typing import Any

import pytest
import scrapy
from scrapy import Request, Spider

from scrapy_dedup.core.verdicts import Change, Kind, Verdict
from scrapy_dedup.plugin.outcomes import OutcomeError, item_entry
from scrapy_dedup.plugin.replay import FLAG, empty_response, forget, is_replayed, replayed_items, replaying
from scrapy_dedup.service.recrawling import Judgement, Known
from scrapy_dedup.store.records import ExtractionRecord
from scrapy_dedup.store.stored_visits import StoredState
from tests.store.builders import DOMAIN, NOON, a_key, a_url

UNCHANGED = Verdict(Kind.UNCHANGED, Change.NONE, "main text is the same")


class Shop(Spider):
    name = "shop"

    def parse(self, response: Any) -> None: ...

    def detail(self, response: Any) -> None: ...


class Bare(scrapy.Item):
    name = scrapy.Field()


def a_state(**fields: Any) -> StoredState:
    defaults: dict[str, Any] = dict.fromkeys(StoredState.__dataclass_fields__)
    known = {"page_key": a_key(), "url": a_url(), "domain": DOMAIN, "status": "completed", "last_seen_at": NOON}
    return StoredState(**{**defaults, **known, "memo_keys": frozenset(), **fields})


def an_outcome(*items: Any, requests: Any = ()) -> ExtractionRecord:
    entries: Any = [item_entry(item) for item in items]
    return ExtractionRecord(a_key("m"), a_key(), a_url(), DOMAIN, b"c" * 32, "parse", NOON, requests, entries, {}, None)


def a_judgement(extraction: ExtractionRecord, *, gives: bool = True) -> Judgement:
    return Judgement(Known(a_state(), extraction), UNCHANGED, gives_stored=gives, replays=True)


REPORT = {"verdict": "changed", "change": "content", "reason": "differs", "diff": "-a\n+b", "run": "1", "hash": "h"}


def test_item_with_a_report_says_of_this_run_that_it_is_given_again() -> None:
    (item,) = replayed_items(*outcome_and_judgement({"url": a_url(), "dedup": dict(REPORT)}), "2")

    assert item["dedup"] == {
        "verdict": "unchanged",
        "change": "none",
        "reason": "main text is the same",
        "run": "2",
        "hash": "h",
        "replayed": True,
        "previous_seen_at": NOON.isoformat(),
    }
    assert is_replayed(item)
    assert is_replayed(dict(item)), "pipelines replace items"


def outcome_and_judgement(*items: Any) -> tuple[ExtractionRecord, Judgement]:
    outcome = an_outcome(*items)
    return outcome, a_judgement(outcome)


def test_item_without_a_report_is_known_until_it_has_left() -> None:
    (item,) = replayed_items(*outcome_and_judgement(Bare(name="a")), "2")

    assert is_replayed(item)
    forget(item)
    gc.collect()
    assert not is_replayed(item)


@pytest.mark.parametrize("item", [{"a": 1}, {"dedup": None}, {"dedup": {"replayed": "yes"}}, Bare(name="a"), "text", 5])
def test_other_items_are_not_replayed(item: Any) -> None:
    assert not is_replayed(item)


def test_callback_of_the_page_is_the_outcome() -> None:
    outcome = an_outcome({"dedup": dict(REPORT)}, requests=[["detail", None, a_url(2), a_url(3)]])
    spider = Shop()

    request = replaying(Request(a_url(), cb_kwargs={"n": 1}), a_judgement(outcome), spider, "2")

    assert request.callback is not None
    given = list(request.callback(empty_response(request)))
    assert [one.url for one in given[:2]] == [a_url(2), a_url(3)]
    assert {one.callback for one in given[:2]} == {spider.detail}
    assert is_replayed(given[2])
    assert request.cb_kwargs == {}


def test_items_stay_where_they_are_left_out() -> None:
    outcome = an_outcome({"name": "a"})

    request = replaying(Request(a_url()), a_judgement(outcome, gives=False), Shop(), "2")

    assert request.callback is not None
    assert list(request.callback(empty_response(request))) == []


def test_item_that_cannot_be_made_is_told_before_anything_goes_out() -> None:
    outcome = ExtractionRecord(
        a_key(), a_key(), a_url(), DOMAIN, b"c", "parse", NOON, [], [{"class": "gone.Item", "fields": {}}], {}, None
    )

    with pytest.raises(OutcomeError):
        replaying(Request(a_url()), a_judgement(outcome), Shop(), "2")


def test_response_that_stands_for_a_page_is_told_by_its_flag() -> None:
    request = Request(a_url())
    response = empty_response(request, 404)

    assert (response.status, response.flags, response.body, response.request) == (404, [FLAG], b"", request)
