import threading
from datetime import timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select, text, update

from scrapy_dedup.core.duplicates import shingles, sketch_of
from scrapy_dedup.store.domains.layouts import RUN_COUNTS_KEPT, SIGNATURES_KEPT
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.records import BlockEvidence, CleanedRecord, KeepPolicy, Record, ValidatorRecord
from scrapy_dedup.store.repositories import ProjectRepository
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import Base, LayoutSignature, SourceRow
from scrapy_dedup.store.writer import ProjectStore
from tests.store.at_once import at_once
from tests.store.builders import (
    DOMAIN,
    NOON,
    a_boilerplate,
    a_chunk,
    a_chunks,
    a_crawled_url,
    a_decision,
    a_document,
    a_key,
    a_layout_count,
    a_signature,
    a_source,
    a_template,
    a_text_signature,
    a_time,
    a_visit,
    an_alarm,
    an_extraction,
    document_of,
    source_of,
    state_of,
    url_of,
)
from tests.store.engine.test_codec import ANY_TEXT
from tests.store.writing_at_random import PAGES, TURNS, write_at_random
from tests.tables import table

ENOUGH = 60


def everything_about(name: object) -> list[Record]:
    return [
        a_source(name, title="T", content_type="text/html", source_group="g", cleaned_content="page"),
        a_document(name, verdict="new", content_hash=a_key("c"), chars_in=9, chars_out=4),
        a_crawled_url(name),
        a_decision(name, detail={"removed": 2}),
        a_decision(name, layer="canonical", action="keep", reason="self"),
        a_boilerplate(boilerplate_hashes=("00aa",), evidence={"00aa": BlockEvidence(41, "body>p", "Cookies")}),
        a_visit(name),
        an_extraction(name, items=[{"title": "T"}]),
        a_template(state="live", overrides=[{"action": "drop", "selector": ".ads"}], selectors={"content": ["main"]}),
        an_alarm(),
        a_text_signature(name, sketch=sketch_of(shingles(f"five different words about {name}"), b"")),
        a_chunks(name, a_chunk(0, text=f"about {name}")),
    ]


def dump(store: Store) -> dict[str, list[tuple[object, ...]]]:
    with store.session(read_only=True) as session:
        return {
            table: sorted((tuple(row) for row in session.execute(text(f"SELECT * FROM {table}"))), key=repr)
            for table in sorted(Base.metadata.tables.keys() - {"domain_boilerplate"})
        }


def test_knowledge_is_kept_by_method_and_replaced_by_the_next(project):
    first = a_boilerplate(boilerplate_hashes=("00aa",), evidence={"00aa": BlockEvidence(41, "body>p", "\0\ud800")})
    project.write([first, a_boilerplate(method="text", pages_analyzed=7)])
    before = project.knowledge(DOMAIN)

    project.write([a_boilerplate(boilerplate_hashes=("00bb", "00cc"))])

    after = project.knowledge(DOMAIN)
    assert before["html"].evidence == first.evidence
    assert after["html"].boilerplate_hashes == ("00bb", "00cc")
    assert after["html"].evidence is None
    assert after["text"] == before["text"]
    assert (after["html"].id, after["html"].created_at) == (before["html"].id, before["html"].created_at)
    assert after["html"].updated_at >= before["html"].updated_at


def test_projects_do_not_see_each_other(store, project):
    project.write(everything_about(1))

    other = store.project("other")

    assert other.page(a_key(1)) is None
    assert not other.is_known(DOMAIN)
    assert store.project("shop").page(a_key(1)) is not None


def test_nothing_of_a_batch_is_written_or_shown_when_one_record_cannot_be(store, project):
    before, naive = dump(store), NOON.replace(tzinfo=None)

    with pytest.raises(StoreError, match="needs a zone") as caught:
        project.write([a_document(1, title="a secret title"), a_crawled_url(1, last_crawled_at=naive)])

    assert dump(store) == before
    assert "secret" not in str(caught.value)


def test_times_come_back_in_utc(project):
    project.write([a_crawled_url(last_crawled_at=NOON.astimezone(timezone(timedelta(hours=5))))])

    assert url_of(project, 1).last_crawled_at == NOON
    assert url_of(project, 1).last_crawled_at.utcoffset() == timedelta(0)


def test_a_deleted_project_is_an_error_with_a_way_out(store, project):
    with store.session() as session:
        ProjectRepository(session).delete(project.id)
        session.commit()

    with pytest.raises(StoreError, match="project 'shop' was deleted"):
        project.write([a_document(1)])


def test_a_damaged_content_is_an_error_that_names_the_store(store, project):
    project.write([a_source()])
    with store.session() as session:
        session.execute(update(SourceRow).values(content=b"damaged"))
        session.commit()

    with pytest.raises(StoreError, match=r"store .*: a stored content cannot be unpacked .*restore a copy"):
        project.page(a_key())


HOSTILE = "a\0b\ud800c\u202e<script>'; DROP TABLE sources; --"
STORED = HOSTILE.replace("\0", "\ufffd").replace("\ud800", "\ufffd")


def test_hostile_text_is_stored_without_what_no_column_holds(store):
    project = store.project(HOSTILE)
    places = {"url": HOSTILE, "domain": HOSTILE}
    names = {**places, "title": HOSTILE}
    project.write(
        [
            a_source(content=HOSTILE, cleaned_content=HOSTILE, source_group=HOSTILE, content_type=HOSTILE, **names),
            a_document(error=HOSTILE, canonical_url=HOSTILE, **names),
            a_crawled_url(url=HOSTILE, domain=HOSTILE),
            a_decision(reason=HOSTILE, detail={HOSTILE: HOSTILE}),
            a_boilerplate(domain=HOSTILE),
            a_visit(reason=HOSTILE),
            an_extraction(requests=[{HOSTILE: HOSTILE}], callback=HOSTILE, dedup_version=HOSTILE, **places),
            ValidatorRecord(HOSTILE, sent=1),
        ]
    )

    assert source_of(project).content == HOSTILE  # the original is never modified
    assert source_of(project).cleaned_content == document_of(project).title == url_of(project).url == STORED
    assert project.decisions(a_key(1))[0].detail == {HOSTILE: HOSTILE}
    assert project.is_known(HOSTILE)
    assert project.extractions_of(a_key(1))[0].requests == [{HOSTILE: HOSTILE}]
    assert project.validator_counts(HOSTILE).sent == 1
    assert store.project(HOSTILE).id == project.id


@pytest.fixture(scope="module")
def lasting_project(lasting) -> ProjectStore:
    return lasting.project("p")


@settings(max_examples=50, deadline=None)
@given(
    content=ANY_TEXT,
    title=st.none() | ANY_TEXT,
    cleaned=st.none() | ANY_TEXT,
    detail=st.dictionaries(ANY_TEXT, ANY_TEXT),
)
def test_any_record_round_trips(lasting_project, content, title, cleaned, detail):
    """Every example overwrites the same page, which is a law of its own."""
    lasting_project.write([a_source(content=content, title=title, cleaned_content=cleaned), a_decision(detail=detail)])

    source = source_of(lasting_project, 1)
    assert source.content == content
    assert (source.title is None, source.cleaned_content is None) == (title is None, cleaned is None)
    assert lasting_project.decisions(a_key(1))[0].detail == detail


def test_one_thread_may_write_while_others_read(store, project):
    project.write([a_document(0), a_boilerplate()])
    seen: list[bool] = []

    def read() -> None:
        seen.extend(project.is_known(DOMAIN) and project.page(a_key(0)) is not None for _ in range(30))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(30):
        project.write([a_document(number), a_source(number)])
    for reader in readers:
        reader.join()

    assert seen == [True] * 90


def test_a_store_in_memory_serves_several_threads(lasting_project):
    failed: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for number in range(20):
                lasting_project.write([a_document((name, number))])
                assert lasting_project.page(a_key((name, number))) is not None
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []


def test_a_new_original_forgets_the_text_of_the_old_one(project):
    project.write([a_source(1, cleaned_content="old")])

    project.write([CleanedRecord(a_key(1), "older"), a_source(1, content="new", fetched_at=a_time(1))])

    assert source_of(project, 1).cleaned_content is None


@pytest.fixture
def project(store) -> ProjectStore:
    return store.project("shop", KeepPolicy(enough_pages=ENOUGH))


@table("store/what_repeats_on_a_domain_is_not_replaced_by_what_fewer_pages_show")
def test_what_repeats_on_a_domain_is_not_replaced_by_what_fewer_pages_show(project, stored, new, left):
    for pages in (stored, new):
        project.write([a_boilerplate(pages_analyzed=pages), a_boilerplate(domain="other.example", pages_analyzed=new)])

    (known,) = project.knowledge(DOMAIN).values()
    assert known.pages_analyzed == left
    assert [one.pages_analyzed for one in project.knowledge("other.example").values()] == [new]


def templates(project: ProjectStore) -> list[tuple[int, int]]:
    return [(one.version, one.pages) for one in project.templates(DOMAIN)]


@pytest.mark.parametrize(("job", "left"), [("night", (1, 40)), ("", (2, 16))], ids=["shared", "alone"])
def test_a_template_is_not_replaced_by_what_another_worker_saw_on_fewer_pages(project, job, left):
    """Who crawls alone knows what it learned before, and has a reason."""
    project.begin_run(spider="site", jobdir=None, started_at=NOON, job=job)
    project.write([a_template(state="live", pages=40, body={"by": "one"}, created_at=a_time(1))])

    project.write([a_template(state="live", pages=16, body={"by": "other"}, created_at=a_time(2))])

    assert templates(project) == [left]


def test_who_could_not_ask_what_was_known_of_a_page_does_not_destroy_it(project):
    project.write([a_document(1, visits_count=7, changes_count=3, first_seen_at=NOON)])

    project.write([a_document(1, visits_count=1, changes_count=0, first_seen_at=a_time(9), updated_at=a_time(9))])

    state = project.page_states([a_key(1)])[a_key(1)]
    assert (state.visits_count, state.changes_count, state.first_seen_at) == (7, 3, NOON)
    assert state_of(project, 1).last_seen_at == a_time(9)


def _signatures(project: ProjectStore) -> list[tuple[int, int]]:
    with project.transaction() as connection:
        order = (LayoutSignature.level, LayoutSignature.signature_hash)
        return [(level, signature) for level, signature in connection.execute(select(*order).order_by(*order))]


class TestSignatures:
    def test_the_least_recently_seen_are_forgotten(self, project):
        most = SIGNATURES_KEPT
        project.write(a_signature(number, last_seen_at=a_time(number)) for number in range(most))
        project.write(
            [a_signature(0, last_seen_at=a_time(2 * most)), *(a_signature(number, level=2) for number in range(most))]
        )
        assert len(_signatures(project)) == 2 * most

        project.write([a_signature(most, last_seen_at=a_time(most))])

        kept = [signature for level, signature in _signatures(project) if level == 1]
        assert most * 0.8 < len(kept) < most
        assert kept == [0, *range(most + 2 - len(kept), most + 1)]
        assert len(_signatures(project)) == len(kept) + most


class TestFigures:
    def test_the_oldest_counts_are_forgotten(self, project):
        most = RUN_COUNTS_KEPT
        project.write([a_layout_count(domain="other", layout=number) for number in range(2)])
        project.write([a_layout_count(layout=number) for number in range(most)])
        assert len(project.layouts(DOMAIN)) == most

        project.write([a_layout_count(layout=most)])

        kept = [one.layout for one in project.layouts(DOMAIN)]
        assert most * 0.8 < len(kept) < most
        assert kept == list(range(most + 1 - len(kept), most + 1))
        assert len(project.layouts("other")) == 2


class TestAlarms:
    def test_an_alarm_of_a_layout_is_one_with_new_figures_until_it_is_cleared(self, project):
        cleared = an_alarm(raised_at=None, cleared_at=a_time(1))
        again = an_alarm(raised_at=a_time(0.5), pages_failed=9, pages_looked=10)
        batch = [cleared, an_alarm(), again, cleared, an_alarm(raised_at=a_time(2)), an_alarm(layout=8)]
        project.write(batch)

        newest, first, other = project.alarms()

        assert (newest.raised_at, newest.cleared_at, newest.cause) == (a_time(2), None, "content root lost")
        assert (other.layout, other.raised_at, other.cleared_at) == (8, NOON, None)
        assert (first.raised_at, first.cleared_at, first.pages_failed) == (NOON, a_time(1), 9)
        assert [one.raised_at for one in project.alarms(open_only=True)] == [a_time(2), NOON]
        assert project.alarms("other") == []


WORKERS = 8


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
def test_eight_workers_that_write_all_of_the_same_pages_never_wait_in_a_circle(url):
    Store.open(url).close()

    at_once(WORKERS, write_at_random, url)

    with Store.open(url) as store, store.session(read_only=True) as session:
        deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        assert session.scalar(text(deadlocks)) == 0
        sent, high = (
            session.scalar(text(f"SELECT sum({column}) FROM {table}"))
            for column, table in (("sent", "domain_validators"), ("high_quality_candidate_count", "domain"))
        )
        assert (sent, high) == (WORKERS * TURNS * PAGES, WORKERS * TURNS * PAGES)
