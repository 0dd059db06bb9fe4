"""A crawl's run in the store: where that is, how the run begins, how it stands every two seconds, and how it ended."""

import glob
import logging
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.request import url2pathname
from uuid import uuid4

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object
from scrapy.utils.project import data_path

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.runs import ELAPSED
from scrapy_dedup.core.runs import STAT as DROP_ALARMS
from scrapy_dedup.core.urls.normal_form import UrlRules
from scrapy_dedup.plugin.waiting import Loops
from scrapy_dedup.service.crawl.crawl import Count, Crawl
from scrapy_dedup.service.crawl.start_check import check_sites
from scrapy_dedup.service.recrawl import INCOMPLETE
from scrapy_dedup.service.store_policies import keep_policy
from scrapy_dedup.settings import NO_BOT_NAME, Settings
from scrapy_dedup.store.engine.errors import StoreError
from scrapy_dedup.store.records.records import RunStatus
from scrapy_dedup.store.records.stored import WorkerEnding
from scrapy_dedup.store.store import Store


def database_url(settings: Settings) -> str:
    """Return where the store is.

    Raises:
        StoreError: nobody says where, and there is no project whose folder it could be in, as under Scrapyd.
    """
    if settings.database_url:
        return settings.database_url
    try:
        folder = data_path("")
    except NotConfigured as error:
        # As it is, it would only switch the plugin off.
        raise StoreError(
            "DEDUP_DATABASE_URL='': needs the store's address, such as sqlite:////var/lib/crawls/dedup.db,"
            f" where there is no project folder ({error})"
        ) from error
    return f"sqlite:///{Path(folder) / 'dedup.db'}"


FILE = "dedup.job"
_QUEUE_HEAD_BYTES = 4


def job_of(settings: BaseSettings) -> str | None:
    """Return the name of the JOBDIR's crawl; None where there is no JOBDIR.

    The name stands in a file inside: it moves with the folder, and a folder that was emptied begins a new crawl, whose
    pages must not be taken for those of the old one.
    """
    folder = job_dir(settings)
    if folder is None:
        return None
    file = Path(folder) / FILE
    if file.exists() and (name := file.read_text(encoding="ascii", errors="replace").strip()):
        return name
    name = uuid4().hex
    file.write_text(name + "\n", encoding="ascii")
    return name


def forget_broken_queues(settings: BaseSettings) -> None:
    """Remove disk queues that a kill left without their first bytes: they hold nothing, and Scrapy fails on them."""
    folder = job_dir(settings)
    if folder is None:
        return
    for file in Path(folder, "requests.queue").rglob("*"):
        # Named by priority, and "s" for start requests; chunks of the other kind of queue may be empty.
        if file.name.rstrip("s").lstrip("-").isdigit() and file.is_file() and file.stat().st_size < _QUEUE_HEAD_BYTES:
            file.unlink()


logger = logging.getLogger(__name__)

REPORT_SECONDS: Final = 2.0

_SCHEDULER: Final = "scrapy_redis.scheduler.Scheduler"
_QUEUE: Final = "scrapy_dedup.plugin.workers.queue.LeasedQueue"
_LINES: Final = f"""    SCHEDULER = "{_SCHEDULER}"
    SCHEDULER_QUEUE_CLASS = "scrapy_dedup.LeasedQueue"
    DUPEFILTER_CLASS = "scrapy_dedup.LeasedDupeFilter"
    SCHEDULER_PERSIST = True
    REDIS_URL = "redis://HOST:6379/0\""""


def begin_run(crawler: Crawler, store: Store, settings: Settings, rules: UrlRules, count: Count) -> Crawl:
    """Return a new run, or the one that the JOBDIR did not finish; blocks, for the start of a crawl.

    Raises:
        DedupError: something that people decided about a domain cannot be used.
        StoreError: the store failed.
    """
    project = store.project(settings.project or crawler.settings["BOT_NAME"] or NO_BOT_NAME, keep_policy(settings))
    check_sites(project, settings)
    # A name may be given when the spider is made.
    kind = crawler.spidercls
    spider = crawler.spider.name if crawler.spider else getattr(kind, "name", None) or kind.__name__
    has_history = project.has_history()
    check_feeds(settings, crawler.settings, spider, has_history=has_history)
    run = project.begin_run(
        spider=spider,
        jobdir=job_of(crawler.settings),
        started_at=datetime.now(UTC),
        job=settings.shared_job,
        lease=settings.shared_lease,
    )
    is_alone = not has_history and run.worker is None and project.has_one_run()
    crawl = Crawl(project, run, settings, count, has_history=has_history, is_alone=is_alone)
    # Of several workers, their queue says what is done: there may be a million pages, and others add to them.
    if run.resumed and run.worker is None:
        crawl.take_over(rules)
    if run.lost_requests:
        forget_broken_queues(crawler.settings)
        logger.warning(
            "The last crawl in this JOBDIR was killed: pages are fetched again, and dropped where items are safe"
        )
    return crawl


class RunState:
    """Tells the store how the run stands, so that others see it while it is under way."""

    def __init__(self, crawler: Crawler, crawl: Crawl, incomplete: Callable[[], list[str]]) -> None:
        """Begin; *incomplete* returns the domains of which this crawl did not see all that there is to see."""
        self._crawler = crawler
        self._crawl = crawl
        self._incomplete = incomplete
        self._began_at = datetime.now(UTC)
        self.reason = "shutdown"
        """Why it ended."""
        self._loops = Loops()

    def opened(self) -> None:
        """Begin to tell how the run stands."""
        # So that a worker is heard three times before it counts as dead.
        every = min(REPORT_SECONDS, self._crawl.store.lease.total_seconds() / 3)
        self._loops.every(every, self._tell)

    async def _tell(self) -> None:
        at = datetime.now(UTC)
        stats = {**self._stats(), ELAPSED: (at - self._began_at).total_seconds()}
        try:
            await run_in_thread(self._crawl.store.report_run, self._crawl.run.id, stats, at)
            if self._crawl.duplicates.knows_all and not await run_in_thread(self._crawl.store.has_one_run):
                self._crawl.duplicates.knows_all = False
        except StoreError as error:
            # The writer tells of a store that fails; here nothing is lost.
            logger.debug("How the run stands cannot be told: %s", error)

    async def stop(self) -> None:
        """Tell no more, and wait until nothing is on its way."""
        await self._loops.end()

    def leave(self) -> WorkerEnding:
        """Note that this crawl is over, and say whether its run is; blocks, for the end of a crawl."""
        return self._crawl.store.leave_run(
            self._crawl.run.id,
            status="finished" if self.reason == "finished" else "stopped",
            reason=self.reason,
            stats=self._stats(),
            finished_at=datetime.now(UTC),
        )

    def end(self, status: RunStatus) -> None:
        """Write how the run ended; blocks, for the end of a crawl."""
        self._crawl.store.end_run(
            self._crawl.run.id, status=status, reason=self.reason, stats=self._stats(), finished_at=datetime.now(UTC)
        )

    def _stats(self) -> dict[str, Any]:
        stats = self._crawler.stats.get_stats()
        told: dict[str, Any] = {
            name: value for name, value in stats.items() if isinstance(value, int | float | str) or name == DROP_ALARMS
        }
        if self._crawl.run.worker is not None:
            told[INCOMPLETE] = self._incomplete()
        return told


def check_feeds(settings: Settings, scrapy_settings: BaseSettings, spider: str, *, has_history: bool) -> None:
    """Refuse to put what is new alone in the place of a feed that is there.

    Raises:
        DedupError: a feed would be overwritten; the message has the ways out.
    """
    if not has_history or "unchanged" not in settings.acting or settings.unchanged != "skip":
        return
    feeds: dict[Any, Any] = scrapy_settings.getdict("FEEDS")
    for uri, options in feeds.items():
        if isinstance(options, dict) and _is_replaced(str(uri), options.get("overwrite"), spider):
            can_append = not str(uri).startswith(("s3:", "gs:"))
            append = "append to it (-o in place of -O, or overwrite: False), " if can_append else ""
            raise DedupError(
                f"DEDUP_UNCHANGED=skip: {str(uri)[:300]} would lose what it holds to what is new alone. As ways out,"
                f" {append}give it another name each time (%(time)s in it), or set DEDUP_UNCHANGED=emit for a whole"
                " feed"
            )


def _is_replaced(uri: str, overwrite: object, spider: str) -> bool:
    """Say whether a feed that is there is overwritten; of a server's nobody knows before it is stored."""
    given = {"name": spider, "batch_id": "*"}
    if not given.keys() >= set(_PARAMETER.findall(uri)):
        # A name of its own each time.
        return False
    scheme, _, rest = uri.partition("://")
    if rest and scheme != "file":
        # Servers that cannot append, one that does where it is told to, and those of the user's own.
        never = scheme in ("s3", "gs") or (scheme == "ftp" and overwrite is None)
        return never or bool(overwrite)
    pattern = _PARAMETER.sub(lambda found: given[found[1]], glob.escape(url2pathname(rest) if rest else uri))
    try:
        there = map(Path, glob.glob(pattern))  # noqa: PTH207 - it may be absolute
        return bool(overwrite) and any(path.is_file() and path.stat().st_size for path in there)
    except (OSError, ValueError):
        return False


_PARAMETER = re.compile(r"%\((\w+)\)[-#0 +]*\d*[a-z]")


def check_queue(settings: Settings, scrapy_settings: BaseSettings) -> None:
    """Refuse workers of one crawl that have no queue in common, as each would fetch the whole site, or no server.

    Raises:
        DedupError: the queue is another one, and the message has the lines that add it; or it does not answer.
    """
    for name, needed in (("SCHEDULER", _SCHEDULER), ("SCHEDULER_QUEUE_CLASS", _QUEUE)):
        if needed not in _classes(scrapy_settings.get(name)):
            if not settings.shared_job:
                return
            raise DedupError(
                f"DEDUP_SHARED_JOB={settings.shared_job!r}: its workers need one queue, and"
                f" {name}={scrapy_settings.get(name)!r} gives them none. Install scrapy_dedup[redis], and write"
                f" with the address of your Redis server:\n{_LINES}"
            )

    # Not before somebody has such a queue: it is an extra.
    from redis.exceptions import RedisError  # noqa: PLC0415
    from scrapy_redis.connection import from_settings  # noqa: PLC0415

    try:
        with from_settings(scrapy_settings) as server:
            server.ping()
    except (RedisError, ValueError) as error:
        raise DedupError(
            f"the queue in Redis: {str(error).rstrip('.')}. Start the server, or correct REDIS_URL and REDIS_PARAMS."
        ) from error


def _classes(component: Any) -> set[str]:
    """Return the names of a class and of those that it is made from; none where it cannot be imported."""
    try:
        found = load_object(component) if component is not None else object
    except ModuleNotFoundError:
        return set()
    return {f"{one.__module__}.{one.__qualname__}" for one in getattr(found, "__mro__", ())}
