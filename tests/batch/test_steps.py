"""What a batch gives is what `scrapy dedup clean` gives, however the input is divided; without Spark."""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest

from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.settings import Settings
from tests.batch.by_hand import ByHand
from tests.batch.corpora import MIXED, PATIENT, as_lines, hospital
from tests.service.files.test_run import SITE, Done, a_row, without_seconds
from tests.standing import CASES as STANDING
from tests.standing import SETTINGS
from tests.standing import rows as rows_of

PLANS = ("known", "learned", "small")


def reports(batch: ByHand) -> list[dict[str, Any]]:
    names = ("url", "cleaned_content", "title", "date", "author", "dedup")
    rows = [dict(zip(names, row, strict=False)) for row in sorted(batch.rows, key=lambda row: row[-1])]
    return [row | {"dedup": json.loads(row["dedup"])} for row in rows]


def left(batch: ByHand) -> list[dict[str, Any]]:
    rows = sorted(batch.left, key=lambda row: row[-1])
    return [dict(zip(("url", "layer", "reason", "keeper"), row, strict=False)) for row in rows]


def parts_of(rows: Sequence[Any], number: int) -> list[Sequence[bytes]]:
    lines = as_lines(rows)
    size = -(-len(lines) // number)
    return [lines[at : at + size] for at in range(0, len(lines), size)]


def check(rows: Sequence[Any], parts: int, **chosen: Any) -> ByHand:
    """Run both on some rows, and compare all that they say."""
    chosen = {"pdf_timeout": PATIENT} | chosen
    batch, done = ByHand(*parts_of(rows, parts), settings=Settings(**chosen)), Done(*rows, **chosen)
    assert reports(batch) == done.rows
    assert left(batch) == done.watching.left
    tally, expected = batch.tally, done.tally
    assert [one.partition(": ")[2] for one in batch.bad] == [one.reason for one in done.watching.bad]
    assert (tally.pages, tally.bad, tally.no_page) == (expected.pages, expected.bad, expected.no_page)
    assert (tally.hows, tally.flags) == (expected.hows, expected.flags)
    assert without_seconds(tally.counts) == without_seconds(expected.counts)
    assert [getattr(batch.plan, name) for name in PLANS] == [getattr(done.plan, name) for name in PLANS]
    return batch


CASES: Mapping[str, Mapping[str, Any]] = {
    "as-it-is": {},
    "with-details": {"item_details": frozenset({"chunks", "removed"})},
    "near-duplicates-left-out": {"near_duplicate": "drop"},
    "no-near-duplicates": {"near_duplicate": "off"},
    "within-domains": {"near_duplicate_scope": "domain"},
    "trusted-titles": {"title_trust": "always"},
    "two-layers-in-the-shadow": {"shadow": frozenset({"chunk", "duplicate"})},
    "no-chunks": {"chunk_enabled": False},
    "no-addresses": {"url_enabled": False, "canonical_enabled": False},
    "one-language": {"languages": frozenset({"nl"})},
    "as-text": {"output": "text"},
    "as-html": {"output": "html"},
    "few-to-learn-from": {"learn_pages": 6},
}


@pytest.mark.parametrize("chosen", [pytest.param(value, id=name) for name, value in CASES.items()])
def test_a_batch_gives_what_clean_gives(chosen):
    batch = check(MIXED, 3, **chosen)

    assert batch.rows


def test_so_it_does_on_a_site_with_every_kind_of_repetition():
    batch = check(hospital(), 4, languages=frozenset({"nl"}))

    assert batch.left


def test_so_it_does_where_pages_may_stand_for_others():
    rows = [row for number, case in enumerate(STANDING.values()) for row in rows_of(case, f"https://s{number}.example")]

    check(rows, 4, **SETTINGS)


@pytest.mark.parametrize(("seed", "parts"), [(1, 1), (2, 9)])
def test_so_it_does_in_any_order_and_in_any_number_of_parts(seed, parts):
    rows = list(MIXED)
    Random(seed).shuffle(rows)

    check(rows, parts)


def test_a_site_that_the_store_knows_is_cut_by_that_and_not_learned():
    rows = [a_row(number) for number in range(8)]
    learned = ByHand(as_lines(rows))
    (known,) = [SiteKnowledge.from_json(json.loads(row[-1])) for row in learned.learned]

    batch = ByHand(as_lines(rows[:2]), known={known.domain: known}.get)

    assert [len(getattr(batch.plan, name)) for name in PLANS] == [1, 0, 0]
    assert [row["dedup"]["how"] for row in reports(batch)] == ["template", "template"]


def test_a_domain_that_cannot_be_learned_is_cut_by_the_fallback():
    batch = check([a_row(number, html="<p>" * 3) for number in range(6)], 2)

    assert {row["url"] for row in reports(batch)} <= {f"{SITE}{number}" for number in range(6)}
