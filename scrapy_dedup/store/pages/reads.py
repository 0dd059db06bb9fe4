"""What reports, ledgers, explanations, lists of pages and indexes read of what is stored of a project."""

import heapq
import uuid
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct
from sqlalchemy import ColumnElement, Float, Select, case, cast, func, select, tuple_
from sqlalchemy.orm import Session

from scrapy_dedup.core.chunks.chunks import GIVEN, HOLDING
from scrapy_dedup.core.runs import LedgerDomain
from scrapy_dedup.store.engine.codec import column_text, unpack_json
from scrapy_dedup.store.records import lookups
from scrapy_dedup.store.records.lookups import read, read_evidence
from scrapy_dedup.store.records.records import BoilerplateRecord
from scrapy_dedup.store.records.stored import DomainFigures, RepeatedBlock, StoredDecision
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import (
    CrawledUrl,
    Decision,
    Document,
    DocumentChunk,
    DomainBoilerplate,
    PageSignature,
    SourceRow,
)
from scrapy_dedup.store.tables.statements import rows_in, same_page, table_of

_DECISION = lookups.columns_of(Decision, StoredDecision)
_ROWS_AT_ONCE = 500
_SHARE_PLACES = 6
_DROPPED = "dropped"


class DroppedPages(Struct, frozen=True):
    """Pages that a layer left out whole, with what the pages have that stand for them.

    Attributes:
        pages: of which the page is known that stands for each.
        chars: characters of the clean texts of those.
        chunks: that those gave.
    """

    pages: int
    chars: int
    chunks: int


class StoredAlias(Struct, frozen=True, order=True):
    """A URL that another page stands for; found_by is redirect, canonical or a layer."""

    url: str
    target: str
    found_by: str


class StoredShare(Struct, frozen=True):
    """A text that several pages have as a chunk; (URL, whether it gives it) of some, those that do first."""

    content_hash: bytes
    pages: int
    sample: str
    chars: int
    places: tuple[tuple[str, bool], ...]


class StoredLikeness(Struct, frozen=True):
    """The page that another is like; layer is None where it went out all the same."""

    keeper: bytes
    layer: str | None
    jaccard: float | None


class Reads:
    """Sums over a project's present state; with a run, over the rows that this run wrote last."""

    def __init__(self, session: Session, project_id: uuid.UUID, run_id: uuid.UUID | None = None) -> None:
        self._session = session
        self._project_id = project_id
        self._run_id = run_id

    def pages_fetched(self) -> int:
        """Return how many URLs gave a page, duplicates included; redirects and other aliases are not pages."""
        fetched = (*self._of_run(CrawledUrl), CrawledUrl.status.in_(("crawled", "duplicate")))
        return self._session.scalar(select(func.count()).select_from(CrawledUrl).where(*fetched)) or 0

    def _of_run(self, model: type[CrawledUrl | Decision | Document]) -> tuple[ColumnElement[bool], ...]:
        """Say in SQL which rows count."""
        of_project = (model.project_id == self._project_id,)
        return of_project if self._run_id is None else (*of_project, model.run_id == self._run_id)

    def domains(self, *, without_text: bool = False) -> list[DomainFigures]:
        """Return the figures of every domain with completed documents, in the order of domains.

        *without_text* counts pages without items, and duplicates, too, which have no characters.
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
        found = (
            select(Decision.page_key, Decision.reason, CrawledUrl.url)
            .join(CrawledUrl, same_page(CrawledUrl, Decision))
            .where(*self._of_run(Decision), Decision.layer == layer, Decision.action == action)
            .order_by(Decision.page_key)
            .limit(limit)
        )
        return [(key, reason, url) for key, reason, url in self._session.execute(found)]

    def pages_by_share(self, positions: int) -> list[bytes]:
        """Return the keys of some pages whose originals are kept, evenly spread, most text removed first.

        Pages that lost nothing are only among them where all pages lost nothing.

        Of *positions*, 2 or more, the first is the page that lost the largest share, the last the one that lost the
        smallest.
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
        rows = lookups.values_of(DomainBoilerplate, BoilerplateRecord, self._project_id)
        if domain is not None:
            rows = rows.where(DomainBoilerplate.domain == domain)
        for row in self._session.execute(rows):
            evidence = read_evidence(row.evidence) if row.evidence is not None else {}
            for fingerprint in row.boilerplate_hashes:
                if fingerprint in evidence:
                    pages, path, sample = evidence[fingerprint]
                    yield RepeatedBlock(row.domain, row.method, fingerprint, pages, row.pages_analyzed, path, sample)

    def _kept(self) -> Select[Any]:
        is_kept = (SourceRow.content.is_not(None), Document.chars_in > 0)
        return (
            select(Document.page_key)
            .join(SourceRow, same_page(SourceRow, Document))
            .where(*self._completed(), *is_kept)
        )

    def _completed(self) -> tuple[ColumnElement[bool], ...]:
        return *self._of_run(Document), Document.status == "completed"

    def dropped(self) -> dict[str, DroppedPages]:
        """Return what the layers left out whole, by layer."""
        of_keeper = (Document.project_id == CrawledUrl.project_id) & (Document.page_key == CrawledUrl.document_key)
        of_chunk = (DocumentChunk.project_id == CrawledUrl.project_id) & (
            DocumentChunk.page_key == CrawledUrl.document_key
        )
        chosen = (*self._of_run(Decision), Decision.action == _DROPPED, CrawledUrl.document_key != CrawledUrl.page_key)
        pages = (
            select(Decision.layer, func.count(), func.sum(Document.chars_out))
            .join(CrawledUrl, same_page(CrawledUrl, Decision))
            .join(Document, of_keeper)
            .where(*chosen, Document.chars_out.is_not(None))
            .group_by(Decision.layer)
        )
        given = (
            select(Decision.layer, func.count())
            .join(CrawledUrl, same_page(CrawledUrl, Decision))
            .join(DocumentChunk, of_chunk)
            .where(*chosen, DocumentChunk.state.in_(GIVEN))
            .group_by(Decision.layer)
        )
        counts = {layer: number for layer, number in self._session.execute(given)}  # noqa: C416 (rows are typed, pairs are not)
        return {
            layer: DroppedPages(number, int(chars or 0), counts.get(layer, 0))
            for layer, number, chars in self._session.execute(pages)
        }

    def ledger_domains(self) -> list[LedgerDomain]:
        """Return the sums of every domain, those with most pages first, ties by name."""
        documents = (
            select(Document.domain, func.count(), func.sum(Document.chars_in), func.sum(Document.chars_out))
            .where(*self._went_out())
            .group_by(Document.domain)
        )
        found = {
            domain: [pages, 0, int(chars_in or 0), int(chars_out or 0), 0, 0]
            for domain, pages, chars_in, chars_out in self._session.execute(documents)
        }
        others = (*self._of_run(CrawledUrl), CrawledUrl.document_key != CrawledUrl.page_key)
        others += (CrawledUrl.status.in_(("alias", "duplicate")),)
        aliases = select(CrawledUrl.domain, func.count()).where(*others).group_by(CrawledUrl.domain)
        for domain, number in self._session.execute(aliases):
            found.setdefault(domain, [0] * 6)[1] = number
        given = func.sum(case((DocumentChunk.state.in_(GIVEN), 1), else_=0))
        chunked = (
            select(Document.domain, func.count(), given)
            .join(Document, same_page(Document, DocumentChunk))
            .where(DocumentChunk.project_id == self._project_id, *self._went_out())
            .group_by(Document.domain)
        )
        for domain, number, handed_on in self._session.execute(chunked):
            found.setdefault(domain, [0] * 6)[4:] = [number, int(handed_on or 0)]
        sums = [LedgerDomain(domain, *figures) for domain, figures in found.items()]
        return sorted(sums, key=lambda one: (-one.pages, -one.aliases, one.domain))

    def removed_reasons(self, layer: str) -> Iterator[tuple[str, str]]:
        """Iterate over (domain, reason) of a layer's removals from the pages that went out."""
        found = select(Document.domain, Decision.reason).join(Document, same_page(Document, Decision))
        found = found.where(*self._went_out(), Decision.layer == layer, Decision.action == "removed")
        rows = self._session.execute(found.execution_options(yield_per=_ROWS_AT_ONCE))
        yield from ((domain, reason) for domain, reason in rows)

    def aliases(self, limit: int) -> Iterator[StoredAlias]:
        """Iterate over URLs that another page stands for, in the order of their keys, at most so many."""
        other = table_of(Decision).alias()
        why = other.c
        of_why = same_page(why, CrawledUrl) & (why.action == _DROPPED)
        of_keeper = (Document.project_id == CrawledUrl.project_id) & (Document.page_key == CrawledUrl.document_key)
        chosen = (*self._of_run(CrawledUrl), CrawledUrl.document_key != CrawledUrl.page_key)
        # A page that one layer dropped once and another one later has a decision of each: the later one counts.
        found = (
            select(CrawledUrl.page_key, CrawledUrl.url, Document.url, CrawledUrl.alias_kind, why.layer)
            .join(Document, of_keeper)
            .outerjoin(other, of_why)
            .where(*chosen)
            .order_by(CrawledUrl.page_key, why.decided_at.desc(), why.layer)
        )
        last, left = b"", limit
        with self._session.execute(found.execution_options(yield_per=_ROWS_AT_ONCE)) as rows:
            for key, url, target, kind, layer in rows:
                if key == last:
                    continue
                if not left:
                    return
                last, left = key, left - 1
                yield StoredAlias(url, target, kind or layer or "unknown")

    def chunk_sizes(self) -> tuple[int, int]:
        """Return the sizes, and the characters, of all chunks together."""
        sums = select(func.sum(DocumentChunk.size), func.sum(DocumentChunk.chars))
        size, chars = self._session.execute(sums.where(DocumentChunk.project_id == self._project_id)).one()
        return int(size or 0), int(chars or 0)

    def shared(self, limit: int) -> list[StoredShare]:
        """Return the texts that most pages have as a chunk, of as many pages the one with the lowest hash first."""
        number = func.count(DocumentChunk.page_key.distinct())
        grouped = (
            select(DocumentChunk.content_hash, number)
            .where(DocumentChunk.project_id == self._project_id)
            .group_by(DocumentChunk.content_hash)
            .having(number > 1)
            .order_by(number.desc(), DocumentChunk.content_hash)
            .limit(limit)
        )
        return [self._share(key, pages) for key, pages in self._session.execute(grouped).all()]

    def _share(self, content_hash: bytes, pages: int) -> StoredShare:
        holds = case((DocumentChunk.state.in_(HOLDING), 0), else_=1)
        rows = self._session.execute(
            select(Document.url, DocumentChunk.state, DocumentChunk.sample, DocumentChunk.chars)
            .join(Document, same_page(Document, DocumentChunk))
            .where(DocumentChunk.project_id == self._project_id, DocumentChunk.content_hash == content_hash)
            .order_by(holds, DocumentChunk.page_key, DocumentChunk.position)
            .limit(_SHARE_PLACES)
        ).all()
        places: dict[str, bool] = {}
        for url, state, *_ in rows:
            places.setdefault(url, state in HOLDING)
        sample, chars = rows[0][2:] if rows else ("", 0)
        return StoredShare(content_hash, pages, sample, chars, tuple(places.items()))

    def likeness(self, page_key: bytes) -> StoredLikeness | None:
        """Return which page stands for one, or which one it is nearly like."""
        asked = select(PageSignature.keeper, PageSignature.layer, PageSignature.jaccard)
        of_page = (PageSignature.project_id == self._project_id, PageSignature.page_key == page_key)
        row = self._session.execute(asked.where(*of_page, PageSignature.keeper.is_not(None))).first()
        return read(row, StoredLikeness) if row else None

    def urls(self, keys: Collection[bytes]) -> dict[bytes, str]:
        """Return the URLs of some pages, by key."""
        found: dict[bytes, str] = {}
        for model in (CrawledUrl, Document):
            of_project = select(model.page_key, model.url).where(model.project_id == self._project_id)
            found |= {key: url for key, url in rows_in(self._session, of_project, model.page_key, set(keys))}  # noqa: C416 (as above)
        return found

    def removals(self, layers: Sequence[str], domain: str | None = None) -> Iterator[tuple[str, StoredDecision]]:
        """Iterate over the decisions by which some layers removed blocks, each with its page's domain."""
        chosen = (Decision.layer.in_(layers), Decision.action == "removed", Document.status == "completed")
        found = (
            select(Document.domain.label("of_domain"), *_DECISION)
            .join(Document, same_page(Document, Decision))
            .where(*chosen, Decision.project_id == self._project_id, *lookups.named(Document.domain, domain))
        )
        ordered = found.order_by(by_code_point(Document.domain), Decision.page_key, Decision.layer)
        for row in self._session.execute(ordered.execution_options(yield_per=_ROWS_AT_ONCE)):
            yield row.of_domain, read(row, StoredDecision, detail=unpack_json)

    def _went_out(self) -> list[ColumnElement[bool]]:
        return [*self._completed(), Document.chars_in.is_not(None)]


# Nobody reads more of one in a list, and a page may claim one of ten megabytes.
TITLE_CHARS = 1_000


class ListedPage(Struct, frozen=True):
    """A page's document, as lists show it.

    Attributes:
        title: its first thousand characters.
        chars_in, chars_out: of its text as it came and as it went out; None where it has no item.
        updated_at: when anything about it was last written, by which lists are ordered.
        last_seen_at: of its last acknowledged visit; None for a page that never had one.
    """

    page_key: bytes
    url: str
    domain: str
    title: str | None
    status: str
    verdict: str | None
    chars_in: int | None
    chars_out: int | None
    updated_at: datetime
    last_seen_at: datetime | None
    last_changed_at: datetime | None
    gone_at: datetime | None


class ListPlace(Struct, frozen=True):
    """Where a list was left: after this page."""

    updated_at: Annotated[datetime, Meta(tz=True)]
    page_key: Annotated[bytes, Meta(min_length=16, max_length=16)]


class PageMark(Struct, frozen=True):
    """A page in a list, as little of it as is needed to choose it."""

    place: ListPlace
    status: str
    verdict: str | None


_LISTED = [
    func.substr(column, 1, TITLE_CHARS) if column is Document.title else column
    for column in lookups.columns_of(Document, ListedPage)
]
_ORDER = (Document.updated_at, Document.page_key)


class PageLists:
    """Reads lists of pages; every question is answered from an index, in its order."""

    def __init__(self, session: Session, project_id: uuid.UUID, domain: str | None = None) -> None:
        self._session = session
        self._of = [Document.project_id == project_id]
        self._project_id = project_id
        if domain is not None:
            self._of.append(Document.domain == column_text(domain))

    def some(self, after: ListPlace | None, limit: int) -> list[ListedPage]:
        """Return so many pages that come after a place, newest first, ties by key."""
        return [ListedPage(*row) for row in self._session.execute(self._behind(_LISTED, after, limit))]

    def marks(self, after: ListPlace | None, limit: int) -> list[PageMark]:
        """Return so many pages as `some` does, in little: a tenth of the work."""
        rows = self._session.execute(self._behind([*_ORDER, Document.status, Document.verdict], after, limit))
        return [PageMark(ListPlace(updated_at, key), status, verdict) for updated_at, key, status, verdict in rows]

    def pages(self, keys: Collection[bytes]) -> list[ListedPage]:
        """Return the pages with these keys, of those that there are, newest first."""
        rows = rows_in(self._session, select(*_LISTED).where(*self._of), Document.page_key, keys)
        found = [ListedPage(*row) for row in rows]
        return sorted(found, key=lambda page: (page.updated_at, page.page_key), reverse=True)

    def _behind(self, columns: list[Any], after: ListPlace | None, limit: int) -> Select[Any]:
        chosen: list[ColumnElement[bool]] = list(self._of)
        if after is not None:
            chosen.append(tuple_(*_ORDER) < tuple_(after.updated_at, after.page_key))
        newest_first = [column.desc() for column in _ORDER]
        return select(*columns).where(*chosen).order_by(*newest_first).limit(limit)

    def count(self, most: int) -> int | None:
        """Return how many pages there are, None if they are more than so many: counting a million takes a while."""
        some = select(Document.page_key).where(*self._of).limit(most + 1).subquery()
        found = self._session.scalar(select(func.count()).select_from(some)) or 0
        return found if found <= most else None

    def texts(self, keys: Collection[bytes], most_chars: int) -> dict[bytes, str]:
        """Return the beginnings of the clean texts of some pages, by key; pages without one are left out."""
        text = func.substr(SourceRow.cleaned_content, 1, most_chars)
        asked = select(SourceRow.page_key, text).where(
            SourceRow.project_id == self._project_id, SourceRow.cleaned_content.is_not(None)
        )
        rows = rows_in(self._session, asked, SourceRow.page_key, keys)
        return {key: cleaned for key, cleaned in rows}  # noqa: C416 (as above)


_PAGES_AT_ONCE = 100


class StoredText(Struct, frozen=True):
    """What is left of a page that was acknowledged at least once.

    Attributes:
        document_key: of the document that the page's URL stands for; None where the URL itself is not stored.
        fetched_at, cleaned_content: None where no original is kept.
        gone_at: when it was declared removed.
    """

    page_key: bytes
    url: str
    domain: str
    title: str | None
    verdict: str | None
    run_id: uuid.UUID | None
    last_seen_at: datetime
    gone_at: datetime | None
    document_key: bytes | None
    fetched_at: datetime | None
    cleaned_content: str | None


_TEXT = (CrawledUrl.document_key, SourceRow.fetched_at, SourceRow.cleaned_content)
_OF_PAGE = (
    select(*lookups.columns_of(Document, StoredText), *_TEXT)
    .outerjoin(SourceRow, same_page(SourceRow, Document))
    .outerjoin(CrawledUrl, same_page(CrawledUrl, Document))
    .where(Document.last_seen_at.is_not(None))
    .order_by(Document.page_key)
    .limit(_PAGES_AT_ONCE)
)


def iterate_texts(session: Session, project_id: uuid.UUID) -> Iterator[StoredText]:
    """Iterate over pages in the order of their keys, gone ones included; a hundred are in memory at a time."""
    some = _OF_PAGE.where(Document.project_id == project_id)
    last: bytes | None = None
    while True:
        rows = session.execute(some if last is None else some.where(Document.page_key > last)).all()
        yield from (StoredText(*row) for row in rows)
        if len(rows) < _PAGES_AT_ONCE:
            return
        last = rows[-1][0]
