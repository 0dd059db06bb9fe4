"""What callers hand to the store about layouts: plain values, as those in `records`.

Signatures are signed 64-bit numbers. A layout is named by the signature of
level 1 that leads it, or REST, the pages of a domain that are of no known one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from scrapy_dedup.core.pages.fingerprints import to_digits

__all__ = [
    "STATES",
    "AlarmRecord",
    "LayoutKnowledge",
    "LayoutRunRecord",
    "LayoutSignatureRecord",
    "Level",
    "TemplateRecord",
    "TemplateSource",
    "TemplateState",
    "TemplateStateRecord",
    "from_digits",
    "to_digits",
]

Level = Literal[1, 2]
TemplateState = Literal["probation", "live", "retired"]
TemplateSource = Literal["static", "visual", "override", "import"]
STATES: Final[tuple[TemplateState, ...]] = ("probation", "live", "retired")

_BITS = 64
_DIGITS = re.compile(r"[0-9a-fA-F]{1,16}")


def from_digits(digits: str) -> int:
    """Return the signature behind hexadecimal digits.

    Raises:
        ValueError: these are no 1 to 16 hexadecimal digits.
    """
    if not _DIGITS.fullmatch(digits):
        raise ValueError(f"{digits!r}: needs 1 to 16 hexadecimal digits")
    number = int(digits, 16)
    return number - 2**_BITS if number >= 2 ** (_BITS - 1) else number


@dataclass(frozen=True, slots=True)
class LayoutSignatureRecord:
    """Pages of a domain had a signature; counts twice when written twice, as `ValidatorRecord` does.

    Attributes:
        layout: to which it belongs; None where no layout is near, which leaves what is stored.
        seen: by how many pages more.
    """

    domain: str
    signature_hash: int
    level: Level
    layout: int | None
    seen: int
    at: datetime
    algorithm_version: int = 1


@dataclass(frozen=True, slots=True)
class LayoutRunRecord:
    """A run met pages of a layout; counts twice when written twice.

    Attributes:
        pages: so many more.
        url: of one of them; the first that is written stays.
    """

    domain: str
    layout: int
    pages: int
    url: str


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    """How the pages of a layout are cut, as a whole; the store gives it the next version number.

    What equals the newest version in body, overrides and state makes no new
    one: kind, url_pattern, structure, paths, confidence, pages and model of that
    one are brought up to date. One that is live retires the live one before it.

    Attributes:
        structure: the layout's signature of level 2.
        body: everything that is needed to cut, plain JSON.
        selectors: the same for a person: content, exclude, title, date, author.
        overrides: what a person decided, in order, each with action (keep or drop), selector, at, by.
        paths: container paths of the page that leads the layout.
        kind: what its pages are: article, listing ...
        url_pattern: a regular expression that fits this layout's URLs and no other's.
        confidence: 0.0 to 1.0.
        pages: from which it was learned.
        reason: why it has this state.
        model: what stands for the file of the model that made it; empty where nobody says.
    """

    domain: str
    layout: int
    structure: int
    body: Mapping[str, Any]
    created_at: datetime
    state: TemplateState = "probation"
    reason: str = ""
    kind: str = "page"
    url_pattern: str | None = None
    selectors: Mapping[str, Any] = field(default_factory=dict)
    overrides: Sequence[Mapping[str, Any]] = ()
    paths: Sequence[str] = ()
    confidence: float = 0.0
    pages: int = 0
    source: TemplateSource = "static"
    model: str = ""
    algorithm_version: int = 1


@dataclass(frozen=True, slots=True)
class TemplateStateRecord:
    """A version of a template changes its state; without effect where there is none, or where it has that state.

    Attributes:
        version: None: the newest.
    """

    domain: str
    layout: int
    version: int | None
    state: TemplateState
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class AlarmRecord:
    """A layout's template ceased to fit its pages, or fits them again.

    Attributes:
        raised_at: of an alarm that is raised; one that is open already keeps its own and takes the new figures. None:
            the open alarm, if there is one, is cleared at cleared_at, and nothing else counts.
        cause: in words for a person.
        pages_failed, pages_looked: on so many of so many pages.
    """

    domain: str
    layout: int
    cause: str = ""
    pages_failed: int = 0
    pages_looked: int = 0
    first_failed_at: datetime | None = None
    raised_at: datetime | None = None
    cleared_at: datetime | None = None


LayoutKnowledge = LayoutSignatureRecord | LayoutRunRecord | TemplateRecord | TemplateStateRecord | AlarmRecord
