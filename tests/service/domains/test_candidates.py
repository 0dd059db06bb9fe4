"""Results of search engines, from files to domains and candidates."""

import io
import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_dedup.service.domains.candidates import (
    BadProposal,
    CandidateIntake,
    Proposal,
    candidates_of,
    read_proposals,
)
from scrapy_dedup.service.domains.registry import DomainService
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.writer import ProjectStore
from tests.service.stored_pages import NOON


def results(proposals: Iterable[tuple[str, str]]) -> list[Proposal]:
    return [Proposal(f"line {number}", url, engine) for number, (engine, url) in enumerate(proposals, 1)]


def outcomes(project: ProjectStore, *urls: str, session: str = "spring", **options: bool) -> list[str]:
    intake = CandidateIntake(project, Settings(), session, **options)
    judged = list(intake.take(results(("e", url) for url in urls), NOON))
    intake.finish(NOON)
    return [each.outcome.value for each in judged]


def test_what_was_decided_about_a_domain_says_what_becomes_of_its_urls(project):
    service = DomainService(project, Settings())
    service.register_domains(["known.example", "good.example", "bad.example", "over.example"], NOON)
    service.update_candidate_counts("good.example", NOON, high=1, low=0, confidence=0.9)
    service.blacklist_domain("bad.example", NOON, by=None, reason=None)
    service.blacklist_domain("over.example", NOON, by=None, reason=None, expires_at=NOON)
    names = ("known", "good", "bad", "over", "new")

    found = outcomes(project, *(f"https://{name}.example/a" for name in names))

    assert found == ["known", "processed", "blacklisted", "known", "new"]
    assert [each.domain_name for each in candidates_of(project, [f"{name}.example" for name in names])] == [
        "new.example"
    ]


def test_a_session_counts_all_that_was_read_in_it(store, project):
    outcomes(project, "https://a.example/", "nothing")
    outcomes(project, "https://a.example/", "https://b.example/")

    with store.session() as session:
        rows = session.connection().exec_driver_sql("SELECT name, counts FROM discovery_session").all()
    assert [(name, json.loads(counts)) for name, counts in rows] == [("spring", {"invalid": 1, "known": 1, "new": 2})]


def test_engines_without_end_are_counted_as_one(project):
    intake = CandidateIntake(project, Settings(), "spring", dry_run=True)

    for _ in intake.take(results((f"engine {number}", "https://a.example/") for number in range(1_000)), NOON):
        pass

    assert len(intake.tally.engines) == 201
    assert intake.tally.outcomes.total() == 1_000


_NO_CONFIDENCES = (b"1.1", b"-1", b"1e999", b"NaN", b"true", b'"0.5"', b"[]")


def read(content: bytes) -> list[Proposal | BadProposal]:
    return list(read_proposals(io.BytesIO(content), "file", "default"))


A, B = "https://a.example/", "https://b.example/"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param(b'{"url": ', "no JSON", id="cut-off"),
        pytest.param(b'{"title": "x"}', "it has no url", id="no-url"),
        pytest.param(b'{"url": 3}', "it has no url", id="url-is-a-number"),
        pytest.param(b"[[1]]", "no object with a url", id="nested"),
        pytest.param(b'"' + b"a" * 1_000_000 + b'"', "the line is longer", id="endless"),
        pytest.param(b"[" * 100_000, "no JSON", id="deep"),
        *(
            (b'{"url": "https://c.example/", "confidence": %s}' % said, "0.0 to 1.0 is needed")
            for said in _NO_CONFIDENCES
        ),
    ],
)
def test_a_line_that_is_no_result_does_not_end_the_file(line, reason):
    first, bad, last = read(b'{"url": "https://a.example/"}\n' + line + b'\n{"url": "https://b.example/"}\n')

    assert isinstance(bad, BadProposal)
    assert bad.where.startswith("file, line 2")
    assert reason in bad.reason
    assert (first.url, last.url) == (A, B)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"confidence": 0.5, "rank": 3, "title": " A\n title "}, (0.5, 3, "A title")),
        ({"confidence": 1, "rank": 0, "title": ""}, (1.0, 0, None)),
        ({"confidence": None, "rank": -1, "title": 3}, (None, None, None)),
        ({"rank": True, "title": "x" * 9_000_00}, (None, None, "x" * 500)),
        ({"rank": 2**31, "title": None}, (None, None, None)),
    ],
    ids=["given", "at-the-bounds", "out-of-bounds", "odd", "of-other-types"],
)
def test_what_an_engine_says_of_a_result_is_kept_if_it_makes_sense(said, kept):
    (found,) = read(json.dumps({"url": A, **said}).encode())

    assert isinstance(found, Proposal)
    assert (found.confidence, found.rank, found.title) == kept


@given(st.binary(max_size=300))
def test_any_file_is_read_without_an_error(content):
    assert all(isinstance(each, (Proposal, BadProposal)) for each in read(content))
