"""What is known of pages and domains, found by the columns that name them, and erased; and what nobody needs, removed.

Which tables there are is asked of the schema, so that a new one is not left out: one with a page's key is searched by
pages, another by the domain that it names.

Crawls hold all other bounds as they write, and go on beside. What they cannot know is that a page, a run or a queue
does not come back.

Whatever reads or writes the store raises StoreError where that fails.
"""

import re
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Table,
    Text,
    and_,
    cast,
    delete,
    exists,
    false,
    func,
    not_,
    or_,
    select,
    tuple_,
    union,
    update,
)

from scrapy_dedup.store import workers
from scrapy_dedup.store.engine.codec import unpack_text
from scrapy_dedup.store.engine.errors import DamagedError
from scrapy_dedup.store.pages import contents
from scrapy_dedup.store.pages.visits import THERE
from scrapy_dedup.store.records import shared
from scrapy_dedup.store.records.records import ForgetRecord
from scrapy_dedup.store.seen_urls import drop_scope, scopes
from scrapy_dedup.store.tables.columns import now
from scrapy_dedup.store.tables.models import (
    Base,
    Claim,
    CrawledUrl,
    CrawlRun,
    Decision,
    Document,
    Forgotten,
    Memo,
    RunWorker,
    SeenScope,
    SeenUrl,
    VisitRow,
)
from scrapy_dedup.store.tables.statements import change_in, chunks, insert_into, table_of
from scrapy_dedup.store.writer import ProjectStore

_AT_ONCE: Final = 250
_ROWS_AT_ONCE: Final = 5_000
_SIZES: Final = ("content_bytes", "cleaned_bytes", "body_bytes")


def _by(*names: str) -> dict[Table, Column[Any]]:
    """Return the tables with one of some columns, and that column."""
    tables = (table for table in Base.metadata.sorted_tables if table is not table_of(Forgotten))
    return {table: table.c[name] for table in tables for name in names if name in table.c}


_PAGE: Final = _by("page_key")
_DOMAIN: Final = _by("domain", "domain_name")
_URL: Final = _by("url", "first_url")


class ChosenRows(Struct, frozen=True):
    """What is to be forgotten.

    Attributes:
        domains: as they are stored; of pages, those in which they are.
        words: the name of the domain, or the addresses of the page: what says them elsewhere goes, too.
        pages: keys of the page and of its aliases; None for all that is known of the domains.
        key_of: the page key of a URL.
    """

    domains: tuple[str, ...]
    words: tuple[str, ...]
    pages: tuple[bytes, ...] | None
    key_of: Callable[[str], bytes]

    @property
    def pattern(self) -> re.Pattern[str]:
        """What finds the words in other texts: not in the middle of a longer name or address."""
        words = "|".join(map(re.escape, self.words))
        return re.compile(rf"(?<![\w-])(?:{words})(?!{'-' if self.pages is None else '[/?&=%#-]'}|\w)", re.IGNORECASE)


def stored_domains(project: ProjectStore) -> set[str]:
    """Return the names of all domains of which anything is known; reads all tables that have them."""
    names = union(*(select(column).where(table.c.project_id == project.id) for table, column in _DOMAIN.items()))
    with project.transaction() as connection:
        return set(connection.scalars(names))


def find(project: ProjectStore, chosen: ChosenRows) -> Counter[str]:
    """Return how many rows of each table would go."""
    found = Counter[str]()
    with project.transaction() as connection:
        for table, which in _which(connection, project.id, chosen):
            found[table.name] += connection.scalar(select(func.count()).select_from(table).where(which)) or 0
        found["memos"] = len(_memos(connection, project.id, chosen))
    return +found


def erase(
    project: ProjectStore,
    chosen: ChosenRows,
    told: Callable[[int], None],
    *,
    fingerprint: Callable[[str], bytes],
    announce: bool,
) -> Counter[str]:
    """Erase it, in parts between which crawls may write; return how many rows of each table went.

    What was erased when this fails, or is interrupted, stays erased; a second call does the rest.

    *told* is told how many rows went; *fingerprint* is that by which a queue remembers a request for a URL; *announce*:
    the keys of pages that were delivered stay until a crawl has said that they are removed.
    """
    gone = Counter[str]()
    # The pages of a domain are known while their rows are there: those that have a key alone go first.
    with project.transaction() as connection:
        which = list(_which(connection, project.id, chosen))
    for table, rows in which:
        if table is table_of(VisitRow) or table not in _PAGE:
            for number in _in_parts(project, table, rows):
                gone[table.name] += number
                told(number)
    for keys in _pages(project, chosen):
        with project.transaction(write=True) as connection:
            contents.lock_project(connection, project.id)
            _forget_requests(connection, project.id, keys, fingerprint)
            if announce:
                columns = (Document.project_id, Document.page_key)
                of_pages = (Document.project_id == project.id, Document.page_key.in_(keys))
                delivered = select(*columns).where(*of_pages, Document.last_seen_at.is_not(None), *THERE)
                told_later = insert_into(connection, Forgotten).from_select(["project_id", "page_key"], delivered)
                connection.execute(told_later.on_conflict_do_nothing())
            some = delete_pages(connection, project.id, keys)
        gone += some
        told(some.total())
    with project.transaction(write=True) as connection:
        contents.lock_project(connection, project.id)
        memos = _memos(connection, project.id, chosen)
        change_in(connection, delete(Memo).where(Memo.project_id == project.id), Memo.key, memos)
        gone["memos"] = len(memos)
        _erase_words(connection, project.id, chosen)
    project.rewrite_file()
    return +gone


def delete_pages(
    connection: Connection, project_id: uuid.UUID, keys: Collection[bytes], but: Collection[type[Base]] = ()
) -> Counter[str]:
    """Delete what tables know of pages, but some; whoever calls has locked the project."""
    stored_bytes = contents.lock_project(connection, project_id) or 0
    gone = Counter[str]()
    kept = {table_of(model) for model in but}
    for table, column in _PAGE.items():
        if table not in kept:
            of_pages = (table.c.project_id == project_id) & column.in_(keys)
            stored_bytes -= _bytes_of(connection, table, of_pages)
            gone[table.name] = connection.scalar(select(func.count()).select_from(table).where(of_pages)) or 0
    # What they stood for others goes on: bands by their numbers, texts to whoever has them.
    shared.forget_signatures(connection, project_id, keys)
    shared.write_chunks(connection, project_id, None, {key: ForgetRecord(key) for key in keys})
    for table, column in _PAGE.items():
        if table not in kept and gone[table.name]:
            connection.execute(delete(table).where(table.c.project_id == project_id, column.in_(keys)))
    # In the words of the index, which has aliases alone.
    aliases = (CrawledUrl.document_key.in_(keys), CrawledUrl.document_key != CrawledUrl.page_key)
    gone["crawled_urls"] += connection.execute(
        delete(CrawledUrl).where(CrawledUrl.project_id == project_id, *aliases)
    ).rowcount
    contents.count_bytes(connection, project_id, max(0, stored_bytes))
    return gone


def _which(
    connection: Connection, project_id: uuid.UUID, chosen: ChosenRows
) -> Iterator[tuple[Table, ColumnElement[bool]]]:
    """Yield which rows of which tables are to go, as the store is now."""
    keys: Any = chosen.pages
    if keys is None:
        named = [table for table in _DOMAIN if table in _PAGE]
        keys = union(*(select(_PAGE[table]).where(*_of_domains(project_id, table, chosen)) for table in named))
    for table, column in _PAGE.items():
        aliases = table.c.document_key.in_(keys) if table is table_of(CrawledUrl) else false()
        yield table, and_(table.c.project_id == project_id, column.in_(keys) | aliases)
    for table in _DOMAIN.keys() - _PAGE.keys():
        if chosen.pages is None:
            yield table, and_(*_of_domains(project_id, table, chosen))
        elif table in _URL:
            # Addresses are stored as they were spelt.
            spelt = select(_URL[table]).where(*_of_domains(project_id, table, chosen)).distinct()
            urls = [url for url in connection.scalars(spelt) if chosen.key_of(url) in chosen.pages]
            for some in chunks(urls):
                yield table, and_(*_of_domains(project_id, table, chosen), _URL[table].in_(some))


def _of_domains(project_id: uuid.UUID, table: Table, chosen: ChosenRows) -> tuple[ColumnElement[bool], ...]:
    return table.c.project_id == project_id, _DOMAIN[table].in_(chosen.domains)


def _pages(project: ProjectStore, chosen: ChosenRows) -> Iterator[list[bytes]]:
    """Yield the keys of pages, some at a time; those that went do not come again."""
    if chosen.pages is not None:
        yield from chunks(chosen.pages)
        return
    for table in _DOMAIN:
        if table not in _PAGE:
            continue
        column, after = _PAGE[table], b""
        while True:
            some = select(column).where(*_of_domains(project.id, table, chosen), column > after).distinct()
            with project.transaction() as connection:
                keys = list(connection.scalars(some.order_by(column).limit(_AT_ONCE)))
            if not keys:
                break
            yield keys
            after = keys[-1]


def _in_parts(project: ProjectStore, table: Table, rows: ColumnElement[bool]) -> Iterator[int]:
    """Delete rows some at a time, and yield how many."""
    key = tuple(table.primary_key)
    these = tuple_(*key).in_(select(*key).where(rows).order_by(*key).limit(_ROWS_AT_ONCE))
    number = _ROWS_AT_ONCE
    while number == _ROWS_AT_ONCE:
        with project.transaction(write=True) as connection:
            stored_bytes = contents.lock_project(connection, project.id) or 0
            stored_bytes -= _bytes_of(connection, table, these)
            number = connection.execute(delete(table).where(these)).rowcount
            contents.count_bytes(connection, project.id, max(0, stored_bytes))
        yield number


def _bytes_of(connection: Connection, table: Table, rows: ColumnElement[bool]) -> int:
    """Return how much some rows count of what a project holds."""
    sizes = [func.coalesce(func.sum(table.c[name]), 0) for name in _SIZES if name in table.c]
    return int(sum(connection.execute(select(*sizes).where(rows)).one())) if sizes else 0


def _forget_requests(
    connection: Connection, project_id: uuid.UUID, keys: Collection[bytes], fingerprint: Callable[[str], bytes]
) -> None:
    """Let queues forget the addresses of pages, as far as these are stored."""
    scopes = connection.scalars(select(SeenScope.id).where(SeenScope.project_id == project_id)).all()
    if scopes:
        urls = select(CrawledUrl.url).where(CrawledUrl.project_id == project_id, CrawledUrl.page_key.in_(keys))
        fingerprints = {fingerprint(url) for url in connection.scalars(urls)}
        change_in(connection, delete(SeenUrl).where(SeenUrl.scope_id.in_(scopes)), SeenUrl.fingerprint, fingerprints)


def _memos(connection: Connection, project_id: uuid.UUID, chosen: ChosenRows) -> list[bytes]:
    """Return the keys of memos whose result has the words; of which page's text one was made, nobody knows."""
    found = []
    some = select(Memo.key, Memo.result).where(Memo.project_id == project_id)
    for key, result in connection.execute(some.execution_options(yield_per=_AT_ONCE)):
        try:
            is_named = chosen.pattern.search(unpack_text(result)) is not None
        except DamagedError:
            continue
        if is_named:
            found.append(key)
    return found


def _erase_words(connection: Connection, project_id: uuid.UUID, chosen: ChosenRows) -> None:
    """Erase what is said of the pages elsewhere: as another page's original, in a reason, and in a run's figures."""

    def rows(table: Table, column: Column[Any]) -> Iterator[tuple[ColumnElement[bool], Any]]:
        said = or_(*(cast(column, Text).icontains(word, autoescape=True) for word in chosen.words))
        key = tuple(table.primary_key)
        for row in connection.execute(select(*key, column).where(table.c.project_id == project_id, said)).all():
            if chosen.pattern.search(str(row[-1])):
                yield and_(*(part == value for part, value in zip(key, row, strict=False))), row[-1]

    for model, name in ((Document, "canonical_url"), (Document, "error"), (CrawlRun, "stats"), (RunWorker, "stats")):
        table = table_of(model)
        for row, value in rows(table, table.c[name]):
            connection.execute(update(table).where(row).values({name: _without(value, chosen.pattern)}))
    for row, _ in rows(table_of(Decision), table_of(Decision).c.reason):
        connection.execute(delete(Decision).where(row))


def _without(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, dict):
        return {name: one for name, one in value.items() if not pattern.search(f"{name} {one}")}
    return None


# Between two transactions, so that a crawl that waits gets its turn: SQLite's locks are not given in order.
_PAUSE_SECONDS: Final = 0.01
# A process that was not heard of for so long is dead, and its queue with it.
_SILENT: Final = timedelta(days=1)
_HEARD: Final = func.coalesce(CrawlRun.seen_at, CrawlRun.started_at)


def find_garbage(project: ProjectStore, before: datetime) -> dict[str, int]:
    """Return how much nobody needs; of pages, runs and JOBDIRs what nobody came back to since an instant.

    That is: `pages` that were gone from their site, and not asked for, for long; `claims` of runs that ended without
    their workers; `seen_urls` of queues that nobody goes on with.
    """
    with project.transaction() as connection:
        pages = connection.scalar(select(func.count()).select_from(Document).where(*_gone(project.id, before)))
        claimed = connection.scalar(select(func.count()).select_from(Claim).where(*_left(project.id, before)))
        seen = [SeenUrl.scope_id == scope for scope in _ended_queues(connection, project.id, before)]
        urls = sum(connection.scalar(select(func.count()).where(of_scope)) or 0 for of_scope in seen)
    return {"pages": pages or 0, "claims": claimed or 0, "seen_urls": urls}


def remove_garbage(project: ProjectStore, before: datetime, progress: Callable[[int], None]) -> dict[str, int]:
    """Remove it, and return what it was; what was removed when this fails, or is interrupted, stays removed."""
    found = {"pages": 0, "claims": 0, "seen_urls": 0}
    for name, remove in zip(found, (_remove_pages, _remove_claims, _remove_queues), strict=True):
        for number in remove(project, before):
            found[name] += number
            progress(number)
            time.sleep(_PAUSE_SECONDS)
    return found


def _remove_pages(project: ProjectStore, before: datetime) -> Iterator[int]:
    after = b""
    while True:
        with project.transaction(write=True) as connection:
            # Taken first by all who write: what a crawl has under way is there, or comes after this.
            is_there = contents.lock_project(connection, project.id) is not None
            some = select(Document.page_key).where(*_gone(project.id, before), Document.page_key > after)
            keys = connection.scalars(some.order_by(Document.page_key).limit(_AT_ONCE)).all()
            if not keys or not is_there:
                return
            # What happened stays, within its own bound; an address may lead elsewhere by now.
            delete_pages(connection, project.id, keys, but=(VisitRow, CrawledUrl))
            own = (CrawledUrl.page_key.in_(keys), CrawledUrl.document_key == CrawledUrl.page_key)
            connection.execute(delete(CrawledUrl).where(CrawledUrl.project_id == project.id, *own))
        after = keys[-1]
        yield len(keys)


def _gone(project_id: uuid.UUID, before: datetime) -> tuple[ColumnElement[bool], ...]:
    """Say in SQL which pages were removed from their site before an instant, and by no address asked for since."""
    url = table_of(CrawledUrl).alias().c
    lately = (url.project_id == Document.project_id, url.last_crawled_at >= before)
    alias = (url.document_key == Document.page_key, url.document_key != url.page_key)
    asked = or_(exists().where(*lately, url.page_key == Document.page_key), exists().where(*lately, *alias))
    return Document.project_id == project_id, Document.gone_at < before, not_(asked)


def _remove_claims(project: ProjectStore, before: datetime) -> Iterator[int]:
    with project.transaction() as connection:
        runs = connection.scalars(select(Claim.run_id).where(*_left(project.id, before)).distinct()).all()
    for run_id in sorted(runs):
        number = _AT_ONCE
        while number == _AT_ONCE:
            with project.transaction(write=True) as connection:
                number = workers.forget(connection, run_id, _AT_ONCE)
            yield number


def _left(project_id: uuid.UUID, before: datetime) -> tuple[ColumnElement[bool], ...]:
    """Say in SQL which claims are of runs that finished, or were not heard of since an instant."""
    goes_on = exists().where(CrawlRun.id == Claim.run_id, CrawlRun.status != "finished", before <= _HEARD)
    return Claim.project_id == project_id, not_(goes_on)


def _remove_queues(project: ProjectStore, before: datetime) -> Iterator[int]:
    with project.transaction() as connection:
        ended = _ended_queues(connection, project.id, before)
    for scope in ended:
        yield drop_scope(project.transaction, scope)


def _ended_queues(connection: Connection, project_id: uuid.UUID, before: datetime) -> list[int]:
    """Return the queues that ended: with their process, or with a JOBDIR that was not used since an instant."""
    run, dead = CrawlRun.project_id == project_id, now() - _SILENT
    going_on = {
        "run": select(CrawlRun.id).where(run, CrawlRun.status == "running", dead <= _HEARD),
        # Scrapy's own filter remembers as long as the folder is there.
        "job": select(CrawlRun.jobdir).where(run, CrawlRun.jobdir.is_not(None), before <= _HEARD),
    }
    names = {f"{kind} {of}" for kind, some in going_on.items() for of in connection.scalars(some)}
    return [
        scope
        for scope, name, begun_at in scopes(connection, project_id)
        if name not in names and not (name.startswith("job ") and begun_at >= before)
    ]
