"""What a report reads: figures of one run, or of all that is stored of a project."""

import heapq
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Float, Select, cast, func, select
from sqlalchemy.orm import Session

from scrapy_dedup.store.records.rows import read_evidence
from scrapy_dedup.store.records.stored import DomainFigures, RepeatedBlock
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import CrawledUrl, Decision, Document, DomainBoilerplate, SourceRow


class Reads:
    """Sums over a project's present state; with a run, over the rows that this run wrote last."""

    def __init__(self, session: Session, project_id: uuid.UUID, run_id: uuid.UUID | None = None) -> None:
        self._session = session
        self._project_id = project_id
        self._run_id = run_id

    def pages_fetched(self) -> int:
        """Return how many URLs gave a page, duplicates included; redirects and other aliases are not pages."""
        fetched = (CrawledUrl.project_id == self._project_id, CrawledUrl.status.in_(("crawled", "duplicate")))
        counted = select(func.count()).select_from(CrawledUrl).where(*fetched)
        if self._run_id is not None:
            counted = counted.where(CrawledUrl.run_id == self._run_id)
        return self._session.scalar(counted) or 0

    def domains(self, *, without_text: bool = False) -> list[DomainFigures]:
        """Return the figures of every domain with completed documents, in the order of domains.

        Args:
            without_text: count pages without items, and duplicates, too, which have no characters.
        """
        has_text = () if without_text else (Document.chars_in.is_not(None),)
        sums = (
            select(Document.domain, func.count(), func.sum(Document.chars_in), func.sum(Document.chars_out))
            .where(*self._completed(), *has_text)
            .group_by(Document.domain)
            .order_by(by_code_point(Document.domain))
        )
        return [
            DomainFigures(domain, pages, int(chars_in or 0), int(chars_out or 0))
            for domain, pages, chars_in, chars_out in self._session.execute(sums)
        ]

    def decided(self, layer: str, action: str, limit: int) -> list[tuple[bytes, str, str]]:
        """Return (page key, reason, URL) of some decisions of a layer, in the order of page keys.

        Keys are hashes, so that these are spread evenly; pages whose URL is not known are left out.
        """
        same_page = (CrawledUrl.project_id == Decision.project_id) & (CrawledUrl.page_key == Decision.page_key)
        chosen = (Decision.project_id == self._project_id, Decision.layer == layer, Decision.action == action)
        found = select(Decision.page_key, Decision.reason, CrawledUrl.url).join(CrawledUrl, same_page).where(*chosen)
        if self._run_id is not None:
            found = found.where(Decision.run_id == self._run_id)
        return [
            (key, reason, url)
            for key, reason, url in self._session.execute(found.order_by(Decision.page_key).limit(limit))
        ]

    def some_urls(self, domain: str, limit: int) -> list[str]:
        """Return the URLs of some completed documents of a domain, spread evenly, in the order of page keys."""
        found = select(Document.url).where(*self._completed(), Document.domain == domain)
        return list(self._session.scalars(found.order_by(Document.page_key).limit(limit)))

    def pages_by_share(self, positions: int) -> list[bytes]:
        """Return the keys of some pages whose originals are kept, evenly spread, most text removed first.

        Pages that lost nothing are only among them where all pages lost nothing.

        Args:
            positions: how many, 2 or more: the first is the page that lost the largest share, the last the one that
                lost the smallest.
        """
        for condition in (Document.chars_out < Document.chars_in, Document.chars_out == Document.chars_in):
            found = self._kept().where(condition)
            total = self._session.scalar(select(func.count()).select_from(found.subquery())) or 0
            if total:
                break
        else:
            return []
        share = cast(Document.chars_in - Document.chars_out, Float) / Document.chars_in
        ranked = found.order_by(share.desc(), Document.page_key)
        places = sorted({position * (total - 1) // (positions - 1) for position in range(positions)})
        return [self._session.execute(ranked.offset(place).limit(1)).scalar_one() for place in places]

    def repeated_blocks(self, limit: int = 10, domain: str | None = None) -> list[RepeatedBlock]:
        """Return the blocks that repeat on most pages, of one domain or of all."""
        return heapq.nsmallest(
            limit, self._blocks(domain), key=lambda block: (-block.pages, block.domain, block.method, block.fingerprint)
        )

    def _blocks(self, domain: str | None) -> Iterator[RepeatedBlock]:
        columns = (
            DomainBoilerplate.domain,
            DomainBoilerplate.method,
            DomainBoilerplate.pages_analyzed,
            DomainBoilerplate.boilerplate_hashes,
            DomainBoilerplate.evidence,
        )
        rows = select(*columns).where(DomainBoilerplate.project_id == self._project_id)
        if domain is not None:
            rows = rows.where(DomainBoilerplate.domain == domain)
        for name, method, pages_analyzed, hashes, packed in self._session.execute(rows):
            evidence = read_evidence(packed) or {}
            for fingerprint in hashes:
                if fingerprint in evidence:
                    pages, path, sample = evidence[fingerprint]
                    yield RepeatedBlock(name, method, fingerprint, pages, pages_analyzed, path, sample)

    def _kept(self) -> Select[Any]:
        same_page = (SourceRow.project_id == Document.project_id) & (SourceRow.page_key == Document.page_key)
        is_kept = (SourceRow.content.is_not(None), Document.chars_in > 0)
        return select(Document.page_key).join(SourceRow, same_page).where(*self._completed(), *is_kept)

    def _completed(self) -> Sequence[ColumnElement[bool]]:
        conditions = [Document.project_id == self._project_id, Document.status == "completed"]
        if self._run_id is not None:
            conditions.append(Document.run_id == self._run_id)
        return conditions
