"""`scrapy dedup clean IN... -O OUT.jsonl`: pages from files or URLs to clean text, with no crawl.

IN is a file of JSON lines (`url` with `html`, or with `body` in base64 and `content_type`), a WARC file, or a file of
HTML, each packed by gzip or zstd or not; a folder of HTML files, with a manifest or without; the URL of one page, which
is fetched by Scrapy; - is standard input. PDF files are pages, too. OUT
has one line a page, in the order of the input: url, cleaned_content, title, date, author, dedup. A page that another
one stands for, with the same address, title and text, or text, has none: --left-out FILE tells which, and for what.
Domains that the project's store does not know are learned from their own pages first.

JSON: `dry_run`; `pages`, lines of output; `bad`, records that were passed over; `no_page`, records that are no pages;
`how` and `flags`, pages by what cut them, and by why they were not cut as they should; `domains`, each with domain,
pages, sampled, and what became of it: status (known, learned, small, failed), layouts, templates, failure; `layers`,
what each left out; `before` and `after`, pages, chunks, characters and tokens, counted as `tokens_by` says; `seconds`,
what layers cost; `differences` between sums that ought to agree; `remembered`, of how many domains what was learned
is kept, in which store and project, or null.

The exit code is 1 where no page came out, or --strict met a bad record.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from msgspec import Struct, field, to_builtins
from rich.progress import Progress, TaskProgressColumn, TimeRemainingColumn
from scrapy.settings import Settings as ScrapySettings

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, WrongCallError, number, print_json
from scrapy_dedup.commands.terminal import RunBar, bar_of, errors, output, print_table, say_dry_run, say_more, shown
from scrapy_dedup.commands.verbs.runs import show_table
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.plugin.run_state import database_url
from scrapy_dedup.report.numbers import count, whole
from scrapy_dedup.report.values import LedgerTable
from scrapy_dedup.service.files.inputs import LOCAL, STDIN, Inputs, may_be_page
from scrapy_dedup.service.files.inputs_records import BadRecord
from scrapy_dedup.service.files.output import part_of, replacing_alone
from scrapy_dedup.service.files.run import PASSES, CleaningPlan, CleaningRun, CleaningTally, CleaningWatcher
from scrapy_dedup.service.files.tasks import Learned, as_json
from scrapy_dedup.service.report.ledger import estimated, make_table
from scrapy_dedup.service.store_policies import keep_policy
from scrapy_dedup.service.templates.site_knowledge import SiteKnowledge
from scrapy_dedup.service.templates.site_records import site_of, template_record
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.database import parse_url
from scrapy_dedup.store.engine.errors import file_of
from scrapy_dedup.store.engine.errors import shown as shown_url
from scrapy_dedup.store.store import Store
from scrapy_dedup.store.writer import ProjectStore


class CleanKnowledge:
    """A project's, or nobody's."""

    def __init__(self, project: ProjectStore | None, store: str = "") -> None:
        """Take None where there is no store, or it has no such project; *store* is how messages name it."""
        self._project = project
        self._store = store

    def of(self, domain: str) -> SiteKnowledge | None:
        """Return what is known of a domain, if that is enough to cut any page by."""
        if self._project is None:
            return None
        found = site_of(domain, self._project.templates(domain))
        return found if found and any(one.state == "live" for one in found.templates.values()) else None

    def remember(self, learned: Iterable[Learned], knowledge_of: Callable[[str], SiteKnowledge | None]) -> "Remembered":
        """Write what was learned, a domain in a transaction; return where."""
        assert self._project is not None
        at, number = datetime.now(UTC), 0
        for one in learned:
            if (knowledge := knowledge_of(one.domain)) is not None:
                self._project.write([template_record(knowledge, layout, at) for layout in sorted(knowledge.templates)])
                number += 1
        return Remembered(number, self._project.name, self._store)


class Remembered(Struct, frozen=True):
    """Of how many domains what was learned is kept, and where."""

    domains: int
    project: str
    store: str


@contextmanager
def opened_knowledge(call: Call, *, remember: bool) -> Iterator[CleanKnowledge]:
    """Give what the store knows; a store and a project are made only where something is to be remembered."""
    url = database_url(call.settings)
    file = file_of(parse_url(url))
    if not remember and file is not None and not file.exists():
        yield CleanKnowledge(None)
        return
    with Store.open(url, timeout=call.settings.database_timeout, create=remember, write=remember) as store:
        policy = keep_policy(call.settings)
        project = store.project(call.project, policy) if remember else store.find_project(call.project)
        yield CleanKnowledge(project, str(file or shown_url(parse_url(url))))


_DOMAINS_SHOWN = 200
# No text is at hand any more that a tokenizer could look at.
_TOKENS: Final = estimated()


class CleanOutcome(Struct):
    """What became of a call."""

    dry_run: bool
    settings: Settings = field(default_factory=Settings)
    plan: CleaningPlan = field(default_factory=CleaningPlan)
    learned: list[Learned] = field(default_factory=list)
    tally: CleaningTally = field(default_factory=CleaningTally)
    remembered: Remembered | None = None

    def domains(self) -> list[dict[str, Any]]:
        """Return what is known of each domain, by name."""
        by_name, plan, found = {one.domain: one for one in self.learned}, self.plan, []
        for status, domains in (("known", plan.known), ("learned", plan.learned), ("small", plan.small)):
            for each in domains:
                learned = by_name.get(each.domain) or Learned(each.domain, 0)
                status_now = "failed" if learned.failure is not None else status
                figures = {"domain": each.domain, "pages": each.pages, "sampled": each.sampled, "status": status_now}
                names = ("layouts", "templates", "failure")
                found.append(figures | {name: getattr(learned, name) for name in names})
        return sorted(found, key=lambda one: one["domain"])


def tell(outcome: CleanOutcome, *, as_json: bool, to_stderr: bool) -> None:
    """Print the outcome: as JSON, or for a person; to standard error where the pages went to standard output."""
    domains = outcome.domains()
    if as_json:
        tally = outcome.tally
        figures = {"dry_run": outcome.dry_run, "pages": tally.pages, "bad": tally.bad, "no_page": tally.no_page}
        found = {
            **figures,
            "how": dict(sorted(tally.hows.items())),
            "flags": dict(sorted(tally.flags.items())),
            "domains": domains,
            "remembered": to_builtins(outcome.remembered),
        }
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
        say_dry_run()


def _table(outcome: CleanOutcome) -> LedgerTable:
    return make_table(outcome.tally.counts, _TOKENS, outcome.settings, {})


def _ledger(outcome: CleanOutcome) -> dict[str, Any]:
    """Return the table of the layers as JSON has it."""
    table = _table(outcome)
    return {
        "layers": to_builtins(table.rows),
        "before": to_builtins(table.before),
        "after": to_builtins(table.after),
        "differences": to_builtins(table.differences),
        "seconds": {one.name: one.seconds for one in table.costs},
        "tokens_by": _TOKENS.by,
    }


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
    if (kept := outcome.remembered) is not None:
        where = f"in {kept.store}, project {kept.project}"
        yield f"Remembered: what was learned of {count(kept.domains, 'domain')}, {where}."


def _statuses(domains: list[dict[str, Any]]) -> str:
    counts = Counter(one["status"] for one in domains)
    words = {"known": "known", "learned": "learned", "small": "with too few pages", "failed": "not to be learned"}
    return ", ".join(f"{whole(counts[status])} {word}" for status, word in words.items() if counts[status]) or "none"


def _show(domains: list[dict[str, Any]]) -> None:
    """Print a table, the largest domains first."""
    names = ("domain", "status", "pages", "sampled", "layouts", "templates")
    largest = sorted(domains, key=lambda one: (-one["pages"], one["domain"]))
    rows = ([one[name] for name in names] for one in largest[:_DOMAINS_SHOWN])
    print_table("", "Domain, Status, Pages, Learned from, Layouts, Templates", rows, texts=2)
    say_more(len(domains) - _DOMAINS_SHOWN)


STDOUT: Final = "-"
_MOST_JOBS: Final = 256


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is read and written, and how."""
    add = parser.add_argument
    add("inputs", metavar="IN", nargs="+", help="JSON lines, WARC, HTML, a folder of HTML, a URL; - for standard input")
    add("--url", metavar="URL", default=LOCAL, help=f"address of files of HTML that have none ({LOCAL})")
    add("-O", "--overwrite-output", metavar="OUT", dest="output", help="JSON lines to write; - for standard output")
    add(
        "--jobs",
        metavar="N",
        type=number(_MOST_JOBS, "processes"),
        default=1,
        help="processes to use (1); any number gives the same output",
    )
    add("--left-out", metavar="FILE", help="JSON lines of the pages that others stand for: url, layer, reason, keeper")
    add("--strict", action="store_true", help="a bad record ends the call, and nothing is written")
    add("--dry-run", action="store_true", help="tell what would be learned of each domain, and write nothing")
    add("--remember", action="store_true", help="keep what was learned in the project's store")


def run(call: Call) -> int:
    """Survey, learn and clean; what was in OUT before stays until all is written."""
    options = call.options
    _check(options)
    outcome = CleanOutcome(options.dry_run, settings=call.settings)
    with ExitStack() as stack:
        enter = stack.enter_context
        output = None if options.dry_run else enter(_opened(options.output))
        inputs = enter(Inputs(_fetched(call, enter), sys.stdin.buffer, options.url))
        knowledge = enter(opened_knowledge(call, remember=options.remember and not options.dry_run))
        left_out = enter(_opened(options.left_out)) if options.left_out and not options.dry_run else None
        watcher = enter(watching(PASSES * inputs.total, left_out))
        cleaning = enter(CleaningRun(inputs, call.settings, watcher, jobs=options.jobs, strict=options.strict))
        outcome.plan = cleaning.survey(knowledge.of)
        outcome.learned = list(cleaning.learn())
        if output is not None:
            output.writelines(cleaning.lines())
            outcome.tally = cleaning.tally
            if options.remember:
                outcome.remembered = knowledge.remember(outcome.learned, cleaning.knowledge)
    tell(outcome, as_json=options.json, to_stderr=options.output == STDOUT and not options.dry_run)
    return DONE if outcome.tally.pages or (options.dry_run and outcome.plan.pages) else NOT_DONE


def _fetched(call: Call, enter: Callable[[AbstractContextManager[str]], str]) -> list[str]:
    """Return the names of what is read: in the place of each URL a file with its page.

    Raises:
        PageError: a page did not come.
    """
    names: list[str] = list(call.options.inputs)
    wanted = {place: name for place, name in enumerate(names) if name.lower().startswith(("http://", "https://"))}
    if wanted:
        from scrapy_dedup.plugin.teacher.run import Web, run_errand  # noqa: PLC0415 (no Scrapy run for files)

        pages: dict[int, bytes] = {}

        async def fetch(web: Web) -> None:
            for place, url in wanted.items():
                page = await web.page(url)
                pages[place] = as_json({call.settings.url_field: page.url, call.settings.html_field: page.text})

        assert isinstance(call.source, ScrapySettings)
        run_errand(fetch, call.source, call.settings)
        folder = Path(enter(tempfile.TemporaryDirectory(prefix="scrapy-dedup-")))
        for place, line in pages.items():
            names[place] = str(folder / f"{place}.jsonl")
            Path(names[place]).write_bytes(line)
    return names


def _check(options: argparse.Namespace) -> None:
    if options.output is None and not options.dry_run:
        raise WrongCallError("-O OUT says where the pages go; -O - is standard output, --dry-run writes nothing")
    if extract_domain(options.url) is None:
        raise WrongCallError(f"--url {options.url!r} is no address: write https://host/path")
    if options.left_out == STDOUT or (options.left_out is not None and options.left_out == options.output):
        raise WrongCallError("--left-out needs the name of a file of its own")
    if options.output == STDOUT and options.json and not options.dry_run:
        raise WrongCallError("-O - and --json both want standard output: give OUT a file's name")
    for name in filter(None, (options.output, options.left_out)):
        if name != STDOUT and any(_would_replace(name, given) for given in options.inputs):
            raise WrongCallError(f"{name} would take the place of what is read: give it another name")


def _would_replace(name: str, given: str) -> bool:
    """Whether a file that is written, or its part file, is an input by any name, or a page of its folder."""
    written, read = Path(os.path.realpath(name)), Path("/dev/stdin" if given == STDIN else given)
    if read.is_dir():
        folder = Path(os.path.realpath(read))
        files = [one for one in (written, part_of(written)) if one.is_file() and one.is_relative_to(folder)]
        return any(may_be_page(folder, str(one.relative_to(folder))) for one in files)
    return any(one.exists() and read.exists() and one.samefile(read) for one in (written, part_of(written)))


@contextmanager
def _opened(output: str) -> Iterator[BinaryIO]:
    if output == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing_alone(Path(output)) as file:
        yield file


class _Watcher(RunBar):
    """Writes down the pages that others stand for, too, where that is wanted."""

    def __init__(self, bar: Progress | None, total: int, left_out: BinaryIO | None) -> None:
        super().__init__(bar, total)
        self._left_out = left_out

    def complain(self, bad: BadRecord) -> None:
        """Say which record, and why."""
        self.tell(f"scrapy dedup: passed over: {bad.where}: {bad.reason}")

    def left_out(self, left: Mapping[str, Any]) -> None:
        """Write a line."""
        if self._left_out is not None:
            self._left_out.write(as_json(dict(left)))


@contextmanager
def watching(total: int, left_out: BinaryIO | None) -> Iterator[CleaningWatcher]:
    """Give who watches a run that reads so many bytes; *left_out* is where pages go that others stand for."""
    with bar_of(TaskProgressColumn(), TimeRemainingColumn()) as bar:
        yield _Watcher(bar, total, left_out)
