"""Requests as other workers read them, and back."""

import sys
from hashlib import blake2b
from typing import Any

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.plugin import leased_json
from scrapy_dedup.plugin.leased_server import Wanted
from scrapy_dedup.plugin.marks import LEASE, callback_name

# What a plain request has where nothing else was said; Scrapy makes it again.
_PLAIN: dict[str, Any] = {"method": "GET", "encoding": "utf-8"}


class LeasedRequests:
    """Of one spider. *serializer* has `dumps` and `loads`, as scrapy-redis asks for."""

    def __init__(self, spider: Spider, serializer: Any = None) -> None:
        self._spider = spider
        self._serializer = serializer if serializer is not None else leased_json
        self._names: dict[Any, str] = {}
        # Whoever reads its first requests from Redis has each of them alone.
        self._all_start_alike = not hasattr(spider, "redis_key")

    def wanted(self, request: Request, *, filters: bool) -> Wanted:
        """Return what is queued for a request.

        Args:
            request: as Scrapy hands it to its scheduler.
            filters: whether it is dropped where its fingerprint was seen, unless it says `dont_filter`.

        Raises:
            ValueError: something in it cannot be written, its callback is no method of the spider among them.
        """
        body = self._serializer.dumps(self._written(request))
        body = body.encode() if isinstance(body, str) else body
        fingerprint = mark = identity = b""
        is_filtered = filters and not request.dont_filter
        is_start = bool(request.meta.get("is_start_request")) and request.dont_filter
        if is_filtered or is_start:
            page = self.fingerprint(request)
            fingerprint = page if is_filtered else b""
            mark = b"|".join((page, callback_name(request).encode()))
        # What was popped before is a retry of one, or a redirect.
        if is_start and self._all_start_alike and LEASE not in request.meta:
            identity = b"start|" + blake2b(body, digest_size=16).digest()
        return Wanted(body, request.priority, fingerprint, mark, identity)

    def fingerprint(self, request: Request) -> bytes:
        """Return what says that two requests are for the same page: the crawl's own fingerprinter says it."""
        return self._spider.crawler.request_fingerprinter.fingerprint(request)

    def read(self, body: bytes | str) -> Request:
        """Return the request.

        Raises:
            DedupError: it is damaged, or the spider has no such callback.
        """
        try:
            written = self._serializer.loads(body)
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
            written["meta"] = {name: value for name, value in request.meta.items() if name != LEASE}
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
