"""Lists of links behind a page's text: what leads on to other pages, and stands where lists of the text stand, too.

Its path says nothing against it, and no verdict on paths can: it is told by its place, behind all that is kept.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from scrapy_dedup.core.observations import Observation
from scrapy_dedup.core.template_paths import PathLookup

# One link behind a text may be its last word.
_FEWEST: Final = 2
# Of what is kept of a page: a page that is made of links has them as its content.
_MINOR: Final = 0.25
# Of the pages that have the path.
_OFTEN: Final = 0.3
_FEWEST_PAGES: Final = 3


class Row(NamedTuple):
    """One block, as far as it is looked at here."""

    path: str
    """Folded."""
    chars: int
    link_chars: int
    keep: bool


class Tail(NamedTuple):
    """The last kept blocks of a page, where they are links alone, of one path."""

    path: str
    places: tuple[int, ...]


def tail_of(rows: Sequence[Row]) -> Tail | None:
    """Return the links behind a page's text; None where the page ends otherwise, or is made of links."""
    places: list[int] = []
    path = ""
    for place in range(len(rows) - 1, -1, -1):
        row = rows[place]
        if not row.keep:
            continue
        if row.link_chars < row.chars or (places and row.path != path):
            break
        path = row.path
        places.append(place)
    kept = sum(row.chars for row in rows if row.keep)
    if len(places) < _FEWEST or sum(rows[place].chars for place in places) > _MINOR * kept:
        return None
    return Tail(path, tuple(places))


def learn_tails(observations: Sequence[Observation], lookup: PathLookup) -> Mapping[str, int]:
    """Return the paths of lists that often stand behind the text, and on how many pages they do.

    Args:
        observations: one a page.
        lookup: of a template that was learned from them.
    """
    behind: Counter[str] = Counter()
    have: Counter[str] = Counter()
    for seen in observations:
        folded = [lookup.folding.path(path) for path in seen.paths]
        keeps = [lookup.standing(path).why is None for path in seen.paths]
        rows = [
            Row(folded[at], chars, links, keeps[at])
            for at, chars, links in zip(seen.at, seen.chars, seen.link_chars, strict=True)
        ]
        have.update({row.path for row in rows if row.keep})
        found = tail_of(rows)
        if found is not None:
            behind[found.path] += 1
    return {path: pages for path, pages in sorted(behind.items()) if pages >= max(_FEWEST_PAGES, _OFTEN * have[path])}
