"""Pages that went out again with another clean text: what is stored of them, changed together."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scrapy_dedup.store.pages import contents, site_configs, states
from scrapy_dedup.store.records.batch import pack
from scrapy_dedup.store.records.page_records import PageKnowledge
from scrapy_dedup.store.records.stored import StoredState
from scrapy_dedup.store.upkeep.recleaning import Recleaned, RecleaningRepository


@dataclass(frozen=True, slots=True)
class Refined:
    """A page that went out again.

    Attributes:
        recleaned: what is left of it now.
        fetched_at: of the original that was cleaned; where another one is stored by now, nothing is written.
        compared: by what other pages are compared with it now.
    """

    recleaned: Recleaned
    fetched_at: datetime
    compared: tuple[PageKnowledge, ...] = ()


class RefinementRepository:
    """Brings the store up to date; whoever opened the session commits."""

    def __init__(
        self, session: Session, project_id: uuid.UUID, *, layer: str | Sequence[str], keep_decisions: int
    ) -> None:
        self._session = session
        self._project_id = project_id
        self._recleaning = RecleaningRepository(session, project_id, layer=layer, keep_decisions=keep_decisions)

    def write(self, pages: Sequence[Refined]) -> int:
        """Store the texts, figures and decisions of some pages; return how many still were what they were.

        What a later crawl has learned of a page in the meantime stays.
        """
        connection = self._session.connection()
        contents.lock_project(connection, self._project_id)
        known = states.find_states(connection, self._project_id, [page.recleaned.page_key for page in pages])
        still = [page for page in pages if is_of_version(known.get(page.recleaned.page_key), page.fetched_at)]
        self._recleaning.write([page.recleaned for page in still])
        site_configs.forget_stale(connection, self._project_id, [page.recleaned.page_key for page in still])
        pages_now = pack([one for page in still for one in page.compared], self._project_id, None).pages
        pages_now.write(connection, self._project_id, None, ())
        return len(still)


def is_of_version(state: StoredState | None, fetched_at: datetime) -> bool:
    """Say whether an original is that of a page's last acknowledged change: of a later one the items never arrived."""
    return state is not None and state.status == "completed" and state.last_changed_at == fetched_at
