"""Pages that were cleaned again without a crawl: their texts, figures and reasons, changed together."""

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, update
from sqlalchemy.orm import Session

from scrapy_dedup.store.pages import contents, site_configs, visits
from scrapy_dedup.store.pages.visits import decision_bound
from scrapy_dedup.store.records import shared
from scrapy_dedup.store.records.batch import pack
from scrapy_dedup.store.records.records import CleanedRecord, Recleaned
from scrapy_dedup.store.records.stored import StoredState
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.tables.models import Decision, Document
from scrapy_dedup.store.tables.statements import change_in, table_of, upsert


class RecleaningRepository:
    """Writes the outcome of an analysis; whoever opened the session commits."""

    def __init__(self, session: Session, project_id: uuid.UUID, layers: Sequence[str], keep_decisions: int) -> None:
        """Take whose decisions are written; what a layer of these no longer says of a page is forgotten."""
        self._session = session
        self._project_id = project_id
        self._layers = layers
        self._bound = decision_bound(project_id, keep_decisions)

    def write(self, pages: Sequence[Recleaned]) -> None:
        """Store some pages' texts, the figures of their documents, and the layer's decisions about them.

        A page whose original is not kept, or that has no document, is left as it is in that respect.
        """
        if not pages:
            return
        texts = (
            CleanedRecord(page.page_key, page.cleaned_content, page.report)
            for page in pages
            if page.cleaned_content is not None
        )
        SourceRepository(self._session).set_cleaned(self._project_id, texts)
        connection = self._session.connection()
        self._set_figures(connection, pages)
        self._set_decisions(connection, pages)

    def write_refined(self, pages: Sequence[Recleaned]) -> int:
        """Store what is left of some pages that went out; return how many still were what they were.

        What a later crawl has learned of a page in the meantime stays.
        """
        connection = self._session.connection()
        contents.lock_project(connection, self._project_id)
        known = visits.find_states(connection, self._project_id, [page.page_key for page in pages])
        still = [page for page in pages if is_of_version(known.get(page.page_key), page.fetched_at)]
        self.write(still)
        site_configs.forget_stale(connection, self._project_id, [page.page_key for page in still])
        shared.write(connection, pack([one for page in still for one in page.compared], self._project_id))
        return len(still)

    def _set_figures(self, connection: Connection, pages: Sequence[Recleaned]) -> None:
        document = table_of(Document)
        of_page = (document.c.project_id == self._project_id) & (document.c.page_key == bindparam("of_page"))
        rows = [{"of_page": page.page_key, "chars_in": page.chars_in, "chars_out": page.chars_out} for page in pages]
        connection.execute(update(document).where(of_page), rows)

    def _set_decisions(self, connection: Connection, pages: Sequence[Recleaned]) -> None:
        made = [one for page in pages for one in page.decisions]
        for layer in self._layers:
            with_one = {one.page_key for one in made if one.layer == layer}
            self._forget(layer, [page.page_key for page in pages if page.page_key not in with_one])
        if made and self._bound.keeps:
            rows = list(pack(made, self._project_id).decisions.values())
            upsert(connection, Decision, ("project_id", "page_key", "layer"), rows)
            self._bound.hold(connection, len(rows))

    def _forget(self, layer: str, keys: Collection[bytes]) -> None:
        of_layer = (Decision.project_id == self._project_id, Decision.layer == layer)
        change_in(self._session, delete(Decision).where(*of_layer), Decision.page_key, keys)


def is_of_version(state: StoredState | None, fetched_at: datetime | None) -> bool:
    """Say whether an original is that of a page's last acknowledged change: of a later one the items never arrived."""
    return state is not None and state.status == "completed" and state.last_changed_at == fetched_at
