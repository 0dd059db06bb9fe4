"""Which of the pages that a run did not find count as missed: those of which it read the page that led to them."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Lead(StrEnum):
    """What a run knows of a page that led to others when these were last seen."""

    READ = "read"  # its callback came to its end: what it links to today was found
    GONE = "gone"  # it answers so, or was removed by an earlier run
    UNREAD = "unread"  # it failed, its callback did, it redirects, or nobody came by
    UNKNOWN = "unknown"


class Unfound(Struct, frozen=True):
    """A page that a run did not find."""

    parent: bytes | None = None
    """Key of the page that led to it when it was last seen; None: none did, or it is not known."""
    was_asked: bool = False
    """It answered: that it is gone, or elsewhere."""
    is_gone: bool = False
    """It answered so when it was asked last."""


def missed(unfound: Mapping[bytes, Unfound], leads: Mapping[bytes, Lead]) -> set[bytes]:
    """Return which pages count as missed, by key.

    A page that was asked for speaks for itself. Of the others somebody needs to know that nothing leads to them any
    more: the page that did was read, or is gone, or is missed itself without having been asked for, as all below a
    section that a site gave up.

    Args:
        unfound: by key.
        leads: of those that led to them and are not among them; one that is left out is unknown.
    """
    judged: dict[bytes, bool] = {}
    for key in unfound:
        way = []
        at: bytes | None = key
        counts = True
        while at is not None:
            if at in judged:
                counts = judged[at]
                break
            way.append(at)
            # Where two pages lead to each other, nothing is known.
            judged[at] = True
            counts, at = _step(unfound[at], unfound, leads)
        judged.update(dict.fromkeys(way, counts))
    return {key for key, counts in judged.items() if counts}


def _step(page: Unfound, unfound: Mapping[bytes, Unfound], leads: Mapping[bytes, Lead]) -> tuple[bool, bytes | None]:
    """Return whether a page is missed, or, in the second place, by which other page that is decided."""
    if page.was_asked or page.is_gone or page.parent is None:
        return True, None
    parent = unfound.get(page.parent)
    if parent is None:
        return leads.get(page.parent, Lead.UNKNOWN) is not Lead.UNREAD, None
    if parent.is_gone or parent.was_asked:
        return parent.is_gone, None
    return True, page.parent
