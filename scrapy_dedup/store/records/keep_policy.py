"""How much of a project's past is kept."""

from typing import Literal

from msgspec import Struct


class KeepPolicy(Struct, frozen=True):
    """How much of a project's past is kept.

    Attributes:
        pages: originals a page: "latest" (1), a number of versions, or "none".
        max_bytes: bound of packed originals and cleaned texts; beyond it the oldest are emptied. None: no bound.
        decisions: bound of the rows of `decisions`; several writers at once may exceed it by a tenth each.
        visits: bound of the rows of `visits`, likewise.
        visits_a_page: how many of them there may be for each page that is stored, on average. None: no bound.
        extractions: how many extractions of a page are kept, the newest: its contents, callbacks and their arguments.
        enough_pages: what was learned of a domain from so many pages replaces what rests on more; from fewer it does
            not: two crawls may learn at once.
    """

    pages: Literal["latest", "none"] | int = "latest"
    max_bytes: int | None = None
    decisions: int = 100_000
    visits: int = 500_000
    visits_a_page: int | None = None
    extractions: int = 4
    enough_pages: int = 0

    @property
    def versions(self) -> int:
        """Return how many originals of a page are kept."""
        if isinstance(self.pages, int):
            return self.pages
        return {"latest": 1, "none": 0}[self.pages]
