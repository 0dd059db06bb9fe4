"""What an upkeep removes, and what it leaves: on both databases."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from scrapy_dedup.service.store_upkeep import Upkeep, look, tidy
from scrapy_dedup.store.columns import now
from scrapy_dedup.store.keep_policy import KeepPolicy
from scrapy_dedup.store.layout_pictures import StoredPicture
from scrapy_dedup.store.models import Base, SeenScope, SeenUrl
from scrapy_dedup.store.records import GoneRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import (
    DOMAIN,
    NOON,
    a_chunk,
    a_chunks,
    a_crawled_url,
    a_decision,
    a_document,
    a_key,
    a_source,
    a_text_signature,
    a_time,
    a_visit,
    an_extraction,
)
from tests.store.conftest import new_url, postgresql, project, store, url
from tests.store.test_writer import dump, everything_about

__all__ = ["new_url", "postgresql", "project", "store", "url"]

LATER = a_time(24 * 365)
ALL = KeepPolicy()


def rows_of(upkeep: Upkeep) -> dict[str, int]:
    return {each.what: each.rows for each in upkeep.removals}


def counts(store: Store) -> dict[str, int]:
    with store.session(read_only=True) as session:
        tables = Base.metadata.tables
        return {name: session.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in tables}


def both(store: Store, project: ProjectStore, keep: KeepPolicy = ALL, before: Any = LATER) -> dict[str, int]:
    """Return what was removed, after checking that this was announced."""
    announced = look(store, project, keep, before)
    progress: Counter[str] = Counter()
    done = tidy(store, project, keep, before, lambda rows: progress.update(rows=rows))
    assert rows_of(done) == rows_of(announced)
    assert done.removals == announced.removals
    assert done.rows == progress["rows"]
    assert look(store, project, keep, before).removals == ()
    return rows_of(done)


def test_what_is_in_use_stays_as_it_is(store: Store, project: ProjectStore) -> None:
    project.begin_run(spider="s", jobdir=None, started_at=LATER)
    project.write(everything_about(1) + everything_about(2))
    before = dump(store)

    assert both(store, project) == {}
    assert dump(store) == before


def test_all_there_is_of_a_page_that_is_gone_for_long_goes(store: Store, project: ProjectStore) -> None:
    project.write(everything_about(1) + everything_about(2))
    project.write([GoneRecord(a_key(1), a_time(1)), a_crawled_url("alias", status="alias", document_key=a_key(1))])

    assert both(store, project) == {
        "originals of pages gone for long": 1,
        "extractions of pages gone for long": 1,
        "decisions of pages gone for long": 2,
        "documents of pages gone for long": 1,
        "URLs of pages gone for long": 2,
    }
    left = counts(store)
    assert {left[name] for name in ("sources", "documents", "page_signatures", "document_chunks", "crawled_urls")} == {
        1
    }
    assert left["near_duplicates"] > 0
    assert project.page(a_key(1)) is None
    assert project.page(a_key(2)) is not None


@pytest.mark.parametrize(
    ("gone_hours", "asked_hours"),
    [pytest.param(24 * 366, 0, id="gone-lately"), pytest.param(0, 24 * 366, id="asked-for-lately")],
)
def test_page_that_is_gone_stays_while_crawls_still_ask_for_it(
    store: Store, project: ProjectStore, gone_hours: float, asked_hours: float
) -> None:
    project.write([a_document(), GoneRecord(a_key(), a_time(gone_hours))])
    project.write([a_crawled_url(status="failed", http_status=404, last_crawled_at=a_time(asked_hours))])

    assert both(store, project) == {}


def test_originals_beyond_those_that_are_kept_go(store: Store) -> None:
    project = store.project("shop", KeepPolicy(pages=4))
    for version in range(5):
        project.write([a_source(content=f"version {version}", fetched_at=a_time(version))])
    stored = stored_bytes(store)

    assert both(store, project, KeepPolicy(pages=4)) == {}
    assert both(store, project, KeepPolicy(pages=2)) == {"older originals beyond DEDUP_KEEP_PAGES": 2}
    assert [one.content for one in project.versions(a_key())] == ["version 3"]
    assert both(store, project, KeepPolicy(pages="none")) == {
        "older originals beyond DEDUP_KEEP_PAGES": 1,
        "originals, by DEDUP_KEEP_PAGES": 1,
    }
    assert stored > 0
    assert stored_bytes(store) == 0


def stored_bytes(store: Store) -> int:
    with store.session(read_only=True) as session:
        return int(session.execute(text("SELECT stored_bytes FROM projects")).scalar_one())


def test_decisions_and_visits_beyond_their_bounds_go_the_oldest_first(store: Store, project: ProjectStore) -> None:
    project.write([a_decision(n, decided_at=a_time(n)) for n in range(9)])
    project.write([a_document(n) for n in range(9)])
    project.write([a_visit(n, at=a_time(n)) for n in range(9)])

    removed = both(store, project, KeepPolicy(decisions=4, visits=7))

    assert removed == {"decisions beyond DEDUP_KEEP_DECISIONS": 5, "visits beyond DEDUP_KEEP_VISITS": 2}
    assert [len(project.decisions(a_key(n))) for n in range(9)] == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_what_belongs_to_no_page_goes_once_it_is_old(store: Store, project: ProjectStore) -> None:
    project.write([an_extraction(), a_decision(2), a_decision(3), a_crawled_url(3, document_key=None)])
    project.write([a_text_signature(6), a_chunks(7, a_chunk())])
    project.write([an_extraction(4, created_at=LATER), a_decision(5, decided_at=LATER)])

    assert both(store, project) == {
        "extractions of pages that are not there": 1,
        "decisions of pages that are not there": 1,
        "signatures of pages that are not there": 1,
        "chunks of pages that are not there": 1,
    }


def test_extraction_of_a_content_that_its_page_lost_goes(store: Store, project: ProjectStore) -> None:
    project.write([a_document(content_hash=a_key("new")), an_extraction(content="old"), an_extraction(content="new")])
    # Pages under way: their documents get the new content once their items are safe.
    project.write([a_document(2, content_hash=a_key("old")), a_document(3, content_hash=a_key("old"))])
    project.write([a_document(2, status="processing"), an_extraction(2, content="new")])
    project.write([an_extraction(3, content="new", created_at=a_time(1))])

    assert both(store, project) == {"extractions of contents that pages no longer have": 1}


def test_old_pictures_go(store: Store, project: ProjectStore) -> None:
    for layout, at in ((1, NOON), (2, LATER)):
        project.put_picture(StoredPicture(DOMAIN, layout, "https://www.example.com/", at, 9, 9, [], b"PNG"))

    assert both(store, project) == {"pictures of layouts": 1}


def test_another_project_is_left_alone(store: Store, project: ProjectStore) -> None:
    other = store.project("other")
    other.write([*everything_about(1), GoneRecord(a_key(1), a_time(1))])

    assert both(store, project) == {}


def test_many_rows_go_in_parts(store: Store, project: ProjectStore) -> None:
    project.write([a_decision(n) for n in range(2_500)])

    assert both(store, project) == {"decisions of pages that are not there": 2_500}
    assert counts(store)["decisions"] == 0


def test_space_goes_back_to_the_disk(store: Store, project: ProjectStore) -> None:
    contents = [" ".join(a_key((n, word)).hex() for word in range(500)) for n in range(60)]
    project.write([a_source(n, content=content) for n, content in enumerate(contents)])

    done = tidy(store, project, KeepPolicy(pages="none"), LATER, lambda _: None)

    assert done.space is not None
    assert done.space.kept_because is None
    in_file = str(store).startswith("<Store sqlite")
    assert done.space.after < done.space.before if in_file else done.space.unused is None
    assert done.size_bytes > 100_000


def test_file_is_not_written_anew_while_a_crawl_is_under_way(store: Store, project: ProjectStore) -> None:
    run = project.begin_run(spider="s", jobdir=None, started_at=NOON)
    project.report_run(run.id, {}, now())

    done = tidy(store, project, ALL, NOON - timedelta(days=1), lambda _: None)

    assert done.space is not None
    if str(store).startswith("<Store sqlite"):
        assert done.space.kept_because == "a crawl is under way"


def test_queues_that_ended_are_forgotten(store: Store, project: ProjectStore, url: Any) -> None:
    names: Mapping[str, bool] = {f"run {a_run(project, ends=ends)}": ends for ends in (True, False)}
    for name in (*names, "job of-a-folder"):
        add_scope(store, project, name)

    removed = both(store, project, before=NOON - timedelta(days=1))

    assert removed == {"URLs that ended queues have seen": 3}
    with store.session(read_only=True) as session:
        left = set(session.execute(text("SELECT name FROM seen_scopes")).scalars())
    assert left == {"job of-a-folder", *(name for name, ends in names.items() if not ends)}


def a_run(project: ProjectStore, *, ends: bool) -> str:
    run = project.begin_run(spider="s", jobdir=None, started_at=now())
    if ends:
        project.end_run(run.id, status="finished", reason="finished", stats={}, finished_at=now())
    return str(run.id)


def add_scope(store: Store, project: ProjectStore, name: str) -> None:
    with store.session() as session:
        scope = SeenScope(project_id=project.id, name=name, begun_at=now())
        session.add(scope)
        session.flush()
        session.add_all(SeenUrl(scope_id=scope.id, fingerprint=a_key((name, n))) for n in range(3))
        session.commit()
