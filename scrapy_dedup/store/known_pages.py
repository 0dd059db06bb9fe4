"""What a crawl asks of its project's store about other pages with a page's title, text or chunks."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_dedup.store import document_chunks, signatures, site_configs, url_parameters
from scrapy_dedup.store.known_layouts import KnownLayouts
from scrapy_dedup.store.page_records import StoredChunk, Twin
from scrapy_dedup.store.signatures import Candidate
from scrapy_dedup.store.site_configs import StoredSiteConfig
from scrapy_dedup.store.url_parameters import StoredParameter

if TYPE_CHECKING:
    from scrapy_dedup.store.stored import Run
import uuid

from sqlalchemy import ColumnElement, Connection, and_, bindparam, select

from scrapy_dedup.store.codec import column_text
from scrapy_dedup.store.document_chunks import visible
from scrapy_dedup.store.models import Document, PageSignature, Source
from scrapy_dedup.store.upserts import chunks

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
    select(Source.page_key, Source.cleaned_content)
    .join(Document, and_(Document.project_id == Source.project_id, Document.page_key == Source.page_key))
    .where(
        Source.project_id == bindparam("of_project", type_=Source.project_id.type),
        Source.page_key.in_(bindparam("pages", expanding=True)),
        Source.cleaned_content.is_not(None),
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
class Answer:
    """Who has it."""

    titles: Sequence[Twin] = ()
    texts: Sequence[bytes] = ()
    near: Sequence[Candidate] = ()
    holders: dict[bytes, list[bytes]] = field(default_factory=dict)
    before: Sequence[StoredChunk] = ()
    """The page's own chunks, of its last version."""


class KnownPages(KnownLayouts):
    """The part of `ProjectStore` that knows what pages have in common."""

    run: "Run | None" = None

    def others(self, question: Question) -> Answer:
        """Return who has what a page has; pages that are not completed count only if this run has them in work."""
        run_id = self.run.id if self.run else None
        title_key, text_hash = question.title_key, question.text_hash
        with self._database.transaction() as connection:
            about = (connection, self.id, run_id)
            own = question.page_key
            titles = same_title(*about, question.domain, title_key) if title_key else []
            domain = None if question.of_project else question.domain
            texts = same_text(*about, text_hash, domain) if text_hash else []
            near = signatures.candidates(connection, self.id, question.bands, but=own) if question.bands else []
            holders = document_chunks.holders(*about, question.hashes, own) if question.hashes else {}
            has_before = bool(question.hashes) and not question.is_new
            before = document_chunks.of_page(connection, self.id, own) if has_before else []
        return Answer(
            [twin for twin in titles if twin.page_key != own],
            [key for key in texts if key != own],
            near,
            holders,
            before,
        )

    def site_config(self, domain: str) -> StoredSiteConfig | None:
        """Return what people decided about a domain; None where nobody did."""
        return self._ask(site_configs.get, domain)

    def site_configs(self) -> list[StoredSiteConfig]:
        """Return what people decided about all domains, in their order."""
        with self._database.transaction() as connection:
            return site_configs.of_project(connection, self.id)

    def url_parameters(self) -> list[StoredParameter]:
        """Return what is known of parameters of URLs, in the order of domains and names."""
        with self._database.transaction() as connection:
            return url_parameters.of_project(connection, self.id)

    def put_url_parameters(self, parameters: Iterable[StoredParameter]) -> None:
        """Store what is known now of some parameters."""
        with self._database.transaction(write=True) as connection:
            url_parameters.put(connection, self.id, parameters)

    def texts_of(self, keys: Collection[bytes]) -> dict[bytes, str]:
        """Return the clean texts of those pages that count for others and whose text is kept."""
        with self._database.transaction() as connection:
            return texts(connection, self.id, self.run.id if self.run else None, keys)

    def chunks_of(self, page_key: bytes) -> list[StoredChunk]:
        """Return a page's chunks, in their order."""
        with self._database.transaction() as connection:
            return document_chunks.of_page(connection, self.id, page_key)
