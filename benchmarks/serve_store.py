"""A made-up store of any size, the same each time: one large domain, some middling ones, and a great many small ones.

Pages of all domains come in turn, as they do in a crawl. The largest domain has a fifth of them.
"""

import random
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from benchmarks import serve_rows as rows
from benchmarks.serve_rows import BEGIN, RUNS, domain_of, url_of
from scrapy_dedup.core.urls.normal_form import page_key
from scrapy_dedup.service.policies import url_rules
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.tables.models import (
    CrawledUrl,
    CrawlRun,
    Decision,
    Document,
    DocumentChunk,
    Domain,
    DomainBoilerplate,
    LayoutRun,
    LayoutSignature,
    LayoutTemplateRow,
    SiteConfigRow,
    SourceRow,
    VisitRow,
)
from scrapy_dedup.store.tables.statements import Row, table_of

PROJECT = "bench"
KNOWN_DOMAINS = 2_000
"""Domains with layouts, templates and boilerplate, the largest; others are too small to have any."""
KEPT_VISITS, KEPT_DECISIONS = 500_000, 100_000
"""As the settings' defaults bound them."""
_ROWS_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is."""

    domains: int
    pages: int


def domains_of_pages(size: Size) -> list[int]:
    """Return the number of each page's domain."""
    chosen = random.Random(7)
    middling = max(1, size.domains // 100)
    found: list[int] = []
    for number in range(size.pages):
        share = chosen.random()
        if number < size.domains and share > 0.9:
            found.append(number)
        elif share < 0.2:
            found.append(0)
        elif share < 0.6:
            found.append(chosen.randrange(middling))
        else:
            found.append(chosen.randrange(size.domains))
    return found


def fill(store: Store, size: Size) -> None:
    """Fill an empty store."""
    project = store.project(PROJECT)
    of_pages = domains_of_pages(size)
    counts = [0] * size.domains
    for domain in of_pages:
        counts[domain] += 1
    with store.session() as session:
        if session.connection().dialect.name == "sqlite":
            session.connection().execute(text("PRAGMA cache_size = -1000000"))
        for model, made in _tables(project.id, of_pages, counts):
            _insert(session, model, made)
        session.commit()
    with store.session() as session:
        # As autovacuum, or the bounded PRAGMA that closes a connection, would do in time.
        session.connection().execute(text("ANALYZE"))
        session.commit()


def _insert(session: Session, model: Any, made: Iterable[Row]) -> None:
    table, rest = table_of(model), iter(made)
    while some := list(islice(rest, _ROWS_AT_ONCE)):
        session.connection().execute(table.insert(), some)


def _tables(project: uuid.UUID, of_pages: list[int], counts: list[int]) -> Iterator[tuple[Any, Iterable[Row]]]:
    rules = url_rules(Settings())
    pages = [
        (page_key(url, rules), url, domain_of(domain), BEGIN + timedelta(seconds=number))
        for number, domain in enumerate(of_pages)
        for url in [url_of(number, domain)]
    ]
    known = min(KNOWN_DOMAINS, len(counts))
    per_run = max(1, len(pages) // RUNS)
    yield CrawlRun, (rows.run_row(project, number, per_run) for number in range(RUNS))
    yield Document, (rows.document_row(project, number, page, per_run) for number, page in enumerate(pages))
    yield CrawledUrl, (rows.url_row(project, number, page, per_run) for number, page in enumerate(pages))
    yield SourceRow, (rows.source_row(project, number, page) for number, page in enumerate(pages))
    late = max(0, len(pages) - KEPT_VISITS)
    yield VisitRow, (rows.visit_row(project, number, pages[number], per_run) for number in range(late, len(pages)))
    late = max(0, len(pages) - KEPT_DECISIONS)
    yield Decision, (rows.decision_row(project, number, pages[number], per_run) for number in range(late, len(pages)))
    yield DocumentChunk, (rows.chunk_row(project, number, page) for number, page in enumerate(pages))
    yield Domain, (rows.domain_row(project, number, pages_of) for number, pages_of in enumerate(counts))
    yield SiteConfigRow, (rows.config_row(project, number) for number in range(known // 2))
    yield DomainBoilerplate, (rows.boilerplate_row(project, number) for number in range(known))
    yield (
        LayoutSignature,
        (rows.signature_row(project, domain, layout) for domain in range(known) for layout in (1, 2, 3)),
    )
    yield (
        LayoutTemplateRow,
        (rows.template_row(project, domain, layout) for domain in range(known) for layout in (1, 2, 3)),
    )
    yield LayoutRun, (rows.met_row(project, domain, layout) for domain in range(known) for layout in (1, 2, 3))
