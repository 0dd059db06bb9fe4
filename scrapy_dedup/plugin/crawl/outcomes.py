"""What a callback made of a page, in the form in which it is kept, and back. No pickle."""

import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from itemadapter import ItemAdapter
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.recrawl.values import Unkeepable, UnkeepableReason, decode, encode
from scrapy_dedup.plugin.crawl.request_meta import OF_SCRAPY, OURS
from scrapy_dedup.service.crawl.commits import Recorded
from scrapy_dedup.store.records.records import ExtractionRecord

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
        self._names: dict[Any, str | None] = {}

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
        names = [self._name(request.callback), self._name(request.errback)]
        return None if "" in names else names

    def _name(self, method: Any) -> str | None:
        """Return the name of one of the spider's methods; "" for what is none."""
        if method is None:
            return None
        function = getattr(method, "__func__", None)
        if function is None or getattr(method, "__self__", None) is not self._spider:
            return ""
        if function not in self._names:
            name = getattr(function, "__name__", "")
            found = getattr(getattr(self._spider, name, None), "__func__", None)
            self._names[function] = name if found is function else ""
        return self._names[function]


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
    """Return an item as it is kept."""
    kind = type(item)
    adapter = ItemAdapter(item)
    fields = encode(dict(adapter))
    if isinstance(fields, Unkeepable):
        return fields
    if kind is dict:
        return {"class": _DICT, "fields": fields}
    return {"class": f"{kind.__module__}.{kind.__qualname__}", "names": sorted(adapter.field_names()), "fields": fields}


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
        if kind is not dict and "names" in entry and _names_of(kind) not in (None, entry["names"]):
            raise OutcomeError(f"{entry['class']} has other fields now")  # noqa: TRY301 - one message for all of them
        return kind(**decode(entry["fields"])) if kind is not dict else dict(decode(entry["fields"]))
    except Exception as error:  # a class may raise anything
        raise OutcomeError(f"a kept item cannot be made again ({type(error).__name__}: {error})"[:500]) from error


def _names_of(kind: type) -> list[str] | None:
    """Return the fields that a class of items has; None where only its items tell."""
    names = ItemAdapter.get_field_names_from_class(kind)
    return None if names is None else sorted(names)


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
