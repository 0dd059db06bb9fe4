"""Figures for stats, report and dashboard."""

import heapq
import uuid
from collections.abc import Iterator

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from scrapy_dedup.store.records.rows import read_evidence
from scrapy_dedup.store.records.stored import DecisionCount, DomainFigures, RepeatedBlock
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import Decision, Document, DomainBoilerplate


class FigureRepository:
    """Sums over a project; each reads all rows of one table."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def domains(self, project_id: uuid.UUID) -> list[DomainFigures]:
        """Return the figures of every domain with completed documents, in the order of domains."""
        sums = (
            select(
                Document.domain,
                func.count(),
                func.sum(Document.chars_in),
                func.sum(Document.chars_out),
            )
            .where(Document.project_id == project_id, Document.status == "completed")
            .group_by(Document.domain)
            .order_by(by_code_point(Document.domain))
        )
        return [
            DomainFigures(domain, pages, int(chars_in or 0), int(chars_out or 0))
            for domain, pages, chars_in, chars_out in self._session.execute(sums)
        ]

    def decisions(self, project_id: uuid.UUID) -> list[DecisionCount]:
        """Return how many decisions there are, in the order of layer and action."""
        sums = (
            select(Decision.layer, Decision.action, func.count())
            .where(Decision.project_id == project_id)
            .group_by(Decision.layer, Decision.action)
            .order_by(by_code_point(Decision.layer), by_code_point(Decision.action))
        )
        return [DecisionCount(*row) for row in self._session.execute(sums)]

    def repeated_blocks(self, project_id: uuid.UUID, limit: int = 10, domain: str | None = None) -> list[RepeatedBlock]:
        """Return the blocks that repeat on most pages, of one domain or of all."""
        return heapq.nsmallest(
            limit,
            self._blocks(project_id, domain),
            key=lambda block: (-block.pages, block.domain, block.method, block.fingerprint),
        )

    def _blocks(self, project_id: uuid.UUID, domain: str | None) -> Iterator[RepeatedBlock]:
        columns = (
            DomainBoilerplate.domain,
            DomainBoilerplate.method,
            DomainBoilerplate.pages_analyzed,
            DomainBoilerplate.boilerplate_hashes,
            DomainBoilerplate.evidence,
        )
        rows = select(*columns).where(DomainBoilerplate.project_id == project_id)
        if domain is not None:
            rows = rows.where(DomainBoilerplate.domain == domain)
        for name, method, pages_analyzed, hashes, packed in self._session.execute(rows):
            evidence = read_evidence(packed) or {}
            for fingerprint in hashes:
                if fingerprint in evidence:
                    pages, path, sample = evidence[fingerprint]
                    yield RepeatedBlock(name, method, fingerprint, pages, pages_analyzed, path, sample)
