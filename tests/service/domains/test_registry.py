"""The registry as people and crawls use it: names, decisions, twins, files."""

from datetime import timedelta

import pytest

from scrapy_dedup.core.domains import TwinReason
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.domains.files import DomainRow, ImportedDomains, import_rows, read_rows
from scrapy_dedup.service.domains.registry import DomainService, lift_expired
from scrapy_dedup.service.domains.twins import Twins, settle_twins
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.domains.lists import DomainChoice
from scrapy_dedup.store.domains.registry import StoredDomain
from scrapy_dedup.store.records.records import CrawledUrlRecord, DocumentRecord
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import NOON

LATER = NOON + timedelta(days=1)
BARE, WWW = "example.org", "www.example.org"


@pytest.fixture
def service(project) -> DomainService:
    return DomainService(project, Settings())


def names(found: list[StoredDomain]) -> list[str]:
    return [each.domain_name for each in found]


def put(project: ProjectStore, name: str, pages: dict[str, str | None]) -> None:
    """Store pages of a domain by path; a text stands for what they say, None for nothing to compare."""
    for path, says in pages.items():
        url = f"https://{name}/{path}"
        cleaned = says.encode().ljust(16, b".") if says else None
        project.write([
            DocumentRecord(page_key(url), url, name, "completed", NOON, cleaned_hash=cleaned, chars_in=9, chars_out=9),
            CrawledUrlRecord(page_key(url), url, name, "crawled", NOON, http_status=200, document_key=page_key(url)),
        ])  # fmt: skip


def put_alias(project: ProjectStore, url: str, name: str, of_url: str) -> None:
    key = page_key(of_url)
    project.write([CrawledUrlRecord(page_key(url), url, name, "alias", NOON, document_key=key, alias_kind="redirect")])


def settle(project: ProjectStore, *, least: int = 3) -> Twins:
    (found,) = settle_twins(project, None, Settings(domain_join_pages=least), NOON)
    return found


def test_a_blacklist_that_is_over_is_lifted(service, project):
    service.blacklist_domain("a.example", NOON, by=None, reason=None, expires_at=LATER)
    service.blacklist_domain("b.example", NOON, by=None, reason=None)

    assert lift_expired(project, NOON) == []
    assert names(service.get_blacklisted_domains(LATER)) == ["b.example"]
    assert lift_expired(project, LATER) == ["a.example"]
    lifted = service.find_by_domain_name("a.example")
    assert lifted.status == "DISCOVERED"


@pytest.mark.parametrize(
    ("bare", "www", "reason", "evidence"),
    [
        pytest.param(
            {"1": "a", "2": "b", "3": "c"}, {"1": "a", "2": "b", "3": "c"}, TwinReason.ALIKE, (3, 0), id="same"
        ),
        pytest.param({"1": "a", "2": "b"}, {"1": "a", "2": "b", "3": "c"}, TwinReason.TOO_FEW, (2, 0), id="too-few"),
        pytest.param({"1": "a", "2": "b"}, {"1": "x", "2": "y"}, TwinReason.UNLIKE, (0, 2), id="two-sites"),
        pytest.param(
            {"1": "a", "2": "b", "3": "c"}, {"4": "a", "5": "b"}, TwinReason.TOO_FEW, (0, 0), id="other-paths"
        ),
        pytest.param({"1": None, "2": None}, {"1": None, "2": None}, TwinReason.TOO_FEW, (0, 0), id="no-text"),
        pytest.param({}, {}, TwinReason.TOO_FEW, (0, 0), id="no-pages"),
    ],
)
def test_twins_are_joined_once_their_pages_agree(project, service, bare, www, reason, evidence):
    service.register_domains([BARE, WWW], NOON)
    put(project, BARE, bare)
    put(project, WWW, www)

    found = settle(project)

    assert (found.reason, (found.evidence.alike, found.evidence.unlike)) == (reason, evidence)
    for name in (BARE, WWW):
        domain = service.find_by_domain_name(name)
        assert (domain.pages_alike, domain.pages_unlike) == evidence
        assert domain.domain_name == (BARE if found.is_joined else name)
    assert service.counts().joined == found.is_joined


def test_redirects_from_one_name_to_the_other_are_pages_that_agree(project, service):
    service.register_domains([BARE, WWW], NOON)
    put(project, WWW, {"1": "a", "2": "b", "3": "c"})
    for path in "123":
        put_alias(project, f"http://{BARE}/{path}", BARE, f"https://{WWW}/{path}")

    found = settle(project)

    assert (found.is_joined, found.name, found.evidence.alike) == (True, WWW, 3)
    assert service.joined_with(service.register_domain(BARE, NOON)) == BARE


def test_two_names_that_both_lead_to_a_third_page_do_not_agree(project, service):
    service.register_domains([BARE, WWW], NOON)
    put(project, WWW, {"login": "please log in"})
    for name in (BARE, WWW):
        for path in "123":
            put_alias(project, f"https://{name}/{path}", name, f"https://{WWW}/login")

    assert settle(project).evidence.alike == 0


def test_a_joined_pair_shares_what_is_decided(project, service):
    service.register_domains([BARE, WWW], NOON)
    service.update_candidate_counts(BARE, NOON, high=1, low=2, confidence=0.7)
    service.update_candidate_counts(WWW, NOON, high=0, low=3, confidence=0.2)
    put(project, BARE, {"1": "a"})
    put(project, WWW, {"1": "a"})

    settle(project, least=1)
    again = settle(project, least=1)

    both = service.find_by_domain_name(WWW)
    assert (both.domain_name, both.status, both.best_confidence_score) == (BARE, "PROCESSED_HIGH_QUALITY", 0.7)
    assert (both.high_quality_candidate_count, both.low_quality_candidate_count) == (1, 5)
    assert again.was_joined
    assert service.blacklist_domain(WWW, NOON, by="ann", reason=None).domain_name == BARE
    assert names(service.get_blacklisted_domains(NOON)) == [BARE, WWW]
    service.unblacklist_domain(BARE, NOON)
    assert service.get_blacklisted_domains(NOON) == []


def test_a_pair_is_two_again_when_later_pages_differ(project, service):
    service.register_domains([BARE, WWW], NOON)
    put(project, BARE, {"1": "a"})
    put(project, WWW, {"1": "a"})
    settle(project, least=1)
    put(project, BARE, {"2": "b", "3": "c"})
    put(project, WWW, {"2": "x", "3": "y"})

    found = settle(project, least=1)

    assert (found.was_joined, found.is_joined, found.reason) == (True, False, TwinReason.UNLIKE)
    domain = service.find_by_domain_name(WWW)
    assert (domain.domain_name, domain.joined_to, domain.pages_unlike) == (WWW, None, 2)


@pytest.mark.parametrize("head", ["domain_name", "Domains", '"hostname"', "\ufeffURL", "host # of each"])
def test_head_of_a_column_is_no_domain(head):
    rows = read_rows([head, "one.example", "localhost", "url"], "list.csv")

    assert [row.name for row in rows if isinstance(row, DomainRow)] == ["one.example", "localhost", "url"]


def test_an_import_changes_only_what_the_file_has(project, service):
    service.blacklist_domain("a.example", NOON, by="ann", reason="spam")
    service.blacklist_domain("b.example", NOON, by="ann", reason="spam")
    rows = [
        DomainRow("", "a.example", {"pages": 3}),
        DomainRow("", "b.example", {"status": "DISCOVERED"}),
        DomainRow("", "c.example", {"status": "BLACKLISTED"}),
    ]

    assert import_rows(project, rows, LATER, dry_run=True) == ImportedDomains(new=1, known=2)
    assert service.counts().total == 2
    assert import_rows(project, rows, LATER) == ImportedDomains(new=1, known=2)

    found = {each.domain_name: each for each in service.list_domains(DomainChoice()).domains}
    assert (found["a.example"].blacklisted_by, found["a.example"].pages) == ("ann", 3)
    assert (found["b.example"].status, found["b.example"].blacklisted_by) == ("DISCOVERED", None)
    assert (found["c.example"].status, found["c.example"].blacklisted_at) == ("BLACKLISTED", LATER)
