"""The dashboard's frame: one document around every page, and the few forms of HTML that all of its pages share.

No script and no style stands in a page: both are files of their own, so that the strictest policy holds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final, Literal
from urllib.parse import quote

from scrapy_dedup.report.charts import HATCHING
from scrapy_dedup.report.document import NONE
from scrapy_dedup.report.markup import Html, attribute, isolated, joined

Here = Literal["overview", "domains", "runs", "templates", "pages"]
Kind = Literal["plain", "primary", "danger", "quiet"]

MOST_PROJECTS: Final = 50
LONGEST_NAME: Final = 60
LONGEST_MESSAGE: Final = 600
LONGEST_STEP: Final = 300  # characters of a name in a path; names of hosts have 253 at most
NOTHING: Final = Html("")
STYLES: Final = ("/static/dashboard.css", "/static/dashboard_pages.css")
SCRIPTS: Final = ("/static/dashboard.js", "/static/dashboard_pages.js")

_PLACES: Final = (
    ("overview", "Overview", ""),
    ("domains", "Domains", "domains"),
    ("runs", "Runs", "runs"),
    ("templates", "Templates", "templates"),
)


@dataclass(frozen=True, slots=True)
class Nav:
    """Where a reader is, and where he can go.

    Attributes:
        project_id: as it stands in paths.
        project_name: foreign text.
        projects: (id, name) of all that there are, this one included.
        here: the part of the project that is open.
    """

    project_id: str
    project_name: str
    projects: tuple[tuple[str, str], ...]
    here: Here

    def path(self, rest: str = "") -> str:
        """Return the path of a page of the project; `rest` is quoted already."""
        return f"/p/{self.project_id}/{rest}"


@dataclass(frozen=True, slots=True)
class Action:
    """A button that sends fields to a path."""

    label: str
    path: str
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Flash:
    """What came of what a reader just did; text is foreign, undo takes it back."""

    text: str
    kind: Literal["done", "wrong"] = "done"
    undo: Action | None = None


def render_page(title: str, content: Html, *, nav: Nav, csrf_token: str, flash: Flash | None = None) -> str:
    """Return a whole document; the title is foreign text, the content has the page's `h1`."""
    whole_title = f"{title[:200]} · {nav.project_name[:LONGEST_NAME]} · scrapy-dedup"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n'
        f'{_head(whole_title, csrf_token)}\n</head>\n<body class="dashboard">\n{HATCHING}\n'
        f'<a class="skip" href="#main">Skip to the content</a>\n{_top(nav)}\n'
        f'<main id="main" tabindex="-1">\n{_flash(flash, csrf_token)}\n{content}\n</main>\n{_foot()}\n'
        "</body>\n</html>\n"
    )


def page_head(title: Html, lead: Html = NOTHING, *, above: Html = NOTHING) -> Html:
    """Return the heading of a page with a sentence below it, and crumbs or an eyebrow above."""
    shown_lead = f'\n<p class="lead">{lead}</p>' if lead else ""
    return Html(f'<header class="head">\n{above}\n<h1>{title}</h1>{shown_lead}\n</header>')


def crumbs(*steps: tuple[str, str]) -> Html:
    """Return the way back: (foreign text, path) of each page above this one."""
    links = joined(Html(f'<li><a href="{escape(path)}">{isolated(text, 80)}</a></li>') for text, path in steps)
    return Html(f'<nav class="crumbs" aria-label="Breadcrumb"><ol>\n{links}\n</ol></nav>')


def panel(title: str, content: Html, *, lead: Html = NOTHING, name: str = "") -> Html:
    """Return a section with a heading; `name` becomes its id, the title is plain text of ours."""
    named = f' id="{escape(name)}"' if name else ""
    shown_lead = f'\n<p class="lead">{lead}</p>' if lead else ""
    return Html(f'<section class="panel"{named}>\n<h2>{escape(title)}</h2>{shown_lead}\n{content}\n</section>')


def form(path: str, content: Html, csrf_token: str, *, kind: str = "") -> Html:
    """Return a form that writes: by POST, with the token that proves that it is ours."""
    named = f' class="{escape(kind)}"' if kind else ""
    return Html(
        f'<form method="post" action="{escape(path)}"{named}>\n{hidden("csrf_token", csrf_token)}\n{content}\n</form>'
    )


def hidden(name: str, text: str) -> Html:
    """Return a field that nobody sees; the text comes back as it was."""
    return Html(f'<input type="hidden" name="{escape(name)}" value="{escape(text)}">')


def button(label: str, *, kind: Kind = "plain", name: str = "", value: str = "") -> Html:
    """Return a button that sends its form; its label is foreign text."""
    named = f' name="{escape(name)}" value="{escape(value)}"' if name else ""
    return Html(f'<button type="submit" class="button {kind}"{named}>{isolated(label, 100)}</button>')


def action_form(action: Action, csrf_token: str, *, kind: Kind = "plain") -> Html:
    """Return a form that is nothing but a button."""
    fields = joined(hidden(name, text) for name, text in action.fields)
    return form(action.path, joined([fields, button(action.label, kind=kind)]), csrf_token, kind="inline")


def choices(name: str, options: Iterable[tuple[str, str]], chosen: str, *, label: str) -> Html:
    """Return a labelled list to choose from: (value, foreign text)."""
    listed = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{attribute(text, 100)}</option>'
        for value, text in options
    )
    return Html(
        f'<label class="field"><span>{escape(label)}</span><select name="{escape(name)}">{listed}</select></label>'
    )


def scrolling(label: str, content: Html) -> Html:
    """Return content that scrolls sideways by itself where it is too wide, reachable by keyboard."""
    return Html(
        f'<div class="sideways" role="region" tabindex="0" aria-label="{attribute(label, 100)}">\n{content}\n</div>'
    )


def empty(title: str, text: Html) -> Html:
    """Return what stands where there is nothing yet, and what to do about it."""
    return Html(f'<div class="empty">\n<p class="cause">{escape(title)}</p>\n<p>{text}</p>\n</div>')


def _head(title: str, csrf_token: str) -> Html:
    lines = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<meta name="csrf-token" content="{escape(csrf_token)}">',
        f"<title>{attribute(title, 300)}</title>",
        '<link rel="icon" href="data:,">',
        *(f'<link rel="stylesheet" href="{path}">' for path in STYLES),
        *(f'<script src="{path}" defer></script>' for path in SCRIPTS),
    ]
    return joined(map(Html, lines))


def _top(nav: Nav) -> Html:
    links = joined(_place(nav, *place) for place in _PLACES)
    search = (
        f'<form class="find" role="search" method="get" action="{escape(nav.path("page"))}">'
        '<input type="search" name="url" aria-label="Address of a page" placeholder="Address of a page" '
        'maxlength="4000" required autocomplete="off" spellcheck="false">'
        '<button class="button">Look up</button></form>'
    )
    return Html(
        '<header class="top">\n<div class="bar-of-top">\n'
        f'<a class="mark" href="/"><span class="sign-of-mark" aria-hidden="true"></span>scrapy-dedup</a>\n'
        f'{_projects(nav)}\n<nav class="places" aria-label="Project"><ul>\n{links}\n</ul></nav>\n{search}\n</div>\n'
        "</header>"
    )


def _place(nav: Nav, name: str, label: str, rest: str) -> Html:
    here = ' aria-current="page"' if name == nav.here else ""
    return Html(f'<li><a href="{escape(nav.path(rest))}"{here}>{label}</a></li>')


def _projects(nav: Nav) -> Html:
    """Return the project's name; where there are several, a menu of them that needs no script."""
    name = isolated(nav.project_name, LONGEST_NAME)
    others = [each for each in nav.projects if each[0] != nav.project_id]
    if not others:
        return Html(f'<p class="project">{name}</p>')
    links = [_project(*each) for each in others[:MOST_PROJECTS]]
    if len(others) > MOST_PROJECTS:
        links.append(Html(f'<li class="more">… and {len(others) - MOST_PROJECTS} more</li>'))
    return Html(
        f'<details class="project"><summary aria-label="Project {attribute(nav.project_name, LONGEST_NAME)}, '
        f'choose another">{name}</summary>\n<ul>\n{joined(links)}\n</ul></details>'
    )


def _project(project_id: str, name: str) -> Html:
    return Html(f'<li><a href="/p/{escape(project_id)}/">{isolated(name, LONGEST_NAME)}</a></li>')


def _flash(flash: Flash | None, csrf_token: str) -> Html:
    # The region is there before anything is said in it: only so do screen readers speak up.
    if flash is None:
        return Html('<div class="told" role="status" aria-live="polite"></div>')
    undo = action_form(flash.undo, csrf_token, kind="quiet") if flash.undo else NOTHING
    return Html(
        f'<div class="told {flash.kind}" role="{"status" if flash.kind == "done" else "alert"}">'
        f"<p>{isolated(flash.text, LONGEST_MESSAGE)}</p>{undo}</div>"
    )


def _foot() -> Html:
    return Html(
        "<footer><p>scrapy-dedup: every page once, every paragraph once. "
        'The same figures: <code>scrapy dedup report</code>, <a href="/api/v1/openapi.json">REST</a>.</p></footer>'
    )


def listing(heads: Html, body: Html, *, caption: Html = NOTHING) -> Html:
    """Return a table whose rows become cards where there is no room; heads and body are its cells and rows."""
    told = f'<caption class="meta">{caption}</caption>' if caption else ""
    return Html(
        f'<table class="wide listing">{told}\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
    )


def heading(label: str, *, is_number: bool = False) -> Html:
    """Return the head of a column."""
    kind = ' class="number"' if is_number else ""
    return Html(f'<th scope="col"{kind}>{escape(label)}</th>')


def cell(content: str, label: str, *, kind: str = "number") -> Html:
    """Return a cell with a figure, or with HTML of ours; what is nothing is told softly, and not at all on a phone."""
    nothing = " nil" if content in ("0", NONE) else ""
    return Html(f'<td class="{kind}{nothing}" data-label="{escape(label)}">{content}</td>')


def pager(path: str, nexts: Sequence[tuple[str, str]]) -> Html:
    """Return links to other parts of a list: (label of ours, query that is quoted already)."""
    links = "".join(
        f'<li><a class="button" href="{escape(f"{path}?{query}" if query else path)}">{escape(label)}</a></li>'
        for label, query in nexts
    )
    return Html(f'<nav class="pager" aria-label="Parts of the list"><ul>{links}</ul></nav>') if nexts else NOTHING


def as_of(at: datetime) -> Html:
    """Return an instant as people read it, in UTC."""
    utc = at.astimezone(UTC)
    return Html(f'<time datetime="{utc.isoformat()}">{utc:%Y-%m-%d %H:%M} UTC</time>')


def as_day(at: datetime) -> Html:
    """Return the day of an instant, in UTC."""
    utc = at.astimezone(UTC)
    return Html(f'<time datetime="{utc.isoformat()}" title="{utc:%Y-%m-%d %H:%M} UTC">{utc:%Y-%m-%d}</time>')


def domain_path(nav: Nav, domain: str) -> Html:
    """Return the path of a domain's page, for an attribute."""
    return Html(escape(nav.path(f"domains/{quote(domain[:LONGEST_STEP], safe='', errors='replace')}")))
