"""The report as one HTML file: no script, no request, nothing to install."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from html import escape
from itertools import groupby

from scrapy_dedup.report.charts import bar, domain_chart, legend
from scrapy_dedup.report.diffs import diff_section
from scrapy_dedup.report.document import document, numbers, section, table, table_row
from scrapy_dedup.report.layouts import alarm_section, layout_section
from scrapy_dedup.report.ledger import alias_section, ledger_section, shared_section
from scrapy_dedup.report.markup import Html, attribute, isolated, joined, page_link
from scrapy_dedup.report.numbers import count, percent, short, whole
from scrapy_dedup.report.values import (
    DomainFigures,
    LayerFigures,
    Recrawl,
    RepeatedBlock,
    Report,
    SampleBlock,
    SamplePage,
    ShadowedLayer,
    ShadowedPage,
)

MOST_DOMAINS = 200  # rows of the table; the chart joins the rest already
MOST_REPEATED = 50
VERDICTS = ("changed", "unchanged", "new", "removed")


MOST_PAGES = 20
MOST_SAMPLES = 10
MOST_COUNTS = 12

# Counts are called as in the stats; these are short there.
_WORDS = {"chars": "characters", "asked_if": "asked whether changed", "skipped": "left alone"}


MOST_BLOCKS = 1000
LONGEST_BLOCK = 4000
LONGEST_TEXT = 60_000  # characters of a cleaned text that are shown
# Menus remove forty blocks for one reason: some are shown, the rest waits behind a click.
BLOCKS_BEFORE_FOLD = 4


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


def shadow_section(layers: Sequence[ShadowedLayer]) -> Html:
    """Return the layers in the shadow, each with its counts and with samples."""
    return Html(
        '<section class="shadow">\n<h2>In the shadow</h2>\n<p class="lead">These layers only look on '
        "(<code>DEDUP_SHADOW</code>): <strong>nothing shown here was removed.</strong> What is marked as “would go” "
        "was handed on as it came, and goes once the layer is taken out of the shadow.</p>\n"
        f"{joined(_layer(each, place) for place, each in enumerate(layers, start=1))}\n</section>"
    )


def _layer(each: ShadowedLayer, place: int) -> Html:
    counts = list(each.counts.items())[:MOST_COUNTS]
    told = " · ".join(f"{isolated(_WORDS.get(name, name), 40)} {whole(number)}" for name, number in counts)
    parts = [Html(f'<h3>{isolated(each.layer, 60)}</h3>\n<p class="meta">It found: {told or "nothing"}</p>')]
    if each.pages:
        parts.append(_pages(each.pages))
    samples = each.samples[:MOST_SAMPLES]
    parts += [would_go_section(page, f"shadow-{place}-{number}") for number, page in enumerate(samples, start=1)]
    return Html(f'<div class="shadowed">\n{joined(parts)}\n</div>')


def _pages(pages: Sequence[ShadowedPage]) -> Html:
    rows = joined(
        Html(f'<li>{page_link(page.url)}<span class="note">{isolated(page.reason)}</span></li>')
        for page in pages[:MOST_PAGES]
    )
    left_out = len(pages) - MOST_PAGES
    more = f'<p class="more">… and {count(left_out, "more page")}</p>' if left_out > 0 else ""
    return Html(f'<ul class="rules">\n{rows}\n</ul>\n{more}')


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive blocks with one fate and one reason."""

    blocks: tuple[SampleBlock, ...]

    @property
    def kept(self) -> bool:
        """Whether the blocks are in the cleaned text."""
        return self.blocks[0].kept

    @property
    def reason(self) -> str:
        """Layer, rule and evidence in one line; parts that are missing are left out."""
        first = self.blocks[0]
        return " · ".join(part for part in (first.layer, first.rule, first.evidence) if part)


def runs(blocks: Sequence[SampleBlock]) -> list[Run]:
    """Return the blocks in their order, neighbours with the same reason together."""
    grouped = groupby(blocks, key=lambda block: (block.kept, block.layer, block.rule, block.evidence))
    return [Run(tuple(members)) for _, members in grouped]


def sample_section(sample: SamplePage, number: int) -> Html:
    """Return one page as an article with two panes; `number` makes its ids unique."""
    heading = f"sample-{number}"
    return Html(
        f'<article class="sample" aria-labelledby="{heading}">\n'
        f'<h3 id="{heading}">{isolated(sample.title or sample.url, 160)}</h3>\n'
        f'<p class="meta">{page_link(sample.url)}</p>\n<p class="meta">{_summary(sample.blocks)}</p>\n'
        f'<div class="panes">\n{_pane("Before", _before(sample.blocks))}\n{_pane("After", _after(sample.cleaned))}\n'
        "</div>\n</article>"
    )


def would_go_section(sample: SamplePage, heading: str) -> Html:
    """Return a page as it was handed on, with what a layer in the shadow would remove marked; `heading` is its id."""
    return Html(
        f'<article class="sample" aria-labelledby="{heading}">\n'
        f'<h4 id="{heading}">{isolated(sample.title or sample.url, 160)}</h4>\n'
        f'<p class="meta">{page_link(sample.url)}</p>\n'
        f'<p class="meta">{_summary(sample.blocks, "would be removed")}</p>\n'
        '<div class="scroll" tabindex="0" role="region" aria-label="The page, with what would go">\n'
        f"{_before(sample.blocks, would_go=True)}\n</div>\n</article>"
    )


def _summary(blocks: Sequence[SampleBlock], done: str = "removed") -> Html:
    removed = [block for block in blocks if not block.kept]
    chars = sum(len(block.text) for block in blocks)
    chars_removed = sum(len(block.text) for block in removed)
    return Html(
        f"{len(removed)} of {count(len(blocks), 'block')} {done}, {escape(percent(chars_removed, chars))} of the text"
    )


def _pane(name: str, content: Html) -> Html:
    # A pane scrolls, so it must be reachable by keyboard: hence tabindex and a name.
    return Html(
        f'<section class="pane"><h4>{name}</h4>\n'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">\n{content}\n</div></section>'
    )


def _before(blocks: Sequence[SampleBlock], *, would_go: bool = False) -> Html:
    parts = [_kept(run) if run.kept else _removed(run, would_go=would_go) for run in runs(blocks[:MOST_BLOCKS])]
    if len(blocks) > MOST_BLOCKS:
        parts.append(Html(f'<p class="more">… and {count(len(blocks) - MOST_BLOCKS, "more block")}</p>'))
    return joined(parts) if parts else Html('<p class="more">This page has no text.</p>')


def _kept(run: Run) -> Html:
    return joined(Html(f"<p>{isolated(block.text, LONGEST_BLOCK)}</p>") for block in run.blocks)


def _removed(run: Run, *, would_go: bool) -> Html:
    """Return the run's blocks under a label that stays visible without a mouse; struck out if they are gone."""
    done = "Would go" if would_go else "Removed"
    element = "span" if would_go else "del"
    title = attribute(f"{done}: {run.reason}")
    lines = [
        Html(f'<p title="{title}"><{element}>{isolated(block.text, LONGEST_BLOCK)}</{element}></p>')
        for block in run.blocks
    ]
    shown, folded = lines[:BLOCKS_BEFORE_FOLD], lines[BLOCKS_BEFORE_FOLD:]
    if folded:
        more = count(len(folded), "more block")
        shown.append(Html(f"<details><summary>{more}</summary>\n{joined(folded)}\n</details>"))
    number = f" ({len(run.blocks)} blocks)" if len(run.blocks) > 1 else ""
    sign = "" if would_go else '<span class="minus" aria-hidden="true">&minus;</span> '
    return Html(
        f'<div class="{"would" if would_go else "cut"}" title="{title}">\n<p class="reason">{sign}{done}{number}: '
        f"{isolated(run.reason or 'no reason given')}</p>\n{joined(shown)}\n</div>"
    )


def _after(cleaned: str) -> Html:
    if not cleaned.strip():
        return Html('<p class="more">Nothing was kept.</p>')
    return Html(f"<pre>{isolated(cleaned, LONGEST_TEXT)}</pre>")
