"""Runs: the list, one of them, how far one is that still runs, and the jobs that were started from the dashboard."""

from collections.abc import Sequence
from html import escape
from typing import Final
from urllib.parse import quote

from scrapy_dedup.report.dashboard_frame import (
    NOTHING,
    Action,
    Nav,
    action_form,
    as_of,
    cell,
    crumbs,
    empty,
    heading,
    listing,
    page_head,
    panel,
    scrolling,
)
from scrapy_dedup.report.dashboard_values import FoundChange, JobRow, RunPage, RunRow
from scrapy_dedup.report.document import NONE, numbers, table, table_row
from scrapy_dedup.report.markup import Html, attribute, isolated, joined
from scrapy_dedup.report.numbers import NO_BREAK, count, lasting, short, whole

VERDICTS: Final = ("new", "changed", "unchanged", "removed")
LISTED: Final = ("new", "changed", "removed")
MOST_COUNTS: Final = 400
ID_DIGITS: Final = 8
_COLUMNS: Final = ("Took", "New", "Changed", "Unchanged", "Removed", "Callbacks", "Bytes")
_GOOD: Final = {"finished": "good", "done": "good", "running": "running", "waiting": "running"}
_CURRENT: Final = ' aria-current="true"'
_BAD: Final = ("killed", "failed")


def runs_content(runs: Sequence[RunRow], jobs: Sequence[JobRow], nav: Nav, *, csrf_token: str, more: Html) -> Html:
    """Return the page of all runs, newest first, with the jobs above; `more` leads to older runs."""
    head = page_head(Html("Runs"), Html("Every crawl with what it found, newest first. Times are in UTC."))
    if not runs:
        told = Html(
            "Run a spider of this project: the run shows here while it crawls, with pages, verdicts and layers."
        )
        return joined([head, jobs_panel(jobs, nav, csrf_token=csrf_token), empty("No run yet", told)])
    running = joined(running_card(run, nav, title_level=2) for run in runs if run.is_running)
    body = joined(_run_row(run, nav) for run in runs)
    heads = [heading("Run"), heading("Status"), *(heading(label, is_number=True) for label in _COLUMNS)]
    rows = listing(Html("".join(heads)), body)
    listed = panel("All runs", joined([scrolling("Runs", rows), more]))
    return joined([head, running, jobs_panel(jobs, nav, csrf_token=csrf_token), listed])


def run_content(page: RunPage, nav: Nav) -> Html:
    """Return the page of one run; its layers are drawn by the caller, who knows the ledger's table."""
    run = page.run
    above = crumbs(("Runs", nav.path("runs")))
    lead = Html(f"Began {as_of(run.began_at)}{_ended(run)}. Its id is <code>{escape(run.id)}</code>.")
    title = Html(f"Run of {isolated(run.spider, 100)} {badge(_state(run))}")
    live = running_card(run, nav, title_level=2) if run.is_running else NOTHING
    return joined([page_head(title, lead, above=above), live, _verdicts(run)])


def changes_panel(page: RunPage, nav: Nav) -> Html:
    """Return what a run found new, changed or removed, each page with a link to what is known of it."""
    run = page.run
    tabs = "".join(
        f'<li><a href="?verdict={one}#changes"{_CURRENT if one == page.verdict else ""}>'
        f"{one} {whole(run.verdicts.get(one, 0))}</a></li>"
        for one in LISTED
    )
    rows = joined(_change(one, nav) for one in page.changes)
    listed = Html(f'<ul class="steps changes">\n{rows}\n</ul>') if page.changes else Html('<p class="more">None.</p>')
    left = run.verdicts.get(page.verdict, 0) - len(page.changes)
    command = f"scrapy dedup changes --since {run.id[:ID_DIGITS]} --verdict {page.verdict}"
    more = Html(
        f'<p class="more">… and {count(left, "more page")}: <code>{escape(command)}</code> lists all.</p>'
        if left > 0
        else ""
    )
    content = Html(f'<nav class="tabs" aria-label="Verdict"><ul>{tabs}</ul></nav>\n{listed}\n{more}')
    return panel("What it found", content, name="changes")


def counts_panel(run: RunRow) -> Html:
    """Return all numbers that a run left, folded."""
    if not run.counts:
        return NOTHING
    names = sorted(run.counts)
    body = joined(
        table_row(isolated(name, 120), [_number(run.counts[name])], labels=("Count",)) for name in names[:MOST_COUNTS]
    )
    left = len(names) - MOST_COUNTS
    more = f'<p class="more">… and {count(left, "more number")}</p>' if left > 0 else ""
    rows = scrolling("Scrapy's stats", table("Scrapy's stats", ("Count",), body))
    return Html(
        f'<section class="panel"><details class="folded"><summary>All {whole(len(names))} numbers that it counted'
        f"</summary>\n{rows}\n{more}</details></section>"
    )


def running_card(run: RunRow, nav: Nav, *, title_level: int) -> Html:
    """Return how far a run is; a script puts a new one in its place every two seconds, a link does so without."""
    path = f"runs/{quote(run.id, safe='')}"
    quiet = " quiet-run" if run.silent else ""
    state = "silent" if run.silent else run.status
    level = f"h{title_level}"
    told = _heard(run)
    refresh = Html(f'<a class="without-script" href="{escape(nav.path(path))}">Refresh</a>')
    return Html(
        f'<section class="panel card live{quiet}" data-live="{escape(nav.path(path + "/live"))}" '
        f'data-state="{escape(state)}" aria-label="Progress of run {escape(run.id[:ID_DIGITS])}">\n'
        f'<{level}><span class="pulse" aria-hidden="true"></span><a href="{escape(nav.path(path))}">'
        f"{isolated(run.spider, 100)}</a> {_state_in_words(run)}</{level}>\n"
        f'<p class="meta">{told} {refresh}</p>\n{numbers(_progress(run))}\n'
        f'<p class="unseen announce">{escape(_said(run))}</p>\n</section>'
    )


def ended_card(run: RunRow, nav: Nav) -> Html:
    """Return what stands in the place of a run's progress once it has ended."""
    link = f'<a href="{_run_path(run, nav)}">{isolated(run.spider, 100)}</a>'
    return Html(
        f'<section class="panel card" data-state="{escape(run.status[:40])}">\n<h2>{link} {badge(run.status)}</h2>\n'
        f'<p class="meta">Began {as_of(run.began_at)}{_ended(run)}. '
        f'<a href="{_run_path(run, nav)}">What it found</a></p>\n{numbers(_progress(run))}\n'
        f'<p class="unseen announce">{escape(_said(run))}</p>\n</section>'
    )


def jobs_panel(jobs: Sequence[JobRow], nav: Nav, *, csrf_token: str) -> Html:
    """Return the jobs that were started here, those that are open with their progress."""
    if not jobs:
        return NOTHING
    rows = joined(job_item(job, nav, csrf_token=csrf_token) for job in jobs)
    is_open = any(job.is_open for job in jobs)
    live = f' data-live="{escape(nav.path("jobs"))}" data-state="running"' if is_open else ""
    refresh = f'<p class="without-script"><a href="{escape(nav.path("runs"))}">Refresh</a></p>' if is_open else ""
    return Html(
        f'<section class="panel jobs"{live}>\n<h2>Jobs</h2>\n<ul class="steps">\n{rows}\n</ul>{refresh}</section>'
    )


def job_item(job: JobRow, nav: Nav, *, csrf_token: str) -> Html:
    """Return one job as an item of a list, with its progress and a button that ends it."""
    told = as_of(job.created_at)
    if job.error:
        told = Html(f"{told} · {isolated(job.error, 400)}")
    bar = NOTHING
    if job.is_open:
        known = f' value="{job.done}" max="{job.total}"' if job.total else ""
        done = f"{whole(job.done)} of {whole(job.total)}" if job.total else f"{whole(job.done)} done"
        cancel = Action("Cancel", nav.path(f"jobs/{quote(job.id, safe='')}/cancel"))
        bar = Html(
            f'<progress aria-label="{attribute(job.kind, 60)}"{known}></progress><span class="meta">{done}</span>'
            f"{action_form(cancel, csrf_token, kind='quiet')}"
        )
    return Html(
        f"<li><span>{badge(job.state)} <strong>{isolated(job.kind, 60)}</strong></span> "
        f'<span class="meta">{told}</span>{bar}</li>'
    )


def run_list(runs: Sequence[RunRow], nav: Nav) -> Html:
    """Return some runs as a short list."""
    if not runs:
        return Html('<p class="more">No run yet.</p>')
    rows = joined(
        Html(
            f'<li><span><a href="{_run_path(run, nav)}">{isolated(run.spider, 60)}</a> {badge(_state(run))}'
            f'<span class="note">{", ".join(_found(run)) or "no page yet"}</span></span>'
            f'<span class="figures">{as_of(run.began_at)}</span></li>'
        )
        for run in runs
    )
    return Html(f'<ol class="steps">\n{rows}\n</ol>')


def badge(state: str) -> Html:
    """Return a state as a small label."""
    kind = "bad" if state in _BAD or state == "silent" else _GOOD.get(state, "")
    return Html(f'<span class="badge {kind}">{isolated(state, 40)}</span>')


def _run_path(run: RunRow, nav: Nav) -> Html:
    return Html(escape(nav.path(f"runs/{quote(run.id, safe='')}")))


def _run_row(run: RunRow, nav: Nav) -> Html:
    name = Html(
        f'<a href="{_run_path(run, nav)}">{as_of(run.began_at)}</a>'
        f'<span class="note">{isolated(run.spider, 60)} · <code>{escape(run.id[:ID_DIGITS])}</code></span>'
    )
    took = lasting(run.took) if run.took is not None else NONE
    figures = [took, *(whole(run.verdicts.get(one, 0)) for one in VERDICTS), whole(run.callbacks)]
    figures.append(short(run.bytes_received))
    cells = "".join(cell(escape(figure), label) for figure, label in zip(figures, _COLUMNS, strict=True))
    status = f'<td class="status" data-label="Status">{badge(_state(run))}{_reason(run)}</td>'
    return Html(f'<tr><th scope="row" class="name-cell">{name}</th>{status}{cells}</tr>')


def _reason(run: RunRow) -> Html:
    told = run.reason and run.reason != run.status
    return Html(f'<span class="note">{isolated(run.reason or "", 80)}</span>') if told else NOTHING


def _state(run: RunRow) -> str:
    return "silent" if run.silent else run.status


def _state_in_words(run: RunRow) -> str:
    return "has gone silent" if run.silent else "is running"


def _ended(run: RunRow) -> Html:
    if run.ended_at is None or run.took is None:
        return Html("")
    why = f" ({isolated(run.reason, 80)})" if run.reason and run.reason != run.status else ""
    return Html(f", ended {as_of(run.ended_at)}{why}, took {escape(lasting(run.took))}")


def _heard(run: RunRow) -> Html:
    began = f"Began {as_of(run.began_at)}."
    if run.silent:
        return Html(
            f"{began} Nothing was heard of it for <strong>{escape(lasting(run.silent))}</strong>: it was probably "
            "killed. A crawl with a JOBDIR goes on where it stopped when it is started again."
        )
    return Html(f"{began} Last heard of {as_of(run.seen_at)}." if run.seen_at else began)


def _progress(run: RunRow) -> list[tuple[str, str]]:
    shown = [("pages so far", whole(run.visits))]
    shown += [(one, whole(run.verdicts.get(one, 0))) for one in VERDICTS if run.verdicts.get(one)]
    queued = run.counts.get("scheduler/enqueued", 0) - run.counts.get("scheduler/dequeued", 0)
    if "scheduler/enqueued" in run.counts:
        shown.append(("requests waiting", whole(int(max(queued, 0)))))
    if "item_scraped_count" in run.counts:
        shown.append(("items", whole(int(run.counts["item_scraped_count"]))))
    return [*shown, ("bytes received", short(run.bytes_received))]


def _said(run: RunRow) -> str:
    if run.silent:
        return "The run has gone silent."
    return f"{count(run.visits, 'page')} so far." if run.is_running else f"The run has ended: {run.status}."


def _found(run: RunRow) -> list[str]:
    return [f"{whole(run.verdicts[one])}{NO_BREAK}{one}" for one in VERDICTS if run.verdicts.get(one)]


def _verdicts(run: RunRow) -> Html:
    shown = [(f"pages {one}", whole(run.verdicts.get(one, 0))) for one in VERDICTS]
    shown += [("callbacks run", whole(run.callbacks)), ("bytes received", short(run.bytes_received))]
    if run.chars_in:
        shown += [("characters in", short(run.chars_in)), ("characters kept", short(run.chars_out))]
    return numbers(shown)


def _change(change: FoundChange, nav: Nav) -> Html:
    kind = f"{isolated(change.change, 40)} · " if change.change else ""
    if change.url is None:
        name = Html(f"a page that is no longer in the store, key <code>{isolated(change.page_key, 40)}</code>")
    else:
        known = escape(f"{nav.path('page')}?key={quote(change.page_key, safe='')}")
        name = Html(f'<a href="{known}">{isolated(change.url, 200)}</a>')
    return Html(
        f'<li><span>{name}<span class="note">{kind}{isolated(change.reason, 200)}</span></span>'
        f'<span class="meta">{as_of(change.at)}</span></li>'
    )


def _number(number: float) -> str:
    return whole(int(number)) if float(number).is_integer() else f"{number:,.3f}"
