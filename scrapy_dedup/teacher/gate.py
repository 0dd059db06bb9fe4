"""What a page asks of the network: it gets itself and what whoever fetches brings; all else is refused."""

import asyncio
import re
from typing import Final

from playwright.async_api import Error, Request, Route

from scrapy_dedup.teacher.values import Fetch, Resource, Wanted

MOST_RESOURCES: Final = 60
MOST_RESOURCE_BYTES: Final = 8_000_000
_MOST_REFUSED: Final = 20
_MOST_URL_CHARS: Final = 8_192

STYLES: Final = frozenset({"stylesheet"})
STYLES_AND_SCRIPTS: Final = STYLES | {"script", "xhr", "fetch"}

# Others would set cookies, load more (`link`), or lead away (`refresh`, `location`); lengths and encodings are those
# of the connection.
_PASSED_HEADERS: Final = re.compile(r"content-type|content-language|access-control-.*|cross-origin-resource-policy")
# Pictures, fonts, frames, workers and sockets are not even asked for: each question would take milliseconds.
_POLICY: Final = (
    "default-src 'none'; style-src http: https: data: 'unsafe-inline'; img-src data:; font-src data:; frame-src 'none';"
    " worker-src 'none'; object-src 'none'; form-action 'none'; webrtc 'block'"
)
_SCRIPT_POLICY: Final = (
    f"{_POLICY}; script-src http: https: data: blob: 'unsafe-inline' 'unsafe-eval'; connect-src http: https:"
)


class Gate:
    """Answers the requests of one page; its first navigation is answered by the page, any other is refused."""

    def __init__(self, url: str, html: str, fetch: Fetch | None, *, scripts: bool = False, until: float = 0) -> None:
        """Begin with nothing asked.

        Args:
            url: of the page.
            html: the page.
            fetch: gets resources; None refuses them all.
            scripts: let scripts and what they ask for in, too.
            until: of the loop's clock; whatever has not come by then is refused.
        """
        self.fetched = 0
        self.served = ""
        """The page's URL as the browser spells it, once it has asked for the page."""
        self._url = url
        self._html = html
        self._fetch = fetch
        self._kinds = STYLES_AND_SCRIPTS if scripts else STYLES
        self._policy = _SCRIPT_POLICY if scripts else _POLICY
        self._until = until
        self._asked = 0
        self._bytes = 0
        self._refused: dict[str, None] = {}
        self._open = 0
        self._last_change = 0.0

    @property
    def refused(self) -> tuple[str, ...]:
        """URLs that were asked for and not given, in the order of asking."""
        return tuple(self._refused)

    async def answer(self, route: Route) -> None:
        """Answer one request; one whose page has gone needs none."""
        self._open += 1
        try:
            await self._answer(route, route.request)
        except Error:
            pass
        finally:
            self._open -= 1
            self._last_change = asyncio.get_running_loop().time()

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing was asked for so long, or until resources are too late."""
        clock = asyncio.get_running_loop().time
        self._last_change = max(self._last_change, clock())
        while clock() < self._until and (self._open or clock() - self._last_change < seconds):  # noqa: ASYNC110 (it waits for a time without events)
            await asyncio.sleep(0.05)

    async def _answer(self, route: Route, request: Request) -> None:
        if request.is_navigation_request():
            await self._navigate(route)
            return
        resource = await self._resource(request)
        if resource is None:
            if len(self._refused) < _MOST_REFUSED:
                self._refused[request.url[:_MOST_URL_CHARS]] = None
            await route.abort("blockedbyclient")
            return
        self.fetched += 1
        headers = {name: value for name, value in resource.headers.items() if _PASSED_HEADERS.fullmatch(name)}
        await route.fulfill(status=resource.status, headers=headers, body=resource.body)

    async def _navigate(self, route: Route) -> None:
        if self.served:
            # Any other error would put the browser's own page about it in the place of the page.
            await route.abort("aborted")
            return
        self.served = route.request.url
        headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": self._policy}
        await route.fulfill(status=200, headers=headers, body=self._html.encode("utf-8", "replace"))

    async def _resource(self, request: Request) -> Resource | None:
        if self._fetch is None or not self._may_ask(request):
            return None
        self._asked += 1
        wanted = Wanted(request.url, request.resource_type, self._url)
        left = self._until - asyncio.get_running_loop().time()
        try:
            resource = await asyncio.wait_for(asyncio.wrap_future(self._fetch(wanted)), left)
        except Exception:  # noqa: BLE001 (whatever keeps a resource away, the page is shown without it)
            return None
        if resource is None or not 200 <= resource.status <= 599 or 300 <= resource.status <= 399:
            return None
        self._bytes += len(resource.body)
        return resource if self._bytes <= MOST_RESOURCE_BYTES else None

    def _may_ask(self, request: Request) -> bool:
        return (
            request.resource_type in self._kinds
            and request.method == "GET"
            and request.url.startswith(("http://", "https://"))
            and len(request.url) <= _MOST_URL_CHARS
            and self._asked < MOST_RESOURCES
            and self._bytes < MOST_RESOURCE_BYTES
        )
