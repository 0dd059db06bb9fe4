"""Pages that were cleaned again without a crawl: their texts, figures and reasons, changed together."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, update
from sqlalchemy.orm import Session

from scrapy_dedup.store.bounds import decision_bound
from scrapy_dedup.store.codec import Packer
from scrapy_dedup.store.models import Decision, Document
from scrapy_dedup.store.records import DecisionRecord
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.rows import decision_row
from scrapy_dedup.store.upserts import chunks, table_of, upsert


@dataclass(frozen=True, slots=True)
class Recleaned:
    """A stored page and what is left of it now.

    Attributes:
        cleaned_content: None where it is what is stored already.
        chars_in: characters of visible text before.
        chars_out: characters of them that are kept.
        decision: why blocks are left out; None where none is.
    """

    page_key: bytes
    cleaned_content: str | None
    chars_in: int
    chars_out: int
    decision: DecisionRecord | None


class RecleaningRepository:
    """Writes the outcome of an analysis; whoever opened the session commits."""

    def __init__(self, session: Session, project_id: uuid.UUID, *, layer: str, keep_decisions: int) -> None:
        self._session = session
        self._project_id = project_id
        self._layer = layer
        self._bound = decision_bound(project_id, keep_decisions)
        self._packer = Packer()

    def write(self, pages: Sequence[Recleaned]) -> None:
        """Store some pages' texts, the figures of their documents, and the layer's decisions about them.

        A page whose original is not kept, or that has no document, is left as it is in that respect.
        """
        if not pages:
            return
        texts = [(page.page_key, page.cleaned_content) for page in pages if page.cleaned_content is not None]
        SourceRepository(self._session).set_cleaned(
            self._project_id, ((key, text) for key, text in texts if text is not None)
        )
        connection = self._session.connection()
        self._set_figures(connection, pages)
        self._set_decisions(connection, pages)

    def _set_figures(self, connection: Connection, pages: Sequence[Recleaned]) -> None:
        document = table_of(Document)
        of_page = (document.c.project_id == self._project_id) & (document.c.page_key == bindparam("of_page"))
        rows = [{"of_page": page.page_key, "chars_in": page.chars_in, "chars_out": page.chars_out} for page in pages]
        connection.execute(update(document).where(of_page), rows)

    def _set_decisions(self, connection: Connection, pages: Sequence[Recleaned]) -> None:
        made = [page.decision for page in pages if page.decision is not None]
        self._forget([page.page_key for page in pages if page.decision is None])
        if made and self._bound.keeps:
            rows = [decision_row(decision, self._project_id, None, self._packer) for decision in made]
            upsert(connection, Decision, ("project_id", "page_key", "layer"), rows)
            self._bound.hold(connection, len(rows))

    def _forget(self, keys: Collection[bytes]) -> None:
        of_layer = (Decision.project_id == self._project_id, Decision.layer == self._layer)
        for some in chunks(keys):
            self._session.execute(delete(Decision).where(*of_layer, Decision.page_key.in_(some)))
