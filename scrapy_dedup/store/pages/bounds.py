"""Bounds of tables that would grow with every crawl."""

import uuid
from typing import Any

from sqlalchemy import ColumnClause, Connection, Table, delete, func, select, tuple_

from scrapy_dedup.store.tables.models import Decision, Document

# A table that is full shrinks to this share, so that counting and cutting are rare.
_ROOM = 0.9
# So few are kept however few pages there are.
_FEW = 1_000


class RowBound:
    """Holds the number of a project's rows in one table; one for each writer.

    It adds up what was written and counts only when that sum reaches the
    bound: a row written again is counted twice, which makes it count early.
    """

    def __init__(self, project_id: uuid.UUID, bound: int, *order: ColumnClause[Any], a_page: int | None = None) -> None:
        """Bound the table whose columns are given: in their order the oldest rows come first, and no two are equal.

        Args:
            project_id: of the project.
            bound: most rows.
            order: the columns.
            a_page: most rows for each document that is stored, where there are more than a few; None: so many.
        """
        self._order = order
        model = order[0].table
        assert isinstance(model, Table)
        self._model, self._of_project = model, model.c.project_id == project_id
        self._documents = select(Document.page_key).where(Document.project_id == project_id)
        self._most, self._a_page, self._bound = bound, a_page, bound
        self._at_most: int | None = None

    @property
    def keeps(self) -> bool:
        """Return whether any row is kept."""
        return self._bound > 0

    def hold(self, connection: Connection, written: int) -> None:
        """Delete the oldest rows when there are too many after so many were written."""
        if self._at_most is not None:
            self._at_most += written
        if self._at_most is None or self._at_most > self._bound:
            counted = select(func.count()).select_from(self._model).where(self._of_project)
            self._at_most = connection.scalar(counted) or 0
            self._bound = self._allowed(connection)
        if self._at_most > self._bound:
            self._at_most = max(1, int(self._bound * _ROOM))
            self._cut(connection, self._at_most)

    def _allowed(self, connection: Connection) -> int:
        if self._a_page is None:
            return self._most
        # No more are counted than matter.
        documents = self._documents.limit(self._most // self._a_page + 1).subquery()
        number = connection.scalar(select(func.count()).select_from(documents)) or 0
        return min(self._most, max(_FEW, self._a_page * number))

    def _cut(self, connection: Connection, room: int) -> None:
        newest_first = (column.desc() for column in self._order)
        newest_to_go = select(*self._order).where(self._of_project).order_by(*newest_first).offset(room).limit(1)
        last = connection.execute(newest_to_go).one()
        connection.execute(delete(self._model).where(self._of_project, tuple_(*self._order) <= tuple_(*last)))


def decision_bound(project_id: uuid.UUID, bound: int) -> RowBound:
    """Return the bound of a project's decisions."""
    return RowBound(project_id, bound, Decision.decided_at, Decision.page_key, Decision.layer)
