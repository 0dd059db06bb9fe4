"""What a ledger, an explanation and an undone decision read of a whole project."""

import uuid
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct
from sqlalchemy import ColumnElement, case, func, select
from sqlalchemy.orm import Session

from scrapy_dedup.core.runs import LedgerDomain
from scrapy_dedup.store.engine.codec import column_text, unpack_json
from scrapy_dedup.store.records import lookups
from scrapy_dedup.store.records.page_records import GIVEN, HOLDING
from scrapy_dedup.store.records.stored import StoredDecision
from scrapy_dedup.store.tables.columns import by_code_point
from scrapy_dedup.store.tables.models import CrawledUrl, Decision, Document, DocumentChunk, PageSignature
from scrapy_dedup.store.tables.upserts import chunks, table_of

_DECISION = lookups.columns_of(Decision, StoredDecision)
_ROWS_AT_ONCE = 500
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


class LedgerReads:
    """Reads over a project's present state; with a run, over the rows that this run wrote last."""

    def __init__(self, session: Session, project_id: uuid.UUID, run_id: uuid.UUID | None = None) -> None:
        self._session = session
        self._project_id = project_id
        self._run_id = run_id

    def dropped(self) -> dict[str, DroppedPages]:
        """Return what the layers left out whole, by layer."""
        of_alias = (CrawledUrl.project_id == Decision.project_id) & (CrawledUrl.page_key == Decision.page_key)
        of_keeper = (Document.project_id == CrawledUrl.project_id) & (Document.page_key == CrawledUrl.document_key)
        of_chunk = (DocumentChunk.project_id == CrawledUrl.project_id) & (
            DocumentChunk.page_key == CrawledUrl.document_key
        )
        chosen = [Decision.project_id == self._project_id, Decision.action == _DROPPED]
        chosen.append(CrawledUrl.document_key != CrawledUrl.page_key)
        if self._run_id is not None:
            chosen.append(Decision.run_id == self._run_id)
        pages = (
            select(Decision.layer, func.count(), func.sum(Document.chars_out))
            .join(CrawledUrl, of_alias)
            .join(Document, of_keeper)
            .where(*chosen, Document.chars_out.is_not(None))
            .group_by(Decision.layer)
        )
        given = (
            select(Decision.layer, func.count())
            .join(CrawledUrl, of_alias)
            .join(DocumentChunk, of_chunk)
            .where(*chosen, DocumentChunk.state.in_(GIVEN))
            .group_by(Decision.layer)
        )
        counts = {layer: number for layer, number in self._session.execute(given)}  # noqa: C416 (rows are typed, pairs are not)
        return {
            layer: DroppedPages(number, int(chars or 0), counts.get(layer, 0))
            for layer, number, chars in self._session.execute(pages)
        }

    def domains(self) -> list[LedgerDomain]:
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
        others = [CrawledUrl.project_id == self._project_id, CrawledUrl.document_key != CrawledUrl.page_key]
        others.append(CrawledUrl.status.in_(("alias", "duplicate")))
        if self._run_id is not None:
            others.append(CrawledUrl.run_id == self._run_id)
        aliases = select(CrawledUrl.domain, func.count()).where(*others).group_by(CrawledUrl.domain)
        for domain, number in self._session.execute(aliases):
            found.setdefault(domain, [0] * 6)[1] = number
        given = func.sum(case((DocumentChunk.state.in_(GIVEN), 1), else_=0))
        chunked = (
            select(Document.domain, func.count(), given)
            .join(Document, self._of_chunk())
            .where(DocumentChunk.project_id == self._project_id, *self._went_out())
            .group_by(Document.domain)
        )
        for domain, number, handed_on in self._session.execute(chunked):
            found.setdefault(domain, [0] * 6)[4:] = [number, int(handed_on or 0)]
        sums = [LedgerDomain(domain, *figures) for domain, figures in found.items()]
        return sorted(sums, key=lambda one: (-one.pages, -one.aliases, one.domain))

    def removed_reasons(self, layer: str) -> Iterator[tuple[str, str]]:
        """Iterate over (domain, reason) of a layer's removals from the pages that went out."""
        same_page = (Document.project_id == Decision.project_id) & (Document.page_key == Decision.page_key)
        found = select(Document.domain, Decision.reason).join(Document, same_page)
        found = found.where(*self._went_out(), Decision.layer == layer, Decision.action == "removed")
        rows = self._session.execute(found.execution_options(yield_per=_ROWS_AT_ONCE))
        yield from ((domain, reason) for domain, reason in rows)

    def aliases(self, limit: int) -> Iterator[StoredAlias]:
        """Iterate over URLs that another page stands for, in the order of their keys, at most so many."""
        other = table_of(Decision).alias()
        why = other.c
        of_why = (
            (why.project_id == CrawledUrl.project_id) & (why.page_key == CrawledUrl.page_key) & (why.action == _DROPPED)
        )
        of_keeper = (Document.project_id == CrawledUrl.project_id) & (Document.page_key == CrawledUrl.document_key)
        chosen = [CrawledUrl.project_id == self._project_id, CrawledUrl.document_key != CrawledUrl.page_key]
        if self._run_id is not None:
            chosen.append(CrawledUrl.run_id == self._run_id)
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

    def shared(self, limit: int, places: int = 6) -> list[StoredShare]:
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
        return [self._share(key, pages, places) for key, pages in self._session.execute(grouped).all()]

    def _share(self, content_hash: bytes, pages: int, places: int) -> StoredShare:
        holds = case((DocumentChunk.state.in_(HOLDING), 0), else_=1)
        rows = self._session.execute(
            select(Document.url, DocumentChunk.state, DocumentChunk.sample, DocumentChunk.chars)
            .join(Document, self._of_chunk())
            .where(DocumentChunk.project_id == self._project_id, DocumentChunk.content_hash == content_hash)
            .order_by(holds, DocumentChunk.page_key, DocumentChunk.position)
            .limit(places)
        ).all()
        found = {url: state in HOLDING for url, state, *_ in reversed(rows)}
        first = rows[0] if rows else None
        urls = dict.fromkeys(row[0] for row in rows)
        return StoredShare(
            content_hash=content_hash,
            pages=pages,
            sample=first[2] if first else "",
            chars=first[3] if first else 0,
            places=tuple((url, found[url]) for url in urls),
        )

    def likeness(self, page_key: bytes) -> StoredLikeness | None:
        """Return which page stands for one, or which one it is nearly like."""
        asked = select(PageSignature.keeper, PageSignature.layer, PageSignature.jaccard)
        row = self._session.execute(
            asked.where(PageSignature.project_id == self._project_id, PageSignature.page_key == page_key)
        ).first()
        if row is None or row[0] is None:
            return None
        return StoredLikeness(row[0], row[1], row[2])

    def urls(self, keys: Collection[bytes]) -> dict[bytes, str]:
        """Return the URLs of some pages, by key."""
        found: dict[bytes, str] = {}
        for some in chunks(sorted(set(keys))):
            for model in (CrawledUrl, Document):
                asked = select(model.page_key, model.url)
                asked = asked.where(model.project_id == self._project_id, model.page_key.in_(some))
                found |= {key: url for key, url in self._session.execute(asked)}  # noqa: C416 (as above)
        return found

    def removals(self, layers: Sequence[str], domain: str | None = None) -> Iterator[tuple[str, StoredDecision]]:
        """Iterate over the decisions by which some layers removed blocks, each with its page's domain."""
        same_page = (Document.project_id == Decision.project_id) & (Document.page_key == Decision.page_key)
        chosen = [Decision.layer.in_(layers), Decision.action == "removed", Document.status == "completed"]
        chosen.append(Decision.project_id == self._project_id)
        if domain is not None:
            chosen.append(Document.domain == column_text(domain))
        found = select(Document.domain.label("of_domain"), *_DECISION).join(Document, same_page).where(*chosen)
        ordered = found.order_by(by_code_point(Document.domain), Decision.page_key, Decision.layer)
        for row in self._session.execute(ordered.execution_options(yield_per=_ROWS_AT_ONCE)):
            values = dict(row._mapping)  # noqa: SLF001 (SQLAlchemy's public name for it)
            of_domain, packed = values.pop("of_domain"), values.pop("detail")
            yield of_domain, StoredDecision(detail=None if packed is None else unpack_json(packed), **values)

    def _went_out(self) -> list[ColumnElement[bool]]:
        conditions = [
            Document.project_id == self._project_id,
            Document.status == "completed",
            Document.chars_in.is_not(None),
        ]
        if self._run_id is not None:
            conditions.append(Document.run_id == self._run_id)
        return conditions

    def _of_chunk(self) -> ColumnElement[bool]:
        return (Document.project_id == DocumentChunk.project_id) & (Document.page_key == DocumentChunk.page_key)
