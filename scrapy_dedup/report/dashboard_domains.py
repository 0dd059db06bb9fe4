"""The registry as a table: sorted, filtered, a part at a time; and what a change of many domains would do."""

from html import escape
from typing import Final
from urllib.parse import urlencode

from scrapy_dedup.report.charts import bar
from scrapy_dedup.report.dashboard_domain_changes import import_panel
from scrapy_dedup.report.dashboard_frame import (
    LONGEST_STEP,
    NOTHING,
    Nav,
    as_day,
    as_of,
    button,
    cell,
    choices,
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
from scrapy_dedup.report.dashboard_values import DomainRow, DomainTable, TableChoice
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
