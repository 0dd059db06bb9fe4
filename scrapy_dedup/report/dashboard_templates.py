"""A layout's template on the dashboard: what it keeps and why, its versions, and what people decide."""

from collections.abc import Sequence
from html import escape
from typing import Final

from scrapy_dedup.core.path_verdicts import VerdictChange
from scrapy_dedup.report.dashboard_frame import (
    NOTHING,
    button,
    choices,
    crumbs,
    empty,
    form,
    hidden,
    page_head,
    panel,
    scrolling,
)
from scrapy_dedup.report.dashboard_parts import (
    STATES,
    actions,
    and_more,
    domain_path,
    link_button,
    number_cells,
    state_badge,
    table_heads,
    template_path,
    when,
)
from scrapy_dedup.report.dashboard_values import (
    Decided,
    TemplateDiffView,
    TemplateList,
    TemplateRow,
    TemplateTrial,
    TemplateView,
    TrialEffect,
    VersionRow,
)
from scrapy_dedup.report.markup import Html, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.report.values import Rule

MOST_RULES: Final = 300
MOST_DIFFERENCES: Final = 300
_ACTIONS: Final = (("keep", "Keep what it selects"), ("drop", "Leave out what it selects"))


MOST_ROWS: Final = 200


MOST_EFFECTS: Final = 20
MOST_TEXTS: Final = 12


def template_content(view: TemplateView, csrf_token: str) -> Html:
    """Return what stands in the frame of the page about a layout's template."""
    return joined(
        part
        for part in (
            _head(view),
            _rules_panel(view),
            _decide(view, csrf_token),
            _versions(view),
            _difference(view.diff) if view.diff else NOTHING,
        )
        if part
    )


def _head(view: TemplateView) -> Html:
    one = view.shown
    facts = f"Version {whole(one.version)}, confidence {one.confidence:.2f}, learned from {count(one.pages, 'page')}"
    reason = f": {isolated(one.reason)}" if one.reason else ""
    urls = f"<br>URLs like <code>{isolated(view.url_pattern, 200)}</code>" if view.url_pattern else ""
    kind = isolated(view.kind.capitalize() or "Page", 40)
    above = crumbs(("Templates", f"{view.base}templates"), (view.domain, domain_path(view.base, view.domain)))
    title = Html(f"{kind} <code>{isolated(view.layout, 40)}</code> {state_badge(one.state)}")
    return page_head(title, Html(f"{facts}{reason}.{urls}"), above=above)


def _rules_panel(view: TemplateView) -> Html:
    fields = [Rule(selector, name) for name, selector in view.fields]
    kept = joined([_rules("Content", view.content), _rules("Title, date, author", fields) if fields else NOTHING])
    gone = _rules("Left out", view.left_out)
    panes = Html(f'<div class="panes"><div class="pane">\n{kept}\n</div>\n<div class="pane">\n{gone}\n</div></div>')
    return panel("How its pages are cut", panes, lead=Html("Each selector with its evidence."), name="rules")


def _rules(title: str, rules: Sequence[Rule]) -> Html:
    rows = joined(_rule(each) for each in rules[:MOST_RULES])
    number = f' <span class="soft">{whole(len(rules))}</span>' if rules else ""
    content = f'<ul class="rules">\n{rows}\n</ul>' if rules else '<p class="more">Nothing.</p>'
    more = and_more(len(rules) - MOST_RULES, "more")
    return Html(
        f'<h3>{title}{number}</h3>\n<div class="scroll" tabindex="0" role="region" aria-label="{title}">\n{content}\n'
        f"{more}</div>"
    )


def _rule(each: Rule) -> Html:
    evidence = f'<span class="note">{isolated(each.evidence)}</span>' if each.evidence else ""
    return Html(f"<li><code>{isolated(each.selector, 300)}</code>{evidence}</li>")


def _decide(view: TemplateView, csrf_token: str) -> Html:
    path = template_path(view.base, view.domain, view.layout, "override")
    wrong = ""
    if view.error:
        wrong = f'<p class="wrong-field" id="selector-wrong">{isolated(view.error, 600)}</p>'
    told = ' aria-invalid="true" aria-describedby="selector-wrong"' if view.error else ""
    fields = Html(
        f'<div class="fields">{choices("action", _ACTIONS, view.typed[0], label="Decision")}\n'
        '<label class="field grow"><span>CSS selector</span>'
        '<input type="text" name="selector" maxlength="2000" required '
        f'spellcheck="false" value="{escape(view.typed[1])}"{told}></label>\n'
        f"{button('See what it changes')}</div>{wrong}"
    )
    shown = joined(_decided(view, each, csrf_token) for each in view.decided[:MOST_RULES])
    present = Html(f'<ul class="steps decided">\n{shown}\n</ul>') if view.decided else NOTHING
    lead = Html(
        "What people decide passes on to later versions. Of two decisions about an element the later one counts."
    )
    content = joined([present, form(path, fields, csrf_token)])
    return panel("Decided by people", content, lead=lead, name="decide")


def _decided(view: TemplateView, each: Decided, csrf_token: str) -> Html:
    path = template_path(view.base, view.domain, view.layout, "override")
    note = " by ".join(part for part in (each.at[:16].replace("T", " "), each.by) if part)
    fields = joined(
        [
            hidden("action", "forget"),
            hidden("selector", each.selector),
            Html(
                '<button type="submit" class="button quiet">Forget<span class="unseen"> the decision about '
                f"{isolated(each.selector, 60)}</span></button>"
            ),
        ]
    )
    return Html(
        f'<li><span><span class="badge">{isolated(each.action, 20)}</span> <code>{isolated(each.selector, 300)}</code>'
        f'<span class="note">{isolated(note, 200)}</span></span>{form(path, fields, csrf_token, kind="inline")}</li>'
    )


def _versions(view: TemplateView) -> Html:
    heads = table_heads("Version", "State", "Made by", "Made", "Since", "Confidence", "Pages", numbers_from=3)
    rows = joined(_version(view, each) for each in view.versions)
    table = Html(
        '<table class="listing wide versions">\n<caption class="unseen">Versions, the newest first</caption>\n'
        f"{heads}\n<tbody>\n{rows}\n</tbody>\n</table>"
    )
    lead = Html("A layout has one live version at most. To go back shows first which pages would change.")
    content = joined([scrolling("Versions", table), _compare(view)])
    return panel("Versions", content, lead=lead, name="versions")


def _version(view: TemplateView, each: VersionRow) -> Html:
    path = template_path(view.base, view.domain, view.layout)
    here = ' aria-current="page"' if each.version == view.shown.version else ""
    back = ""
    if each.state != "live":
        again = template_path(view.base, view.domain, view.layout, "rollback")
        back = (
            f' <a href="{escape(again)}?version={each.version}">Go back to it'
            f'<span class="unseen">: version {each.version}</span></a>'
        )
    reason = f'<span class="note">{isolated(each.reason)}</span>' if each.reason else ""
    cells = number_cells(
        ("Made", when(each.created_at)),
        ("Since", when(each.state_at)),
        ("Confidence", f"{each.confidence:.2f}"),
        ("Pages", whole(each.pages)),
    )
    return Html(
        f'<tr><th scope="row" class="version"><a href="{escape(path)}?version={each.version}"{here}>'
        f'Version {whole(each.version)}</a></th><td class="status">{state_badge(each.state)}{back}{reason}</td>'
        f'<td data-label="Made by">{isolated(each.source, 40)}</td>{cells}</tr>'
    )


def _compare(view: TemplateView) -> Html:
    if len(view.versions) < 2:
        return NOTHING
    options = [
        (str(each.version), f"version {each.version}, {STATES.get(each.state, each.state)}") for each in view.versions
    ]
    older = next((number for number, _ in options if int(number) < view.shown.version), options[-1][0])
    before, after = (view.diff.before, view.diff.after) if view.diff else (older, view.shown.version)
    path = template_path(view.base, view.domain, view.layout)
    return Html(
        f'<form class="fields compare" method="get" action="{escape(path)}#difference">'
        f"{choices('against', options, str(before), label='Compare')}"
        f"{choices('version', options, str(after), label='with')}"
        '<button class="button">Show the difference</button></form>'
    )


def _difference(diff: TemplateDiffView) -> Html:
    title = f"Version {whole(diff.after)} against {whole(diff.before)}"
    if not (diff.came or diff.left or diff.verdicts):
        return panel(title, Html("<p>Both cut alike.</p>"), name="difference")
    lines = [_line("del", "&minus;", *each) for each in diff.left[:MOST_DIFFERENCES]]
    lines += [_line("ins", "+", *each) for each in diff.came[:MOST_DIFFERENCES]]
    listed = Html(f'<ul class="differences">\n{joined(lines)}\n</ul>') if lines else NOTHING
    return panel(title, joined([listed, _verdicts(diff.verdicts)]), name="difference")


def _line(element: str, sign: str, what: str, selector: str) -> Html:
    said = "left" if element == "del" else "came"
    return Html(
        f'<li><{element}><span aria-hidden="true">{sign} </span><span class="unseen">{said}: </span>'
        f'<span class="badge">{isolated(what, 40)}</span> <code>{isolated(selector, 300)}</code></{element}></li>'
    )


def _verdicts(verdicts: Sequence[VerdictChange]) -> Html:
    if not verdicts:
        return NOTHING
    rows = joined(
        Html(
            f'<tr><th scope="row"><code>{isolated(each.path, 300)}</code></th>'
            f'<td class="status" data-label="Before">{isolated(each.before or "unknown", 100)}</td>'
            f'<td class="status" data-label="After">{isolated(each.after or "unknown", 100)}'
            f'<span class="note">{isolated(each.evidence)}</span></td></tr>'
        )
        for each in verdicts[:MOST_DIFFERENCES]
    )
    heads = table_heads("Path", "Before", "After", numbers_from=9)
    table = Html(
        f'<table class="listing wide">\n<caption class="unseen">Paths about which they differ</caption>\n{heads}\n'
        f"<tbody>\n{rows}\n</tbody>\n</table>"
    )
    return joined([scrolling("Paths that differ", table), and_more(len(verdicts) - MOST_DIFFERENCES, "more paths")])


def list_content(view: TemplateList) -> Html:
    """Return what stands in the frame of the list of templates."""
    lead = Html("How the pages of each layout are cut: learned from many pages, open to what people decide.")
    field = Html(
        '<label class="field grow"><span>Domain</span><input type="search" name="domain" maxlength="300" '
        f'value="{escape(view.domain)}" spellcheck="false"></label><button class="button">Show</button>'
    )
    choose = Html(f'<form class="fields" method="get" action="{escape(view.base)}templates">{field}</form>')
    if not view.rows:
        of = Html(f" of {isolated(view.domain, 120)}") if view.domain else NOTHING
        told = Html(f"Nothing is learned{of} yet: run a crawl, or <code>scrapy dedup analyze</code>.")
        return joined([page_head(Html("Templates"), lead), choose, empty("No templates", told)])
    heads = table_heads(
        "Layout", "State", "Version", "Confidence", "Learned from", "Decisions", "Since", numbers_from=2
    )
    rows = joined(_row(view.base, each) for each in view.rows[:MOST_ROWS])
    table = Html(
        '<table class="listing wide">\n<caption class="unseen">Templates, by domain and layout</caption>\n'
        f"{heads}\n<tbody>\n{rows}\n</tbody>\n</table>"
    )
    told = Html('<p class="more">… and more: name a domain to see its own.</p>')
    more = told if view.has_more or len(view.rows) > MOST_ROWS else NOTHING
    return joined([page_head(Html("Templates"), lead), choose, scrolling("Templates", table), more])


def _row(base: str, each: TemplateRow) -> Html:
    kind = isolated(each.kind.capitalize() or "Page", 40)
    note = f'<span class="note"><code>{isolated(each.url_pattern, 120)}</code></span>' if each.url_pattern else ""
    path = template_path(base, each.domain, each.layout)
    cells = number_cells(
        ("Version", f"{whole(each.version)} of {whole(each.versions)}"),
        ("Confidence", f"{each.confidence:.2f}"),
        ("Learned from", count(each.pages, "page")),
        ("Decisions", whole(each.overrides)),
        ("Since", when(each.state_at)),
    )
    return Html(
        f'<tr><th scope="row"><a href="{escape(path)}">{isolated(each.domain, 120)} · {kind} '
        f"<code>{isolated(each.layout, 40)}</code></a>{note}</th>"
        f'<td class="status">{state_badge(each.state)}</td>{cells}</tr>'
    )


def confirm_content(view: TemplateView, trial: TemplateTrial, title: Html, go_on: Html) -> Html:
    """Return what stands in the frame before a template is changed: which pages would change, and the way on.

    Args:
        view: of the template as it is.
        trial: what would change.
        title: what is to be done.
        go_on: the form that does it.
    """
    number = len(trial.effects)
    if not trial.pages:
        told = Html("No stored page of this layout could be tried.")
    elif not number:
        told = Html(f"Of {count(trial.pages, 'stored page')} of this layout none would change.")
    else:
        told = Html(f"Of {count(trial.pages, 'stored page')} of this layout <em>{whole(number)}</em> would change.")
    path = template_path(view.base, view.domain, view.layout)
    above = crumbs(
        ("Templates", f"{view.base}templates"), (view.domain, domain_path(view.base, view.domain)), (view.layout, path)
    )
    effects = joined(_effect(each) for each in trial.effects[:MOST_EFFECTS])
    return joined(
        [
            page_head(title, told, above=above),
            actions(go_on, link_button(path, Html("Cancel"))),
            panel("What would change", joined([effects, and_more(number - MOST_EFFECTS, "more pages")]))
            if number
            else NOTHING,
        ]
    )


def _effect(each: TrialEffect) -> Html:
    gone = joined(_text("del", "&minus;", "would go", text) for text in each.gone[:MOST_TEXTS])
    back = joined(_text("ins", "+", "would come back", text) for text in each.back[:MOST_TEXTS])
    left = len(each.gone) + len(each.back) - min(len(each.gone), MOST_TEXTS) - min(len(each.back), MOST_TEXTS)
    return Html(
        f'<article class="card effect">\n<h3>{page_link(each.url)}</h3>\n'
        f'<ul class="differences">\n{gone}\n{back}\n</ul>\n{and_more(left, "more texts")}</article>'
    )


def _text(element: str, sign: str, said: str, text: str) -> Html:
    return Html(
        f'<li><{element}><span aria-hidden="true">{sign} </span><span class="unseen">{said}: </span>'
        f"{isolated(text, 300)}</{element}></li>"
    )
