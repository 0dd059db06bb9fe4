"""`scrapy dedup templates learn URL|DOMAIN`: show pages of a domain in the browser, and learn how its layouts are cut.

Of a domain whose pages are stored none is fetched again, only the style sheets that they need. A URL of a domain that
is not known is fetched by a Scrapy run with the project's settings, and up to 12 pages that it links to on its host.
Shown are pages of layouts whose template is missing, unsure (confidence below 0.95) or drifting, at most
DEDUP_BROWSER["layout_pages"] each and ["domain_pages"] in all; --all: of every layout.

JSON: `project`; `domain`; `dry_run`; `fetched`, URLs of pages; `browser`, name and version, or null; `layouts`, those
with most pages first, each with layout, pages, why (it is shown; empty where it is not), shown (URLs), not_shown (each
with url, reason, detail), before and after (null where there is none; state, source, confidence, reason, shown_pages,
js_share, needs_rendering). Templates by which the stored pages are then to be cut: `scrapy dedup templates refine`.

The exit code is 1 where pages were to be shown and none was.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec import Struct, field
from scrapy.settings import Settings as ScrapySettings

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, CommandError, print_json
from scrapy_dedup.commands.parts.analyze_layout import browser_of
from scrapy_dedup.commands.terminal import named_progress, print_table, say
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.plugin.teacher.run import Web, page_and_siblings, run_errand
from scrapy_dedup.plugin.teacher.teaching import look_at
from scrapy_dedup.service.cut.reading import read_again
from scrapy_dedup.service.teacher import lessons
from scrapy_dedup.service.teacher.lessons import Course, Lesson, LookedAtPage
from scrapy_dedup.service.teacher.teaching import PageToShow
from scrapy_dedup.service.templates.layout_figures import name_of
from scrapy_dedup.service.templates.site_knowledge import REST, LayoutTemplate, SiteKnowledge
from scrapy_dedup.service.templates.site_records import new_templates, site_of
from scrapy_dedup.service.views.explain import keys_of
from scrapy_dedup.store.repositories import SourceRepository
from scrapy_dedup.store.writer import ProjectStore
from scrapy_dedup.teacher import NotShown
from scrapy_dedup.teacher.browser import Browser


class Taught(Struct):
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
    seen: list[LookedAtPage] = field(default_factory=list)
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
    cells = []
    for row in rows:
        before, after = row["before"], row["after"] or row["before"]
        state = _arrow(before and before["state"], after and after["state"])
        sure = _arrow(before and f"{before['confidence']:.2f}", after and f"{after['confidence']:.2f}")
        cells.append((row["layout"], state, row["pages"], len(row["shown"]), sure))
    title = f"{'Would be shown' if call.options.dry_run else 'Learned'}: {taught.domain}"
    print_table(title, "Layout, State, Pages, Shown, Confidence", cells, texts=2)
    for row in rows:
        for line in _lines(row, would=call.options.dry_run):
            say(line)
    say("")
    if taught.after is not None:
        say("Pages that are stored are cut by it with `scrapy dedup templates refine`.")
    elif not course.pages_to_show:
        say("No layout needs to be shown; --all shows pages of each.")


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
    return {name: getattr(one, name) for name in ("state", "source", "confidence", "reason")} | {
        "shown_pages": vision.shown if vision else 0,
        "js_share": vision.js_share if vision else None,
        "needs_rendering": vision.needs_rendering if vision else False,
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is learned, and how much is shown."""
    add = parser.add_argument
    add("target", metavar="URL|DOMAIN", help="a domain with stored pages, or the address of a page")
    add("--all", action="store_true", help="show pages of every layout, also of those that are sure")
    add("--dry-run", action="store_true", help="say which pages would be shown, and show none")


def run(call: Call) -> int:
    """Learn one domain."""
    target: str = call.options.target
    url = target if "://" in target else None
    taught = Taught(
        keys_of(url, call.settings).domain if url else extract_domain(f"http://{target}/") or target.lower()
    )
    with call.filled(dry_run=True) as project:
        known = site_of(taught.domain, project.templates(taught.domain))
        drifting = {alarm.layout for alarm in project.alarms(taught.domain, open_only=True)}
        pages = _stored_pages(project, taught.domain, call)

    def plan(found: Iterable[PageToShow]) -> None:
        chosen = {"drifting": drifting, "shows_all": call.options.all}
        taught.course = lessons.plan_course(taught.domain, found, known, call.settings, **chosen)

    if pages:
        plan(pages)
    elif url is None:
        raise CommandError(
            f"project {call.project!r} has no pages of {taught.domain!r} with their HTML: give a URL of it"
        )
    _run(call, taught, url if not pages else None, plan)
    if taught.seen:
        _keep(call, taught)
    tell(call, taught)
    assert taught.course is not None
    return DONE if call.options.dry_run or taught.seen or not taught.course.pages_to_show else NOT_DONE


def _run(call: Call, taught: Taught, url: str | None, plan: Callable[[Iterable[PageToShow]], None]) -> None:
    """Fetch what has to be fetched, and show what is to be shown; without either no run begins."""
    shows = not call.options.dry_run and (taught.course is None or taught.course.pages_to_show > 0)
    if url is None and not shows:
        return
    assert isinstance(call.source, ScrapySettings)
    with browser_of(call.settings) if shows else nullcontext() as browser:

        async def errand(web: Web) -> None:
            if url is not None:
                pages = [page async for page in page_and_siblings(web, url, taught.domain, call.settings)]
                taught.fetched = [page.url for page in pages]
                plan(pages)
            if browser is not None:
                await _show_all(web, browser, taught)

        run_errand(errand, call.source, call.settings)


def _stored_pages(project: ProjectStore, domain: str, call: Call) -> list[PageToShow]:
    """Return the stored pages of a domain that were cut by layouts, as many as are learned from."""
    found = []
    with project.session(read_only=True) as session:
        for source in SourceRepository(session).iterate(project.id, domain, bare=True):
            reading = read_again(source, call.settings)
            if reading is not None and reading.method == "template" and reading.page is not None:
                found.append(PageToShow(domain, REST, source.page_key, source.url, reading.source, reading.page))
                if len(found) == call.settings.learn_pages:
                    break
    return found


async def _show_all(web: Web, browser: Browser, taught: Taught) -> None:
    course = taught.course
    assert course is not None
    with named_progress(course.pages_to_show) as told:
        for page in [page for lesson in course.lessons for page in lesson.shown]:
            told(page.url, 0)
            answer = await look_at(page, partial(web.show, browser))
            told(page.url, 1)
            if isinstance(answer, NotShown):
                taught.not_shown[page.url] = answer
                if answer.is_lasting:
                    break
                continue
            course.snapshots.append(answer.snapshot)
            taught.seen.append(answer)
    taught.browser = browser.version or None


def _keep(call: Call, taught: Taught) -> None:
    """Store the templates, and of each layout the picture of the page that was shown first."""
    course, at = taught.course, datetime.now(UTC)
    assert course is not None
    after = taught.after = lessons.learn_course(course, call.settings)
    pictures = [
        lessons.picture_of(one.shown, one.picture, taught.domain, after, call.settings, at)
        for one in taught.seen
        if one.picture is not None
    ]
    with call.filled(dry_run=False) as project:
        project.write(new_templates(course.known, after, at))
        for picture in {one.layout: one for one in reversed(pictures)}.values():
            project.put_picture(picture)
