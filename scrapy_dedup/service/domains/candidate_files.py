"""Files of search results: JSON lines of several engines, or the array of results of one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, Final

from scrapy_dedup.service.packed_files import BYTE_ORDER_MARK, lines_of, read_json

Advance = Callable[[int], None]
_MOST_LINE_BYTES: Final = 1_000_000
_MOST_ARRAY_BYTES: Final = 32_000_000
# Of what is stored as it came.
_MOST_ENGINE_CHARS: Final = 100
_MOST_TITLE_CHARS: Final = 500
_MOST_RANK: Final = 2**31
_BRACKETS: Final = (b"[", b"{")
_NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A URL that a search engine proposed.

    Attributes:
        where: file and line, or place in the array.
        confidence: 0.0 to 1.0; None where the engine said nothing.
    """

    where: str
    url: str
    engine: str
    title: str | None = None
    confidence: float | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class BadProposal:
    """What is none, and why."""

    where: str
    engine: str
    reason: str
    url: str = ""


def read_proposals(
    file: BinaryIO, name: str, engine: str, advance: Advance = lambda _: None
) -> Iterator[Proposal | BadProposal]:
    """Iterate over the proposals of a file of JSON lines, or of one array.

    A line is an object with `url`, and `engine`, `title`, `confidence` and `rank` if known; or a URL by itself; or an
    engine's answer with its `results`. A file that begins with an array, or is one answer on many lines, is read whole.

    Args:
        file: opened for bytes.
        name: what it is called in messages.
        engine: of results that do not name theirs.
        advance: told of the bytes read.
    """
    lines = _lines(file, name, advance)
    first = next((each for each in lines if each.text != b""), None)
    if first is None:
        return
    begun = [first]
    if first.text is not None and first.text[:1] in _BRACKETS and _json(first.text) is _NOTHING:
        whole = _rest(begun, lines)
        if whole is not _NOTHING:
            yield from _proposals(name, whole, engine)
            return
    for line in chain(begun, lines):
        yield from _of_line(line, engine)


@dataclass(frozen=True, slots=True)
class _ResultLine:
    where: str
    text: bytes | None
    """None for one that is too long."""


def _lines(file: BinaryIO, name: str, advance: Advance) -> Iterator[_ResultLine]:
    for number, line in enumerate(lines_of(file, _MOST_LINE_BYTES), 1):
        advance(_MOST_LINE_BYTES if line is None else len(line))
        yield _ResultLine(
            f"{name}, line {number}", None if line is None else line.removeprefix(BYTE_ORDER_MARK).strip()
        )


def _rest(begun: list[_ResultLine], lines: Iterator[_ResultLine]) -> Any:
    """Return the value that a file holds whose first line is none by itself; what was read is added to *begun*."""
    size = 0
    for line in lines:
        begun.append(line)
        size += len(line.text or b"")
        if line.text is None or size > _MOST_ARRAY_BYTES:
            return _NOTHING
    return _json(b"\n".join(line.text or b"" for line in begun))


def _json(text: bytes) -> Any:
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return _NOTHING


def _of_line(line: _ResultLine, engine: str) -> Iterator[Proposal | BadProposal]:
    if line.text is None:
        yield BadProposal(line.where, engine, f"the line is longer than {_MOST_LINE_BYTES:,} bytes")
        return
    # An item of an array that was written with an item a line.
    text = line.text.removesuffix(b",").rstrip()
    if text in {b"", b"[", b"]"}:
        return
    if text[:1] in {*_BRACKETS, b'"'}:
        found = _json(text)
        if found is _NOTHING:
            yield BadProposal(line.where, engine, "no JSON")
        else:
            yield from _proposals(line.where, found, engine)
    else:
        yield Proposal(line.where, text.decode("utf-8", "replace"), engine)


def _proposals(where: str, found: object, engine: str) -> Iterator[Proposal | BadProposal]:
    """Iterate over the results that a JSON value holds: one, an array of them, or an answer with its results."""
    if isinstance(found, dict) and "url" not in found and isinstance(found.get("results"), list):
        engine = _text(found.get("engine"), _MOST_ENGINE_CHARS) or engine
        found = found["results"]
    if isinstance(found, list):
        for number, each in enumerate(found, 1):
            yield _one(f"{where}, result {number}", each, engine)
    else:
        yield _one(where, found, engine)


def _one(where: str, found: object, engine: str) -> Proposal | BadProposal:
    if isinstance(found, str):
        return Proposal(where, found.strip(), engine)
    if not isinstance(found, dict):
        return BadProposal(where, engine, "neither a URL nor an object with one")
    engine = _text(found.get("engine"), _MOST_ENGINE_CHARS) or engine
    url = found.get("url")
    if not isinstance(url, str):
        return BadProposal(where, engine, "it has no url")
    confidence = found.get("confidence")
    if confidence is not None and not _is_share(confidence):
        told = f"its confidence is {str(confidence)[:50]!r}: a number from 0.0 to 1.0 is needed, or none"
        return BadProposal(where, engine, told, url.strip())
    title = _text(found.get("title"), _MOST_TITLE_CHARS)
    return Proposal(where, url.strip(), engine, title, None if confidence is None else float(confidence), _rank(found))


def _text(value: object, most: int) -> str | None:
    return (" ".join(value[: 2 * most].split())[:most] or None) if isinstance(value, str) else None


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _rank(found: Mapping[str, Any]) -> int | None:
    value = found.get("rank")
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_RANK else None
