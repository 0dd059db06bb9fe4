"""What a picture of a page says: where things stand on it, and what they are."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self


class BoxKind(StrEnum):
    """What stands in a box."""

    CONTENT = "content"
    BOILERPLATE = "boilerplate"
    OVERLAY = "overlay"
    """Left out, and it lies over the page: a banner, a bar that stays."""
    UNSEEN = "unseen"
    """Text that a person cannot see."""
    TITLE = "title"
    DATE = "date"
    AUTHOR = "author"


@dataclass(frozen=True, slots=True)
class PictureBox:
    """A box on a picture, in pixels of it.

    Attributes:
        number: of the element of the page as it was sent, in document order, 0 for body.
        label: why, in words; it may hold words of the page.
        is_clear: nothing is written on the page where a label above the box would stand.
    """

    number: int
    x: int
    y: int
    width: int
    height: int
    kind: BoxKind
    label: str
    is_clear: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return asdict(self) | {"kind": str(self.kind)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return what `to_json` gave.

        Raises:
            ValueError: it is something else.
        """
        try:
            number, x, y, width, height = (int(stored[name]) for name in ("number", "x", "y", "width", "height"))
            kind, label = BoxKind(stored["kind"]), str(stored["label"])
            return cls(number, x, y, width, height, kind, label, bool(stored.get("is_clear")))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"no box of a picture ({error!r})") from error


@dataclass(frozen=True, slots=True)
class LayoutPicture:
    """A page as a browser showed it, and what stands where.

    Attributes:
        url: of the page.
        png: the picture.
        width, height: of the picture, in pixels.
        boxes: those that lie around others come first.
    """

    url: str
    png: bytes
    width: int
    height: int
    boxes: tuple[PictureBox, ...]


def boxes_from(stored: Iterable[Mapping[str, Any]]) -> tuple[PictureBox, ...]:
    """Return stored boxes; what is none is passed over."""
    found = []
    for one in stored:
        try:
            found.append(PictureBox.from_json(one))
        except ValueError:
            continue
    return tuple(found)
