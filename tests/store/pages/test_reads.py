import uuid

import pytest

from scrapy_dedup.store.pages.reads import Reads
from scrapy_dedup.store.records.stored import DomainFigures
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import DOMAIN, NOON, a_crawled_url, a_decision, a_document, a_key, a_source
from tests.tables import table


@pytest.fixture
def first_run(project: ProjectStore) -> uuid.UUID:
    """Two runs; the second fetched page 2 again."""
    first = project.begin_run(spider="site", jobdir=None, started_at=NOON)
    project.write(
        record
        for name in (1, 2)
        for record in (a_document(name, chars_in=10, chars_out=8), a_crawled_url(name), a_decision(name))
    )
    project.begin_run(spider="site", jobdir=None, started_at=NOON)
    project.write([a_document(2, chars_in=20, chars_out=5), a_crawled_url(2), a_decision(2, reason="other")])
    return first.id


def test_a_project_is_read_as_a_whole(store: Store, project: ProjectStore, first_run: uuid.UUID) -> None:
    with store.session(read_only=True) as session:
        reads = Reads(session, project.id)

        assert reads.domains() == [DomainFigures(DOMAIN, 2, 30, 13)]
        assert reads.pages_fetched() == 2


def test_a_run_has_the_rows_that_it_wrote_last(store: Store, project: ProjectStore, first_run: uuid.UUID) -> None:
    with store.session(read_only=True) as session:
        reads = Reads(session, project.id, first_run)

        assert reads.domains() == [DomainFigures(DOMAIN, 1, 10, 8)]
        assert reads.pages_fetched() == 1


def test_only_completed_documents_count(store: Store, project: ProjectStore) -> None:
    project.write([a_document(1, status="processing"), a_document(2, status="failed"), a_source(1), a_source(2)])

    with store.session(read_only=True) as session:
        reads = Reads(session, project.id)
        assert (reads.domains(), reads.pages_by_share(3)) == ([], [])


class TestPagesByShare:
    def keys(self, store: Store, project: ProjectStore, kept: list[int]) -> list[bytes]:
        """Store pages of 100 characters, of which so many were kept."""
        for name, chars_out in enumerate(kept):
            project.write([a_document(name, chars_in=100, chars_out=chars_out), a_source(name)])
        with store.session(read_only=True) as session:
            return Reads(session, project.id).pages_by_share(3)

    @table("store/first_middle_and_last")
    def test_first_middle_and_last(self, store: Store, project: ProjectStore, kept: list[int], chosen: list[int]):
        assert self.keys(store, project, kept) == [a_key(name) for name in chosen]

    def test_pages_without_original_or_text_are_left_out(self, store: Store, project: ProjectStore) -> None:
        project.write([a_document(1, chars_in=10, chars_out=5), a_document(2, chars_in=0, chars_out=0), a_source(2)])

        with store.session(read_only=True) as session:
            assert Reads(session, project.id).pages_by_share(3) == []
