"""What `scrapy dedup learn` says."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from scrapy_dedup.commands.call import Call, print_json
from scrapy_dedup.commands.terminal import a_table, output, print_table, shown
from scrapy_dedup.report.numbers import whole
from scrapy_dedup.service.layout_figures import name_of
from scrapy_dedup.service.lessons import Course, Lesson
from scrapy_dedup.service.sights import Seen
from scrapy_dedup.service.site_knowledge import LayoutTemplate, SiteKnowledge
from scrapy_dedup.teacher.values import NotShown


@dataclass(slots=True)
class Taught:
    """What came of one call.

    Attributes:
        fetched: URLs of pages that were asked for.
        seen: pages that were shown.
        not_shown: why others were not, by URL.
        after: what is known now; None where nothing was learned.
        browser: name and version.
    """

    domain: str
    course: Course | None = None
    fetched: list[str] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    not_shown: dict[str, NotShown] = field(default_factory=dict)
    after: SiteKnowledge | None = None
    browser: str | None = None


def tell(call: Call, taught: Taught) -> None:
    """Print what was learned, or what would be shown."""
    course = taught.course
    assert course is not None
    rows = [_row(lesson, taught) for lesson in course.lessons]
    if call.options.json:
        facts = {"domain": taught.domain, "dry_run": call.options.dry_run, "fetched": taught.fetched}
        print_json({"project": call.project, **facts, "browser": taught.browser, "layouts": rows})
        return
    console = output()
    table = a_table("Layout", "State", "Pages", "Shown", "Confidence", texts=2)
    for row in rows:
        before, after = row["before"], row["after"] or row["before"]
        state = _arrow(before and before["state"], after and after["state"])
        sure = _arrow(before and f"{before['confidence']:.2f}", after and f"{after['confidence']:.2f}")
        table.add_row(row["layout"], state, whole(row["pages"]), whole(len(row["shown"])), sure)
    print_table(f"{'Would be shown' if call.options.dry_run else 'Learned'}: {taught.domain}", table)
    for row in rows:
        for line in _lines(row, would=call.options.dry_run):
            console.print(shown(line, 500), soft_wrap=True)
    if taught.after is not None:
        console.print("\nPages that are stored are cut by it with `scrapy dedup refine`.")
    elif not course.pages_to_show:
        console.print("\nNo layout needs to be shown; --all shows pages of each.")


def _lines(row: dict[str, Any], *, would: bool) -> Iterator[str]:
    """Iterate over what is told of one layout below the table."""
    if row["why"] or row["after"]:
        yield ""
        yield f"{row['layout']}: {row['why'] or 'need not be shown'}"
    for url in row["shown"]:
        yield f"{'would show' if would else 'shown'} {url}"
    for one in row["not_shown"]:
        yield f"not shown {one['url']}: {one['detail']} ({one['reason']})"
    if row["after"]:
        yield row["after"]["reason"]
    if row["after"] and row["after"]["needs_rendering"]:
        yield "its text is made by scripts: its pages need a browser"


def _arrow(before: str | None, after: str | None) -> str:
    return f"{before or 'none'} -> {after or 'none'}" if before != after else (before or "none")


def _row(lesson: Lesson, taught: Taught) -> dict[str, Any]:
    urls = [page.url for page in lesson.shown]
    failed = [url for url in urls if url in taught.not_shown]
    done = {one.shown.url for one in taught.seen}
    after = taught.after.templates.get(lesson.layout) if taught.after is not None else None
    return {
        "layout": name_of(lesson.layout),
        "pages": lesson.pages,
        "why": lesson.why,
        "shown": [url for url in urls if url in done] if taught.seen or failed else urls,
        "not_shown": [
            {"url": url, "reason": str(taught.not_shown[url].reason), "detail": taught.not_shown[url].detail}
            for url in failed
        ],
        "before": _figures(lesson.before),
        "after": _figures(after),
    }


def _figures(one: LayoutTemplate | None) -> dict[str, Any] | None:
    if one is None:
        return None
    vision = one.vision
    return {
        "state": one.state,
        "source": one.source,
        "confidence": one.confidence,
        "reason": one.reason,
        "shown_pages": vision.shown if vision else 0,
        "js_share": vision.js_share if vision else None,
        "needs_rendering": vision.needs_rendering if vision else False,
    }
