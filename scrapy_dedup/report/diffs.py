"""What changed on a page: a unified diff as two columns, the words that differ marked."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape

from scrapy_dedup.report.markup import Html, isolated, joined, page_link, visible
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.report.values import ChangedPage

MOST_HUNKS = 100
MOST_LINES = 400
LONGEST_LINE = 600
"""Lines of `core.verdicts.unified_diff` are shorter."""

CHANGES = {
    "content": "The text changed",
    "numbers": "Nothing but numbers changed",
    "title": "The title changed",
    "volatile": "Dates or counters changed",
    "boilerplate_only": "Boilerplate changed",
}
"""Classes of change, for readers."""

_HEADING_LINES = 2
# To compare pieces takes the product of their numbers; two texts without much in common are better left unmarked.
_MOST_PIECES = 600
_ALIKE = 0.5
_PIECE = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that stand next to each other: those that left, and those that came in their place."""

    was: tuple[str, ...]
    now: tuple[str, ...]


def hunks(diff: str) -> list[Hunk]:
    """Return the hunks of a unified diff in its order; lines that did not change are left out."""
    found: list[tuple[list[str], list[str]]] = [([], [])]
    for line in diff.split("\n")[_HEADING_LINES:]:
        if line[:1] == "-":
            if found[-1][1]:  # what left after something came is a change of its own
                found.append(([], []))
            found[-1][0].append(line[1:])
        elif line[:1] == "+":
            found[-1][1].append(line[1:])
        else:
            found.append(([], []))
    return [Hunk(tuple(was), tuple(now)) for was, now in found if was or now]


def diff_section(page: ChangedPage, number: int) -> Html:
    """Return one changed page as an article; `number` makes its ids unique."""
    heading = f"diff-{number}"
    change = CHANGES.get(page.change)
    told = Html(escape(change)) if change else isolated(page.change or "Changed", 60)
    found = hunks(page.diff)
    left, came = sum(len(hunk.was) for hunk in found), sum(len(hunk.now) for hunk in found)
    return Html(
        f'<article class="change" aria-labelledby="{heading}">\n'
        f'<h3 id="{heading}">{isolated(page.title or page.url, 160)}</h3>\n'
        f'<p class="meta">{page_link(page.url)}</p>\n'
        f'<p class="meta">{told}: {count(left, "passage")} removed, {whole(came)} added</p>\n'
        f'<div class="scroll diff" tabindex="0" role="region" aria-label="What changed">\n{_rows(found)}\n</div>\n'
        "</article>"
    )


def diff_table(diff: str) -> Html:
    """Return a unified diff as two columns, the words that differ marked."""
    return _rows(hunks(diff))


def _rows(found: Sequence[Hunk]) -> Html:
    shown = list(_fitting(found))
    parts = [_row(hunk) for hunk in shown]
    if left_out := len(found) - len(shown):
        parts.append(Html(f'<p class="more">… and {count(left_out, "more change")}</p>'))
    heads = '<div class="heads" aria-hidden="true"><h4>Before</h4><h4>Now</h4></div>'
    return Html(f"{heads}\n{joined(parts)}")


def _fitting(found: Sequence[Hunk]) -> Iterator[Hunk]:
    lines = 0
    for hunk in found[:MOST_HUNKS]:
        lines += len(hunk.was) + len(hunk.now)
        if lines > MOST_LINES:
            return
        yield hunk


def _row(hunk: Hunk) -> Html:
    was, now = ([visible(line, LONGEST_LINE) for line in side] for side in (hunk.was, hunk.now))
    was_html, now_html = _marked(was, now)
    return Html(f'<div class="hunk">\n{_side("was", "del", was_html)}\n{_side("now", "ins", now_html)}\n</div>')


def _side(name: str, element: str, lines: Sequence[Html]) -> Html:
    if not lines:
        return Html(f'<div class="{name} none"></div>')
    sign = "&minus;" if element == "del" else "+"
    body = joined(
        Html(f'<p><span class="sign" aria-hidden="true">{sign}</span><{element}><bdi>{line}</bdi></{element}></p>')
        for line in lines
    )
    return Html(f'<div class="{name}">\n{body}\n</div>')


def _marked(was: Sequence[str], now: Sequence[str]) -> tuple[list[Html], list[Html]]:
    """Return both sides' lines as HTML; where they are much alike, with the words that differ marked."""
    sides = [[_PIECE.findall(line) for line in side] for side in (was, now)]
    # A line's end is no piece of any line.
    before, after = ([piece for line in side for piece in [*line, "\n"]] for side in sides)
    if not was or not now or max(len(before), len(after)) > _MOST_PIECES:
        return [_plain(line) for line in was], [_plain(line) for line in now]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return [_plain(line) for line in was], [_plain(line) for line in now]
    differs: tuple[set[int], set[int]] = (set(), set())
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            differs[0].update(range(start, end))
            differs[1].update(range(new_start, new_end))
    return _lines(before, differs[0]), _lines(after, differs[1])


def _plain(line: str) -> Html:
    return Html(escape(line))


def _lines(pieces: Sequence[str], differs: set[int]) -> list[Html]:
    """Return each line's pieces as HTML, neighbours that differ under one mark."""
    lines, line, marked = [], "", ""
    for number, piece in enumerate(pieces):
        if number in differs and piece != "\n":
            marked += piece
            continue
        line, marked = line + _mark(marked), ""
        if piece == "\n":
            lines.append(Html(line))
            line = ""
        else:
            line += escape(piece)
    return lines


def _mark(text: str) -> str:
    return f"<mark>{escape(text)}</mark>" if text else ""
