from typing import Any

import pytest
from msgspec.structs import replace

from scrapy_dedup.core.boilerplate.repeats import Boilerplate
from scrapy_dedup.core.recrawl.verdicts import NEW, Change, Verdict, VerdictKind
from scrapy_dedup.service.crawl.commits import Recorded, Stay, commit
from scrapy_dedup.service.crawl.drafts import Draft
from scrapy_dedup.service.cut.cleaning import clean_html
from scrapy_dedup.service.recrawl import Judgement, KnownPage
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import (
    CrawledUrlRecord,
    DocumentRecord,
    ExtractionRecord,
    Record,
    SeenRecord,
    SourceRecord,
    VisitRecord,
)
from scrapy_dedup.store.records.stored import StoredState
from tests.core.builders import parsed
from tests.store.builders import DOMAIN, NOON, a_key, a_time, a_url

UNCHANGED = Verdict(VerdictKind.UNCHANGED, Change.NONE, "main text is the same")
HTML = "<title>Cats</title><main><p>Cats sleep a lot.</p></main>"
OLD_HASH = b"o" * 32
STAY = Stay(a_url(), a_key(), DOMAIN, a_time(5), 200, 1.5, callback_run=True)


def a_state(**fields: Any) -> StoredState:
    nothing: dict[str, Any] = dict.fromkeys(StoredState.__struct_fields__)
    known = {
        "page_key": a_key(),
        "url": a_url(),
        "domain": DOMAIN,
        "status": "completed",
        "content_hash": OLD_HASH,
        "first_seen_at": a_time(-9),
        "last_seen_at": NOON,
        "visits_count": 3,
        "changes_count": 1,
        "memo_keys": frozenset(),
    }
    return StoredState(**{**nothing, **known, **fields})


def a_draft(**fields: Any) -> Draft:
    page = parsed(HTML)
    cleaned = clean_html(page, Boilerplate(), "markdown", a_url())
    return Draft(a_url(), a_key(), DOMAIN, HTML, a_time(5), page=page, cleaned=cleaned, of_response=True, **fields)


def a_judgement(verdict: Verdict, state: StoredState | None = None, **fields: Any) -> Judgement:
    judgement = Judgement(KnownPage(state), verdict, etag='"1"', blocks=b"b" * 8)
    for name, value in fields.items():
        setattr(judgement, name, value)
    return judgement


Written = tuple[list[Record], list[Record]]


def committed(judgement: Judgement, stay: Stay = STAY, recorded: Recorded | None = None, **settings: Any) -> Written:
    draft = None if judgement.is_unchanged else a_draft()
    return commit(stay, judgement, recorded, draft, Settings(**settings), a_time(6))


def kinds(written: Written) -> tuple[list[type], list[type]]:
    return [type(one) for one in written[0]], [type(one) for one in written[1]]


def of_kind(written: Written, kind: type[Any]) -> Any:
    (found,) = [one for one in (*written[0], *written[1]) if isinstance(one, kind)]
    return found


RECORDED = Recorded(
    a_key("outcome"),
    "parse",
    {"page": 1},
    "2",
    requests=[[None, None, a_url(2)]],
    items=[{"class": "dict", "fields": {}}],
)


@pytest.mark.parametrize(
    ("judgement", "at_once", "seen"),
    [
        pytest.param(lambda: a_judgement(NEW), [SourceRecord], DocumentRecord, id="new"),
        pytest.param(lambda: a_judgement(UNCHANGED, a_state()), [], SeenRecord, id="unchanged"),
    ],
)
def test_page_is_seen_and_its_outcome_held_once_its_items_are_safe(judgement, at_once, seen):
    """The original is written at once; nobody believes it without the document."""
    written = committed(judgement(), recorded=RECORDED)

    assert kinds(written) == (at_once, [seen, VisitRecord, ExtractionRecord, CrawledUrlRecord])
    outcome = of_kind(written, ExtractionRecord)
    assert (outcome.memo_key, outcome.items, outcome.requests) == (RECORDED.key, RECORDED.items, RECORDED.requests)


@pytest.mark.parametrize(
    ("fetched", "status", "url_written"), [("get", 200, True), ("304", 200, True), ("skip", None, False)]
)
def test_what_was_not_received_says_nothing_of_when_it_was(fetched, status, *, url_written):
    written = committed(a_judgement(UNCHANGED, a_state(), fetched=fetched))

    assert of_kind(written, SeenRecord).validated_at == (STAY.at if fetched == "get" else None)
    assert of_kind(written, VisitRecord).http_status == status
    assert any(isinstance(one, CrawledUrlRecord) for one in written[1]) is url_written


def test_first_version_of_a_page_from_elsewhere_is_written_whole():
    """It is unchanged by its word, and there was nothing to compare it with."""
    judgement = a_judgement(UNCHANGED, a_state(content_hash=None))
    written = commit(STAY, judgement, None, a_draft(), Settings(), a_time(6))

    assert kinds(written) == ([SourceRecord], [DocumentRecord, VisitRecord, CrawledUrlRecord])
    assert of_kind(written, DocumentRecord).verdict == "unchanged"


def test_duplicate_stands_for_the_page_that_has_its_content():
    written = committed(a_judgement(NEW, duplicate_of=a_key(2)))
    url = of_kind(written, CrawledUrlRecord)

    assert (url.status, url.document_key, url.alias_kind) == ("duplicate", a_key(2), "canonical")
    assert of_kind(written, VisitRecord).verdict == of_kind(written, DocumentRecord).verdict == "duplicate"
    assert (
        of_kind(committed(a_judgement(UNCHANGED, a_state(), duplicate_of=a_key(2))), SeenRecord).verdict == "duplicate"
    )


def test_duplicate_was_seen_after_the_page_that_it_was_compared_with():
    """Of the two it may have been fetched first; that page would seem to have changed since, and both go out again."""
    duplicate = of_kind(committed(a_judgement(NEW, duplicate_of=a_key(2))), DocumentRecord)

    assert (duplicate.last_seen_at, duplicate.last_changed_at) == (a_time(6), STAY.at)


def test_outcome_that_cannot_be_kept_is_not():
    written = committed(a_judgement(NEW), recorded=replace(RECORDED, unkeepable="Kind"))

    assert kinds(written) == ([SourceRecord], [DocumentRecord, VisitRecord, CrawledUrlRecord])
