"""How the text on a DOM path looked on the pages that a browser showed."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from scrapy_dedup.core.path_names import names_in


class PathLooks(NamedTuple):
    """What a browser showed of the text on one path of one page, in characters."""

    seen: int
    main: int
    """Of these, as many as look like what the page is about."""
    unseen: int
    """That no person sees, and no click opens."""


NO_LOOKS: Final = PathLooks(0, 0, 0)


# Of fewer pages repetition says little.
FEW_PAGES: Final = 6
APART: Final = 0.35
"""What looks less like content stands apart from it."""


def names_of_surroundings(looks: Sequence[Mapping[str, PathLooks]]) -> frozenset[str]:
    """Return the ids and classes of what stands apart from the content, and never around any.

    Of a few pages, each is the only one of its kind; its name is the design's all the same.
    """
    apart: set[str] = set()
    around: set[str] = set()
    for of_page in looks:
        for path, there in of_page.items():
            (apart if there.main < APART * there.seen or not there.seen else around).add(path)
    return names_in(apart) - names_in(around)
