"""Titles and texts that the workers of one run give: of two that have the same at once, one is told that it is first.

The first shows what it has: by that the others find out whether theirs is the same. A claim bridges the moment until
the page is in the store, where others find it. All statements touch rows in the order of (kind, key), so that two
workers never wait for each other in a circle.

No two pages are left out for each other: one is seen that was first with all that it claimed, or that goes out for
sure, and one that was first is left out for one of the latter alone.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from sqlalchemy import Connection, bindparam, delete, or_, select, tuple_

from scrapy_dedup.store.records.page_records import ClaimKey, ClaimKind, ReleaseRecord
from scrapy_dedup.store.tables.models import Claim
from scrapy_dedup.store.tables.upserts import insert_into, table_of
from scrapy_dedup.store.workers.workers import living


class Claimant(Struct, frozen=True):
    """Who claims."""

    project_id: uuid.UUID
    run_id: uuid.UUID
    worker_id: uuid.UUID


Lost = Mapping[ClaimKey, bytes]
"""What other workers have of what was claimed: the key of the page that holds it."""


class Shown(Struct, frozen=True):
    """What a page has, for others to see."""

    evidence: bytes
    """By which they find out whether theirs is the same, as `PageEvidence` packs it."""
    is_out: bool = False
    """It goes out, whatever others do."""


def claim(
    connection: Connection, claimant: Claimant, owner: bytes, keys: Collection[ClaimKey], shown: Shown | None = None
) -> Lost:
    """Claim things for a page; return what of them another worker has.

    What a dead worker had is free: what it gave is in the store. So is what a worker has of the page itself.

    Args:
        connection: to write on.
        claimant: who claims.
        owner: the page.
        keys: of what is claimed.
        shown: what the page has; others see it where nothing is lost.
    """
    ours = {"project_id": claimant.project_id, "run_id": claimant.run_id, "worker_id": claimant.worker_id}
    statement, claims = insert_into(connection, Claim), table_of(Claim)
    new = statement.excluded
    is_free = or_(claims.c.owner == new.owner, claims.c.worker_id.not_in(living(claimant.run_id)))
    of_new = {name: new[name] for name in ("worker_id", "owner", "shown")}
    taken = statement.on_conflict_do_update(
        index_elements=["run_id", "kind", "key"],
        set_=of_new | {"is_out": or_(new.is_out, claims.c.is_out)},
        where=is_free,
    )
    row = {**ours, "owner": owner, "shown": None, "is_out": False}
    if keys:
        connection.execute(taken, [row | {"kind": int(one.kind), "key": one.key} for one in sorted(keys)])
    # The upsert has locked all of these rows, also those that it left as they were: none can go meanwhile.
    theirs = select(Claim.kind, Claim.key, Claim.owner).where(
        Claim.run_id == claimant.run_id,
        tuple_(Claim.kind, Claim.key).in_([(int(one.kind), one.key) for one in keys]),
        Claim.worker_id != claimant.worker_id,
    )
    lost = {ClaimKey(ClaimKind(kind), key): holder for kind, key, holder in connection.execute(theirs)}
    if shown is not None and not lost:
        # The last in the order of (kind, key).
        page = {"kind": int(ClaimKind.PAGE), "key": owner, "shown": shown.evidence, "is_out": shown.is_out}
        connection.execute(taken, row | page)
    return lost


def shown_by(connection: Connection, run_id: uuid.UUID, page_key: bytes) -> Shown | None:
    """Return what is seen of a page of a run; None: nothing, or nothing yet."""
    of_page = (Claim.run_id == run_id, Claim.kind == int(ClaimKind.PAGE), Claim.key == page_key)
    row = connection.execute(select(Claim.shown, Claim.is_out).where(*of_page)).one_or_none()
    return Shown(row.shown, row.is_out) if row is not None and row.shown is not None else None


def release(connection: Connection, claimant: Claimant | None, records: Iterable[ReleaseRecord]) -> None:
    """Delete what pages claimed; without a shared run nobody did."""
    released = sorted({(int(one.claim.kind), one.claim.key, one.owner) for one in records})
    if claimant is None or not released:
        return
    claims = table_of(Claim)
    ours = delete(claims).where(
        claims.c.run_id == claimant.run_id,
        claims.c.kind == bindparam("of_kind"),
        claims.c.key == bindparam("of_key"),
        claims.c.owner == bindparam("of_page"),
        claims.c.worker_id == claimant.worker_id,
    )
    named = [{"of_kind": kind, "of_key": key, "of_page": owner} for kind, key, owner in released]
    connection.execute(ours, named)


def forget(connection: Connection, run_id: uuid.UUID, limit: int) -> int:
    """Delete claims of a run, so many at most; return how many."""
    some = select(Claim.kind, Claim.key).where(Claim.run_id == run_id).limit(limit)
    # SQLite lets one write at a time; asked for an order, it would read all claims of the run for it.
    if connection.dialect.name == "postgresql":
        some = some.order_by(Claim.kind, Claim.key).with_for_update()
    # A part of the other statement could be asked again for each of its rows; this is asked once.
    locked = select(some.cte("locked", nesting=True))
    of_run = (Claim.run_id == run_id, tuple_(Claim.kind, Claim.key).in_(locked))
    return connection.execute(delete(Claim).where(*of_run)).rowcount
