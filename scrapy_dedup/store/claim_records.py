"""What callers hand to the store of the claims of a shared run, and what it answers."""

import uuid
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What is claimed: locks are taken in this order."""

    PAGE = 1
    """A page and its callback, before it is fetched."""
    DOCUMENT = 2
    """The page under which an item goes out: its own, or the one that it declares canonical."""
    TITLE = 3
    TEXT = 4
    CHUNK = 5


class ClaimState(IntEnum):
    """How far a claim has come. Of a dead worker all but `DONE` are free; a page that rests is waited for by nobody."""

    PENDING = 0
    DONE = 1
    RESTING = 2
    """Its worker has nothing more to do for it, and does not know yet that its items are safe."""


class ClaimKey(NamedTuple):
    """By what a claim is known within a run; *key* has 16 bytes."""

    kind: Kind
    key: bytes


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims."""

    project_id: uuid.UUID
    run_id: uuid.UUID
    worker_id: uuid.UUID


@dataclass(frozen=True, slots=True)
class Wanted:
    """A claim that a worker wants.

    Attributes:
        owner: key of the page that is to hold it.
        request: of a page: packed JSON, for whoever takes it over; None: it cannot be asked for again.
    """

    kind: Kind
    key: bytes
    owner: bytes
    request: bytes | None = None

    @property
    def claim_key(self) -> ClaimKey:
        """By what it is known."""
        return ClaimKey(self.kind, self.key)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has a claim.

    Attributes:
        owner: the page that holds it.
        ours: the worker that asked has it.
        taken_over: it has it now, from a worker that died.
    """

    owner: bytes
    worker_id: uuid.UUID
    state: ClaimState
    ours: bool
    taken_over: bool = False


@dataclass(frozen=True, slots=True)
class LeftPage:
    """A page that a dead worker did not complete, and that is ours now."""

    claim: ClaimKey
    owner: bytes
    request: bytes | None
    deaths: int = 0
    """How many workers died with it in their hands."""


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """A claim, noted without an answer: whoever was first has it."""

    kind: Kind
    key: bytes
    owner: bytes
    request: bytes | None = None


@dataclass(frozen=True, slots=True)
class ClaimDoneRecord:
    """What was claimed is done, and safe; noted also where nobody has it, without effect on what another worker has."""

    kind: Kind
    key: bytes
    owner: bytes


@dataclass(frozen=True, slots=True)
class ClaimReleasedRecord:
    """What was claimed is free again; without effect on what another worker has."""

    kind: Kind
    key: bytes


ClaimChange = ClaimRecord | ClaimDoneRecord | ClaimReleasedRecord


@dataclass(frozen=True, slots=True)
class ClaimBatch:
    """The last that is to be written of each claim."""

    last: dict[ClaimKey, ClaimChange] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.last)

    def add(self, record: ClaimChange) -> None:
        """Add a record; what was claimed, or is done, is not claimed again."""
        key = ClaimKey(record.kind, record.key)
        if not isinstance(record, ClaimRecord) or not isinstance(self.last.get(key), ClaimRecord | ClaimDoneRecord):
            self.last[key] = record


def done_values(record: ClaimDoneRecord) -> list[int | bytes]:
    """Return a record as plain values; `done_from` reads them back."""
    return [int(record.kind), record.key, record.owner]


def done_from(kind: int, key: bytes, owner: bytes) -> ClaimDoneRecord:
    """Return the record behind `done_values`."""
    return ClaimDoneRecord(Kind(kind), key, owner)
