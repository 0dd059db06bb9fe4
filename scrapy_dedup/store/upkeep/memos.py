"""What costly functions made of texts."""

import json
import threading
from datetime import datetime
from typing import Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, delete, func, select, tuple_

from scrapy_dedup.store.engine.codec import column_text, pack_checked, unpack_text
from scrapy_dedup.store.engine.errors import DamagedError
from scrapy_dedup.store.pages import contents
from scrapy_dedup.store.tables.models import Memo
from scrapy_dedup.store.tables.statements import upsert
from scrapy_dedup.store.writer import ProjectStore

# Of a row beside its result: key and instant, in the table and in its index, and the project.
_ROW_BYTES: Final = 200
# What is beyond the bound shrinks to this share of it, so that counting and cutting are rare.
_ROOM: Final = 0.9
_COUNTED_EVERY: Final = 0.05


class MemoFigures(Struct, frozen=True):
    """How many memos there are, and their bytes."""

    memos: int
    size_bytes: int


class StoredMemos:
    """The memos of a project. Any thread may use it; every method raises StoreError when the store fails."""

    def __init__(self, project: ProjectStore, max_bytes: int = 0) -> None:
        """Hold a project's memos to so many bytes; 0: none is kept."""
        self._project = project
        self._of_project = Memo.project_id == project.id
        self._max_bytes = max_bytes
        # Since they were counted last; other processes write, too, so they are counted again and again.
        self._written = max_bytes
        self._lock = threading.Lock()

    def find(self, key: bytes, since: datetime | None) -> str | None:
        """Return the JSON under a key, None where there is none that was made since an instant.

        Raises:
            DamagedStoreError: it is not what was kept.
        """
        found = select(Memo.result, Memo.created_at).where(self._of_project, Memo.key == key)
        with self._project.transaction() as connection:
            row = connection.execute(found).first()
            if row is None or (since is not None and row.created_at < since):
                return None
            text = unpack_text(row.result)
            try:
                json.loads(text)
            except ValueError as error:
                raise DamagedError(f"a memo is no JSON ({error})") from error
            return text

    def keep(self, key: bytes, function: str, text: str, at: datetime) -> None:
        """Keep what a function made, in JSON, unless it alone is beyond the bound."""
        packed = pack_checked(text)
        size_bytes = len(packed) + _ROW_BYTES
        if size_bytes > self._max_bytes:
            return
        row = {
            "project_id": self._project.id,
            "key": key,
            "function": column_text(function),
            "created_at": at,
            "size_bytes": size_bytes,
            "result": packed,
        }
        with self._lock:
            self._written += size_bytes
            is_due = self._written > _COUNTED_EVERY * self._max_bytes
            if is_due:
                self._written = 0
        with self._project.transaction(write=True) as connection:
            if is_due:
                contents.lock_project(connection, self._project.id)
            upsert(connection, Memo, ("project_id", "key"), [row])
            if is_due and self._figures(connection).size_bytes > self._max_bytes:
                self._cut(connection)

    def _cut(self, connection: Connection) -> None:
        newest_first = (Memo.created_at.desc(), Memo.key.desc())
        sums = select(Memo.created_at, Memo.key, func.sum(Memo.size_bytes).over(order_by=newest_first).label("so_far"))
        summed = sums.where(self._of_project).subquery()
        beyond = select(summed.c.created_at, summed.c.key).where(summed.c.so_far > _ROOM * self._max_bytes)
        newest_to_go = beyond.order_by(summed.c.so_far).limit(1)
        last = connection.execute(newest_to_go).one()
        connection.execute(delete(Memo).where(self._of_project, tuple_(Memo.created_at, Memo.key) <= tuple_(*last)))

    def figures(self) -> MemoFigures:
        """Return how many there are, and their bytes."""
        with self._project.transaction() as connection:
            return self._figures(connection)

    def remove(self, before: datetime | None, *, dry_run: bool) -> MemoFigures:
        """Delete those that were made before an instant, None: all of them; or only count them."""
        made_before = () if before is None else (Memo.created_at < before,)
        with self._project.transaction(write=not dry_run) as connection:
            found = self._figures(connection, *made_before)
            if not dry_run:
                connection.execute(delete(Memo).where(self._of_project, *made_before))
        return found

    def _figures(self, connection: Connection, *conditions: ColumnElement[bool]) -> MemoFigures:
        sums = select(func.count(), func.coalesce(func.sum(Memo.size_bytes), 0)).where(self._of_project, *conditions)
        count, size_bytes = connection.execute(sums).one()
        return MemoFigures(count, int(size_bytes))
