"""One domain on the dashboard: what the registry says of it, its layouts, what repeats on it, and its pages."""

from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from scrapy_dedup.report.dashboard_blocks import block_table, kept_list
from scrapy_dedup.report.dashboard_domain_values import AlarmLine, DomainView, PageLine, Registered
from scrapy_dedup.report.dashboard_frame import (
    NOTHING,
    Action,
    action_form,
    button,
    crumbs,
    empty,
    form,
    page_head,
    pager,
    panel,
    scrolling,
)
from scrapy_dedup.report.dashboard_layouts import layout_cards
from scrapy_dedup.report.dashboard_parts import (
    actions,
    domain_path,
    fact_list,
    link_button,
    number_cells,
    status_badge,
    table_heads,
    when,
)
from scrapy_dedup.report.dashboard_refine import refine_button, refine_state
from scrapy_dedup.report.document import NONE, numbers
from scrapy_dedup.report.markup import Html, isolated, joined
from scrapy_dedup.report.numbers import count, percent, whole


def domain_content(view: DomainView, csrf_token: str) -> Html:
    """Return what stands in the frame of the page about a domain."""
    parts = [
        _head(view),
        _figures(view),
        _blacklist(view, csrf_token),
        _actions(view, csrf_token),
        _alarms(view.alarms),
        layout_cards(view),
        block_table(view),
        kept_list(view),
        _pages(view),
    ]
    return joined(part for part in parts if part)


def _head(view: DomainView) -> Html:
    found = view.registered
    status = status_badge(found.status if found else "")
    lead = NOTHING
    if found and (found.twin or found.joined_to):
        lead = _twin(view, found)
    title = Html(f"{isolated(view.domain, 120)} {status}")
    return page_head(title, lead, above=crumbs(("Domains", f"{view.base}domains")))


def _twin(view: DomainView, found: Registered) -> Html:
    other = found.joined_to if found.joined_to and found.joined_to != view.domain else found.twin
    link = Html(f'<a href="{escape(domain_path(view.base, other))}">{isolated(other, 120)}</a>')
    counts = f"{count(found.pages_alike, 'page')} alike, {whole(found.pages_unlike)} unlike"
    if found.joined_to:
        return Html(f"One site with {link}: {counts}.")
    return Html(f"{link} is registered, too; the two are not taken for one: {counts}.")


def _figures(view: DomainView) -> Html:
    found = view.registered
    if found is None:
        return NOTHING
    confidence = f"{found.best:.2f}" if found.best is not None else NONE
    shown = [
        ("pages", whole(found.pages)),
        ("characters came in", whole(found.chars_in)),
        ("of them boilerplate", percent(max(found.chars_in - found.chars_out, 0), found.chars_in)),
        ("best confidence", confidence),
        ("candidates of high, of low quality", f"{whole(found.high)} / {whole(found.low)}"),
        ("errors", whole(found.errors)),
    ]
    facts = [
        ("Mean confidence", Html(f"{found.mean:.2f}" if found.mean is not None else NONE)),
        ("Discovered", when(found.discovered_at)),
        ("Last crawled", when(found.last_crawled_at)),
        ("Last processed", when(found.last_processed_at)),
    ]
    return joined([numbers(shown), fact_list(facts, "of-domain")])


def _blacklist(view: DomainView, csrf_token: str) -> Html:
    found = view.registered
    if found is None or not (found.blacklisted_at or found.is_blacklisted):
        return NOTHING
    who = isolated(found.blacklisted_by or "somebody", 100)
    why = isolated(found.blacklist_reason or "no reason was given", 400)
    until = f"until {when(found.blacklist_expires_at)}" if found.blacklist_expires_at else "without an end"
    if not found.is_blacklisted:
        return Html(f'<p class="note-of-page">It was blacklisted until {when(found.blacklist_expires_at)}.</p>')
    take_back = Action("Take it off the blacklist", domain_path(view.base, view.domain, "unblacklist"))
    return Html(
        '<section class="notice wrong" aria-labelledby="blacklisted">\n<h2 id="blacklisted">Blacklisted</h2>\n'
        f"<p>Nothing of it is requested. By {who} on {when(found.blacklisted_at)}, {until}: {why}</p>\n"
        f"{action_form(take_back, csrf_token)}\n</section>"
    )


def _actions(view: DomainView, csrf_token: str) -> Html:
    number = f" ({whole(view.config_entries)})" if view.config_entries else ""
    templates = f"{view.base}templates?domain={quote(view.domain, safe='', errors='replace')}"
    buttons = actions(
        refine_button(view.base, view.domain, csrf_token),
        link_button(domain_path(view.base, view.domain, "config"), Html(f"Configuration{number}")),
        link_button(templates, Html("Templates")),
    )
    is_blacklisted = view.registered is not None and view.registered.is_blacklisted
    folded = NOTHING if is_blacklisted else _blacklist_form(view, csrf_token)
    return joined([buttons, folded, refine_state(view.refine, view.base)])


def _blacklist_form(view: DomainView, csrf_token: str) -> Html:
    fields = Html(
        '<div class="fields">\n'
        '<label class="field grow"><span>Why</span><input type="text" name="reason" maxlength="400" required></label>\n'
        '<label class="field"><span>Until (empty: without an end)</span><input type="date" name="expires"></label>\n'
        f"{button('Blacklist this domain', kind='danger')}\n</div>"
    )
    path = domain_path(view.base, view.domain, "blacklist")
    return Html(
        '<details class="folded"><summary>Blacklist …</summary>\n<p class="soft">Crawls request nothing of it any '
        "more, also those that run; what is stored stays.</p>\n"
        f"{form(path, fields, csrf_token)}\n</details>"
    )


def _alarms(alarms: Sequence[AlarmLine]) -> Html:
    if not alarms:
        return NOTHING
    rows = joined(
        Html(
            f'<li><p class="cause">{isolated(each.cause)}</p>\n<p class="meta">layout <code>{isolated(each.layout, 40)}'
            f"</code>, since {when(each.raised_at)}</p></li>"
        )
        for each in alarms[:20]
    )
    return Html(
        f'<section class="alarms panel" aria-labelledby="alarms">\n<h2 id="alarms">{count(len(alarms), "open alarm")}'
        f"</h2>\n<p>The templates of these layouts do not fit their pages any more; the fallback cuts them.</p>\n"
        f"<ul>\n{rows}\n</ul>\n</section>"
    )


def _pages(view: DomainView) -> Html:
    if not view.pages:
        nothing = empty("No pages are stored", Html("A crawl with the plugin on stores them."))
        return panel("Pages", NOTHING if view.is_continued else nothing, name="pages")
    rows = joined(_page(view, each) for each in view.pages)
    heads = table_heads("Page", "Last verdict", "In", "Out", "Seen", numbers_from=2)
    table = Html(
        '<table class="listing wide visits">\n<caption class="unseen">Pages, those written last first</caption>\n'
        f"{heads}\n<tbody>\n{rows}\n</tbody>\n</table>"
    )
    path = domain_path(view.base, view.domain)
    links = [("First pages", "")] if view.is_continued else []
    links += [("More pages", f"after={view.next_pages}#pages")] if view.next_pages else []
    lead = Html(f"{count(view.all_pages, 'page')}, those written last first.") if view.all_pages else NOTHING
    return panel("Pages", joined([scrolling("Pages", table), pager(path, links)]), lead=lead, name="pages")


def _page(view: DomainView, each: PageLine) -> Html:
    path = f"{view.base}page?key={each.key}"
    figures = [whole(each.chars_in) if each.chars_in is not None else NONE]
    figures.append(whole(each.chars_out) if each.chars_out is not None else NONE)
    cells = number_cells(("Characters in", figures[0]), ("Characters out", figures[1]), ("Seen", when(each.seen_at)))
    title = isolated(each.title or each.url, 120)
    return Html(
        f'<tr><th scope="row"><a href="{escape(path)}">{title}</a>'
        f'<span class="note">{isolated(each.url, 160)}</span></th>'
        f'<td class="status"><span class="badge">{isolated(each.verdict or each.status, 20)}</span></td>{cells}</tr>'
    )
