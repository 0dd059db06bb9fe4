"""Bars, as inline SVG: text that was kept, and text that was removed, hatched.

Each bar is an SVG of its own beside an HTML label, its sizes are percentages:
so labels wrap and bars shrink on a phone, which one drawing with text inside
cannot do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from scrapy_dedup.report.markup import Html, attribute, isolated, joined
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.report.values import DomainFigures

LONGEST_LABEL = 80
LONGEST_TREND = 12
_MOST_BARS = 12

# Drawn once a document; every bar refers to it. The hatching tells removed
# from kept without colour.
HATCHING = Html(
    '<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false"><defs>'
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="hatch-ground" width="6" height="6"/><rect class="hatch-line" width="2" height="6"/>'
    "</pattern></defs></svg>"
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a chart; name is foreign text unless it stands for other rows."""

    name: str
    pages: int
    chars_in: int
    chars_out: int


def rows(domains: Sequence[DomainFigures]) -> list[Bar]:
    """Return one bar for each of the largest domains, and one for all others together.

    Largest by text that came in, ties by name; a single left-over domain gets
    its own bar, since "1 other domain" takes as much room and says less.
    """
    ordered = sorted(domains, key=lambda figures: (-figures.chars_in, figures.domain))
    shown = len(ordered) if len(ordered) <= _MOST_BARS + 1 else _MOST_BARS
    bars = [Bar(each.domain, each.pages, each.chars_in, each.chars_out) for each in ordered[:shown]]
    if rest := ordered[shown:]:
        pages = sum(each.pages for each in rest)
        chars_in = sum(each.chars_in for each in rest)
        bars.append(Bar(f"{len(rest)} other domains", pages, chars_in, sum(each.chars_out for each in rest)))
    return bars


def bar(chars_in: int, chars_out: int, longest: int, label: Html) -> Html:
    """Return one bar, `chars_in / longest` of the room it gets, with `label` for who cannot see it."""
    kept = _width(chars_out, longest)
    removed = _width(max(chars_in - chars_out, 0), longest)
    return Html(
        f'<svg class="bar" width="100%" height="14" role="img" aria-label="{label}">'
        f'<rect class="track" width="100%" height="14" rx="3"/>'
        f'<rect class="kept" width="{kept:.2f}%" height="14" rx="3"/>'
        f'<rect class="removed" x="{min(kept, 100 - removed):.2f}%" width="{removed:.2f}%" height="14" rx="3"/></svg>'
    )


def domain_chart(domains: Sequence[DomainFigures]) -> Html:
    """Return a list of bars that share one scale, largest domain first."""
    bars = rows(domains)
    # The bar of all others may be far longer than any domain's; it sets the scale, so that lengths stay honest.
    longest = max((each.chars_in for each in bars), default=0)
    return Html(f'<ol class="chart">\n{joined(_row(each, longest) for each in bars)}\n</ol>')


@dataclass(frozen=True, slots=True)
class Saving:
    """What one layer saved; about, where the figure is not counted but told by like pages."""

    layer: str
    chars: int
    is_about: bool


def savings_chart(savings: Sequence[Saving]) -> Html:
    """Return a bar for each layer, in the order given, that share one scale."""
    longest = max((each.chars for each in savings), default=0)
    total = sum(each.chars for each in savings)
    return Html(f'<ol class="chart savings">\n{joined(_saving(each, longest, total) for each in savings)}\n</ol>')


def _saving(each: Saving, longest: int, total: int) -> Html:
    about = "about " if each.is_about else ""
    figures = f"{about}{short(each.chars)} characters"
    share = percent(each.chars, total)
    label = Html(f"{attribute(each.layer, LONGEST_LABEL)}: {escape(figures)}, {escape(share)} of all")
    return Html(
        f'<li><div class="row"><span class="name">{isolated(each.layer, LONGEST_LABEL)}</span>'
        f'<span class="figures">{escape(figures)} · <strong>{escape(share)}</strong></span></div>'
        f"{bar(each.chars, 0, longest, label)}</li>"
    )


def share_bar(part: int, total: int, label: Html) -> Html:
    """Return a thin bar, as long as the part is of the total."""
    return Html(
        f'<svg class="bar" width="100%" height="6" role="img" aria-label="{label}">'
        f'<rect class="track" width="100%" height="6" rx="3"/>'
        f'<rect class="kept" width="{_width(part, total):.2f}%" height="6" rx="3"/></svg>'
    )


def trend(numbers: Sequence[int]) -> Html:
    """Return the last numbers as small columns, oldest first; empty where there is but one."""
    shown = numbers[-LONGEST_TREND:]
    if len(shown) < 2:
        return Html("")
    most = max(*shown, 1)
    columns = []
    for place, number in enumerate(shown):
        # None and few must not look alike: what is there is at least two pixels high.
        height = max(2.0, 20 * number / most) if number else 0.0
        columns.append(f'<rect class="kept" x="{8 * place}" y="{20 - height:.1f}" width="6" height="{height:.1f}"/>')
    label = f"pages a run, oldest first: {', '.join(map(whole, shown))}"
    width = 8 * len(shown) - 2
    return Html(
        f'<span class="trend" title="{escape(label)}"><svg width="{width}" height="21" role="img" '
        f'aria-label="{escape(label)}">'
        f'<rect class="track" y="20" width="{width}" height="1"/>{"".join(columns)}</svg></span>'
    )


def legend() -> Html:
    """Return what the two fillings mean."""
    kept = '<svg width="14" height="14" aria-hidden="true"><rect class="kept" width="14" height="14" rx="3"/></svg>'
    removed = kept.replace('"kept"', '"removed"')
    return Html(f'<p class="legend"><span>{kept} kept</span> <span>{removed} removed</span></p>')


def _row(each: Bar, longest: int) -> Html:
    share = percent(each.chars_in - each.chars_out, each.chars_in)
    figures = f"{count(each.pages, 'page')}, {short(each.chars_in)} characters"
    label = Html(f"{attribute(each.name, LONGEST_LABEL)}: {escape(share)} of {escape(short(each.chars_in))} removed")
    return Html(
        f'<li><div class="row"><span class="name">{isolated(each.name, LONGEST_LABEL)}</span>'
        f'<span class="figures">{figures} · <strong>{escape(share)} removed</strong></span></div>'
        f"{bar(each.chars_in, each.chars_out, longest, label)}</li>"
    )


def _width(chars: int, longest: int) -> float:
    # Half a percent is about the least that can be seen on a phone.
    return max(100 * chars / longest, 0.5) if chars > 0 and longest > 0 else 0.0
