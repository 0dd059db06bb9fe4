"""One domain on the dashboard: what the registry says of it, its layouts, what repeats on it, and its pages."""

from collections.abc import Sequence
from html import escape
from typing import Final
from urllib.parse import quote

from scrapy_dedup.report.charts import share_bar, trend
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
from scrapy_dedup.report.dashboard_parts import (
    actions,
    and_more,
    domain_path,
    fact_list,
    keep_path,
    link_button,
    number_cells,
    picture_path,
    state_badge,
    status_badge,
    table_heads,
    template_path,
    when,
)
from scrapy_dedup.report.dashboard_refine import refine_button, refine_state
from scrapy_dedup.report.dashboard_values import (
    AlarmLine,
    BlockLine,
    DomainView,
    KeptLine,
    LayoutCard,
    PageLine,
    Registered,
)
from scrapy_dedup.report.document import NONE, numbers
from scrapy_dedup.report.layout_picture import GUTTER, LEGEND_HEIGHT, boxes_list
from scrapy_dedup.report.markup import Html, attribute, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, percent, whole

MOST_KEPT: Final = 100
SHOWN: Final = 10
"""Blocks; those behind them are folded."""
_BLOCK_CHARS: Final = 300


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


def block_table(view: DomainView) -> Html:
    """Return the blocks that repeat, each with what keeps it; nothing where none does."""
    if not view.blocks:
        return NOTHING
    parts = [_table(view, view.blocks[:SHOWN], "Blocks that repeat, those on most pages first")]
    if folded := view.blocks[SHOWN:]:
        title = count(len(folded), "more block")
        parts.append(
            Html(
                f'<details class="folded"><summary>{title}</summary>\n{_table(view, folded, "More blocks")}\n</details>'
            )
        )
    parts.append(and_more(view.all_blocks - len(view.blocks), "more"))
    lead = Html("Keep what belongs to the text: it then stays on the pages of this domain, whatever repeats.")
    return panel("Boilerplate", joined(part for part in parts if part), lead=lead, name="blocks")


def _table(view: DomainView, blocks: Sequence[BlockLine], name: str) -> Html:
    rows = joined(_block(view, each) for each in blocks)
    heads = (
        '<tr><th scope="col">Text</th><th scope="col">Rule</th><th scope="col" class="number">On pages</th>'
        '<th scope="col"><span class="unseen">What can be done</span></th></tr>'
    )
    table = Html(
        f'<table class="listing wide blocks">\n<caption class="unseen">{name}</caption>\n<thead>{heads}</thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table>"
    )
    return scrolling(name, table)


def _block(view: DomainView, each: BlockLine) -> Html:
    where = f'<span class="note"><code>{isolated(each.path, 200)}</code></span>' if each.path else ""
    path = keep_path(view.base, each.fingerprint, domain=view.domain, take_back=each.is_kept)
    word = "Take back" if each.is_kept else "Keep"
    state = '<span class="badge good">kept</span> ' if each.is_kept else ""
    more = f'<span class="unseen">: {isolated(each.text, 60)}</span>'
    share = f'<span class="note">{escape(percent(each.pages, each.of_pages))}</span>'
    return Html(
        f'<tr><th scope="row" class="quote">{isolated(each.text, _BLOCK_CHARS)}</th>'
        f'<td class="status"><span class="badge">{isolated(each.layer, 40)}</span> '
        f"{isolated(each.rule, 100)}{where}</td>"
        f'<td class="number" data-label="On pages">{whole(each.pages)} of {whole(each.of_pages)}{share}</td>'
        f'<td class="does">{state}<a class="keep" href="{escape(path)}">{word}{more}</a></td></tr>'
    )


def kept_list(view: DomainView) -> Html:
    """Return what people keep on the domain, each with what takes that back; nothing where nothing is."""
    if not view.kept:
        return NOTHING
    rows = joined(_kept(view, each) for each in view.kept[:MOST_KEPT])
    content = Html(f'<ul class="steps">\n{rows}\n</ul>\n{and_more(len(view.kept) - MOST_KEPT, "more")}')
    return panel("Kept in spite of all rules", content, name="kept")


def _kept(view: DomainView, each: KeptLine) -> Html:
    path = keep_path(view.base, each.text, domain=view.domain, take_back=True)
    return Html(
        f'<li><span><span class="badge">{isolated(each.kind, 20)}</span> <code>{isolated(each.text, 300)}</code></span>'
        f'<a href="{escape(path)}">Take back<span class="unseen"> {isolated(each.text, 60)}</span></a></li>'
    )


def layout_cards(view: DomainView) -> Html:
    """Return the layouts of a domain, those with most pages first."""
    if not view.layouts:
        told = Html("A domain is learned from DEDUP_MIN_PAGES pages on; until then the fallback cuts its pages.")
        return panel("Layouts", empty("No layout is known", told), name="layouts")
    pages = sum(each.pages for each in view.layouts)
    cards = joined(_card(view, each, pages) for each in view.layouts)
    more = and_more(view.all_layouts - len(view.layouts), "more")
    lead = Html("The designs from which the site builds its pages. The columns are pages a run, oldest first.")
    return panel(
        "Layouts", joined([Html(f'<div class="layout-cards">\n{cards}\n</div>'), more]), lead=lead, name="layouts"
    )


def _card(view: DomainView, each: LayoutCard, pages: int) -> Html:
    label = Html(f"{escape(percent(each.pages, pages))} of the pages")
    kind = isolated(each.kind.capitalize() or "Page", 40)
    name = Html(f"{kind} <code>{isolated(each.layout, 40)}</code>")
    if each.state:
        name = Html(f'<a href="{escape(template_path(view.base, view.domain, each.layout))}">{name}</a>')
    facts = [_template(each), _urls(each), _picture(view, each)]
    return Html(
        f'<article class="card layout-card">\n<h3>{name} {state_badge(each.state)}</h3>\n'
        f'<p class="figures">{trend(each.pages_by_run)}<span>{count(each.pages, "page")} · '
        f"<strong>{escape(percent(each.pages, pages))}</strong></span></p>\n"
        f"{share_bar(each.pages, pages, label)}\n{joined(fact for fact in facts if fact)}\n</article>"
    )


def _template(each: LayoutCard) -> Html:
    if not each.state:
        return NOTHING
    reason = f": {isolated(each.reason)}" if each.reason else ""
    told = f"Template version {whole(each.version)}, confidence {each.confidence:.2f}{reason}"
    return Html(f'<p class="meta">{told}</p>')


def _urls(each: LayoutCard) -> Html:
    pattern = f"URLs like <code>{isolated(each.url_pattern, 200)}</code>" if each.url_pattern else ""
    example = page_link(each.example_url, limit=100) if each.example_url else NOTHING
    parts = [part for part in (pattern, example) if part]
    return Html(f'<p class="meta">{", such as ".join(parts)}</p>') if parts else NOTHING


def _picture(view: DomainView, each: LayoutCard) -> Html:
    if each.picture is None:
        return NOTHING
    path = picture_path(view.base, view.domain, each.layout)
    label = attribute(f"A page of layout {each.layout}, with what is content and what is left out", 200)
    return Html(
        f'<details class="picture"><summary>How a page of it looks</summary>\n'
        f'<div class="frame" tabindex="0" role="region" aria-label="Picture of layout {attribute(each.layout, 40)}">'
        f'<img src="{escape(path)}" alt="{label}" loading="lazy" width="{each.picture.width + GUTTER}" '
        f'height="{each.picture.height + LEGEND_HEIGHT}"></div>\n{boxes_list(each.picture.boxes)}</details>'
    )
