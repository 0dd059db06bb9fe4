"""Parts of a text that are cut out."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_MANY_NEWLINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


class TextSpan(NamedTuple):
    """A part of a text that a pattern matches."""

    start: int
    end: int
    pattern: str


def without_overlaps(spans: Iterable[TextSpan]) -> tuple[TextSpan, ...]:
    """Return spans in order; what two share, the one that was given first has.

    What is left of a span between others counts as spans of its own.
    """
    given = list(spans)
    bounds = sorted({place for span in given for place in span[:2]})
    numbers = {place: number for number, place in enumerate(bounds)}
    # Each stretch between two bounds is owned once; owned ones are jumped over.
    owners: list[str | None] = [None] * len(bounds)
    jumps = list(range(len(bounds)))
    for span in given:
        at, last = numbers[span.start], numbers[span.end]
        while (at := _free(jumps, at)) < last:
            owners[at] = span.pattern
            jumps[at] = at + 1
    return tuple(_joined(bounds, owners))


def _free(jumps: list[int], at: int) -> int:
    while jumps[at] != at:
        jumps[at] = jumps[jumps[at]]
        at = jumps[at]
    return at


def _joined(bounds: Sequence[int], owners: Sequence[str | None]) -> Iterator[TextSpan]:
    for start, end, owner in zip(bounds, bounds[1:], owners, strict=False):
        if owner is not None:
            yield TextSpan(start, end, owner)


def covers_all(text: str, spans: Sequence[TextSpan]) -> bool:
    """Say whether nothing but white space is left of a text without spans, given in order."""
    return not "".join(_between(text, spans)).strip()


def cut_out(text: str, spans: Sequence[TextSpan]) -> str:
    """Return a text without spans, given in order; empty lines that they leave are closed up.

    The text as it is where there are none.
    """
    if not spans:
        return text
    return _MANY_NEWLINES.sub("\n\n", "".join(_between(text, spans))).strip()


def _between(text: str, spans: Sequence[TextSpan]) -> Iterator[str]:
    begin = 0
    for span in spans:
        yield text[begin : span.start]
        begin = span.end
    yield text[begin:]
