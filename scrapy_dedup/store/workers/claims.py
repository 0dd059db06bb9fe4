"""Titles and texts that the workers of one run give: of two that have the same at once, one is told that it is first.

A claim bridges the moment until the page is in the store, where others find it. All statements touch rows in the order
of (kind, key), so that two workers never wait for each other in a circle.
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


def claim(connection: Connection, claimant: Claimant, owner: bytes, keys: Collection[ClaimKey]) -> Lost:
    """Claim things for a page; return what of them another worker has.

    What a dead worker had is free: what it gave is in the store. So is what a worker has of the page itself.
    """
    ours = {"project_id": claimant.project_id, "run_id": claimant.run_id, "worker_id": claimant.worker_id}
    statement, claims = insert_into(connection, Claim), table_of(Claim)
    is_free = or_(claims.c.owner == statement.excluded.owner, claims.c.worker_id.not_in(living(claimant.run_id)))
    taken = statement.on_conflict_do_update(
        index_elements=["run_id", "kind", "key"],
        set_={"worker_id": statement.excluded.worker_id, "owner": statement.excluded.owner},
        where=is_free,
    )
    connection.execute(taken, [{**ours, "kind": int(one.kind), "key": one.key, "owner": owner} for one in sorted(keys)])
    # The upsert has locked all of these rows, also those that it left as they were: none can go meanwhile.
    theirs = select(Claim.kind, Claim.key, Claim.owner).where(
        Claim.run_id == claimant.run_id,
        tuple_(Claim.kind, Claim.key).in_([(int(one.kind), one.key) for one in keys]),
        Claim.worker_id != claimant.worker_id,
    )
    return {ClaimKey(ClaimKind(kind), key): holder for kind, key, holder in connection.execute(theirs)}


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
