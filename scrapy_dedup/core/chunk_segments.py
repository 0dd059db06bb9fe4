"""Markdown or plain text as a flat row of headings, paragraphs, lists, tables and fenced code."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?", re.DOTALL)
_FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_ITEM: Final = re.compile(r"[ \t]*(?:([-*+])|\d{1,9}([.)]))(?=[ \t]|\Z)")
# Lines that begin with none of these are prose, which most are.
_SIGNS: Final = frozenset("#`~|-*+0123456789 \t")
_RULE: Final = re.compile(r"[\s:|-]+")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")


class ChunkKind(StrEnum):
    """What all of a text is; code and tables beside other text are prose."""

    PROSE = "prose"
    CODE = "code"
    TABLE = "table"
    HEADING = "heading"


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of structure; lists are prose."""

    kind: ChunkKind
    text: str
    level: int = 0
    """Of a heading, 1 to 6."""
    items: tuple[tuple[str, str], ...] = ()
    """Of a list: each outermost item with all that is nested in it, and the line ends before it."""


def segments_of(content: str) -> list[Segment]:
    """Return the segments in order; all but white space between them stands in exactly one."""
    lines = content.split("\n")
    found: list[Segment] = []
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        segment, at = _read(lines, at)
        found.append(segment)
    return found


def title_of(heading: Segment) -> str:
    """Return a heading's words, without number signs and without the addresses of links."""
    match = _HEADING.match(heading.text)
    return " ".join(_LINK.sub(r"\1", (match and match[2]) or "").split())


def fence_of(code: Segment) -> str:
    """Return the characters that close a fenced block."""
    match = _FENCE.match(code.text.partition("\n")[0])
    return match[1] if match else ""


def closes(line: str, fence: str) -> bool:
    """Whether a line ends the code that *fence* began."""
    mark = line.strip()
    return mark.startswith(fence) and not mark.strip(fence[0])


def _read(lines: list[str], at: int) -> tuple[Segment, int]:
    line = lines[at]
    if heading := _HEADING.fullmatch(line):
        return Segment(ChunkKind.HEADING, line.strip(), level=len(heading[1])), at + 1
    if fence := _FENCE.match(line):
        return _read_code(lines, at, fence[1])
    if _begins_table(lines, at):
        end = at + 2
        while end < len(lines) and lines[end].lstrip().startswith("|"):
            end += 1
        return Segment(ChunkKind.TABLE, "\n".join(lines[at:end])), end
    if item := _ITEM.match(line):
        return _read_list(lines, at, item[1] or item[2])
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _interrupts(lines, end):
        end += 1
    return Segment(ChunkKind.PROSE, "\n".join(lines[at:end])), end


def _read_code(lines: list[str], at: int, fence: str) -> tuple[Segment, int]:
    """Return all up to the fence that closes; without one, to the end."""
    end = at + 1
    while end < len(lines) and not closes(lines[end], fence):
        end += 1
    end = min(end + 1, len(lines))
    return Segment(ChunkKind.CODE, "\n".join(lines[at:end]).rstrip()), end


def _begins_table(lines: list[str], at: int) -> bool:
    if not lines[at].lstrip().startswith("|") or at + 1 == len(lines):
        return False
    rule = lines[at + 1]
    return rule.lstrip().startswith("|") and "-" in rule and _RULE.fullmatch(rule) is not None


def _interrupts(lines: list[str], at: int) -> bool:
    """Whether a line ends the paragraph before it without a blank line between.

    A number does not: a line of prose may begin with a year.
    """
    line = lines[at]
    if line[0] not in _SIGNS:
        return False
    item = _ITEM.match(line)
    return bool(
        (item and item[1]) or _HEADING.fullmatch(line) or _FENCE.match(line) or _begins_table(lines, at),
    )


def _read_list(lines: list[str], at: int, mark: str) -> tuple[Segment, int]:
    base = _indent(lines[at])
    starts, ends = [at], []
    last = at
    end = at + 1
    while end < len(lines):
        line = lines[end]
        if not line.strip():
            end += 1
            continue
        item = _ITEM.match(line) if _indent(line) <= base else None
        if item and (item[1] or item[2]) == mark:
            ends.append(last + 1)
            starts.append(end)
        elif _indent(line) <= base and (last + 1 < end or item or _interrupts(lines, end)):
            break
        last = end
        end += 1
    ends.append(last + 1)
    before = [1, *(start - stop for start, stop in zip(starts[1:], ends, strict=False))]
    items = tuple(
        ("\n" * (1 + gap), "\n".join(lines[start:stop])) for start, stop, gap in zip(starts, ends, before, strict=True)
    )
    return Segment(ChunkKind.PROSE, "\n".join(lines[at : last + 1]), items=items), last + 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
