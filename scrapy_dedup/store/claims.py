"""Claims of the workers of one run: of each thing exactly one worker is told that it has it.

All statements touch rows in the order of (kind, key), so that two workers never wait for each other in a circle.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, exists, or_, select, tuple_, update

from scrapy_dedup.store.claim_records import (
    Claimant,
    ClaimChange,
    ClaimDoneRecord,
    ClaimKey,
    ClaimRecord,
    ClaimReleasedRecord,
    ClaimState,
    Holder,
    Kind,
    LeftPage,
    Wanted,
)
from scrapy_dedup.store.shared_models import Claim, RunWorker
from scrapy_dedup.store.upserts import chunks, insert_into, table_of
from scrapy_dedup.store.workers import living

# Who ended by themselves had nothing under way; what rests there was dropped without a word, or its feed failed.
_ENDED: Final = ("finished", "stopped")


def claim(connection: Connection, claimant: Claimant, wanted: Collection[Wanted]) -> dict[ClaimKey, Holder]:
    """Claim things; return who has each of them now. Asking again changes nothing.

    What a dead worker has and did not complete is taken over. A thing that another worker released meanwhile is left
    out of the answer.
    """
    by_key = {one.claim_key: one for one in wanted}
    if not by_key:
        return {}
    _insert(connection, claimant, [by_key[key] for key in sorted(by_key)])
    # In a statement of its own: a row that was committed after the first one began shows in a later one alone.
    found = _find(connection, claimant, by_key)
    free = _free(connection, claimant, found)
    if free:
        _take_over(connection, claimant, [(by_key[key], found[key].worker_id) for key in free])
        for key, holder in _find(connection, claimant, free).items():
            found[key] = _taken_over(holder) if holder.ours else holder
    return found


def _taken_over(holder: Holder) -> Holder:
    return Holder(holder.owner, holder.worker_id, holder.state, ours=True, taken_over=True)


def holders(connection: Connection, claimant: Claimant, keys: Collection[ClaimKey]) -> dict[ClaimKey, Holder]:
    """Return who has each of some things; what a dead worker did not complete nobody has."""
    found = _find(connection, claimant, keys)
    free = set(_free(connection, claimant, found))
    return {key: holder for key, holder in found.items() if key not in free}


def _insert(connection: Connection, claimant: Claimant, wanted: Iterable[Wanted]) -> None:
    connection.execute(insert_into(connection, Claim).on_conflict_do_nothing(), [_row(claimant, one) for one in wanted])


def _row(claimant: Claimant, one: Wanted | ClaimRecord | ClaimDoneRecord) -> dict[str, Any]:
    return {
        "run_id": claimant.run_id,
        "kind": int(one.kind),
        "key": one.key,
        "project_id": claimant.project_id,
        "worker_id": claimant.worker_id,
        "owner": one.owner,
        "state": int(ClaimState.DONE if isinstance(one, ClaimDoneRecord) else ClaimState.PENDING),
        # Nobody will ask for it again.
        "request": None if isinstance(one, ClaimDoneRecord) else one.request,
    }


def _find(connection: Connection, claimant: Claimant, keys: Iterable[ClaimKey]) -> dict[ClaimKey, Holder]:
    columns = (Claim.key, Claim.owner, Claim.worker_id, Claim.state)
    found = {}
    for kind, of_kind in groupby(sorted(keys), lambda one: one.kind):
        rows = select(*columns).where(Claim.run_id == claimant.run_id, Claim.kind == int(kind))
        for some in chunks([one.key for one in of_kind]):
            for key, owner, worker_id, state in connection.execute(rows.where(Claim.key.in_(some))):
                ours = worker_id == claimant.worker_id
                found[ClaimKey(Kind(kind), key)] = Holder(owner, worker_id, ClaimState(state), ours)
    return found


def _free(connection: Connection, claimant: Claimant, found: dict[ClaimKey, Holder]) -> list[ClaimKey]:
    """Return what of the things that others have and did not complete no living worker has, in order."""
    open_ones = {key: one for key, one in found.items() if not one.ours and one.state != ClaimState.DONE}
    if not open_ones:
        return []
    alive = set(connection.scalars(living(claimant.run_id)))
    return sorted(key for key, one in open_ones.items() if one.worker_id not in alive)


def _take_over(connection: Connection, claimant: Claimant, free: Sequence[tuple[Wanted, uuid.UUID]]) -> None:
    """Take what dead workers have, unless another one was faster."""
    claims = table_of(Claim)
    taken = (
        update(claims)
        .where(*_is_named(claimant), claims.c.worker_id == bindparam("dead"), claims.c.state != int(ClaimState.DONE))
        .values(worker_id=claimant.worker_id, owner=bindparam("by"), state=int(ClaimState.PENDING))
    )
    named = [{"of_kind": int(one.kind), "of_key": one.key, "dead": dead, "by": one.owner} for one, dead in free]
    connection.execute(taken, named)


def _is_named(claimant: Claimant) -> tuple[ColumnElement[bool], ...]:
    claims = table_of(Claim)
    return (
        claims.c.run_id == claimant.run_id,
        claims.c.kind == bindparam("of_kind"),
        claims.c.key == bindparam("of_key"),
    )


def _note(connection: Connection, claimant: Claimant, noted: Sequence[ClaimRecord | ClaimDoneRecord]) -> None:
    """Write what was claimed, or is done, by one statement: two would take their locks out of order."""
    statement = insert_into(connection, Claim)
    claims, done = table_of(Claim), int(ClaimState.DONE)
    ours = statement.on_conflict_do_update(
        index_elements=["run_id", "kind", "key"],
        set_={"state": done, "request": None},
        where=and_(claims.c.worker_id == claimant.worker_id, statement.excluded.state == done),
    )
    connection.execute(ours, [_row(claimant, one) for one in noted])


def _release(connection: Connection, claimant: Claimant, keys: Iterable[ClaimKey]) -> None:
    claims = table_of(Claim)
    ours = delete(claims).where(*_is_named(claimant), claims.c.worker_id == claimant.worker_id)
    connection.execute(ours, [{"of_kind": int(one.kind), "of_key": one.key} for one in keys])


def write(connection: Connection, claimant: Claimant | None, changes: Mapping[ClaimKey, ClaimChange]) -> None:
    """Write what was noted; without a shared run there is nothing to claim."""
    ordered = [changes[key] for key in sorted(changes)]
    noted = [one for one in ordered if not isinstance(one, ClaimReleasedRecord)]
    released = [ClaimKey(one.kind, one.key) for one in ordered if isinstance(one, ClaimReleasedRecord)]
    if claimant is not None and noted:
        _note(connection, claimant, noted)
    # Last: nobody else writes rows of ours, so that this waits for nobody.
    if claimant is not None and released:
        _release(connection, claimant, released)


def rest(connection: Connection, claimant: Claimant) -> None:
    """Note that a worker has nothing under way: what it did not complete was dropped on its way, or is not safe yet."""
    ours = (Claim.run_id == claimant.run_id, Claim.worker_id == claimant.worker_id, Claim.state == 0)
    connection.execute(update(Claim).where(*ours, Claim.kind == int(Kind.PAGE)).values(state=int(ClaimState.RESTING)))


def left_by_the_dead(connection: Connection, claimant: Claimant, limit: int) -> list[LeftPage]:
    """Take over pages that dead workers did not complete, in the order of their keys; return them.

    Of workers that were killed also those that rested: their items may not have been safe.
    """
    pending = Claim.state == int(ClaimState.PENDING)
    unsafe = and_(Claim.state == int(ClaimState.RESTING), Claim.worker_id.not_in(_ended(claimant.run_id)))
    left = (
        select(Claim.key, Claim.owner, Claim.request)
        .where(Claim.run_id == claimant.run_id, Claim.kind == int(Kind.PAGE), or_(pending, unsafe))
        .where(Claim.worker_id.not_in(living(claimant.run_id)), Claim.worker_id != claimant.worker_id)
        .order_by(Claim.key)
        .limit(limit)
        # Workers that do the same share what there is; nobody waits.
        .with_for_update(of=Claim, skip_locked=True)
    )
    found = [LeftPage(ClaimKey(Kind.PAGE, key), owner, request) for key, owner, request in connection.execute(left)]
    claims = table_of(Claim)
    taken = update(claims).where(*_is_named(claimant)).values(worker_id=claimant.worker_id, state=0)
    if found:
        connection.execute(taken, [{"of_kind": int(one.claim.kind), "of_key": one.claim.key} for one in found])
    return found


def _ended(run_id: uuid.UUID) -> Any:
    return select(RunWorker.id).where(RunWorker.run_id == run_id, RunWorker.status.in_(_ENDED))


def others_at_work(connection: Connection, claimant: Claimant) -> bool:
    """Return whether another living worker has pages under way."""
    pending = (Claim.run_id == claimant.run_id, Claim.kind == int(Kind.PAGE), Claim.state == 0)
    alive = Claim.worker_id.in_(living(claimant.run_id).where(RunWorker.id != claimant.worker_id))
    return bool(connection.scalar(select(exists(select(Claim.key).where(*pending, alive)))))


def forget(connection: Connection, run_id: uuid.UUID, limit: int) -> int:
    """Delete claims of a run, so many at most; return how many."""
    some = select(Claim.kind, Claim.key).where(Claim.run_id == run_id).order_by(Claim.kind, Claim.key).limit(limit)
    these = tuple_(Claim.kind, Claim.key).in_(some)
    result = connection.execute(delete(Claim).where(Claim.run_id == run_id, these))
    return result.rowcount
