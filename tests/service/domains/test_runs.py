from datetime import timedelta

import pytest

from scrapy_dedup.core.domains import DomainRefusal, DomainStatus, RefusedDomains
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.domains.registry import (
    DomainService,
    RefusedPage,
    refusal_records,
    refused_domains,
    settle_run,
)
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import NOON, a_crawled_url, a_document, a_key, a_time
from tests.tables import table

LOW, HIGH = DomainStatus.PROCESSED_LOW_QUALITY, DomainStatus.PROCESSED_HIGH_QUALITY


@pytest.fixture
def service(project) -> DomainService:
    service = DomainService(project, Settings())
    for name, status in (("poor.example", LOW), ("good.example", HIGH), ("was-poor.example", LOW)):
        service.update_status(service.register_domain(name, NOON).domain_id, status, NOON)
    service.register_domain("new.example", NOON)
    service.blacklist_domain("bad.example", NOON, by="alice", reason="link farm")
    service.blacklist_domain("was-poor.example", NOON, by=None, reason=None, expires_at=a_time(1))
    return service


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("policy", "low_quality"),
    [
        ("crawl", set()),
        ("skip", {"poor.example", "was-poor.example"}),
        ("sample", {"poor.example", "was-poor.example"}),
    ],
)
def test_blacklisted_domains_are_refused_and_poor_ones_where_somebody_cares(project, policy, low_quality):
    settings = Settings.read({"DEDUP_DOMAIN": {"policy": policy}})

    assert refused_domains(project, settings) == RefusedDomains(
        {"bad.example": None, "was-poor.example": a_time(1)}, frozenset(low_quality)
    )


def reason(project: ProjectStore, name: str, why: DomainRefusal, *, is_shadow: bool = False) -> str:
    (record,) = refusal_records(project, [RefusedPage(a_key(), name, why, NOON, is_shadow)], Settings())
    assert (record.layer, record.action) == ("domain", "shadow" if is_shadow else "dropped")
    return record.reason


@table("service/reason_names_who_when_and_why")
def test_reason_names_who_when_and_why(project, service, name, why, told):
    assert service.domain_exists(name) is (name != "gone.example")
    assert reason(project, name, DomainRefusal(why)) == told


def test_reason_is_bounded(project, service):
    service.blacklist_domain("bad.example", NOON, by="a" * 9_000, reason="\x00\u202e" * 9_000)

    assert len(reason(project, "bad.example", DomainRefusal.BLACKLISTED)) <= 500


def test_run_leaves_its_domains_and_joins_twins(project, service):
    run = project.begin_run(spider="s", jobdir=None, started_at=NOON)
    for number in range(3):
        for name in ("twins.org", "www.twins.org"):
            url, same = f"https://{name}/{number}", bytes([number + 1]) * 32
            about = {"page_key": page_key(url), "url": url, "domain": name}
            project.write([a_document(cleaned_hash=same, content_hash=same, **about)])
            project.write([a_crawled_url(document_key=page_key(url), **about)])

    names = settle_run(project, {"tried.example", ""}, Settings(), NOON + timedelta(hours=1), run_id=run.id)

    assert names == {"tried.example", "twins.org", "www.twins.org"}
    found = service.find_by_domain_name("www.twins.org")
    assert (found.domain_name, found.pages) == ("twins.org", 3)
