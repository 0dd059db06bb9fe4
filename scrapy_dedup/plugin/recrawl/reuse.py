"""What a callback yielded: the form in which it is kept (no pickle), and whether it stands in for the callback."""

import inspect
import itertools
import logging
import re
import sys
import types
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from itemadapter import ItemAdapter
from msgspec import Struct, field
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import default_settings
from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.request import request_from_dict
from twisted.internet.defer import Deferred

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.pages.fingerprints import parts_hash
from scrapy_dedup.core.recrawl.values import Unkeepable, UnkeepableReason, decode, encode
from scrapy_dedup.core.recrawl.verdicts import Change
from scrapy_dedup.core.urls.normal_form import extract_domain
from scrapy_dedup.plugin.requests import OF_SCRAPY, OURS, MethodNames, callback_name, carried_by
from scrapy_dedup.plugin.waiting import Turn
from scrapy_dedup.service.crawl.commits import Recorded
from scrapy_dedup.service.crawl.crawl import Crawl
from scrapy_dedup.service.recrawl import FetchPlan, Judgement
from scrapy_dedup.settings import Settings
from scrapy_dedup.store.engine.codec import to_json
from scrapy_dedup.store.records.records import ExtractionRecord
from scrapy_dedup.store.records.stored import ExtractionChoice

if TYPE_CHECKING:
    from scrapy_dedup.plugin.recrawl.memory import Seen, SpiderMemory

_DICT = "dict"
# Of such a URL a request can be made.
_PLAIN_URL: Final = re.compile(r"\w+://[!-Z^-~]+")
_NAMES_AT_ONCE = 2
"""A run of plain requests begins with the names of callback and errback."""

RUNNING: Final[ContextVar[Recorded | None]] = ContextVar("RUNNING", default=None)
"""What is taken down of the callback that runs: a page that it waits for changes what it yields, and is not known."""


async def watched(result: AsyncIterator[Any], recorded: Recorded) -> AsyncIterator[Any]:
    """Hand on what a callback yields, and let it be known while it runs."""
    while True:
        RUNNING.set(recorded)
        try:
            output = await anext(result)
        except StopAsyncIteration:
            return
        finally:
            RUNNING.set(None)
        yield output


def note_scheduled(request: Request) -> None:  # noqa: ARG001 (Scrapy's signal)
    """Note a request that a callback handed to the engine while it ran: nobody yielded it."""
    recorded = RUNNING.get()
    if recorded is not None:
        recorded.unkeepable = "a request that it did not yield"


class OutcomeError(DedupError):
    """What was kept cannot be made again: the spider or the item's class is another one today."""


class Recorder:
    """Takes down what callbacks yield, each thing when it is yielded: later middlewares change it."""

    def __init__(self, spider: Spider) -> None:
        self._spider = spider
        self._names = MethodNames(spider)

    def request(self, request: Request, recorded: Recorded) -> None:
        """Take down a request."""
        if recorded.unkeepable is not None:
            return
        names = self._plain_names(request)
        if names is None:
            self._whole(request, recorded)
            return
        last = recorded.requests[-1] if recorded.requests else None
        if isinstance(last, list) and last[:_NAMES_AT_ONCE] == names:
            last.append(request.url)
        else:
            recorded.requests.append([*names, request.url])

    def item(self, item: Any, recorded: Recorded) -> None:
        """Take down an item, before any pipeline has seen it."""
        if recorded.unkeepable is not None:
            return
        is_item = ItemAdapter.is_item(item)
        entry = item_entry(item) if is_item else Unkeepable(UnkeepableReason.TYPE, type(item).__name__)
        if isinstance(entry, Unkeepable):
            recorded.unkeepable = entry.detail
        else:
            recorded.requests.append(len(recorded.items))
            recorded.items.append(entry)

    def _whole(self, request: Request, recorded: Recorded) -> None:
        try:
            written = request.to_dict(spider=self._spider)
        except Exception as error:  # noqa: BLE001 - to find a callback's name, Scrapy reads all of a spider's properties
            recorded.unkeepable = str(error)[:200] or type(error).__name__
            return
        written["meta"] = {key: value for key, value in written["meta"].items() if key not in OURS}
        for name, value in (*request.cb_kwargs.items(), *request.meta.items()):
            if isinstance(value, dict | list | set) or ItemAdapter.is_item(value):
                if id(value) in recorded.shared and name not in OF_SCRAPY:
                    recorded.unkeepable = f"{name!r}, which several requests share"
                    return
                recorded.shared[id(value)] = value
        kept = encode(written)
        if isinstance(kept, Unkeepable):
            recorded.unkeepable = kept.detail
        else:
            recorded.requests.append({"request": kept})

    def _plain_names(self, request: Request) -> list[str | None] | None:
        """Return the names of callback and errback where there is nothing else to a request but its URL."""
        if (
            type(request) is not Request
            or request.method != "GET"
            or request.dont_filter
            or request.priority
            or request.body
            or _carries_more(request)
        ):
            return None
        try:
            return [self._names.of(request.callback), self._names.of(request.errback)]
        except LookupError:
            return None


def _carries_more(request: Request) -> bool:
    """Say whether a request has headers, cookies, arguments, flags or meta of its own.

    Its properties make what is not there, for each of a page's many links; behind them it is None.
    """
    try:
        rest = request._headers or request._cookies or request._cb_kwargs or request._flags  # noqa: SLF001 - see below
        meta = request._meta  # noqa: SLF001
    except AttributeError:  # a Scrapy that stores them otherwise
        rest = request.headers or request.cookies or request.cb_kwargs or request.flags
        meta = request.meta
    return bool(rest) or bool(meta and not meta.keys() <= OURS)


def item_entry(item: Any) -> dict[str, Any] | Unkeepable:
    """Return an item as it is kept: what its class makes the same item of, and not one with other values."""
    kind = type(item)
    adapter = ItemAdapter(item)
    fields = encode(dict(adapter))
    if isinstance(fields, Unkeepable):
        return fields
    if kind is dict:
        return {"class": _DICT, "fields": fields}
    entry = {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "names": sorted(adapter.field_names()),
        "fields": fields,
    }
    try:
        is_same = encode(dict(ItemAdapter(_item(entry)))) == fields
    except OutcomeError:
        is_same = False
    return entry if is_same else Unkeepable(UnkeepableReason.TYPE, kind.__name__)


class Links(NamedTuple):
    """Requests that have nothing but a URL, a callback and an errback."""

    callback: Any
    errback: Any
    urls: Sequence[str]


def kept_output(outcome: ExtractionRecord, spider: Spider) -> Iterator[Any]:
    """Yield what a callback yielded, in its order: items, requests, and `Links` for a run of plain requests.

    Raises:
        OutcomeError: the spider has no such callback any more, or an item cannot be made again.
    """
    items = kept_items(outcome.items or ())
    for entry in outcome.requests:
        if isinstance(entry, int) and 0 <= entry < len(items):
            yield items[entry]
        elif isinstance(entry, list):
            callback, errback = (_method(spider, name) for name in entry[:_NAMES_AT_ONCE])
            urls = entry[_NAMES_AT_ONCE:]
            try:
                for url in urls:
                    if not _PLAIN_URL.fullmatch(url):
                        Request(url)
            except (ValueError, TypeError) as error:
                raise OutcomeError(f"a kept request cannot be made again ({error})") from error
            yield Links(callback, errback, urls)
        elif isinstance(entry, dict) and isinstance(entry.get("request"), dict):
            try:
                yield request_from_dict(decode(entry["request"]), spider=spider)
            except (ValueError, TypeError, LookupError, AttributeError, DedupError) as error:
                raise OutcomeError(f"a kept request cannot be made again ({error})") from error
        else:
            raise OutcomeError("what is kept is damaged")


def kept_items(entries: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the items that a page gave.

    Raises:
        OutcomeError: an item's class is gone, or does not take the fields any more.
    """
    return [_item(entry) for entry in entries]


def _item(entry: Mapping[str, Any]) -> Any:
    kind = dict if entry.get("class") == _DICT else _item_class(str(entry.get("class")))
    try:
        # Of some classes only their items tell which fields they have.
        names = ItemAdapter.get_field_names_from_class(kind) if kind is not dict and "names" in entry else None
        if names is not None and sorted(names) != entry["names"]:
            raise OutcomeError(f"{entry['class']} has other fields now")  # noqa: TRY301 - one message for all of them
        return kind(**decode(entry["fields"])) if kind is not dict else dict(decode(entry["fields"]))
    except Exception as error:  # a class may raise anything
        raise OutcomeError(f"a kept item cannot be made again ({type(error).__name__}: {error})"[:500]) from error


def _item_class(path: str) -> Any:
    """Return a class of items that this process knows: a store says nothing that makes us import a module."""
    module, _, name = path.rpartition(".")
    while module and module not in sys.modules:
        module, _, outer = module.rpartition(".")
        name = f"{outer}.{name}"
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and ItemAdapter.is_item_class(found)):
        raise OutcomeError(f"{path} is no class of items in this crawl")
    return found


def _method(spider: Spider, name: str | None) -> Any:
    if name is None:
        return None
    method = getattr(spider, name, None) if isinstance(name, str) and not name.startswith("__") else None
    if not callable(method):
        raise OutcomeError(f"the spider has no callback {name!r} any more")
    return method


logger = logging.getLogger(__name__)

_MOST_AUDITS: Final = 50
_MOST_ANSWERED: Final = 100_000
_MOST_LISTED: Final = 20
_MOST_NAMED: Final = 3
_MOST_NODES: Final = 50_000
# Set by Scrapy for each request, by the page that led to it.
_NOT_OWN: Final = (b"referer",)
_PARTS: Final = ("code", "arguments", "settings", "libraries")
_STAT: Final = "reuse/version_of_"
_METHOD: Final = 2
"""A higher one where less is kept than before: what was kept then is not used."""


class _Answered(Struct):
    """What was answered by kept outcomes in a domain."""

    urls: dict[bytes, str] = field(default_factory=dict)
    audited: int = 0
    is_distrusted: bool = False


class Reuse:
    """The outcomes of one crawl: under which key each is kept, which stand in, and which of these are tried."""

    def __init__(self, crawler: Crawler, crawl: Crawl) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._version: dict[str, bytes] | None = None
        self._memory: SpiderMemory | None = None
        self._seen: Seen | None = None
        self._changed: list[str] = []
        """Places that a callback changed: others may have decided by them."""
        self._ended = 0
        self._looking: dict[str, Deferred[None]] = {}
        self._is_known = False
        self._domains: dict[str, _Answered] = {}
        self._differed: set[bytes] = set()
        self._audits = 0
        self._saved = 0
        self._anew = 0

    @cached_property
    def recorder(self) -> Recorder:
        """What takes down what callbacks yield: for the output of one, so there is a spider."""
        assert self._crawler.spider is not None
        return Recorder(self._crawler.spider)

    # Before the fetch.

    async def key_of(self, request: Request, page_key: bytes, settings: Settings) -> bytes:
        """Return under which key the outcome of a request's callback is kept; empty where it is not."""
        if settings.reuse == "never" or "unchanged" not in settings.acting or self._crawler.spider is None:
            return b""
        async with Turn(self._looking, self._crawler.spider.name):
            await self._look(self._crawler.spider)
        if self._version is None:
            return b""
        identity = _identity(request, self._crawler.spider)
        if isinstance(identity, str):
            self._crawl.count(f"reuse/not_kept/{identity}", 1)
            return b""
        versions = [self._version[part] for part in _PARTS]
        own = (self._crawler.spider.name, settings.version, settings.reuse, _METHOD)
        # Items name the address as it was asked for.
        address = request.url.encode("utf-8", "surrogatepass")
        return parts_hash(page_key, address, *versions, to_json(own).encode("utf-8", "surrogatepass"), identity)

    def is_audited(self, plan: FetchPlan, domain: str, settings: Settings) -> bool:
        """Say whether a page is fetched and extracted though an outcome is kept, to see whether that is still right."""
        if plan.known.outcome is None or plan.is_refresh or self._audits >= _MOST_AUDITS:
            return False
        answered = self._domains.get(domain)
        if answered is not None and answered.is_distrusted:
            return False
        drawn = int.from_bytes(parts_hash(plan.outcome_key, self._crawl.run.id.bytes)[:4], "big") / 2**32
        if drawn >= settings.audit:
            return False
        self._audits += 1
        return True

    # After it.

    def answer(
        self,
        request: Request,
        response: Response,
        plan: FetchPlan,
        judgement: Judgement,
        settings: Settings,
        left_of: Callable[[Sequence[Any], Response], Iterator[Any]],
    ) -> None:
        """Let what is kept take the callback's place, if it may: what is left of it, asked when it is its turn."""
        outcome = plan.known.outcome
        domain = extract_domain(request.url, settings.domain_scope) or ""
        if plan.outcome_key and outcome is None:
            self._anew += 1
        if outcome is None or plan.is_refresh or plan.is_audited or self._crawler.spider is None:
            return
        if self._changed:
            self._differed.add(plan.outcome_key)
            return
        answered = self._domains.setdefault(domain, _Answered())
        if answered.is_distrusted or not stands(outcome, judgement, settings):
            return
        try:
            output = list(kept_output(outcome, self._crawler.spider))
        except OutcomeError as error:
            self._crawl.count("reuse/lost", 1)
            if not self._domains[domain].urls:
                logger.warning("What was kept of %s cannot be used, its callback runs: %s", request.url, error)
            return

        def replay(response: Response) -> Iterator[Any]:
            return left_of(output, response)

        response.request = request.replace(callback=replay, cb_kwargs={})
        judgement.replays = True
        self._saved += 1
        self._crawl.count("reuse/callbacks_saved", 1)
        if len(answered.urls) < _MOST_ANSWERED:
            answered.urls[plan.outcome_key] = request.url

    def audited(self, outcome: ExtractionRecord, recorded: Recorded, domain: str, settings: Settings) -> None:
        """Compare what a callback yields now with what is kept."""
        answered = self._domains.setdefault(domain, _Answered())
        answered.audited += 1
        self._crawl.count("reuse/audited", 1)
        different = _difference(outcome, recorded, settings)
        if different is None:
            return
        self._crawl.count("reuse/audits_differed", 1)
        if answered.is_distrusted:
            # Others were on their way.
            return
        answered.is_distrusted = True
        self._differed |= answered.urls.keys()
        urls = list(answered.urls.values())
        listed = "\n".join(urls[:_MOST_LISTED]) + ("\n..." if len(urls) > _MOST_LISTED else "")
        further = f", and the next extracts anew the {len(urls)} pages that were answered so:\n{listed}" if urls else ""
        logger.warning(
            "%s: %s differs from what was kept of %s. No kept outcome stands in any more for this domain in this run%s",
            domain, different, outcome.url, further,
        )  # fmt: skip

    def callback_ended(self) -> None:
        """Look now and then whether callbacks have changed what others could decide by: after 1, 2, 4, 8, ..."""
        self._ended += 1
        if self._ended & (self._ended - 1) == 0:
            self._compare()

    def _compare(self) -> None:
        if self._memory is None or self._seen is None or self._changed:
            return
        now = self._memory.look()
        self._changed = list(now.hidden) or now.changed(self._seen)
        if self._changed:
            # They were kept of runs in which it did not change.
            self._differed.update(*(one.urls for one in self._domains.values()))

    # The end.

    def end(self) -> None:
        """Say what was saved, and let what this run kept be used if its spider has no state; blocks."""
        spider = self._crawler.spider
        if spider is None or self._version is None:
            return
        store = self._crawl.store
        self._compare()
        if self._differed:
            store.delete_extractions(ExtractionChoice(memo_keys=self._differed), dry_run=False)
        if self._changed:
            self._crawl.count("reuse/has_state", 1)
            more = f" and {len(self._changed) - _MOST_NAMED} more" if len(self._changed) > _MOST_NAMED else ""
            logger.warning(
                "The spider %s has state: while it crawled there changed %s%s. What its callbacks yielded in this run"
                " will not stand in for them",
                spider.name, ", ".join(self._changed[:_MOST_NAMED]), more,
            )  # fmt: skip
        else:
            store.release_extractions(self._crawl.run.id)
        self._tell(spider)

    def _tell(self, spider: Spider) -> None:
        audits = sum(one.audited for one in self._domains.values())
        differed = sum(one.is_distrusted for one in self._domains.values())
        if self._saved or audits:
            bound = f": at most {1 - 0.05 ** (1 / audits):.1%} can (95 %)" if audits and not differed else ""
            logger.info("%d callbacks saved, %d audited, %d differed%s", self._saved, audits, differed, bound)
        if self._saved or audits or not self._anew:
            return
        before = self._earlier(spider)
        other = [part for part in _PARTS if before and before.get(part) != (self._version or {})[part].hex()]
        if other:
            logger.info(
                "%d unchanged pages were extracted anew: the %s is not that of the run before",
                self._anew, " and the ".join(other),
            )  # fmt: skip

    def _earlier(self, spider: Spider) -> dict[str, str] | None:
        """Return the versions of the last run of this spider that had some."""
        for run in self._crawl.store.last_runs(20):
            found = {part: str(run.stats.get(f"dedup/{_STAT}{part}", "")) for part in _PARTS}
            if run.spider == spider.name and run.id != self._crawl.run.id and all(found.values()):
                return found
        return None

    async def _look(self, spider: Spider) -> None:
        """Find out once which code this is, before any callback has run."""
        if self._is_known:
            return
        from scrapy_dedup.plugin.recrawl.memory import SpiderMemory, code_files, code_version, is_argument  # noqa: PLC0415 (few crawls reuse outcomes)

        self._is_known = True
        self._crawler.signals.connect(note_scheduled, signals.request_scheduled)
        try:
            files = [*await run_in_thread(code_files, type(spider)), *map(Path, self._crawl.settings.code_files)]
            code, libraries = await run_in_thread(code_version, files)
        except (OSError, ValueError) as error:
            logger.warning("No kept outcome is used: the code of spider %s cannot be read (%s)", spider.name, error)
            return
        arguments = _walked({name: value for name, value in vars(spider).items() if is_argument(name, value)})
        if arguments is None:
            logger.warning("No kept outcome is used: the attributes of spider %s cannot be compared", spider.name)
            return
        memory = SpiderMemory(spider)
        self._seen = memory.look()
        if self._seen.hidden:
            self._crawl.count("reuse/may_have_state", 1)
            logger.warning(
                "No kept outcome is used: the spider %s may have state that changes unseen: %s",
                spider.name, ", ".join(self._seen.hidden[:_MOST_NAMED]),
            )  # fmt: skip
            return
        self._memory = memory
        self._version = {
            "code": code,
            "arguments": arguments,
            "settings": _own_settings(self._crawler),
            "libraries": libraries,
        }
        for part, value in self._version.items():
            self._crawler.stats.set_value(f"dedup/{_STAT}{part}", value.hex())


def stands(outcome: ExtractionRecord, judgement: Judgement, settings: Settings) -> bool:
    """Say whether an outcome was made of what a page is now."""
    age = settings.cache_max_age
    if age is not None and datetime.now(UTC) - outcome.created_at >= age:
        return False
    if settings.reuse == "body":
        return outcome.body_hash is not None and outcome.body_hash == judgement.body
    state = judgement.known.state
    # Numbers that always differ are no news for a reader; a field may be one of them.
    is_same = judgement.is_unchanged and judgement.verdict.change is not Change.VOLATILE
    return is_same and state is not None and outcome.content_hash == state.content_hash


def _identity(request: Request, spider: Spider) -> bytes | str:
    """Return what an outcome depends on beside the page and the code; a word where it cannot be told."""
    if request.cookies or "Cookie" in request.headers or "Authorization" in request.headers:
        return "visitor"
    name = callback_name(request)
    if request.callback is not None:
        known = getattr(getattr(spider, name, None), "__func__", None)
        if known is None or known is not getattr(request.callback, "__func__", None):
            return "callback"
    if inspect.iscoroutinefunction(request.callback or getattr(spider, name, None)):
        # It has run before anybody could see for which pages it waits.
        return "callback"
    headers = {
        key.decode("latin-1"): [value.decode("latin-1") for value in values]
        for key, values in request.headers.items()
        if key.lower() not in _NOT_OWN
    }
    kept, carried = encode([name, request.method, request.body, headers]), carried_by(request)
    if isinstance(kept, Unkeepable) or not carried:
        return "value"
    return to_json(kept).encode("utf-8", "surrogatepass") + carried


def _difference(outcome: ExtractionRecord, recorded: Recorded, settings: Settings) -> str | None:
    """Return what differs between two outcomes; None where nothing does."""
    if recorded.unkeepable is not None:
        return f"what cannot be kept now ({recorded.unkeepable})"
    before, now = outcome.items or (), recorded.items
    if len(before) != len(now):
        return f"the number of items ({len(before)}, now {len(now)})"
    for old, new in zip(before, now, strict=True):
        first, second = old.get("fields") or {}, new.get("fields") or {}
        if not (isinstance(first, dict) and isinstance(second, dict)):
            return "an item"
        for name in sorted(first.keys() | second.keys()):
            if name not in settings.ignore_fields and first.get(name) != second.get(name):
                return f"the field {name!r}"
    # Links in menus come and go beside a text that stays.
    is_same = settings.reuse == "text" or list(outcome.requests) == recorded.requests
    return None if is_same else "a request"


def _own_settings(crawler: Crawler) -> bytes:
    """Return what stands for the settings that neither Scrapy nor this package defines."""
    own = {
        name: value
        for name, value in sorted(crawler.settings.copy_to_dict().items(), key=lambda pair: str(pair[0]))
        if not hasattr(default_settings, str(name)) and not str(name).startswith("DEDUP_")
    }
    return _walked(own) or b"too large"


def _walked(value: object) -> bytes | None:
    """Return what stands for a value and all that it holds; None where that is too much, or cannot be told."""
    digest, met, nodes = blake2b(digest_size=16), dict[int, int](), 0
    stack: list[Any] = [value]
    while stack:
        one = stack.pop()
        nodes += 1
        if nodes > _MOST_NODES:
            return None
        digest.update(f"<{type(one).__module__}.{type(one).__qualname__}>".encode("utf-8", "replace"))
        if one is None or isinstance(one, bool | int | float | str | bytes | re.Pattern | complex):
            digest.update(repr(one).encode("utf-8", "backslashreplace"))
            continue
        if isinstance(one, type | types.FunctionType | types.BuiltinFunctionType | types.ModuleType):
            name = getattr(one, "__qualname__", None) or one.__name__
            digest.update(f"{getattr(one, '__module__', '')}.{name}".encode("utf-8", "replace"))
            continue
        if id(one) in met:
            digest.update(f"#{met[id(one)]}".encode())
            continue
        met[id(one)] = len(met)
        try:
            parts = _parts_of(one)
        except Exception:  # noqa: BLE001 (a class of the user's)
            return None
        digest.update(str(len(parts)).encode())
        stack.extend(reversed(parts))
    return digest.digest()


def _parts_of(one: Any) -> list[Any]:
    """Return what a value holds, in an order that does not depend on the process."""
    if isinstance(one, dict):
        return [part for pair in one.items() for part in pair]
    if isinstance(one, list | tuple | deque | itertools.count):
        return [repr(one)] if isinstance(one, itertools.count) else list(one)
    if isinstance(one, set | frozenset):
        return sorted(one, key=repr)
    if isinstance(one, types.MethodType):
        return [one.__func__]
    if isinstance(one, Crawler):
        return []
    state = object.__getstate__(one)
    # Of a class with slots it is two dicts.
    return [
        part
        for held in (state if isinstance(state, tuple) else (state,))
        for pair in (held or {}).items()
        for part in pair
    ]
