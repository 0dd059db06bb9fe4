"""How the text on a DOM path looked on the pages that a browser showed."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from scrapy_dedup.core.boilerplate.path_names import Folding


class PathLooks(NamedTuple):
    """What a browser showed of the text on one path of one page, in characters."""

    seen: int
    main: int
    """Of these, as many as look like what the page is about."""
    unseen: int
    """That no person sees, and no click opens."""


NO_LOOKS: Final = PathLooks(0, 0, 0)

APART: Final = 0.35
"""What looks less like content stands apart from it."""


def looks_by_path(looks: Sequence[Mapping[str, PathLooks]], folding: Folding) -> dict[str, PathLooks]:
    """Return how the text of each element itself looks, by folded path, summed over pages."""
    found: dict[str, PathLooks] = {}
    for of_page in looks:
        for path, there in of_page.items():
            folded = folding.path(path)
            found[folded] = PathLooks(*map(int.__add__, found.get(folded, NO_LOOKS), there))
    return found
