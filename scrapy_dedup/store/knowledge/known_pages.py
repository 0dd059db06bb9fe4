"""What a crawl asks of its project's store about other pages with a page's title, text or chunks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scrapy_dedup.store.knowledge import url_parameters as parameters
from scrapy_dedup.store.knowledge.known_layouts import KnownLayouts, asks
from scrapy_dedup.store.pages import site_configs as configs
from scrapy_dedup.store.records import document_chunks, signatures
from scrapy_dedup.store.records.page_records import StoredChunk, Twin
from scrapy_dedup.store.records.signatures import BandMatch

if TYPE_CHECKING:
    from scrapy_dedup.store.records.stored import Run
import uuid

from sqlalchemy import ColumnElement, Connection, Executable, and_, bindparam, exists, select

from scrapy_dedup.store.engine.codec import column_text
from scrapy_dedup.store.records.document_chunks import visible
from scrapy_dedup.store.tables.models import Document, DocumentChunk, NearDuplicate, PageSignature, SourceRow
from scrapy_dedup.store.tables.upserts import chunks

# More pages with one title, or one text, tell nothing that these do not.
_MOST_TWINS = 64


def _its_document() -> ColumnElement[bool]:
    return and_(Document.project_id == PageSignature.project_id, Document.page_key == PageSignature.page_key)


_OF_PROJECT = PageSignature.project_id == bindparam("of_project", type_=PageSignature.project_id.type)
_SIGNATURES = select().join_from(PageSignature, Document, _its_document()).where(_OF_PROJECT, visible())
# Asked for every page: building these each time would cost more than the answers.
_SAME_TITLE = (
    _SIGNATURES.add_columns(PageSignature.page_key, PageSignature.text_hash, PageSignature.layer.is_not(None))
    .where(PageSignature.domain == bindparam("of_domain"), PageSignature.title_key == bindparam("title"))
    .order_by(PageSignature.id)
    .limit(_MOST_TWINS)
)
_SAME_TEXT = (
    _SIGNATURES.add_columns(PageSignature.page_key)
    .where(PageSignature.text_hash == bindparam("text"), PageSignature.layer.is_(None))
    .order_by(PageSignature.id)
    .limit(_MOST_TWINS)
)
_SAME_TEXT_OF_DOMAIN = _SAME_TEXT.where(PageSignature.domain == bindparam("of_domain"))
_TEXTS = (
    select(SourceRow.page_key, SourceRow.cleaned_content)
    .join(Document, and_(Document.project_id == SourceRow.project_id, Document.page_key == SourceRow.page_key))
    .where(
        SourceRow.project_id == bindparam("of_project", type_=SourceRow.project_id.type),
        SourceRow.page_key.in_(bindparam("pages", expanding=True)),
        SourceRow.cleaned_content.is_not(None),
        visible(),
    )
)


def same_title(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, domain: str, title_key: bytes
) -> list[Twin]:
    """Return pages of a domain that have a title, in the order in which they came."""
    values = {"of_project": project_id, "of_run": run_id, "of_domain": column_text(domain), "title": title_key}
    return [Twin(*row) for row in connection.execute(_SAME_TITLE, values)]


def same_text(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, text_hash: bytes, domain: str | None
) -> list[bytes]:
    """Return the pages that stand for a text, in the order in which they came; None: of any domain."""
    values = {"of_project": project_id, "of_run": run_id, "text": text_hash}
    if domain is None:
        return list(connection.scalars(_SAME_TEXT, values))
    return list(connection.scalars(_SAME_TEXT_OF_DOMAIN, values | {"of_domain": column_text(domain)}))


def texts(
    connection: Connection, project_id: uuid.UUID, run_id: uuid.UUID | None, keys: Collection[bytes]
) -> dict[bytes, str]:
    """Return the clean texts of those pages that count for others and whose text is kept."""
    found: dict[bytes, str] = {}
    values = {"of_project": project_id, "of_run": run_id}
    for some in chunks(keys):
        for key, text in connection.execute(_TEXTS, values | {"pages": some}):
            found[key] = text or ""
    return found


# A statement for each number of texts would be too many to keep, and to build one costs more than the answer.
_TEXTS_STEP = 16
_MOST_TEXTS = 256


@lru_cache(maxsize=32)
def _any_other(bands: int, texts: int) -> Executable:
    """Ask by one statement whether any page may have the title, the text, a band or the text of a chunk of a page."""
    own = select(PageSignature.id).where(_OF_PROJECT)
    title = own.where(PageSignature.domain == bindparam("of_domain"), PageSignature.title_key == bindparam("title"))
    found: list[ColumnElement[bool]] = [exists(title), exists(own.where(PageSignature.text_hash == bindparam("text")))]
    if bands:
        of_bands = NearDuplicate.band.in_([bindparam(f"band_{at}") for at in range(bands)])
        found.append(exists(select(NearDuplicate.page).where(of_bands)))
    if texts:
        of_project = DocumentChunk.project_id == bindparam("of_project")
        of_texts = DocumentChunk.content_hash.in_([bindparam(f"chunk_{at}") for at in range(texts)])
        found.append(exists(select(DocumentChunk.page_key).where(of_project, of_texts)))
    return select(*found)


def without_what_none_has(connection: Connection, project_id: uuid.UUID, question: "Question") -> "Question":
    """Return a question about a new page without what no other page can have: of most pages that is all."""
    bands, texts = question.bands, sorted(question.hashes)
    if len(texts) > _MOST_TEXTS:
        return question
    # The last one again, up to a number for which there is a statement.
    texts += texts[-1:] * (-len(texts) % _TEXTS_STEP)
    values: dict[str, Any] = {f"band_{number}": band for number, band in enumerate(bands)}
    values |= {f"chunk_{number}": text for number, text in enumerate(texts)}
    values |= {"of_project": project_id, "of_domain": column_text(question.domain)}
    values |= {"title": question.title_key, "text": question.text_hash}
    title, text, *others = connection.execute(_any_other(len(bands), len(texts)), values).one()
    return replace(
        question,
        title_key=question.title_key if title else None,
        text_hash=question.text_hash if text else None,
        bands=bands if bands and others[0] else (),
        hashes=question.hashes if texts and others[-1] else frozenset(),
    )


@dataclass(frozen=True, slots=True)
class Question:
    """What of a page others may have, too."""

    page_key: bytes
    domain: str
    title_key: bytes | None = None
    text_hash: bytes | None = None
    bands: tuple[int, ...] = ()
    hashes: frozenset[bytes] = frozenset()
    """Of its chunks."""
    is_new: bool = False
    """The page has no earlier version."""
    of_project: bool = False
    """Pages with the same text count on any domain."""


@dataclass(frozen=True, slots=True)
class Holders:
    """Who has it."""

    titles: Sequence[Twin] = ()
    texts: Sequence[bytes] = ()
    near: Sequence[BandMatch] = ()
    holders: dict[bytes, list[bytes]] = field(default_factory=dict)
    before: Sequence[StoredChunk] = ()
    """The page's own chunks, of its last version."""


class KnownPages(KnownLayouts):
    """The part of `ProjectStore` that knows what pages have in common."""

    run: "Run | None" = None
    site_config = asks(configs.get)
    site_configs = asks(configs.of_project)
    url_parameters = asks(parameters.of_project)
    put_url_parameters = asks(parameters.put, write=True)
    chunks_of = asks(document_chunks.of_page)

    def others(self, question: Question) -> Holders:
        """Return who has what a page has; pages that are not completed count only if this run has them in work."""
        run_id = self.run.id if self.run else None
        with self._database.transaction() as connection:
            if question.is_new:
                question = without_what_none_has(connection, self.id, question)
            title_key, text_hash = question.title_key, question.text_hash
            about = (connection, self.id, run_id)
            own = question.page_key
            titles = same_title(*about, question.domain, title_key) if title_key else []
            domain = None if question.of_project else question.domain
            texts = same_text(*about, text_hash, domain) if text_hash else []
            near = signatures.candidates(connection, self.id, question.bands, but=own) if question.bands else []
            holders = document_chunks.holders(*about, question.hashes, own) if question.hashes else {}
            has_before = bool(question.hashes) and not question.is_new
            before = document_chunks.of_page(connection, self.id, own) if has_before else []
        return Holders(
            [twin for twin in titles if twin.page_key != own],
            [key for key in texts if key != own],
            near,
            holders,
            before,
        )

    def texts_of(self, keys: Collection[bytes]) -> dict[bytes, str]:
        """Return the clean texts of those pages that count for others and whose text is kept."""
        with self._database.transaction() as connection:
            return texts(connection, self.id, self.run.id if self.run else None, keys)
