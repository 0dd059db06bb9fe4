"""The registry as a table: sorted, filtered, a part at a time; and what a change of many domains would do."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final
from urllib.parse import urlencode

from scrapy_dedup.report.charts import bar
from scrapy_dedup.report.dashboard_frame import (
    LONGEST_STEP,
    NOTHING,
    Kind,
    Nav,
    as_day,
    as_of,
    button,
    cell,
    choices,
    crumbs,
    domain_path,
    empty,
    form,
    hidden,
    listing,
    page_head,
    pager,
    panel,
    scrolling,
)
from scrapy_dedup.report.dashboard_values import DomainRow, DomainTable, Step, TableChoice
from scrapy_dedup.report.document import NONE
from scrapy_dedup.report.markup import Html, attribute, isolated, joined
from scrapy_dedup.report.numbers import count, percent, whole

STATUSES: Final = {
    "DISCOVERED": "discovered",
    "PROCESSED_HIGH_QUALITY": "high quality",
    "PROCESSED_LOW_QUALITY": "low quality",
    "BLACKLISTED": "blacklisted",
}
"""What the registry calls a status, and what a reader does."""
LONGEST_PATTERN: Final = 200
_KINDS: Final = {"BLACKLISTED": "bad", "PROCESSED_HIGH_QUALITY": "good"}
# Heading, what it is sorted by, and whether the largest comes first at the first click.
_COLUMNS: Final = (
    ("Domain", "name", False),
    ("Status", "status", False),
    ("Pages", "pages", True),
    ("Boilerplate", "boilerplate", True),
    ("Confidence", "confidence", True),
    ("Last crawled", "crawled", True),
)


_ORDERS: Final = (
    ("name.up", "A to Z"),
    ("name.down", "Z to A"),
    ("pages.down", "Most pages first"),
    ("boilerplate.down", "Most boilerplate first"),
    ("confidence.down", "Highest confidence first"),
    ("crawled.down", "Crawled last first"),
    ("crawled.up", "Crawled longest ago first"),
)


VERBS: Final = {
    "blacklist": "Blacklist {}",
    "unblacklist": "Take {} off the blacklist",
    "register": "Register {}",
}
"""What is done to how many domains."""
LONGEST_REASON: Final = 500
MOST_STEPS: Final = 500


def domains_content(table: DomainTable, choice: TableChoice, nav: Nav, *, csrf_token: str) -> Html:
    """Return the page of the registry."""
    total = sum(table.counts.values())
    lead = Html(
        "Every domain that a crawl met, or that somebody named. Nothing is requested from a blacklisted domain: "
        "no link, redirect, sitemap or start URL."
    )
    head = page_head(Html(count(total, "domain")), lead)
    pasting = import_panel(nav, csrf_token, is_open=not total)
    if not total:
        told = Html(
            "Crawls register the domains they meet. Others can be added, or blacklisted, by pasting their names."
        )
        return joined([head, empty("No domain is registered yet", told), pasting])
    return joined(
        [head, _tabs(table, choice, nav), _filter(choice, nav), _listed(table, choice, nav, csrf_token), pasting]
    )


def status_badge(status: str) -> Html:
    """Return a status as a small label."""
    return Html(f'<span class="badge {_KINDS.get(status, "")}">{isolated(STATUSES.get(status, status), 40)}</span>')


def query_of(choice: TableChoice, **changed: str | bool) -> str:
    """Return the query of a list, without what it needs not say; another order or filter begins at the top."""
    asked: dict[str, str | bool] = {
        "q": choice.pattern,
        "status": choice.status,
        "sort": choice.sort,
        "descending": choice.descending,
        **changed,
    }
    shown = {name: str(asked[name]) for name in ("q", "status", "after") if asked.get(name)}
    if asked["sort"] != "name" or asked["descending"]:
        shown |= {"sort": str(asked["sort"]), "order": "down" if asked["descending"] else "up"}
    return urlencode(shown, errors="replace")


def _tabs(table: DomainTable, choice: TableChoice, nav: Nav) -> Html:
    path = nav.path("domains")
    every = [("", "all", sum(table.counts.values()))]
    every += [(status, name, table.counts.get(status, 0)) for status, name in STATUSES.items()]
    links = "".join(
        f'<li><a href="{escape(f"{path}?{query_of(choice, status=status)}")}"'
        f"{_CURRENT if status == choice.status else ''}>{name} {whole(number)}</a></li>"
        for status, name, number in every
    )
    twins = ""
    if table.twins:
        share = percent(table.twins, sum(table.counts.values()))
        twins = (
            f'<p class="meta">{escape(share)} of the domains ({whole(table.twins)}) are one of a pair with and without '
            f"<code>www.</code>; {whole(table.joined)} of them count as their twin, since pages of both agreed.</p>"
        )
    return Html(f'<nav class="tabs" aria-label="Status"><ul>{links}</ul></nav>{twins}')


_CURRENT: Final = ' aria-current="true"'


def _filter(choice: TableChoice, nav: Nav) -> Html:
    kept = hidden("status", choice.status) if choice.status else NOTHING
    chosen = f"{choice.sort}.{_order(descending=choice.descending)}"
    orders = _ORDERS if any(order == chosen for order, _ in _ORDERS) else (*_ORDERS, (chosen, "As in the table"))
    clear = f'<a class="button quiet" href="{escape(nav.path("domains"))}">Clear</a>' if choice.pattern else ""
    return Html(
        f'<form class="fields filter" method="get" action="{escape(nav.path("domains"))}" role="search" '
        f'aria-label="Domains">{kept}<label class="field grow"><span>Part of a name, or a pattern such as '
        '<code>*.example.org</code></span><input type="search" name="q" '
        f'value="{escape(choice.pattern[:LONGEST_PATTERN])}" '
        f'maxlength="{LONGEST_PATTERN}" spellcheck="false" autocomplete="off"></label>'
        f'<div class="only-narrow">{choices("sort", orders, chosen, label="Order")}</div>'
        f"{button('Filter')}{clear}</form>"
    )


def _order(*, descending: bool) -> str:
    return "down" if descending else "up"


def _listed(table: DomainTable, choice: TableChoice, nav: Nav, csrf_token: str) -> Html:
    if not table.rows:
        return panel("No domain fits", Html('<p class="more">Another part of a name, or another status, may.</p>'))
    body = joined(_row(row, nav) for row in table.rows)
    caption = Html(f"{count(table.total, 'domain')}. Choose some to blacklist them, or to end their blacklist.")
    pick = Html(
        '<th class="pick" scope="col"><span class="unseen">Chosen</span>'
        '<input type="checkbox" class="with-script" data-all="domain" aria-label="Choose all of this page"></th>'
    )
    heads = Html(pick + "".join(_heading(*column, choice, nav) for column in _COLUMNS))
    rows = listing(heads, body, caption=caption)
    nexts = [("From the top", query_of(choice))] if choice.after else []
    nexts += [("Next", query_of(choice, after=table.next))] if table.next else []
    content = joined([scrolling("Domains", rows), pager(nav.path("domains"), nexts), _bulk()])
    return form(nav.path("domains/change"), content, csrf_token, kind="listed")


def _heading(label: str, sort: str, large_first: bool, choice: TableChoice, nav: Nav) -> Html:  # noqa: FBT001 (a row of _COLUMNS)
    is_sorted = choice.sort == sort
    direction = "none" if not is_sorted else "descending" if choice.descending else "ascending"
    descending = not choice.descending if is_sorted else large_first
    path = f"{nav.path('domains')}?{query_of(choice, sort=sort, descending=descending)}"
    kind = "" if sort in ("name", "status", "boilerplate") else ' class="number"'
    return Html(f'<th scope="col" aria-sort="{direction}"{kind}><a href="{escape(path)}">{label}</a></th>')


def _row(row: DomainRow, nav: Nav) -> Html:
    share = percent(row.chars_in - row.chars_out, row.chars_in)
    label = Html(f"{attribute(row.name, 80)}: {escape(share)} of the text left out")
    drawn = bar(row.chars_in, row.chars_out, row.chars_in, label) if row.chars_in else NOTHING
    confidence = NONE if row.best_confidence is None else f"{row.best_confidence:.2f}"
    crawled = as_day(row.last_crawled_at) if row.last_crawled_at else NONE
    shown = "".join(
        (
            cell(whole(row.pages), "Pages"),
            cell(f"{escape(share)}{drawn}" if row.chars_in else NONE, "Boilerplate", kind="mini"),
            cell(confidence, "Confidence"),
            cell(crawled, "Last crawled"),
        )
    )
    # A name that long is none, and would come back cut.
    label_of_box = f'aria-label="Choose {attribute(row.name, 100)}"'
    box = f'<input type="checkbox" name="domain" value="{escape(row.name)}" {label_of_box}>'
    return Html(
        f'<tr><td class="pick">{box if len(row.name) <= LONGEST_STEP else ""}</td>'
        f'<th scope="row" class="name-cell"><a href="{domain_path(nav, row.name)}">{isolated(row.name, 100)}</a>'
        f'{_notes(row)}</th><td class="status" data-label="Status">{status_badge(row.status)}</td>{shown}</tr>'
    )


def _notes(row: DomainRow) -> Html:
    notes = []
    if row.joined_to:
        notes.append(f"counts as {isolated(row.joined_to, 100)}")
    elif row.twin:
        notes.append(f"twin of {isolated(row.twin, 100)}")
    if row.errors:
        notes.append(count(row.errors, "error"))
    if row.blacklist_reason:
        notes.append(str(isolated(row.blacklist_reason, 120)))
    if row.blacklist_expires_at:
        notes.append(f"until {as_of(row.blacklist_expires_at)}")
    return Html(f'<span class="note">{" · ".join(notes)}</span>') if notes else NOTHING


def _bulk() -> Html:
    return Html(
        '<fieldset class="bulk"><legend class="unseen">With the chosen domains</legend><div class="fields">'
        f'<p class="meta chosen" data-chosen="domain">With the chosen ones:</p>'
        f"{button('Blacklist…', kind='danger', name='verb', value='blacklist')}"
        f"{button('Take off the blacklist…', name='verb', value='unblacklist')}</div></fieldset>"
    )


def import_panel(nav: Nav, csrf_token: str, *, is_open: bool = False) -> Html:
    """Return the form into which a list of names is pasted."""
    verbs = choices(
        "verb", (("register", "Register them"), ("blacklist", "Blacklist them")), "register", label="What to do"
    )
    content = joined(
        [
            Html(
                '<label class="field"><span>Names or URLs, one a line; <code>*</code> stands for any characters in '
                'names that are registered</span><textarea name="names" required spellcheck="false" autocomplete="off">'
                "</textarea></label>"
            ),
            Html(f'<div class="fields">{verbs}{button("Look at what would happen", kind="primary")}</div>'),
        ]
    )
    opened = " open" if is_open else ""
    return Html(
        f'<section class="panel"><details class="folded"{opened}><summary>Paste a list of domains</summary>\n'
        f"{form(nav.path('domains/change'), content, csrf_token, kind='stacked')}\n</details></section>"
    )


def change_content(
    verb: str, steps: Sequence[Step], sent: Mapping[str, str], nav: Nav, *, csrf_token: str, wrong: str = ""
) -> Html:
    """Return what a change would do to each domain, and the button that does it.

    Args:
        verb: one of VERBS.
        steps: in the order in which they were named.
        sent: the fields that come back with the button: names, reason, until.
        nav: of the project.
        csrf_token: of the session.
        wrong: what is wrong with a field; foreign text.
    """
    happening = [step for step in steps if not step.is_refused]
    refused = [step for step in steps if step.is_refused]
    title = Html(f"{VERBS[verb].format(count(len(happening), 'domain'))}?")
    above = crumbs(("Domains", nav.path("domains")))
    lead = Html("Nothing has happened yet. This is what will." if happening else "There is nothing to do.")
    shown = (
        _steps("This will happen", happening, isolated(sent.get("reason", ""), LONGEST_REASON))
        if happening
        else NOTHING
    )
    left = _steps("Nothing happens to these", refused, NOTHING) if refused else NOTHING
    sending = _confirm(verb, len(happening), sent, nav, csrf_token, wrong) if happening else NOTHING
    return joined([page_head(title, lead, above=above), sending, shown, left])


def _why_fields(reason: str, until: str) -> Html:
    return Html(
        f'<label class="field grow"><span>Reason</span><input type="text" name="reason" maxlength="{LONGEST_REASON}" '
        f'value="{escape(reason)}" autocomplete="off"></label>'
        '<label class="field"><span>Until (UTC), empty: for good</span><input type="date" name="until" '
        f'value="{escape(until)}"></label>'
    )


def _confirm(verb: str, number: int, sent: Mapping[str, str], nav: Nav, csrf_token: str, wrong: str) -> Html:
    fields = [hidden("verb", verb), hidden("confirmed", "yes"), hidden("names", sent.get("names", ""))]
    why = (
        _why_fields(sent.get("reason", "")[:LONGEST_REASON], sent.get("until", "")) if verb == "blacklist" else NOTHING
    )
    told = Html(f'<p class="wrong-field" role="alert">{isolated(wrong, 300)}</p>') if wrong else NOTHING
    kind: Kind = "danger" if verb == "blacklist" else "primary"
    label = VERBS[verb].format(count(number, "domain"))
    done = Html(
        f'<div class="fields">{why}{button(label, kind=kind)}'
        f'<a class="button quiet" href="{escape(nav.path("domains"))}">Leave everything as it is</a></div>'
    )
    return Html(
        f'<div class="card">{form(nav.path("domains/change"), joined([*fields, told, done]), csrf_token)}</div>'
    )


def _steps(title: str, steps: Sequence[Step], reason: Html) -> Html:
    rows = joined(
        Html(f"<li><strong>{isolated(step.name, 120)}</strong><span>{isolated(step.happens, 300)}</span></li>")
        for step in steps[:MOST_STEPS]
    )
    left = len(steps) - MOST_STEPS
    more = f'<p class="more">… and {count(left, "more domain")}</p>' if left > 0 else ""
    lead = Html(f"Reason: {reason}") if reason and "<bdi></bdi>" not in reason else NOTHING
    return panel(title, Html(f'<ol class="steps">\n{rows}\n</ol>{more}'), lead=lead)
