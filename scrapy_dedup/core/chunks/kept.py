"""A chunk of a page as it is kept, and what became of it."""

from dataclasses import dataclass
from typing import Final, Literal

ChunkState = Literal["added", "kept", "due", "removed"]
GIVEN: Final = ("added", "kept")
"""States of chunks that went out with their page."""
HOLDING: Final = (*GIVEN, "due")
"""States of chunks that other pages leave out: `due` are those that moved here and go out with the next item."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk of a page.

    Attributes:
        content_hash: first 16 bytes of the SHA-256 of its text.
        holder: the page that gives it in place of this one.
        sample: how its text begins.
    """

    position: int
    chunk_id: str
    content_hash: bytes
    state: ChunkState
    kind: str
    chars: int
    size: int
    sample: str
    language: str | None = None
    layer: str | None = None
    reason: str | None = None
    holder: bytes | None = None
