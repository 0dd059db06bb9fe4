"""What `scrapy dedup clean` says when it is done."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from rich.text import Text

from scrapy_dedup.commands.call import Call, print_json
from scrapy_dedup.commands.terminal import a_table, errors, one_line, output, shown
from scrapy_dedup.commands.verbs.ledger_tables import show_table
from scrapy_dedup.plugin.crawl.store_address import database_url
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.report.values import LedgerTable
from scrapy_dedup.service.files.run import CleaningPlan, CleaningTally
from scrapy_dedup.service.files.tasks import Learned
from scrapy_dedup.service.report.ledger_table import LedgerSpan, estimated, make_table
from scrapy_dedup.service.store_policies import keep_policy
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.service.templates.site_records import site_of, template_record
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.engines import file_of, parse_url
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


class CleanKnowledge:
    """A project's, or nobody's."""

    def __init__(self, project: ProjectStore | None) -> None:
        """Take None where there is no store, or it has no such project."""
        self._project = project

    def of(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain, if that is enough to cut any page by."""
        if self._project is None:
            return None
        found = site_of(domain, self._project.templates(domain))
        return found if found and any(one.state == "live" for one in found.templates.values()) else None

    def remember(self, learned: Iterable[SiteKnowledge]) -> None:
        """Write what was learned, a domain in a transaction."""
        assert self._project is not None
        at = datetime.now(UTC)
        for knowledge in learned:
            self._project.write([template_record(knowledge, layout, at) for layout in sorted(knowledge.templates)])


@contextmanager
def opened_knowledge(call: Call, *, remember: bool) -> Iterator[CleanKnowledge]:
    """Give what the store knows; a store and a project are made only where something is to be remembered."""
    url = database_url(call.settings)
    file = file_of(parse_url(url))
    if not remember and file is not None and not file.exists():
        yield CleanKnowledge(None)
        return
    with Store.open(url, timeout=call.settings.database_timeout, create=remember) as store:
        policy = keep_policy(call.settings)
        yield CleanKnowledge(store.project(call.project, policy) if remember else store.find_project(call.project))


_DOMAINS_SHOWN = 200
# No text is at hand any more that a tokenizer could look at.
_TOKENS: Final = estimated()


@dataclass(slots=True)
class CleanOutcome:
    """What became of a call."""

    dry_run: bool
    settings: Settings = field(default_factory=Settings)
    plan: CleaningPlan = field(default_factory=CleaningPlan)
    learned: list[Learned] = field(default_factory=list)
    tally: CleaningTally = field(default_factory=CleaningTally)

    def domains(self) -> Iterator[dict[str, Any]]:
        """Yield what is known of each domain, by name."""
        by_name = {one.domain: one for one in self.learned}
        plan = self.plan
        for status, domains in (("known", plan.known), ("learned", plan.learned), ("small", plan.small)):
            for each in domains:
                learned = by_name.get(each.domain)
                failed = learned is not None and learned.failure is not None
                yield {
                    "domain": each.domain,
                    "pages": each.pages,
                    "sampled": each.sampled,
                    "status": "failed" if failed else status,
                    "layouts": learned.layouts if learned else 0,
                    "templates": learned.templates if learned else 0,
                    "failure": learned.failure if learned else None,
                }


def tell(outcome: CleanOutcome, *, as_json: bool, to_stderr: bool) -> None:
    """Print the outcome: as JSON, or for a person; to standard error where the pages went to standard output."""
    domains = sorted(outcome.domains(), key=lambda one: one["domain"])
    if as_json:
        tally = outcome.tally
        figures = {"dry_run": outcome.dry_run, "pages": tally.pages, "bad": tally.bad, "no_page": tally.no_page}
        found = {**figures, "how": dict(sorted(tally.hows.items())), "flags": _flags(tally), "domains": domains}
        print_json(found | _ledger(outcome))
        return
    console = errors() if to_stderr else output()
    for line in _planned(domains) if outcome.dry_run else _done(outcome, domains):
        console.print(shown(line, 1_000), soft_wrap=True)
    if not outcome.dry_run and outcome.tally.counts:
        console.print()
        show_table(_table(outcome), "What each layer saved", console)
        console.print(shown(f"Tokens: {_TOKENS.by}.", style="dim"))
    if outcome.dry_run:
        _show(domains)
        console.print(Text("Dry run: nothing was written.", style="bold"))


def _table(outcome: CleanOutcome) -> LedgerTable:
    return make_table(outcome.tally.counts, _TOKENS, outcome.settings, {}, LedgerSpan(1, None, 0.0))


def _ledger(outcome: CleanOutcome) -> dict[str, Any]:
    """Return the table of the layers as JSON has it."""
    table = _table(outcome)
    return {
        "layers": [dataclasses.asdict(row) for row in table.rows],
        "before": dataclasses.asdict(table.before),
        "after": dataclasses.asdict(table.after),
        "differences": [dataclasses.asdict(one) for one in table.differences],
        "seconds": {one.name: one.seconds for one in table.costs},
        "tokens_by": _TOKENS.by,
    }


def _flags(tally: CleaningTally) -> dict[str, int]:
    return dict(sorted(tally.flags.items()))


def _planned(domains: list[dict[str, Any]]) -> Iterator[str]:
    pages = sum(one["pages"] for one in domains)
    yield f"{count(pages, 'different page')} of {count(len(domains), 'domain')}; {_statuses(domains)}."


def _done(outcome: CleanOutcome, domains: list[dict[str, Any]]) -> Iterator[str]:
    tally = outcome.tally
    hows = ", ".join(f"{whole(number)} by {how}" for how, number in sorted(tally.hows.items()))
    parts = [f"{count(tally.pages, 'page')} cleaned" + (f" ({hows})" if hows else "")]
    if tally.bad:
        parts.append(f"{count(tally.bad, 'bad record')} passed over")
    if tally.no_page:
        parts.append(f"{count(tally.no_page, 'record')} without a page")
    yield "; ".join([*parts, f"{count(len(domains), 'domain')}: {_statuses(domains)}"]) + "."
    if tally.flags:
        yield "Flagged: " + ", ".join(f"{whole(number)} {flag}" for flag, number in sorted(tally.flags.items())) + "."
    for one in domains:
        if one["failure"]:
            yield f"{one['domain']} could not be learned ({one['failure']}); its pages were cut by the fallback."


def _statuses(domains: list[dict[str, Any]]) -> str:
    counts = Counter(one["status"] for one in domains)
    words = {"known": "known", "learned": "learned", "small": "with too few pages", "failed": "not to be learned"}
    return ", ".join(f"{whole(counts[status])} {word}" for status, word in words.items() if counts[status]) or "none"


def _show(domains: list[dict[str, Any]]) -> None:
    """Print a table, the largest domains first."""
    table = a_table("Domain", "Status", "Pages", "Learned from", "Layouts", "Templates", texts=2)
    largest = sorted(domains, key=lambda one: (-one["pages"], one["domain"]))
    for one in largest[:_DOMAINS_SHOWN]:
        figures = (one["pages"], one["sampled"], one["layouts"], one["templates"])
        table.add_row(shown(one["domain"], 100), one_line(one["status"]), *map(whole, figures))
    output().print(table)
    if len(domains) > _DOMAINS_SHOWN:
        output().print(f"and {whole(len(domains) - _DOMAINS_SHOWN)} more; --json lists them all")
