"""`scrapy dedup clean --spark --master local[2] IN... OUT`: pages of whole corpora to clean text, on Spark.

IN is a file, a folder or a pattern, wherever Spark reads: WARC, Parquet (`url` and `html` or `content`), or JSON lines
as `scrapy dedup clean` takes them. OUT is a folder: `pages` has a row a page in Parquet, with the fields of a line of
`clean` (`dedup` as JSON) and `place`, by which rows sort as the input; `left_out` has one for each page that another
one stands for. What comes out is what `clean` gives for the same files.

JSON: as of `clean`. With --plan: `files`, `partitions`, `pages`, `domains`, each with domain, pages, sampled, status.

The exit code is 1 where no page came out, or --strict met a bad record.
"""

import argparse
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, WrongCallError, print_json
from scrapy_dedup.commands.terminal import RunBar, bar_of, output, shown
from scrapy_dedup.commands.verbs.clean import CleanOutcome, opened_knowledge, tell
from scrapy_dedup.core.errors import DedupError

if TYPE_CHECKING:
    from scrapy_dedup.batch.session import Files

# Behind OUT. A plan leaves alone what a batch writes at the same time.
_PART: Final = ".part"
_PLANNING: Final = ".planning"
_REPLACED: Final = ".replaced"
_WORK: Final = "work"

_LOOK_EVERY_SECONDS: Final = 0.5
# More say nothing that the count does not.
_MOST_TOLD: Final = 1_000


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is read and written, and where it is done."""
    add = parser.add_argument
    add(
        "inputs",
        metavar="IN",
        nargs="+",
        help="JSON lines, WARC, Parquet: files, folders or patterns, as Spark takes them",
    )
    add("out", metavar="OUT", help="folder to write: pages and left_out, as Parquet")
    add(
        "--master",
        metavar="URL",
        help="where Spark runs: local[2], yarn, spark://...; without it, as Spark is configured",
    )
    add("--conf", metavar="KEY=VALUE", action="append", default=[], help="a value of Spark's configuration; repeatable")
    add("--overwrite", action="store_true", help="replace OUT; what is there stays until the new one is whole")
    add("--plan", action="store_true", help="tell which pages and domains there are, and write nothing")
    add("--strict", action="store_true", help="a bad record ends the call, and nothing is written")
    add("--remember", action="store_true", help="keep what was learned in the project's store")


def run(call: Call) -> int:
    """Survey, learn, cut, compare and write; what was in OUT before stays until all is written."""
    options = call.options
    conf = _conf(options.conf)
    if call.settings.emit_chunks:
        raise WrongCallError('DEDUP_CHUNK["emit"]: a row is a page; DEDUP_ITEM_DETAILS=chunks has its chunks in it')
    from scrapy_dedup.batch.session import started  # noqa: PLC0415 (an extra, which says so itself)

    with ExitStack() as stack:
        enter = stack.enter_context
        watcher = enter(watching())
        watcher.phase("starting Spark")
        spark = enter(started(options.master, conf))
        watcher.watch(spark)
        return _run(call, spark, watcher)


def _run(call: Call, spark: Any, watcher: Any) -> int:
    from scrapy_dedup.batch.run import BatchRun  # noqa: PLC0415
    from scrapy_dedup.batch.session import Files  # noqa: PLC0415

    options = call.options
    files = Files(spark)
    out = options.out.rstrip("/") or "/"
    part = out + (_PLANNING if options.plan else _PART)
    _check_part(files, part)
    if not options.plan:
        _check_out(files, out, overwrite=options.overwrite)
    inputs = files.find(options.inputs)
    outcome = CleanOutcome(options.plan, settings=call.settings)
    with ExitStack() as end, opened_knowledge(call, remember=bool(options.remember and not options.plan)) as knowledge:
        files.remove(part)
        end.callback(files.remove, part)
        with BatchRun(spark, inputs, call.settings, watcher, f"{part}/{_WORK}", strict=options.strict) as batch:
            outcome.plan = batch.survey(knowledge.of)
            if options.plan:
                watcher.close()
                _tell_plan(outcome, len(inputs), batch.partitions, as_json=options.json)
                return DONE if outcome.plan.pages else NOT_DONE
            outcome.learned = batch.learn()
            batch.cut()
            outcome.tally = batch.judge()
            batch.write(part)
            # What is whole is not removed, whatever happens to it.
            end.pop_all()
            _place(files, part, out, overwrite=options.overwrite)
            if options.remember:
                outcome.remembered = knowledge.remember(outcome.learned, batch.knowledge)
    watcher.close()
    tell(outcome, as_json=options.json, to_stderr=False)
    return DONE if outcome.tally.pages else NOT_DONE


def _check_part(files: "Files", part: str) -> None:
    """Refuse to write into a folder that holds more than a killed batch left.

    Raises:
        WrongCallError: it may hold pages that are whole: a batch could not give them their name.
    """
    if files.exists(part) and _WORK not in files.names_in(part):
        raise WrongCallError(
            f"{part}: is there already, and no batch is at work in it: it may hold finished pages;"
            " move it, or remove it yourself"
        )


def _check_out(files: "Files", out: str, *, overwrite: bool) -> None:
    """Refuse an OUT that must not be replaced.

    Raises:
        WrongCallError: it is there, and the user did not say so, or it is nothing that a batch wrote; or what an
            earlier batch replaced is still there.
    """
    if overwrite and files.exists(out + _REPLACED):
        raise WrongCallError(
            f"{out}{_REPLACED}: is there already, which a batch left that was to replace {out};"
            " move it, or remove it yourself"
        )
    if not files.exists(out):
        return
    if not overwrite:
        raise WrongCallError(f"{out}: is there already; --overwrite replaces it")
    strange = sorted(files.names_in(out) - {"pages", "left_out"})
    if strange:
        raise WrongCallError(
            f"{out}: has {strange[0]!r}, which no batch wrote; name another OUT, or remove it yourself"
        )


def _place(files: "Files", part: str, out: str, *, overwrite: bool) -> None:
    """Give what is whole its name; what had it before is there until then.

    Raises:
        BatchError: it cannot have the name, and the message says where it is; or what had it cannot be removed.
    """
    from scrapy_dedup.batch.session import BatchError  # noqa: PLC0415

    is_replaced = False
    try:
        files.remove(f"{part}/{_WORK}")
        if overwrite:
            _check_out(files, out, overwrite=True)  # hours may have passed
            is_replaced = files.exists(out)
        if is_replaced:
            files.replace(out, part, out + _REPLACED)
        else:
            files.rename(part, out)
    except DedupError as error:
        raise BatchError(f"{error}; the finished pages are in {part}: move them to {out}") from error
    except KeyboardInterrupt:
        sys.stderr.write(
            f"scrapy dedup: the finished pages are in {part}, or in {out} already;"
            f" what was there before may be in {out}{_REPLACED}\n"
        )
        raise
    if is_replaced:
        files.remove(out + _REPLACED)


def _tell_plan(outcome: CleanOutcome, files: int, partitions: int, *, as_json: bool) -> None:
    if as_json:
        domains = outcome.domains()
        plan = {"files": files, "partitions": partitions, "pages": outcome.plan.pages, "domains": domains}
        print_json(plan)
        return
    output().print(shown(f"{files} files, read by {partitions} tasks.", 1_000))
    tell(outcome, as_json=False, to_stderr=False)


def _conf(given: list[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    for name, sign, _ in pairs:
        if not name or not sign:
            raise WrongCallError(f"--conf {name}: needs KEY=VALUE, such as spark.executor.memory=1g")
    return {name: value for name, _, value in pairs}


class BatchWatcher(RunBar):
    """Tells of bad records, a line each; of more than a thousand, how many there are is in the summary."""

    def __init__(self, bar: Progress | None) -> None:
        super().__init__(bar)
        self._told = 0
        self._ended = threading.Event()

    def watch(self, spark: Any) -> None:
        """Move the bar to how many tasks of what runs are done, every half a second."""
        if self.bar:
            threading.Thread(target=self._look, args=(spark.sparkContext.statusTracker(),), daemon=True).start()

    def phase(self, name: str) -> None:
        """Say what is done; how long it takes is known later."""
        if self.bar:
            self.bar.update(self.task, description=name, completed=0, total=None)

    def complain(self, told: str) -> None:
        """Say which record is passed over, and why."""
        self._told += 1
        if self._told <= _MOST_TOLD:
            self.tell(f"scrapy dedup: passed over: {told}")
        elif self._told == _MOST_TOLD + 1:
            self.tell(f"scrapy dedup: passed over: more than {_MOST_TOLD}; the summary counts them")

    def close(self) -> None:
        """Make room for the summary."""
        self._ended.set()
        if self.bar:
            self.bar.stop()

    def _look(self, tracker: Any) -> None:
        while not self._ended.wait(_LOOK_EVERY_SECONDS):
            stages = [found for one in tracker.getActiveStageIds() if (found := tracker.getStageInfo(one)) is not None]
            total = sum(one.numTasks for one in stages)
            if self.bar and total:
                self.bar.update(self.task, completed=sum(one.numCompletedTasks for one in stages), total=total)


@contextmanager
def watching() -> Iterator[BatchWatcher]:
    """Give who watches a run."""
    with bar_of(MofNCompleteColumn(), TimeElapsedColumn()) as bar, closing(BatchWatcher(bar)) as watcher:
        yield watcher
