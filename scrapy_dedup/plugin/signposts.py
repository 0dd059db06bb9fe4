"""What pages say about where more pages are, read at most once of a response."""

from weakref import WeakKeyDictionary

from scrapy.http import Response

from scrapy_dedup.core.discovery import Signposts, may_have_signposts, read_signposts
from scrapy_dedup.plugin.runtime import Runtime
from scrapy_dedup.plugin.visits import Visit

_NONE = Signposts()


class SignpostReader:
    """Parses pages once more, so only those of which that is worth it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._read: WeakKeyDictionary[Response, Signposts] = WeakKeyDictionary()

    def of(self, response: Response, visit: Visit) -> Signposts:
        """Return what a response says."""
        found = self._read.get(response)
        if found is None:
            html = visit.html()
            found = read_signposts(html, response.url, self._runtime.limits) if html is not None else _NONE
            self._read[response] = found
        return found

    def next_href(self, response: Response, visit: Visit) -> str | None:
        """Return what a response names as the next part."""
        html = visit.html()
        return self.of(response, visit).next_href if html is not None and may_have_signposts(html) else None
