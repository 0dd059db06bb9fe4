"""Requests as other workers read them, and back: as JSON, never as pickle."""

import json
import sys
from collections import Counter
from hashlib import blake2b
from typing import Any

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.core.recrawl.values import KeepLimits, Unkeepable, decode, encode
from scrapy_dedup.plugin.crawl.marks import LEASE, LENT_URL, callback_name
from scrapy_dedup.plugin.workers.server import WantedRequest

# What a plain request has where nothing else was said; Scrapy makes it again.
_PLAIN: dict[str, Any] = {"method": "GET", "encoding": "utf-8"}
# A request has at most a form's body; what is larger belongs in a file or a table that the request names.
_LIMITS = KeepLimits(depth=50, values=100_000, characters=4_000_000)


class UnwritableRequestError(DedupError, ValueError):
    """A request has no form that another process can read."""


class LeasedRequests:
    """Of one spider."""

    def __init__(self, spider: Spider) -> None:
        self._spider = spider
        self._names: dict[Any, str] = {}
        self._brought: Counter[bytes] = Counter()
        """First requests, and how often each was brought."""

    def wanted(self, request: Request, *, filters: bool) -> WantedRequest:
        """Return what is queued for a request.

        Args:
            request: as Scrapy hands it to its scheduler.
            filters: whether it is dropped where its fingerprint was seen, unless it says `dont_filter`.

        Raises:
            ValueError: something in it cannot be written, its callback is no method of the spider among them.
        """
        body = _dumps(self._written(request))
        is_start = bool(request.meta.get("is_start_request")) and request.dont_filter
        if not is_start and (request.dont_filter or not filters):
            return WantedRequest(body, request.priority)
        page, callback = self.fingerprint(request), callback_name(request)
        if not is_start:
            return WantedRequest(body, request.priority, "link", page, callback)
        # A retry or a redirect has been lent; whoever reads its first requests from Redis has each of them alone.
        is_brought_by_all = LEASE not in request.meta and not hasattr(self._spider, "redis_key")
        identity = self._identity(body) if is_brought_by_all else b""
        return WantedRequest(body, request.priority, "first", page, callback, identity)

    def _identity(self, body: bytes) -> bytes:
        """Return what every worker calls a first request: one that each of them brings twice is two."""
        digest = blake2b(body, digest_size=16).digest()
        self._brought[digest] += 1
        return b"start|%b|%d" % (digest, self._brought[digest])

    def fingerprint(self, request: Request) -> bytes:
        """Return what says that two requests are for the same page: the crawl's own fingerprinter says it."""
        return self._spider.crawler.request_fingerprinter.fingerprint(request)

    def read(self, body: bytes | str) -> Request:
        """Return the request.

        Raises:
            DedupError: it is damaged, or the spider has no such callback.
        """
        try:
            written = _loads(body)
            _check_class(written.get("_class"), self._spider)
            return request_from_dict(written, spider=self._spider)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise DedupError(f"a request in the queue cannot be made again ({error}): {body[:200]!r}") from error

    def _written(self, request: Request) -> dict[str, Any]:
        try:
            names = {"callback": self._name(request.callback), "errback": self._name(request.errback)}
        except LookupError:
            written = request.to_dict(spider=self._spider)
        else:
            written = {name: getattr(request, name) for name in request.attributes}
            written |= {**names, "headers": dict(request.headers)}
            if type(request) is Request:
                written = {name: value for name, value in written.items() if value and value != _PLAIN.get(name)}
            else:
                written["_class"] = f"{type(request).__module__}.{type(request).__name__}"
        if LEASE in request.meta:
            written["meta"] = without_lease(request.meta)
        return written

    def _name(self, method: Any) -> str | None:
        """Return the name of one of the spider's methods: Scrapy reads all of a spider's properties to find it.

        Raises:
            LookupError: it is not under its own name.
        """
        if method is None:
            return None
        function: Any = getattr(method, "__func__", None)
        if function is None or method.__self__ is not self._spider:
            raise LookupError
        if function not in self._names:
            found: Any = getattr(getattr(self._spider, function.__name__, None), "__func__", None)
            if found is not function:
                raise LookupError
            self._names[function] = str(function.__name__)
        return self._names[function]


def without_lease(meta: dict[str, Any]) -> dict[str, Any]:
    """Return a request's meta without what tells of the request that was lent."""
    return {name: value for name, value in meta.items() if name not in (LEASE, LENT_URL)}


def _check_class(path: object, spider: Spider) -> None:
    """Refuse a class of requests that is none: a queue says nothing that makes us import a module.

    Raises:
        ValueError: it is none.
    """
    if path is None:
        return
    module, _, name = str(path).rpartition(".")
    known = sys.modules.get(module)
    # The spider's own package may not be read whole yet.
    if known is None and module.partition(".")[0] == type(spider).__module__.partition(".")[0]:
        return
    kind = getattr(known, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Request)):
        raise ValueError(f"{path} is no class of requests in this crawl")  # noqa: TRY004 - a text is wrong, not its type


def _dumps(written: dict[str, Any]) -> bytes:
    """Return a request's dict as JSON: bytes, dates, tuples and sets come back as they were.

    Raises:
        UnwritableRequestError: something in it has no such form.
    """
    kept = {name: encode(value, _LIMITS) for name, value in written.items()}
    for name, value in kept.items():
        if isinstance(value, Unkeepable):
            way_out = "use texts, numbers, lists and dicts" if value.reason == "type" else "keep it elsewhere"
            raise UnwritableRequestError(
                f"{written.get('url', '')!s:.200}: its {name} cannot be shared with other workers"
                f" ({value.reason}: {value.detail}); {way_out}"
            )
    return json.dumps(kept, separators=(",", ":")).encode()


def _loads(text: bytes | str) -> dict[str, Any]:
    """Return a request's dict.

    Raises:
        DedupError: it is not what `_dumps` wrote.
    """
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DedupError(f"a request in the queue is damaged: {text[:80]!r}") from error
    if not isinstance(kept, dict):
        raise DedupError(f"a request in the queue is damaged: {text[:80]!r}")
    return {name: decode(value) for name, value in kept.items()}
