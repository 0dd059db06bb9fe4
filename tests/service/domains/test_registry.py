"""The registry as people and crawls use it: names, decisions, twins, files."""

import io
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.core.domains.names import TwinReason
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.domains.files import BadRow, DomainRow, as_cell, from_cell, read_rows
from scrapy_dedup.service.domains.registry import (
    DomainChoice,
    DomainFigureError,
    DomainNameError,
    DomainService,
    StoredDomain,
    UnknownDomainError,
    lift_expired,
)
from scrapy_dedup.service.domains.transfer import ImportedDomains, all_domains, import_rows, write_domains
from scrapy_dedup.service.domains.twins import Twins, settle_twins
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.records.records import CrawledUrlRecord, DocumentRecord
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import NOON
from tests.tables import table

LATER = NOON + timedelta(days=1)
BARE, WWW = "example.org", "www.example.org"


@pytest.fixture
def service(store: Store, project: ProjectStore) -> DomainService:
    return DomainService(store, project, Settings())


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


def test_a_domain_is_registered_once_however_it_is_spelt(service: DomainService) -> None:
    first = service.register_domain("https://Bücher.example/a", NOON)

    assert first == service.register_domain("XN--BCHER-KVA.EXAMPLE.", LATER)
    assert service.domain_exists("bücher.example")
    assert not service.domain_exists("not a domain")
    assert service.find_by_domain_name("other.example") is None


def test_a_domain_is_blacklisted_and_is_afterwards_what_it_was(service: DomainService) -> None:
    service.register_domain("a.example", NOON)
    service.update_candidate_counts("a.example", NOON, high=0, low=4, confidence=0.3)

    listed = service.blacklist_domain("A.example", NOON, by="ann", reason="spam", expires_at=LATER)
    after = service.unblacklist_domain("a.example", LATER)

    assert (listed.status, listed.blacklisted_by, listed.blacklist_reason) == ("BLACKLISTED", "ann", "spam")
    assert (listed.blacklisted_at, listed.blacklist_expires_at) == (NOON, LATER)
    assert (after.status, after.blacklisted_at, after.blacklist_reason) == ("PROCESSED_LOW_QUALITY", None, None)


def test_a_domain_that_is_not_registered_can_be_blacklisted_but_not_taken_off(service: DomainService) -> None:
    service.blacklist_domain("a.example", NOON, by=None, reason="a\0b \ud800")

    assert service.get_blacklisted_domains(NOON)[0].blacklist_reason == "a\ufffdb \ufffd"
    with pytest.raises(UnknownDomainError, match=r"'b\.example' is not registered"):
        service.unblacklist_domains(["a.example", "b.example"], NOON)
    assert names(service.get_blacklisted_domains(NOON)) == ["a.example"]


def test_a_blacklist_that_is_over_is_lifted(service: DomainService, project: ProjectStore) -> None:
    service.blacklist_domain("a.example", NOON, by=None, reason=None, expires_at=LATER)
    service.blacklist_domain("b.example", NOON, by=None, reason=None)

    assert lift_expired(project, NOON) == []
    assert names(service.get_blacklisted_domains(LATER)) == ["b.example"]
    assert lift_expired(project, LATER) == ["a.example"]
    lifted = service.find_by_domain_name("a.example")
    assert lifted is not None
    assert lifted.status == "DISCOVERED"


def test_the_best_confidence_makes_the_status_and_never_falls(service: DomainService) -> None:
    service.register_domains(["a.example", "b.example"], NOON)

    first = service.update_candidate_counts("a.example", NOON, high=2, low=1, confidence=0.9)
    second = service.update_candidate_counts("a.example", LATER, high=0, low=1, confidence=0.1)
    nothing = service.update_candidate_counts("b.example", NOON, high=0, low=0, confidence=None)

    assert (first.status, first.last_processed_at) == ("PROCESSED_HIGH_QUALITY", NOON)
    assert (second.status, second.best_confidence_score) == ("PROCESSED_HIGH_QUALITY", 0.9)
    assert (second.high_quality_candidate_count, second.low_quality_candidate_count) == (0, 1)
    assert (nothing.status, nothing.last_processed_at) == ("DISCOVERED", NOON)


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_confidence_that_is_none_is_refused(service: DomainService, confidence: float) -> None:
    service.register_domains(["a.example"], NOON)

    with pytest.raises(DomainFigureError, match=r"a\.example is .*: 0\.0 to 1\.0 is needed"):
        service.update_candidate_counts("a.example", NOON, high=1, low=0, confidence=confidence)


def test_patterns_choose_what_is_registered_and_tell_what_is_not(service: DomainService) -> None:
    service.register_domains(["a.example", "b.example", "c.org"], NOON)

    chosen = service.choose(["*.example", "https://c.org/x", "new.org", "*.nothing"])

    assert names(list(chosen.domains)) == ["a.example", "b.example", "c.org"]
    assert chosen.new == ("new.org",)
    with pytest.raises(DomainNameError):
        service.choose(["*.example", "not a domain"])


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
def test_twins_are_joined_once_their_pages_agree(
    project: ProjectStore,
    service: DomainService,
    bare: dict[str, str | None],
    www: dict[str, str | None],
    reason: TwinReason,
    evidence: tuple[int, int],
) -> None:
    service.register_domains([BARE, WWW], NOON)
    put(project, BARE, bare)
    put(project, WWW, www)

    found = settle(project)

    assert (found.reason, (found.evidence.alike, found.evidence.unlike)) == (reason, evidence)
    for name in (BARE, WWW):
        domain = service.find_by_domain_name(name)
        assert domain is not None
        assert (domain.pages_alike, domain.pages_unlike) == evidence
        assert domain.domain_name == (BARE if found.is_joined else name)
    assert service.counts().joined == found.is_joined


def test_redirects_from_one_name_to_the_other_are_pages_that_agree(project: ProjectStore, service: DomainService):
    service.register_domains([BARE, WWW], NOON)
    put(project, WWW, {"1": "a", "2": "b", "3": "c"})
    for path in "123":
        put_alias(project, f"http://{BARE}/{path}", BARE, f"https://{WWW}/{path}")

    found = settle(project)

    assert (found.is_joined, found.name, found.evidence.alike) == (True, WWW, 3)
    assert service.joined_with(service.register_domain(BARE, NOON)) == BARE


def test_two_names_that_both_lead_to_a_third_page_do_not_agree(project: ProjectStore, service: DomainService) -> None:
    service.register_domains([BARE, WWW], NOON)
    put(project, WWW, {"login": "please log in"})
    for name in (BARE, WWW):
        for path in "123":
            put_alias(project, f"https://{name}/{path}", name, f"https://{WWW}/login")

    assert settle(project).evidence.alike == 0


def test_a_joined_pair_shares_what_is_decided(project: ProjectStore, service: DomainService) -> None:
    service.register_domains([BARE, WWW], NOON)
    service.update_candidate_counts(BARE, NOON, high=1, low=2, confidence=0.7)
    service.update_candidate_counts(WWW, NOON, high=0, low=3, confidence=0.2)
    put(project, BARE, {"1": "a"})
    put(project, WWW, {"1": "a"})

    settle(project, least=1)
    again = settle(project, least=1)

    both = service.find_by_domain_name(WWW)
    assert both is not None
    assert (both.domain_name, both.status, both.best_confidence_score) == (BARE, "PROCESSED_HIGH_QUALITY", 0.7)
    assert (both.high_quality_candidate_count, both.low_quality_candidate_count) == (1, 5)
    assert again.was_joined
    assert service.blacklist_domain(WWW, NOON, by="ann", reason=None).domain_name == BARE
    assert names(service.get_blacklisted_domains(NOON)) == [BARE, WWW]
    service.unblacklist_domain(BARE, NOON)
    assert service.get_blacklisted_domains(NOON) == []


def test_a_pair_is_two_again_when_later_pages_differ(project: ProjectStore, service: DomainService) -> None:
    service.register_domains([BARE, WWW], NOON)
    put(project, BARE, {"1": "a"})
    put(project, WWW, {"1": "a"})
    settle(project, least=1)
    put(project, BARE, {"2": "b", "3": "c"})
    put(project, WWW, {"2": "x", "3": "y"})

    found = settle(project, least=1)

    assert (found.was_joined, found.is_joined, found.reason) == (True, False, TwinReason.UNLIKE)
    domain = service.find_by_domain_name(WWW)
    assert domain is not None
    assert (domain.domain_name, domain.joined_to, domain.pages_unlike) == (WWW, None, 2)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_what_is_exported_comes_back_as_it_was(store: Store, project: ProjectStore, service: DomainService, form: str):
    service.register_domains([BARE, WWW, "bücher.example", "[::1]:8000"], NOON)
    service.update_candidate_counts(BARE, NOON, high=3, low=1, confidence=1 / 3)
    service.blacklist_domain("[::1]:8000", NOON, by='a "quote", and\na line', reason="=1+1\u202e", expires_at=LATER)
    put(project, BARE, {"1": "a"})
    put(project, WWW, {"1": "a"})
    settle(project, least=1)
    file = io.StringIO()
    assert write_domains(all_domains(project), file, "csv" if form == "csv" else "jsonl") == 4

    assert ",=1+1" not in file.getvalue()
    other = store.project("other")
    rows = list(read_rows(io.StringIO(file.getvalue(), newline=""), "file"))
    assert import_rows(other, [row for row in rows if isinstance(row, DomainRow)], LATER) == ImportedDomains(
        new=4, known=0
    )

    own = {"domain_id", "created_at", "updated_at", "discovery_session_id"}
    nothing: dict[str, Any] = dict.fromkeys(own)
    before, after = ([replace(each, **nothing) for each in all_domains(one)] for one in (project, other))
    assert after == before


def test_no_cell_gives_a_terminal_orders(project: ProjectStore, service: DomainService) -> None:
    service.blacklist_domain(BARE, NOON, by="me", reason="a\tb\x1b[2J\x07\x7f\x9b")
    files = {"csv": io.StringIO(), "jsonl": io.StringIO()}
    write_domains(all_domains(project), files["csv"], "csv")
    write_domains(all_domains(project), files["jsonl"], "jsonl")

    assert "a\tb\ufffd[2J\ufffd\ufffd\ufffd" in files["csv"].getvalue()
    assert json.loads(files["jsonl"].getvalue())["blacklist_reason"] == "a\tb\x1b[2J\x07\x7f\x9b"


@given(st.text("'=+-@\t\rab,\"\n", max_size=6))
def test_no_cell_is_a_formula_and_each_is_read_as_it_was(text: str) -> None:
    assert not as_cell(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert from_cell(as_cell(text)) == text


def test_a_list_of_names_is_read_and_what_is_none_is_told() -> None:
    lines = ["\ufeff# ours\n", "Example.ORG  # a comment\n", "\n", "not a domain\n", "https://b.example/x\n", None]

    found = list(read_rows(lines, "names.txt"))

    assert found == [
        DomainRow("names.txt, line 2", BARE, {}),
        BadRow("names.txt, line 4", "'not a domain' is no domain"),
        DomainRow("names.txt, line 5", "b.example", {}),
        BadRow("names.txt, line 6", "the line is too long"),
    ]


@table("values/no_domains")
def test_a_line_that_is_no_domain_is_told_and_passed_over(line: str, reason: str) -> None:
    lines = ['{"domain": "first.example"}\n', line + "\n", '{"url": "https://last.example/"}\n']

    first, bad, last = read_rows(lines, "file")

    assert isinstance(bad, BadRow)
    assert bad.where == "file, line 2"
    assert reason in bad.reason
    assert [row.name for row in (first, last) if isinstance(row, DomainRow)] == ["first.example", "last.example"]


def test_an_import_changes_only_what_the_file_has(project: ProjectStore, service: DomainService) -> None:
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
