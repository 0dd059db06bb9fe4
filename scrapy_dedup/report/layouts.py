"""From which designs a domain's pages are built, how each is cut, and where that fails at present."""

from collections.abc import Sequence
from datetime import UTC
from html import escape

from scrapy_dedup.report.charts import share_bar, trend
from scrapy_dedup.report.layout_picture import layout_figure
from scrapy_dedup.report.markup import Html, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, percent, whole
from scrapy_dedup.report.values import Alarm, DomainLayouts, LayoutFigures, Rule, TeacherFigures, TemplateFigures

MOST_DOMAINS = 12
MOST_LAYOUTS = 12
MOST_ALARMS = 20
MOST_RULES = 20
MOST_EXAMPLES = 3
LONGEST_RULE = 300

STATES = {"live": "live", "probation": "on probation", "retired": "retired"}


def alarm_section(alarms: Sequence[Alarm]) -> Html:
    """Return what needs a look now: templates that ceased to fit."""
    rows = joined(_alarm(each) for each in alarms[:MOST_ALARMS])
    return Html(
        '<section class="alarms" aria-labelledby="alarms">\n'
        f'<h2 id="alarms">{count(len(alarms), "open alarm")}</h2>\n'
        '<p class="lead">The templates of these layouts do not fit their pages any more, most likely because the site '
        "was redesigned. Their pages are cut by the fallback until enough of them were learned from.</p>\n"
        f"<ul>\n{rows}\n</ul>\n{_and_more(len(alarms) - MOST_ALARMS, 'more alarm')}</section>"
    )


def _alarm(each: Alarm) -> Html:
    at = each.raised_at.astimezone(UTC)
    return Html(
        f'<li><p class="cause">{isolated(each.cause)}</p>\n<p class="meta">{isolated(each.domain, 100)}, layout '
        f'<code>{isolated(each.layout, 40)}</code>, raised <time datetime="{at.isoformat()}">'
        f"{at:%Y-%m-%d %H:%M} UTC</time></p></li>"
    )


def layout_section(domains: Sequence[DomainLayouts]) -> Html:
    """Return the layouts of each domain, with how their pages are cut."""
    return Html(
        '<section>\n<h2>Layouts</h2>\n<p class="lead">The designs from which each site builds its pages, and the '
        "template by which the pages of each are cut. The columns are pages a run, oldest first.</p>\n"
        f"{joined(_domain(each, number) for number, each in enumerate(domains[:MOST_DOMAINS]))}\n"
        f"{_and_more(len(domains) - MOST_DOMAINS, 'more domain')}</section>"
    )


def _domain(each: DomainLayouts, number: int) -> Html:
    shown = each.layouts[:MOST_LAYOUTS]
    layouts = (_layout(layout, each.pages, f"p{number}-{place}") for place, layout in enumerate(shown))
    return Html(
        f'<article class="site">\n<h3>{isolated(each.domain, 100)}</h3>\n'
        f'<p class="meta">{count(each.all_layouts, "layout")}, {count(each.pages, "page")}</p>\n'
        f"{joined(layouts)}\n"
        f"{_and_more(each.all_layouts - len(shown), 'more layout')}</article>"
    )


def _layout(each: LayoutFigures, pages: int, name: str) -> Html:
    state = each.template.state if each.template else ""
    kind = isolated(each.kind.capitalize() or "Page", 40)
    label = Html(f"{escape(percent(each.pages, pages))} of the pages")
    teacher = each.template.teacher if each.template else None
    looks = [_teacher_line(teacher), _picture(each, name)]
    facts = [_template_line(each.template), _urls(each), *looks, _how_cut(each.template)]
    return Html(
        f'<section class="layout">\n<div class="row"><h4 class="kind">{kind} <code>{isolated(each.layout, 40)}</code>'
        f'{_badge(state)}</h4>\n<span class="figures">{trend(each.pages_by_run)}<span>{count(each.pages, "page")} · '
        f"<strong>{escape(percent(each.pages, pages))}</strong></span></span></div>\n"
        f"{share_bar(each.pages, pages, label)}\n{joined(fact for fact in facts if fact)}\n</section>"
    )


def _badge(state: str) -> Html:
    shown = escape(STATES[state]) if state in STATES else isolated(state or "nothing learned", 40)
    return Html(f' <span class="badge{" live" if state == "live" else ""}">{shown}</span>')


def _template_line(template: TemplateFigures | None) -> Html:
    if template is None:
        return Html("")
    facts = (
        f"Template version {whole(template.version)}, confidence {template.confidence:.2f}, learned from "
        f"{count(template.pages, 'page')}"
    )
    reason = f": {isolated(template.reason)}" if template.reason else ""
    return Html(f'<p class="meta">{facts}{reason}</p>')


def _teacher_line(seen: TeacherFigures | None) -> Html:
    if seen is None:
        return Html("")
    told = [f"A browser showed {count(seen.pages, 'page')}"]
    told.append(f"{escape(percent(round(1_000 * seen.js_share), 1_000))} of the text is made by scripts")
    if seen.agreement is not None:
        told.append(f"agreement of browser, repetition and extractor {seen.agreement:.2f}")
    if seen.needs_rendering:
        told.append("its pages need a browser")
    return Html(f'<p class="meta">{", ".join(told)}</p>')


def _picture(each: LayoutFigures, name: str) -> Html:
    if each.picture is not None:
        return layout_figure(each.picture, name=name)
    if not each.left_out:
        return Html("")
    return Html(
        '<p class="more">Its picture has no room in this report: '
        f"<code>scrapy dedup analyze-layout</code> {page_link(each.left_out, limit=120)}</p>"
    )


def _urls(each: LayoutFigures) -> Html:
    parts = []
    if each.url_pattern:
        parts.append(Html(f'<p class="meta">URLs like <code>{isolated(each.url_pattern, LONGEST_RULE)}</code></p>'))
    if each.examples:
        links = joined(Html(f"<li>{page_link(url, limit=120)}</li>") for url in each.examples[:MOST_EXAMPLES])
        parts.append(Html(f'<ul class="examples">\n{links}\n</ul>'))
    return joined(parts)


def _how_cut(template: TemplateFigures | None) -> Html:
    if template is None or not (template.content or template.left_out):
        return Html("")
    fields = [Rule(selector, name) for name, selector in template.fields.items() if selector]
    panes = [_rules("Content", template.content, len(template.content))]
    if fields:
        panes.append(_rules("Title, date, author", fields, len(fields)))
    left_out = _rules("Left out", template.left_out, max(template.rules, len(template.left_out)))
    number = count(max(template.rules, len(template.left_out)), "thing")
    return Html(
        f"<details><summary>How its pages are cut: {number} left out</summary>\n"
        f'<div class="panes"><div class="pane">\n{joined(panes)}\n</div>\n'
        f'<div class="pane">\n{left_out}\n</div></div>\n</details>'
    )


def rules_panes(content: Sequence[Rule], left_out: Sequence[Rule]) -> Html:
    """Return what a template keeps and what it leaves out, side by side."""
    kept, gone = _rules("Content", content, len(content)), _rules("Left out", left_out, len(left_out))
    return Html(f'<div class="panes"><div class="pane">\n{kept}\n</div>\n<div class="pane">\n{gone}\n</div></div>')


def _rules(title: str, rules: Sequence[Rule], total: int) -> Html:
    shown = rules[:MOST_RULES]
    more = _and_more(total - len(shown), "more")
    if not rules:
        return Html(f'<h5>{title}</h5>\n<p class="more">Nothing.</p>')
    return Html(f'<h5>{title}</h5>\n<ul class="rules">\n{joined(_rule(each) for each in shown)}\n</ul>\n{more}')


def _rule(each: Rule) -> Html:
    example = f'<span class="quote">{isolated(each.example, 160)}</span>' if each.example else ""
    evidence = f'<span class="note">{isolated(each.evidence)}</span>' if each.evidence else ""
    return Html(f"<li><code>{isolated(each.selector, LONGEST_RULE)}</code>{example}{evidence}</li>")


def _and_more(number: int, thing: str) -> Html:
    if number <= 0:
        return Html("")
    told = f"{whole(number)} {thing}" if thing == "more" else count(number, thing)
    return Html(f'<p class="more">… and {told}</p>\n')
