"""Claims of the workers of one run: of each thing exactly one worker is told that it has it.

All statements touch rows in the order of (kind, key), so that two workers never wait for each other in a circle.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    or_,
    select,
    tuple_,
    update,
)

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
from scrapy_dedup.store.shared_models import IS_PENDING, Claim, RunWorker
from scrapy_dedup.store.upserts import chunks, insert_into, table_of
from scrapy_dedup.store.workers import living

# Who ended by themselves had nothing under way; what rests there was dropped without a word, or its feed failed.
_ENDED: Final = ("finished", "stopped")
# Of those that do not live.
_KILLED: Final = ("running", "lost")


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
        _take_over(connection, claimant, [(by_key[key], found[key].worker_id, died) for key, died in free.items()])
        for key, holder in _find(connection, claimant, free).items():
            found[key] = _taken_over(holder) if holder.ours else holder
    return found


def _taken_over(holder: Holder) -> Holder:
    return Holder(holder.owner, holder.worker_id, holder.state, ours=True, taken_over=True)


def holders(connection: Connection, claimant: Claimant, keys: Collection[ClaimKey]) -> dict[ClaimKey, Holder]:
    """Return who has each of some things; what a dead worker did not complete nobody has."""
    found = _find(connection, claimant, keys)
    free = _free(connection, claimant, found)
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


def _free(connection: Connection, claimant: Claimant, found: dict[ClaimKey, Holder]) -> dict[ClaimKey, bool]:
    """Return what of the things that others have and did not complete anybody may have, and if somebody died of it.

    That is what no living worker has, but for pages that were handed out since somebody died of them: these come alone.
    """
    open_ones = {key: one for key, one in found.items() if not one.ours and one.state != ClaimState.DONE}
    if not open_ones:
        return {}
    alive = set(connection.scalars(living(claimant.run_id)))
    dead = sorted(key for key, one in open_ones.items() if one.worker_id not in alive)
    rows = select(Claim.key, Claim.handed_out, _was_in_hands(claimant)).where(
        Claim.run_id == claimant.run_id, Claim.kind == int(Kind.PAGE)
    )
    free = dict.fromkeys(dead, False)
    for some in chunks([key.key for key in dead if key.kind is Kind.PAGE]):
        for key, handed_out, has_died in connection.execute(rows.where(Claim.key.in_(some))):
            free[ClaimKey(Kind.PAGE, key)] = bool(has_died)
            if handed_out:
                del free[ClaimKey(Kind.PAGE, key)]
    return free


def _take_over(connection: Connection, claimant: Claimant, free: Sequence[tuple[Wanted, uuid.UUID, bool]]) -> None:
    """Take what dead workers have, unless another one was faster."""
    claims = table_of(Claim)
    mine = {"worker_id": claimant.worker_id, "owner": bindparam("by"), "state": int(ClaimState.PENDING)}
    taken = (
        update(claims)
        .where(*_is_named(claimant), claims.c.worker_id == bindparam("dead"), claims.c.state != int(ClaimState.DONE))
        .values(**mine, deaths=claims.c.deaths + bindparam("died"))
    )
    named = [
        {"of_kind": int(one.kind), "of_key": one.key, "dead": dead, "by": one.owner, "died": int(has_died)}
        for one, dead, has_died in free
    ]
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
    if claimant is None:
        return
    ordered = [changes[key] for key in sorted(changes)]
    released = [ClaimKey(one.kind, one.key) for one in ordered if isinstance(one, ClaimReleasedRecord)]
    if len(released) < len(ordered):
        # With what is released: an upsert locks each row that it meets, so that the deletion locks none out of turn.
        _note(connection, claimant, [_noted(one) for one in ordered])
    if released:
        _release(connection, claimant, released)


def _noted(one: ClaimChange) -> ClaimRecord | ClaimDoneRecord:
    """Return what is noted of a claim; one that is released is deleted right after, whosever it was said to be."""
    return ClaimRecord(one.kind, one.key, owner=one.key) if isinstance(one, ClaimReleasedRecord) else one


def rest(connection: Connection, claimant: Claimant) -> None:
    """Note that a worker has nothing under way: what it did not complete was dropped on its way, or is not safe yet."""
    pages = (Claim.run_id == claimant.run_id, Claim.kind == int(Kind.PAGE))
    ours = select(Claim.key).where(*pages, Claim.worker_id == claimant.worker_id, Claim.state == 0)
    these = Claim.key.in_(_locked(connection, ours))
    connection.execute(update(Claim).where(*pages, these).values(state=int(ClaimState.RESTING)))


def _locked(connection: Connection, some: Any) -> Select[Any]:
    """Return the same question for claims, with their rows locked in order before any of them is changed.

    An UPDATE or a DELETE by itself locks its rows in whatever order it finds them.
    """
    # SQLite lets one write at a time; asked for an order, it would read all claims of the run for it.
    if connection.dialect.name == "postgresql":
        some = some.order_by(Claim.kind, Claim.key).with_for_update()
    # A part of the other statement could be asked again for each of its rows; this is asked once.
    return select(some.cte("locked", nesting=True))


def left_by_the_dead(connection: Connection, claimant: Claimant, limit: int) -> list[LeftPage]:
    """Take over pages that dead workers did not complete, in the order of their keys; return them.

    One that a worker died of when it had been taken over comes alone, when there are no others: so that it is known
    what the next one dies of.
    """
    left = (
        select(Claim.key, Claim.owner, Claim.request, Claim.deaths, _was_in_hands(claimant))
        .where(*_is_left(claimant))
        .order_by(Claim.key)
        .limit(limit)
        # Workers that do the same share what there is; nobody waits.
        .with_for_update(of=Claim, skip_locked=True)
    )
    found = connection.execute(left).all()
    chosen = [row for row in found if not row.deaths] or found[:1]
    if chosen:
        _hand_out(connection, claimant, [(key, bool(has_died)) for key, *_, has_died in chosen])
    return [
        LeftPage(ClaimKey(Kind.PAGE, key), owner, request, deaths + bool(has_died))
        for key, owner, request, deaths, has_died in chosen
    ]


def _hand_out(connection: Connection, claimant: Claimant, pages: Sequence[tuple[bytes, bool]]) -> None:
    """Give pages of dead workers to one, each with whether somebody died of it."""
    claims = table_of(Claim)
    ours = (
        update(claims)
        .where(*_is_named(claimant))
        .values(
            worker_id=claimant.worker_id,
            state=int(ClaimState.PENDING),
            deaths=claims.c.deaths + bindparam("died"),
            handed_out=or_(claims.c.handed_out, bindparam("has_died", type_=Boolean)),
        )
    )
    named = [
        {"of_kind": int(Kind.PAGE), "of_key": key, "died": int(has_died), "has_died": has_died}
        for key, has_died in pages
    ]
    connection.execute(ours, named)


def release_left(connection: Connection, claimant: Claimant, limit: int) -> int:
    """Delete claims of pages that dead workers did not complete, so many at most; return how many."""
    pages = (Claim.run_id == claimant.run_id, Claim.kind == int(Kind.PAGE))
    some = _locked(connection, select(Claim.key).where(*_is_left(claimant)).limit(limit))
    return connection.execute(delete(Claim).where(*pages, Claim.key.in_(some))).rowcount


def _is_left(claimant: Claimant) -> tuple[ColumnElement[bool], ...]:
    """Say in SQL whether dead workers had a page and did not complete it.

    Of workers that were killed also those that rested: their items may not have been safe.
    """
    pending = Claim.state == int(ClaimState.PENDING)
    unsafe = and_(Claim.state == int(ClaimState.RESTING), Claim.worker_id.not_in(_ended(claimant.run_id)))
    dead = (Claim.worker_id.not_in(living(claimant.run_id)), Claim.worker_id != claimant.worker_id)
    return Claim.run_id == claimant.run_id, Claim.kind == int(Kind.PAGE), or_(pending, unsafe), *dead


def _ended(run_id: uuid.UUID) -> Any:
    return select(RunWorker.id).where(RunWorker.run_id == run_id, RunWorker.status.in_(_ENDED))


def _was_in_hands(claimant: Claimant) -> ColumnElement[bool]:
    """Say in SQL whether a page that a dead worker has was under way when that was killed."""
    was_lost = and_(RunWorker.status == "resumed", RunWorker.reason == "lost")
    killed = or_(RunWorker.status.in_(_KILLED), was_lost)
    workers = select(RunWorker.id).where(RunWorker.run_id == claimant.run_id, killed)
    return and_(Claim.state == int(ClaimState.PENDING), Claim.worker_id.in_(workers))


def under_way_elsewhere(connection: Connection, claimant: Claimant) -> bool:
    """Return whether others have pages under way, or had when they died."""
    # Not the living alone: who dies after a look at what the dead left is neither in that nor alive.
    others = (Claim.run_id == claimant.run_id, Claim.worker_id != claimant.worker_id)
    pending = select(Claim.key).where(*others, Claim.kind == int(Kind.PAGE), IS_PENDING)
    return bool(connection.scalar(select(exists(pending))))


def forget(connection: Connection, run_id: uuid.UUID, limit: int) -> int:
    """Delete claims of a run, so many at most; return how many."""
    of_run = Claim.run_id == run_id
    some = _locked(connection, select(Claim.kind, Claim.key).where(of_run).limit(limit))
    return connection.execute(delete(Claim).where(of_run, tuple_(Claim.kind, Claim.key).in_(some))).rowcount
