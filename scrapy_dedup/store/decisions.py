"""The ledger of decisions and its bound."""

import uuid

from sqlalchemy import Connection, delete, func, select, tuple_

from scrapy_dedup.store.models import Decision

# A ledger that is full shrinks to this share, so that counting and cutting are rare.
_ROOM = 0.9


class DecisionBound:
    """Holds the number of a project's decisions; one for each writer.

    It adds up what was written and counts only when that sum reaches the
    bound: a row written again is counted twice, which makes it count early.
    """

    def __init__(self, project_id: uuid.UUID, bound: int) -> None:
        self._project_id = project_id
        self._bound = bound
        self._room = max(1, int(bound * _ROOM))
        self._at_most: int | None = None

    def hold(self, connection: Connection, written: int) -> None:
        """Delete the oldest decisions when there are too many after so many were written."""
        if self._at_most is not None:
            self._at_most += written
        if self._at_most is None or self._at_most > self._bound:
            self._at_most = self._count(connection)
        if self._at_most > self._bound:
            self._cut(connection)
            self._at_most = self._room

    def _count(self, connection: Connection) -> int:
        counted = select(func.count()).select_from(Decision).where(Decision.project_id == self._project_id)
        return connection.scalar(counted) or 0

    def _cut(self, connection: Connection) -> None:
        order = (Decision.decided_at, Decision.page_key, Decision.layer)
        of_project = Decision.project_id == self._project_id
        newest_to_go = (
            select(*order).where(of_project).order_by(*(column.desc() for column in order)).offset(self._room).limit(1)
        )
        last = connection.execute(newest_to_go).one()
        connection.execute(delete(Decision).where(of_project, tuple_(*order) <= tuple_(*last)))
