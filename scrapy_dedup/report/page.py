"""The report as one HTML file: no script, no request, nothing to install."""

import base64
import hashlib
from collections.abc import Iterable
from datetime import UTC
from html import escape

from scrapy_dedup.report.charts import HATCHING, bar, domain_chart, legend
from scrapy_dedup.report.diffs import diff_section
from scrapy_dedup.report.layouts import alarm_section, layout_section
from scrapy_dedup.report.markup import Html, attribute, isolated, joined
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.report.samples import sample_section
from scrapy_dedup.report.shadow import shadow_section
from scrapy_dedup.report.style import CSS
from scrapy_dedup.report.values import DomainFigures, LayerFigures, Recrawl, RepeatedBlock, Report

MOST_DOMAINS = 200  # rows of the table; the chart joins the rest already
MOST_REPEATED = 50
VERDICTS = ("changed", "unchanged", "new", "removed")


def render_report(report: Report) -> str:
    """Return the whole document; the same report gives the same bytes."""
    sections = [
        alarm_section(report.alarms) if report.alarms else Html(""),
        _recrawl(report.recrawl) if report.recrawl else Html(""),
        _domains(report.domains),
        layout_section(report.layouts) if report.layouts else Html(""),
        _layers(report.layers),
        shadow_section(report.shadowed) if report.shadowed else Html(""),
        _repeated(report.repeated),
        _samples(report),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n'
        f"{_head(report.project)}\n</head>\n<body>\n{HATCHING}\n{_opening(report)}\n"
        f"<main>\n{joined(section for section in sections if section)}\n</main>\n{_closing(report)}\n</body>\n</html>\n"
    )


def _head(project: str) -> Html:
    # No script may run and nothing may be fetched, whatever a page smuggled in.
    # The empty icon keeps browsers from asking a server for /favicon.ico.
    digest = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return joined(
        Html(line)
        for line in (
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{attribute(project, 100)}: what the crawl kept</title>",
            '<link rel="icon" href="data:,">',
            f"<style>{CSS}</style>",
        )
    )


def _opening(report: Report) -> Html:
    chars_in, chars_out = _totals(report.domains)
    removed = percent(chars_in - chars_out, chars_in)
    duplicates = sum(layer.pages for layer in report.layers)
    figures = (
        ("pages fetched", whole(report.pages_fetched)),
        ("duplicate links and pages dropped", whole(duplicates)),
        ("characters in", short(chars_in)),
        ("characters kept", short(chars_out)),
    )
    label = Html(f"{escape(removed)} of the text of all pages was removed")
    # One domain has a bar of its own just below, which would be the same.
    drawing = Html(f"{bar(chars_in, chars_out, chars_in, label)}\n{legend()}") if len(report.domains) > 1 else Html("")
    return Html(
        '<header class="page-head">\n'
        f'<p class="eyebrow"><strong>{isolated(report.project, 100)}</strong> · crawl report</p>\n'
        f"<h1>{whole(report.pages_fetched)} {'page' if report.pages_fetched == 1 else 'pages'} in, "
        f"<em>{escape(removed)}</em> of the text was {_what_was_removed(report.domains)}</h1>\n"
        f"{_numbers(figures)}\n{drawing}\n</header>"
    )


def _numbers(figures: Iterable[tuple[str, str]]) -> Html:
    numbers = joined(Html(f"<div><dt>{name}</dt><dd>{escape(figure)}</dd></div>") for name, figure in figures)
    return Html(f'<dl class="numbers">\n{numbers}\n</dl>')


def _what_was_removed(domains: Iterable[DomainFigures]) -> str:
    layers = {layer for each in domains for layer, chars in each.removed_by_layer.items() if chars}
    return "boilerplate" if layers <= {"boilerplate"} else "boilerplate or said before"


def _recrawl(found: Recrawl) -> Html:
    at = found.began_at.astimezone(UTC)
    figures = [(f"pages {verdict}", whole(getattr(found, verdict))) for verdict in VERDICTS]
    figures += [("callbacks not run", whole(found.callbacks_saved)), ("bytes not received", short(found.bytes_saved))]
    pages = found.new + found.changed + found.unchanged
    lead = (
        f'The crawl that began on <time datetime="{at.isoformat()}">{at:%Y-%m-%d %H:%M} UTC</time>, beside what was '
        f"known before it. It asked for {count(found.requests, 'page')}, of which the server answered "
        f"{whole(found.not_modified)} with “not modified”, and received {short(found.bytes_received)} bytes. "
        f"The spider's callback ran for {whole(found.callbacks_run)} of {count(pages, 'page')}."
    )
    if found.diffs:
        articles = joined(diff_section(page, number) for number, page in enumerate(found.diffs, start=1))
        some = f"{whole(len(found.diffs))} of {count(found.changed, 'changed page')}"
        changes = Html(f'<p class="lead">{some}, before and now.</p>\n{articles}')
    elif found.changed:
        changes = Html('<p class="more">With DEDUP_DIFF = True the next crawl keeps what changed on each page.</p>')
    else:
        changes = Html("")
    return _section("What the crawl found", lead, joined([_numbers(figures), changes]))


def _domains(domains: tuple[DomainFigures, ...]) -> Html:
    if not domains:
        return _section("Domains", "No page was cleaned yet.", Html(""))
    parts = [domain_chart(domains), legend()] if len(domains) == 1 else [domain_chart(domains), _domain_table(domains)]
    lead = "How much text came in, and how much of it was worth keeping."
    return _section(f"{count(len(domains), 'domain')}", lead, joined(parts))


def _domain_table(domains: tuple[DomainFigures, ...]) -> Html:
    worst_first = sorted(domains, key=lambda each: (-_share(each), each.domain))
    body = joined(
        _table_row(
            isolated(each.domain, 100),
            [
                whole(each.pages),
                short(each.chars_in),
                short(each.chars_out),
                percent(each.chars_in - each.chars_out, each.chars_in),
            ],
        )
        for each in worst_first[:MOST_DOMAINS]
    )
    table = _table("Domain", ("Pages", "Text in", "Kept", "Removed"), body)
    left_out = len(domains) - MOST_DOMAINS
    more = f'<p class="more">… and {count(left_out, "more domain")}</p>' if left_out > 0 else ""
    return Html(f'<details class="domains"><summary>All figures, worst first</summary>\n{table}\n{more}</details>')


def _share(each: DomainFigures) -> float:
    return (each.chars_in - each.chars_out) / each.chars_in if each.chars_in else 0.0


def _layers(layers: tuple[LayerFigures, ...]) -> Html:
    body = joined(
        _table_row(
            Html(f'{isolated(each.layer, 60)}<span class="note">{isolated(each.prevents, 200)}</span>'),
            [whole(each.pages), whole(each.blocks), short(each.chars)],
            idle=not (each.pages or each.blocks or each.chars),
        )
        for each in layers
    )
    lead = (
        "In the order in which they act. Each page and each block is counted once, under the first layer that "
        "drops it. What url drops are links: they were not fetched again."
    )
    return _section("What each layer dropped", lead, _table("Layer", ("Pages", "Blocks", "Characters"), body))


def _repeated(repeated: tuple[RepeatedBlock, ...]) -> Html:
    if not repeated:
        return _section("Most repeated blocks", "No block repeats often enough yet.", Html(""))
    several = len({each.domain for each in repeated}) > 1
    body = joined(_repeated_row(each, with_domain=several) for each in repeated[:MOST_REPEATED])
    table = _table("Block", ("On pages", "Saved"), body)
    return _section(
        "Most repeated blocks",
        "What the site says again and again, and how many characters it saves to leave it out.",
        table,
    )


def _repeated_row(each: RepeatedBlock, *, with_domain: bool) -> Html:
    notes = [isolated(each.domain, 100)] if with_domain else []
    if each.path:
        notes.append(Html(f'<code title="{attribute(each.path)}">{isolated(_last_steps(each.path), 120)}</code>'))
    note = f'<span class="note">{" · ".join(notes)}</span>' if notes else ""
    return _table_row(
        Html(f'<span class="quote">{isolated(each.text, 200)}</span>{note}'),
        [f"{whole(each.on_pages)} of {whole(each.of_pages)}", short(each.on_pages * each.chars)],
    )


def _last_steps(path: str) -> str:
    steps = path.split(">")
    return " > ".join(steps if len(steps) <= 3 else ["…", *steps[-3:]])


def _samples(report: Report) -> Html:
    if not report.samples:
        return Html("")
    articles = joined(sample_section(sample, number) for number, sample in enumerate(report.samples, start=1))
    lead = "First the page as it was, with what was removed struck out, and why; then the text that was handed on."
    return _section("Before and after", lead, articles)


def _closing(report: Report) -> Html:
    at = report.generated_at.astimezone(UTC)
    return Html(
        f'<footer>Made by scrapy-dedup on <time datetime="{at.isoformat()}">{at:%Y-%m-%d %H:%M} UTC</time>. '
        "This file loads nothing from anywhere.</footer>"
    )


def _section(title: str, lead: str, content: Html) -> Html:
    return Html(f'<section>\n<h2>{title}</h2>\n<p class="lead">{lead}</p>\n{content}\n</section>')


def _table(first: str, others: Iterable[str], body: Html) -> Html:
    heads = "".join(f'<th scope="col" class="number">{name}</th>' for name in others)
    return Html(
        f'<table>\n<thead><tr><th scope="col">{first}</th>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>'
    )


def _table_row(name: Html, figures: Iterable[str], *, idle: bool = False) -> Html:
    extra = " idle" if idle else ""
    cells = "".join(f'<td class="number{extra}">{escape(figure)}</td>' for figure in figures)
    return Html(f'<tr><th scope="row" class="name-cell{extra}">{name}</th>{cells}</tr>')


def _totals(domains: Iterable[DomainFigures]) -> tuple[int, int]:
    figures = [(each.chars_in, each.chars_out) for each in domains]
    return sum(chars_in for chars_in, _ in figures), sum(chars_out for _, chars_out in figures)
