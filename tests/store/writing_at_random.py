"""A process that writes full batches of the same pages as others do, in an order of its own."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from scrapy_dedup.store.pages import site_configs
from scrapy_dedup.store.pages.site_configs import StoredParameter
from scrapy_dedup.store.records.records import (
    ClaimKey,
    ClaimKind,
    ConfidenceRecord,
    GoneRecord,
    Record,
    ReleaseRecord,
    ValidatorRecord,
)
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore
from tests.store.builders import (
    a_boilerplate,
    a_chunk,
    a_chunks,
    a_crawled_url,
    a_decision,
    a_document,
    a_key,
    a_layout_count,
    a_signature,
    a_snapshot,
    a_source,
    a_template,
    a_text_signature,
    a_time,
    a_visit,
    an_alarm,
    an_extraction,
    claim,
)

PAGES = 20
DOMAINS = 8
TURNS = 2


def domain_of(page: int) -> str:
    return f"{page % DOMAINS}.example.com"


def records_of(page: int, worker: int, turn: int) -> Iterator[Record]:
    """Yield all that a crawl may write of a page."""
    domain = domain_of(page)
    yield a_source(page, content=f"{worker} {turn}", fetched_at=a_time(turn))
    yield a_document(page, domain=domain) if turn % 3 else a_document(page, status="processing")
    yield a_snapshot(page)
    yield a_crawled_url(page, domain=domain)
    yield a_decision(page)
    yield a_visit((page, worker, turn))
    yield an_extraction(page, content=turn)
    yield a_boilerplate(domain=domain, pages_analyzed=worker)
    yield ValidatorRecord(domain, sent=1)
    yield ConfidenceRecord(domain, 1, 0, 0.9, 0.9, datetime.now(UTC))
    yield a_signature(page, domain=domain)
    yield a_layout_count(layout=page, domain=domain)
    yield an_alarm(layout=page, domain=domain)
    yield a_template(page % 3, domain=domain, state="live", body={"worker": worker, "turn": turn})
    yield a_text_signature(page)
    yield a_chunks(page, a_chunk(0, "one for all"), a_chunk(1, f"chunk {page % 5}"), most_holders=2)


def turn_of(project: ProjectStore, worker: int, turn: int, order: random.Random) -> None:
    """Do once all that several workers may do at one time."""
    pages = order.sample(range(PAGES), PAGES)
    domains = order.sample([domain_of(page) for page in range(DOMAINS)], DOMAINS)
    claims = [ClaimKey(order.choice([*ClaimKind]), a_key(page)) for page in pages]
    claim(project, a_key((worker, turn)), claims)
    project.write(record for page in pages for record in records_of(page, worker, turn))
    gone = order.sample(range(PAGES), 5)
    project.write([GoneRecord(a_key(page), a_time(turn)) for page in gone])
    project.write([ReleaseRecord(claim, a_key((worker, turn))) for claim in order.sample(claims, 10)])
    project.report_run(project.run.id, {"dedup/items/in": turn}, datetime.now(UTC))
    project.settle_domains(domains, datetime.now(UTC), high_quality=0.6)
    project.put_url_parameters(
        StoredParameter(domain, "ref", turn, 0, ignored=True, seen_at=datetime.now(UTC)) for domain in domains
    )
    with project.transaction(write=True) as connection:
        site_configs.forget_stale(connection, project.id, [a_key(page) for page in pages])


def write_at_random(url: str, worker: int) -> None:
    with Store.open(url, timeout=timedelta(seconds=60)) as store:
        project = store.project("shop")
        project.begin_run(spider="site", jobdir=None, started_at=datetime.now(UTC), job="night")
        order = random.Random(worker)
        for turn in range(TURNS):
            turn_of(project, worker, turn, order)
