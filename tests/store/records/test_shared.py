import uuid
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select

from scrapy_dedup.core.chunks.chunks import HOLDING
from scrapy_dedup.core.duplicates import Sketch, shingles, sketch_of
from scrapy_dedup.store.records import shared
from scrapy_dedup.store.records.records import ForgetRecord, GoneRecord, Record, SignatureRecord
from scrapy_dedup.store.records.shared import MOVED, PAGES_OF_A_BAND, BandMatch, Question
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import NearDuplicate, PageSignature
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_chunk, a_chunks, a_document, a_key
from tests.store.test_plans import plans

TEXT = " ".join(f"word{number}" for number in range(100))
ALIKE = TEXT.replace("word50", "changed")
OTHER = TEXT.replace("word", "other")


def a_sketch(text: str = TEXT) -> Sketch:
    found = sketch_of(shingles(text), b"shop")
    assert found is not None
    return found


def a_signature(name: object = 1, text: str = TEXT, **fields: object) -> SignatureRecord:
    given: dict[str, object] = {"text_hash": a_key(text), "sketch": a_sketch(text)} | fields
    return SignatureRecord(a_key(name), DOMAIN, **given)  # type: ignore[arg-type]


def write(project: ProjectStore, *records: SignatureRecord) -> None:
    with project._database.transaction(write=True) as connection:
        shared.write_signatures(connection, project.id, records)


def forget(project: ProjectStore, *names: object) -> int:
    with project._database.transaction(write=True) as connection:
        return shared.forget_signatures(connection, project.id, [a_key(name) for name in names])


def candidates(project: ProjectStore, text: str = TEXT, **options: object) -> list[BandMatch]:
    with project._database.transaction() as connection:
        return shared.candidates(connection, project.id, a_sketch(text).bands, **options)  # type: ignore[arg-type]


def keys(project: ProjectStore, text: str = TEXT, **options: object) -> list[bytes]:
    return [found.page_key for found in candidates(project, text, **options)]


def bands(project: ProjectStore) -> int:
    with project._database.transaction() as connection:
        return connection.scalar(select(func.count()).select_from(NearDuplicate)) or 0


def rows(connection: Connection) -> Iterator[tuple[object, ...]]:
    """Yield what is stored of each page and each of its bands, whatever the numbers of the rows."""
    joined = select(PageSignature.page_key, NearDuplicate.band).outerjoin(
        NearDuplicate, NearDuplicate.page == PageSignature.id
    )
    yield from sorted(tuple(row) for row in connection.execute(joined))


class TestCandidates:
    def test_of_a_band_that_many_pages_share_the_oldest_are_looked_at(self, project):
        write(project, *(a_signature(number) for number in range(PAGES_OF_A_BAND)))
        write(project, *(a_signature(f"late {number}") for number in range(20)))

        assert len(keys(project, limit=1_000)) == PAGES_OF_A_BAND
        assert set(keys(project)) == {a_key(number) for number in range(PAGES_OF_A_BAND)}


class TestWrite:
    def test_a_page_that_gets_a_keeper_loses_its_bands_and_has_them_again_without(self, project):
        write(project, a_signature("a"))

        write(project, a_signature("a", keeper=a_key("k"), layer="near_duplicate", jaccard=0.95))
        assert (keys(project), bands(project)) == ([], 0)

        write(project, a_signature("a"))
        assert (keys(project), bands(project)) == ([a_key("a")], 20)

    def test_more_pages_than_one_statement_takes_are_written_and_forgotten(self, project):
        many = [a_signature(number, f"{number} {number + 1}") for number in range(600)]

        write(project, *many)
        write(project, *many)

        assert bands(project) == 20 * 600
        assert forget(project, *range(600), "unknown") == 600
        assert bands(project) == 0


STEPS = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from([TEXT, ALIKE, OTHER, None]), st.booleans()), min_size=1, max_size=12
)


@settings(max_examples=20, deadline=None)
@given(STEPS, st.integers(1, 5))
def test_how_pages_are_split_into_writes_changes_nothing(lasting, steps, size):
    """And a page has the bands of its last sketch, no others."""
    project = lasting.project("split")
    records = [
        a_signature(name, text or TEXT, sketch=a_sketch(text) if text else None, keeper=a_key("k") if kept else None)
        for name, text, kept in steps
    ]

    def final(size: int) -> list[tuple[object, ...]]:
        forget(project, 1, 2, 3, 4)
        assert bands(project) == 0
        for start in range(0, len(records), size):
            write(project, *records[start : start + size])
        with project._database.transaction() as connection:
            return list(rows(connection))

    last = {record.page_key: record for record in records}
    expected = sorted((key, band) for key, record in last.items() for band in record.bands() or [None])
    assert final(size) == final(len(records)) == final(1) == expected


@pytest.fixture(scope="module")
def crowded(tmp_path_factory) -> Iterator[ProjectStore]:
    path = tmp_path_factory.mktemp("crowded") / "dedup.db"
    with Store.open(f"sqlite:///{path}") as store:
        project = store.project("crowded")
        write(project, *(a_signature(number) for number in range(2_000)))
        yield project


def test_a_question_is_answered_by_the_indexes(crowded):
    with plans(crowded._database) as found:
        keys(crowded)

    searched = [plan for plan in found if plan.startswith(("SEARCH", "SCAN"))]
    assert sum("SEARCH near_duplicates USING PRIMARY KEY (band=?)" in plan for plan in searched) == 20
    assert any("SEARCH page_signatures USING INTEGER PRIMARY KEY" in plan for plan in searched)
    assert not any(plan.startswith("SCAN") and ("near_dup" in plan or "page_sign" in plan) for plan in searched)


def holders(project: ProjectStore, text: str, asked_by: object = "nobody") -> list[bytes]:
    question = Question(a_key(asked_by), DOMAIN, hashes=frozenset([a_key(text)]))
    return project.others(question).holders.get(a_key(text), [])


def with_text(name: object, *texts: str, left_out: Sequence[tuple[str, object]] = ()) -> list[Record]:
    """A completed page that gives some texts and leaves others to their holders."""
    given_out = [a_chunk(place, text) for place, text in enumerate(texts)]
    others = [
        a_chunk(len(texts) + place, text, state="removed", layer="chunk", holder=a_key(holder))
        for place, (text, holder) in enumerate(left_out)
    ]
    return [a_document(name), a_chunks(name, *given_out, *others)]


def test_a_text_moves_to_the_next_page_when_its_holder_is_forgotten(project):
    """For a holder that is gone, or changed, the law below has it."""
    project.write(with_text(1, "shared") + with_text(2, left_out=[("shared", 1)]))

    project.write([ForgetRecord(a_key(1))])

    (moved,) = project.chunks_of(a_key(2))
    assert (moved.state, moved.layer, moved.holder, moved.reason) == ("due", None, None, MOVED)
    assert holders(project, "shared") == [a_key(2)]


PAGES, TEXTS = range(4), ("a", "b", "c")
CRAWLED = st.tuples(st.sampled_from(PAGES), st.lists(st.sampled_from(TEXTS), unique=True))
EVENTS = st.lists(st.one_of(CRAWLED, st.sampled_from(PAGES)), max_size=14)


@settings(max_examples=60, deadline=None)
@given(events=EVENTS, most=st.integers(1, 3))
def test_every_text_lives_in_so_many_pages_whatever_comes_in_whatever_order(lasting, events, most):
    """A page is crawled, with other texts than before perhaps, or it is gone; texts move to whoever else has them."""
    project = lasting.project(str(uuid.uuid4()))
    having: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, int):
            having.pop(event, None)
            project.write([GoneRecord(a_key(event), NOON)])
            continue
        page, texts = event
        having[page] = texts
        taken = {text: found for text in texts if len(found := holders(project, text, page)) >= most}
        chunks = [
            a_chunk(place, text, state="removed", layer="chunk", holder=taken[text][0])
            if text in taken
            else a_chunk(place, text)
            for place, text in enumerate(texts)
        ]
        project.write([a_document(page), a_chunks(page, *chunks, most_holders=most)])

    for text in TEXTS:
        pages = [page for page, texts in having.items() if text in texts]
        held = [
            page
            for page in pages
            if any(one.content_hash == a_key(text) and one.state in HOLDING for one in project.chunks_of(a_key(page)))
        ]
        assert len(held) == len(holders(project, text))
        assert min(len(pages), 1) <= len(held) <= most
