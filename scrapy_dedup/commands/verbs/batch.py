"""`scrapy dedup batch --master local[2] IN... OUT`: pages of whole corpora to clean text, on Spark.

IN is a file, a folder or a pattern, wherever Spark reads: WARC, Parquet (`url` and `html` or `content`), or JSON lines
as `scrapy dedup clean` takes them. OUT is a folder: `pages` has a row a page in Parquet, with the fields of a line of
`clean` (`dedup` as JSON) and `place`, by which rows sort as the input; `left_out` has one for each page that another
one stands for. What comes out is what `clean` gives for the same files.

JSON: as of `clean`. With --plan: `files`, `partitions`, `pages`, `domains`, each with domain, pages, sampled, status.

The exit code is 1 where no page came out, or --strict met a bad record.
"""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

from scrapy_dedup.commands.call import DONE, NOT_DONE, Call, WrongCallError, print_json
from scrapy_dedup.commands.terminal import output, shown
from scrapy_dedup.commands.verbs.batch_watcher import watching
from scrapy_dedup.commands.verbs.clean_knowledge import Knowledge, opened_knowledge
from scrapy_dedup.commands.verbs.clean_report import Outcome, tell

if TYPE_CHECKING:
    from scrapy_dedup.batch.files import Files
    from scrapy_dedup.batch.run import BatchRun

_PART: Final = ".part"


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
        raise WrongCallError("DEDUP_EMIT_CHUNKS: a row is a page here; its chunks are in dedup.chunks without it")
    from scrapy_dedup.batch.session import started  # noqa: PLC0415 (an extra, which says so itself)

    with ExitStack() as stack:
        enter = stack.enter_context
        watcher = enter(watching())
        watcher.phase("starting Spark")
        spark = enter(started(options.master, conf))
        watcher.watch(spark)
        return _run(call, spark, watcher)


def _run(call: Call, spark: Any, watcher: Any) -> int:
    from scrapy_dedup.batch.files import Files  # noqa: PLC0415
    from scrapy_dedup.batch.run import BatchRun  # noqa: PLC0415

    options = call.options
    files = Files(spark)
    if not options.plan:
        _check_out(files, options.out, overwrite=options.overwrite)
    inputs = files.find(options.inputs)
    part = options.out.rstrip("/") + _PART
    outcome = Outcome(options.plan, settings=call.settings)
    with _removed_at_end(files, part), opened_knowledge(call, remember=_remembers(options)) as knowledge:
        work = f"{part}/work"
        with BatchRun(spark, inputs, call.settings, watcher, work, strict=options.strict) as batch:
            outcome.plan = batch.survey(knowledge.of)
            if options.plan:
                watcher.close()
                _tell_plan(outcome, len(inputs), batch.partitions, as_json=options.json)
                return DONE if outcome.plan.pages else NOT_DONE
            _clean(batch, outcome, part)
            if options.remember:
                _remember(batch, outcome, knowledge)
        files.remove(work)
        files.remove(options.out)
        files.rename(part, options.out)
    watcher.close()
    tell(outcome, as_json=options.json, to_stderr=False)
    return DONE if outcome.tally.pages else NOT_DONE


def _check_out(files: "Files", out: str, *, overwrite: bool) -> None:
    """Refuse an OUT that must not be replaced.

    Raises:
        WrongCallError: it is there, and the user did not say so, or it is nothing that a batch wrote.
    """
    if not files.exists(out):
        return
    if not overwrite:
        raise WrongCallError(f"{out}: is there already; --overwrite replaces it")
    strange = sorted(files.names_in(out) - {"pages", "left_out"})
    if strange:
        raise WrongCallError(
            f"{out}: has {strange[0]!r}, which no batch wrote; name another OUT, or remove it yourself"
        )


def _clean(batch: "BatchRun", outcome: Outcome, part: str) -> None:
    outcome.learned = batch.learn()
    batch.cut()
    outcome.tally = batch.judge()
    batch.write(part)


def _remembers(options: argparse.Namespace) -> bool:
    return bool(options.remember and not options.plan)


def _remember(batch: "BatchRun", outcome: Outcome, knowledge: Knowledge) -> None:
    knowledge.remember(found for one in outcome.learned if (found := batch.knowledge(one.domain)))


@contextmanager
def _removed_at_end(files: "Files", part: str) -> Iterator[None]:
    files.remove(part)
    try:
        yield
    finally:
        files.remove(part)


def _tell_plan(outcome: Outcome, files: int, partitions: int, *, as_json: bool) -> None:
    if as_json:
        domains = sorted(outcome.domains(), key=lambda one: one["domain"])
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
