"""The report as one HTML file: no script, no request, nothing to install."""

from collections.abc import Iterable
from datetime import UTC
from html import escape

from scrapy_dedup.report.charts import bar, domain_chart, legend
from scrapy_dedup.report.diffs import diff_section
from scrapy_dedup.report.document import document, numbers, section, table, table_row
from scrapy_dedup.report.layouts import alarm_section, layout_section
from scrapy_dedup.report.ledger import alias_section, ledger_section, shared_section
from scrapy_dedup.report.markup import Html, attribute, isolated, joined
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.report.samples import sample_section
from scrapy_dedup.report.shadow import shadow_section
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
        ledger_section(report.ledger) if report.ledger else _layers(report.layers),
        shadow_section(report.shadowed) if report.shadowed else Html(""),
        alias_section(report.ledger.aliases) if report.ledger else Html(""),
        shared_section(report.ledger.shared) if report.ledger else Html(""),
        _repeated(report.repeated),
        _samples(report),
    ]
    title = f"{report.project[:100]}: what the crawl kept"
    return document(title, _opening(report), sections, report.generated_at)


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
        f"{numbers(figures)}\n{drawing}\n</header>"
    )


def _what_was_removed(domains: Iterable[DomainFigures]) -> str:
    layers = {layer for each in domains for layer, chars in each.removed_by_layer.items() if chars}
    return "boilerplate" if layers <= {"boilerplate", "patterns"} else "boilerplate or said before"


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
    return section("What the crawl found", lead, joined([numbers(figures), changes]))


def _domains(domains: tuple[DomainFigures, ...]) -> Html:
    if not domains:
        return section("Domains", "No page was cleaned yet.", Html(""))
    parts = [domain_chart(domains), legend()] if len(domains) == 1 else [domain_chart(domains), _domain_table(domains)]
    lead = "How much text came in, and how much of it was worth keeping."
    return section(f"{count(len(domains), 'domain')}", lead, joined(parts))


def _domain_table(domains: tuple[DomainFigures, ...]) -> Html:
    worst_first = sorted(domains, key=lambda each: (-_share(each), each.domain))
    body = joined(
        table_row(
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
    rows = table("Domain", ("Pages", "Text in", "Kept", "Removed"), body)
    left_out = len(domains) - MOST_DOMAINS
    more = f'<p class="more">… and {count(left_out, "more domain")}</p>' if left_out > 0 else ""
    return Html(f'<details class="domains"><summary>All figures, worst first</summary>\n{rows}\n{more}</details>')


def _share(each: DomainFigures) -> float:
    return (each.chars_in - each.chars_out) / each.chars_in if each.chars_in else 0.0


def _layers(layers: tuple[LayerFigures, ...]) -> Html:
    body = joined(
        table_row(
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
    return section("What each layer dropped", lead, table("Layer", ("Pages", "Blocks", "Characters"), body))


def _repeated(repeated: tuple[RepeatedBlock, ...]) -> Html:
    if not repeated:
        return section("Most repeated blocks", "No block repeats often enough yet.", Html(""))
    several = len({each.domain for each in repeated}) > 1
    body = joined(_repeated_row(each, with_domain=several) for each in repeated[:MOST_REPEATED])
    rows = table("Block", ("On pages", "Saved"), body)
    return section(
        "Most repeated blocks",
        "What the site says again and again, and how many characters it saves to leave it out.",
        rows,
    )


def _repeated_row(each: RepeatedBlock, *, with_domain: bool) -> Html:
    notes = [isolated(each.domain, 100)] if with_domain else []
    if each.path:
        notes.append(Html(f'<code title="{attribute(each.path)}">{isolated(_last_steps(each.path), 120)}</code>'))
    note = f'<span class="note">{" · ".join(notes)}</span>' if notes else ""
    return table_row(
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
    return section("Before and after", lead, articles)


def _totals(domains: Iterable[DomainFigures]) -> tuple[int, int]:
    figures = [(each.chars_in, each.chars_out) for each in domains]
    return sum(chars_in for chars_in, _ in figures), sum(chars_out for _, chars_out in figures)
