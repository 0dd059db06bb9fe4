import tracemalloc
import uuid

import pytest
from sqlalchemy import insert, text

from scrapy_dedup.store.knowledge.layout_pictures import StoredPicture
from scrapy_dedup.store.knowledge.url_parameters import StoredParameter
from scrapy_dedup.store.pages.reads import Reads
from scrapy_dedup.store.records.keep_policy import KeepPolicy
from scrapy_dedup.store.records.page_records import ClaimKey, ClaimKind
from scrapy_dedup.store.records.records import (
    BlockEvidence,
    BoilerplateRecord,
    CleanedRecord,
    DeliveryRecord,
    ValidatorRecord,
)
from scrapy_dedup.store.records.stored import DomainFigures
from scrapy_dedup.store.repositories import (
    BoilerplateStats,
    DomainBoilerplateRepository,
    ProjectRepository,
    SourceRepository,
)
from scrapy_dedup.store.store import Store
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
from scrapy_dedup.store.upkeep.memos import StoredMemos
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import (
    DOMAIN,
    NOON,
    a_boilerplate,
    a_document,
    a_key,
    a_layout_count,
    a_signature,
    a_source,
    a_time,
    an_answer,
    source_of,
)
from tests.store.test_writer import everything_about

STATS: BoilerplateStats = {
    "pages_analyzed": 44,
    "blocks_total": 900,
    "blocks_boilerplate": 2,
    "bytes_removed_avg": 512,
    "threshold_pct": 0.5,
    "min_pages": 3,
    "min_block_chars": 40,
    "evidence": {"00aa": BlockEvidence(41, "body>p", "Cookies")},
}


def rows_of(store: Store, project_id: uuid.UUID) -> dict[str, int]:
    with store.session(read_only=True) as session:
        return ProjectRepository(session).count(project_id)


class TestDomainBoilerplate:
    def test_what_was_upserted_is_found(self, store: Store, project: ProjectStore) -> None:
        with store.session() as session:
            repository = DomainBoilerplateRepository(session)
            stored = repository.upsert(project.id, DOMAIN, ["00aa", "00bb"], **STATS)

            assert repository.get(project.id, DOMAIN) == stored
            assert repository.get(project.id, DOMAIN, method="html") is None
            assert repository.get(project.id, "other") is None
        given = {"domain": DOMAIN, "method": "text", "boilerplate_hashes": ("00aa", "00bb"), **STATS}
        assert {name: getattr(stored, name) for name in given} == given

    def test_a_second_upsert_replaces_the_first(self, store: Store, project: ProjectStore) -> None:
        with store.session() as session:
            repository = DomainBoilerplateRepository(session)
            first = repository.upsert(project.id, DOMAIN, ["00aa"], **STATS)
            second = repository.upsert(project.id, DOMAIN, [])

            assert (second.id, second.created_at) == (first.id, first.created_at)
            assert (second.boilerplate_hashes, second.pages_analyzed, second.threshold_pct) == ((), 0, 0.7)
            assert repository.list_by_project(project.id) == [second]

    def test_nothing_is_committed_unless_the_caller_does(self, store: Store, project: ProjectStore) -> None:
        with store.session() as session:
            DomainBoilerplateRepository(session).upsert(project.id, DOMAIN, [])
        assert not project.is_known(DOMAIN)

        with store.session() as session:
            DomainBoilerplateRepository(session).upsert(project.id, DOMAIN, [])
            session.commit()
        assert project.is_known(DOMAIN)


class TestSources:
    @pytest.fixture
    def pages(self, project: ProjectStore) -> ProjectStore:
        project.write(
            a_source(number, domain=f"{number % 3}.example", source_group="even" if number % 2 == 0 else None)
            for number in range(301)
        )
        return project

    def test_domains_come_with_their_pages(self, store: Store, pages: ProjectStore) -> None:
        with store.session(read_only=True) as session:
            repository = SourceRepository(session)

            assert repository.get_domains_for_project(pages.id) == [
                ("0.example", 101),
                ("1.example", 100),
                ("2.example", 100),
            ]
            assert repository.get_domains_for_project(pages.id, ["even"]) == [
                ("0.example", 51),
                ("1.example", 50),
                ("2.example", 50),
            ]
            assert repository.get_domains_for_project(pages.id, []) == []
            assert repository.get_domains_for_project(no_id()) == []

    def test_pages_come_oldest_first_however_many_keys_are_read_at_once(self, store: Store, project: ProjectStore):
        project.write(a_source(number, fetched_at=a_time(number % 5)) for number in range(30))

        with store.session(read_only=True) as session:
            repository = SourceRepository(session, keys_at_once=7)
            by_time = [
                (page.fetched_at, page.page_key) for page in repository.iterate(project.id, DOMAIN, oldest_first=True)
            ]
            by_key = [page.page_key for page in repository.iterate(project.id, DOMAIN)]

        assert by_time == sorted((a_time(number % 5), a_key(number)) for number in range(30))
        assert by_key == sorted(map(a_key, range(30)))

    def test_cleaned_texts_may_be_written_while_pages_are_read(self, store: Store, pages: ProjectStore) -> None:
        with store.session() as session:
            repository = SourceRepository(session)
            found = repository.iterate(pages.id, "0.example")
            cleaned = (CleanedRecord(page.page_key, str(page.content).upper()) for page in found)
            assert repository.set_cleaned(pages.id, cleaned) == 101
            session.commit()

        assert source_of(pages, 0).cleaned_content == "<P>PAGE 0</P>"
        assert source_of(pages, 1).cleaned_content is None

    def test_pages_are_read_in_bounded_memory(self, store: Store, project: ProjectStore) -> None:
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
    def test_a_project_is_deleted_with_all_its_rows_and_alone(self, store: Store, project: ProjectStore) -> None:
        other = store.project("other")
        for some in (project, other):
            fill(some)
        expected = rows_of(store, project.id)
        assert expected.keys() == Base.metadata.tables.keys()
        assert all(expected.values())

        with store.session() as session:
            deleted = ProjectRepository(session).delete(project.id)
            session.commit()

        assert deleted == expected
        assert not any(rows_of(store, project.id).values())
        assert rows_of(store, other.id) == expected

    def test_the_database_deletes_a_project_with_all_its_rows_too(self, store: Store, project: ProjectStore) -> None:
        fill(project)

        with store.session() as session:
            session.execute(text("DELETE FROM projects"))
            session.commit()

        with store.session(read_only=True) as session:
            # Parts of signatures lead nowhere without their page, and would cost an index of their own to be found.
            for table in Base.metadata.tables.keys() - {"near_duplicates"}:
                assert session.scalar(text(f"SELECT count(*) FROM {table}")) == 0


class TestFigures:
    def test_domains_are_summed_up(self, store: Store, project: ProjectStore) -> None:
        project.write(
            [
                a_document(1, chars_in=100, chars_out=25),
                a_document(2, chars_in=100, chars_out=75),
                a_document(3, chars_in=100, chars_out=0, status="processing"),
                a_document(4, domain="a.example"),
            ]
        )

        with store.session(read_only=True) as session:
            first, second = Reads(session, project.id).domains(without_text=True)

        assert first == DomainFigures("a.example", 1, 0, 0)
        assert second == DomainFigures(DOMAIN, 2, 200, 100)
        assert (first.removed_share, second.removed_share) == (0.0, 0.5)

    def test_the_most_repeated_blocks_come_first(self, store: Store, project: ProjectStore) -> None:
        def a_domain(name: str, *pages: int) -> BoilerplateRecord:
            evidence = {f"{n:016x}": BlockEvidence(n, "body>p", f"block {n}") for n in pages}
            return a_boilerplate(domain=name, boilerplate_hashes=tuple(evidence), pages_analyzed=50, evidence=evidence)

        project.write([a_domain("a.example", 3, 40), a_domain("b.example", 40, 7), a_boilerplate(domain="c.example")])

        with store.session(read_only=True) as session:
            blocks = Reads(session, project.id).repeated_blocks(limit=3)
            only = Reads(session, project.id).repeated_blocks(domain="b.example")

        assert [(block.domain, block.pages) for block in blocks] == [
            ("a.example", 40),
            ("b.example", 40),
            ("b.example", 7),
        ]
        assert (blocks[0].pages_analyzed, blocks[0].path, blocks[0].sample) == (50, "body>p", "block 40")
        assert [block.pages for block in only] == [40, 7]


def fill(project: ProjectStore) -> None:
    """Write rows into every table."""
    keeper = ProjectStore(project._database, project.id, project.name, KeepPolicy(pages=2))
    keeper.begin_run(spider="site", jobdir=None, started_at=NOON, job="night")
    keeper.claim(a_key(1), [ClaimKey(ClaimKind.TEXT, a_key(1))])
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


def no_id() -> uuid.UUID:
    """Return the id of no project."""
    return uuid.UUID(int=0)
