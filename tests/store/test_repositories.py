import tracemalloc
import uuid

import pytest
from msgspec import convert
from msgspec.structs import asdict
from sqlalchemy import insert, text

from scrapy_dedup.store.domains.layouts import StoredPicture
from scrapy_dedup.store.pages.site_configs import StoredParameter
from scrapy_dedup.store.records.records import (
    BlockEvidence,
    BoilerplateRecord,
    ClaimKey,
    ClaimKind,
    CleanedRecord,
    DeliveryRecord,
    KeepPolicy,
    ValidatorRecord,
)
from scrapy_dedup.store.repositories import DomainBoilerplateRepository, SourceRepository
from scrapy_dedup.store.tables.models import (
    Base,
    CandidateRow,
    DiscoverySession,
    Domain,
    Forgotten,
    SeenScope,
    SeenUrl,
    SiteConfigRow,
)
from scrapy_dedup.store.upkeep.cache import StoredMemos
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import (
    DOMAIN,
    NOON,
    a_key,
    a_layout_count,
    a_signature,
    a_source,
    a_time,
    an_answer,
    claim,
    source_of,
)
from tests.store.test_writer import everything_about

EVIDENCE = {"00aa": BlockEvidence(41, "body>p", "Cookies")}
KNOWN = BoilerplateRecord(DOMAIN, "text", ("00aa", "00bb"), 44, 900, 2, 512, 0.5, 3, 40, EVIDENCE)


class TestDomainBoilerplate:
    def test_what_was_upserted_is_found(self, store, project):
        with store.session() as session:
            repository = DomainBoilerplateRepository(session)
            stored = repository.upsert(project.id, **asdict(KNOWN))

            assert repository.get(project.id, DOMAIN) == stored
            assert repository.get(project.id, DOMAIN, method="html") is None
            assert repository.get(project.id, "other") is None
        assert convert(stored, BoilerplateRecord, from_attributes=True) == KNOWN

    def test_a_second_upsert_replaces_the_first(self, store, project):
        with store.session() as session:
            repository = DomainBoilerplateRepository(session)
            first = repository.upsert(project.id, **asdict(KNOWN))
            second = repository.upsert(project.id, DOMAIN, [])

            assert (second.id, second.created_at) == (first.id, first.created_at)
            assert (second.boilerplate_hashes, second.pages_analyzed, second.threshold_pct) == ((), 0, 0.7)
            assert repository.list_by_project(project.id) == [second]

    def test_nothing_is_committed_unless_the_caller_does(self, store, project):
        with store.session() as session:
            DomainBoilerplateRepository(session).upsert(project.id, DOMAIN, [])
        assert not project.is_known(DOMAIN)

        with store.session() as session:
            DomainBoilerplateRepository(session).upsert(project.id, DOMAIN, [])
            session.commit()
        assert project.is_known(DOMAIN)


class TestSources:
    @pytest.fixture
    def pages(self, project) -> ProjectStore:
        project.write(
            a_source(number, domain=f"{number % 3}.example", source_group="even" if number % 2 == 0 else None)
            for number in range(301)
        )
        return project

    def test_pages_come_oldest_first_however_many_keys_are_read_at_once(self, store, project):
        project.write(a_source(number, fetched_at=a_time(number % 5)) for number in range(30))

        with store.session(read_only=True) as session:
            repository = SourceRepository(session, keys_at_once=7)
            by_time = [
                (page.fetched_at, page.page_key) for page in repository.iterate(project.id, DOMAIN, oldest_first=True)
            ]
            by_key = [page.page_key for page in repository.iterate(project.id, DOMAIN)]

        assert by_time == sorted((a_time(number % 5), a_key(number)) for number in range(30))
        assert by_key == sorted(map(a_key, range(30)))

    def test_cleaned_texts_may_be_written_while_pages_are_read(self, store, pages):
        with store.session() as session:
            repository = SourceRepository(session)
            found = repository.iterate(pages.id, "0.example")
            cleaned = (CleanedRecord(page.page_key, str(page.content).upper()) for page in found)
            assert repository.set_cleaned(pages.id, cleaned) == 101
            session.commit()

        assert source_of(pages, 0).cleaned_content == "<P>PAGE 0</P>"
        assert source_of(pages, 1).cleaned_content is None

    def test_pages_are_read_in_bounded_memory(self, store, project):
        """600 pages of 20 kB are 12 MB of text."""
        project.write(a_source(number, content=f"{number} " * 5000) for number in range(600))

        with store.session(read_only=True) as session:
            tracemalloc.start()
            pages = sum(1 for _ in SourceRepository(session).iterate(project.id, DOMAIN))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()

        assert pages == 600
        assert peak < 3_000_000


class TestProjects:
    def test_the_database_deletes_a_project_with_all_its_rows_too(self, store, project):
        fill(project)

        with store.session() as session:
            session.execute(text("DELETE FROM projects"))
            session.commit()

        with store.session(read_only=True) as session:
            # Parts of signatures lead nowhere without their page, and would cost an index of their own to be found.
            for table in Base.metadata.tables.keys() - {"near_duplicates"}:
                assert session.scalar(text(f"SELECT count(*) FROM {table}")) == 0


def fill(project: ProjectStore) -> None:
    keeper = ProjectStore(project._database, project.id, project.name, KeepPolicy(pages=2))
    keeper.begin_run(spider="site", jobdir=None, started_at=NOON, job="night")
    claim(keeper, a_key(1), [ClaimKey(ClaimKind.TEXT, a_key(1))])
    keeper.write([*everything_about(1), *everything_about(2), ValidatorRecord(DOMAIN, sent=1)])
    delivery = DeliveryRecord(a_key(1), a_key("parse"), DOMAIN, NOON, b"8 bytes.")
    keeper.write([a_signature(), a_layout_count(), an_answer(), delivery])
    keeper.write([a_source(1, content="changed", fetched_at=a_time(1))])
    with project._database.session() as session:
        of_project: dict[str, object] = {"project_id": project.id}
        found = {"session_id": uuid.uuid4(), "name": "one", "started_at": NOON}
        named = of_project | {"domain_name": DOMAIN}
        url = {"url": "https://www.example.com/a", "engine": "one", "outcome": "new", "session_id": found["session_id"]}
        config = {"domain": DOMAIN, "version": 1, "config": {}, "updated_at": NOON}
        begun = insert(SeenScope).values(of_project | {"name": "night", "begun_at": NOON}).returning(SeenScope.id)
        scope = session.scalars(begun).one()
        for table, row in (
            (SiteConfigRow, of_project | config),
            (DiscoverySession, of_project | found),
            (Forgotten, of_project | {"page_key": a_key(3)}),
            (SeenUrl, {"scope_id": scope, "fingerprint": a_key(1)}),
            (Domain, named | {"status": "DISCOVERED", "discovered_at": NOON}),
            (CandidateRow, named | url),
        ):
            session.execute(insert(table).values(row))
        session.commit()
    project.put_picture(StoredPicture(DOMAIN, 7, "https://www.example.com/a", NOON, 1366, 900, [], b"PNG"))
    StoredMemos(project, 10**6).keep(a_key(1), "models.ask", "1", NOON)
    project.put_url_parameters([StoredParameter(DOMAIN, "sid", same=4, different=0, ignored=True, seen_at=NOON)])
