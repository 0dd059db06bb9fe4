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
what layers cost; `differences` between sums that ought to agree.

The exit code is 1 where no page came out, or --strict met a bad record.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from scrapy.settings import Settings as ScrapySettings

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, WrongCallError, number
from scrapy_dedup.commands.terminal import errors, one_line, shown
from scrapy_dedup.commands.verbs.clean_report import CleanKnowledge, CleanOutcome, opened_knowledge, tell
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.service.files.inputs import LOCAL, Inputs
from scrapy_dedup.service.files.inputs_records import BadRecord
from scrapy_dedup.service.files.output import replacing_alone
from scrapy_dedup.service.files.run import PASSES, CleaningRun, CleaningWatcher
from scrapy_dedup.service.files.tasks import as_json

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
        _clean(cleaning, knowledge, output, outcome)
        if options.remember:
            knowledge.remember(found for one in outcome.learned if (found := cleaning.knowledge(one.domain)))
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


def _clean(cleaning: CleaningRun, knowledge: CleanKnowledge, output: BinaryIO | None, outcome: CleanOutcome) -> None:
    outcome.plan = cleaning.survey(knowledge.of)
    outcome.learned = list(cleaning.learn())
    if output is None:
        return
    for line in cleaning.lines():
        output.write(line)
    outcome.tally = cleaning.tally


def _check(options: argparse.Namespace) -> None:
    if options.output is None and not options.dry_run:
        raise WrongCallError("-O OUT says where the pages go; -O - is standard output, --dry-run writes nothing")
    if extract_domain(options.url) is None:
        raise WrongCallError(f"--url {options.url!r} is no address: write https://host/path")
    if options.left_out == STDOUT or (options.left_out is not None and options.left_out == options.output):
        raise WrongCallError("--left-out needs the name of a file of its own")
    if options.output == STDOUT and options.json and not options.dry_run:
        raise WrongCallError("-O - and --json both want standard output: give OUT a file's name")


@contextmanager
def _opened(output: str) -> Iterator[BinaryIO]:
    if output == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing_alone(Path(output)) as file:
        yield file


class _LeftOut:
    """Writes down the pages that others stand for, where somebody wants that."""

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file

    def left_out(self, left: Mapping[str, Any]) -> None:
        """Write a line."""
        if self._file is not None:
            self._file.write(as_json(dict(left)))


class _Lines(_LeftOut):
    """Nobody looks: there are only the lines that a log wants."""

    def phase(self, name: str) -> None:
        """Say nothing."""

    def advance(self, some: int) -> None:
        """Say nothing."""

    def complain(self, bad: BadRecord) -> None:
        """Say which record, and why."""
        sys.stderr.write(_told(bad) + "\n")


class _Bar(_LeftOut):
    """A terminal."""

    def __init__(self, bar: Progress, total: int, file: BinaryIO | None) -> None:
        super().__init__(file)
        self._bar = bar
        self._task = bar.add_task("", total=total)

    def phase(self, name: str) -> None:
        """Say what is done."""
        self._bar.update(self._task, description=name)

    def advance(self, some: int) -> None:
        """Move the bar."""
        self._bar.update(self._task, advance=some)

    def complain(self, bad: BadRecord) -> None:
        """Say which record, and why, above the bar."""
        self._bar.console.print(shown(_told(bad), 1_000), soft_wrap=True)


@contextmanager
def watching(total: int, left_out: BinaryIO | None) -> Iterator[CleaningWatcher]:
    """Give who watches a run that reads so many bytes.

    Args:
        total: bytes.
        left_out: where the pages are written that others stand for; None: nowhere.
    """
    if not sys.stderr.isatty():
        yield _Lines(left_out)
        return
    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors(), transient=True) as bar:
        yield _Bar(bar, total, left_out)


def _told(bad: BadRecord) -> str:
    return one_line(f"scrapy dedup: passed over: {bad.where}: {bad.reason}", 1_000)
