"""What a stalled crawl can do without ending: ask less often, or as somebody else by another way."""

import logging
from collections.abc import Callable, Sequence

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware

from scrapy_dedup.plugin.engine_figures import EngineFigures
from scrapy_dedup.plugin.stall_watch import PROBE

logger = logging.getLogger(__name__)

FIRST_DELAY_SECONDS = 1.0
_GROWTH = 2


class BackOff:
    """Raises the delays of all download slots step by step, and takes them back in the same steps."""

    def __init__(self, engine: EngineFigures, longest_seconds: float) -> None:
        self._engine = engine
        self._longest = longest_seconds
        self._before: dict[str, float] = {}
        """Delays as they were, of slots that were raised."""

    @property
    def is_on(self) -> bool:
        """Whether a delay is higher than it was."""
        return bool(self._before)

    def highest_delay(self) -> float:
        """Return the highest delay that was raised, in seconds; 0: none was."""
        slots = self._engine.slots()
        return max((slots[name].delay for name in self._before if name in slots), default=0.0)

    def raise_delays(self) -> None:
        """Double every slot's delay, up to the longest."""
        for name, slot in self._engine.slots().items():
            before = self._before.setdefault(name, slot.delay)
            slot.delay = max(before, min(max(slot.delay * _GROWTH, FIRST_DELAY_SECONDS), self._longest))

    def lower_delays(self) -> None:
        """Halve every delay that was raised, down to what it was."""
        slots = self._engine.slots()
        for name, before in list(self._before.items()):
            slot = slots.get(name)
            # Scrapy forgets slots that were not used for a while: the next one of that name begins as usual.
            lower = slot.delay / _GROWTH if slot is not None else 0.0
            if slot is None or lower < max(before, FIRST_DELAY_SECONDS / _GROWTH):
                del self._before[name]
                lower = before
            if slot is not None:
                slot.delay = max(before, lower)


class Rotation:
    """The next User-Agent and the next proxy of the lists, for every request from then on.

    Requests that bring a User-Agent or a proxy of their own keep it. It acts when a request reaches the downloader,
    after all middlewares: so it needs no place among them.
    """

    def __init__(
        self, crawler: Crawler, agents: Sequence[str], proxies: Sequence[str], count: Callable[[str], None]
    ) -> None:
        self._crawler = crawler
        self._agents = tuple(agents)
        self._proxies = tuple(proxies)
        self._count = count
        self._turns = 0
        self._credentials = HttpProxyMiddleware(crawler.settings.get("HTTPPROXY_AUTH_ENCODING"))

    @property
    def is_possible(self) -> bool:
        """Whether there is anything to go on with."""
        return bool(self._agents or self._proxies)

    @property
    def is_through(self) -> bool:
        """Whether all of both lists have been in use."""
        return self._turns >= max(len(self._agents), len(self._proxies))

    def turn(self) -> str:
        """Go on with the next of both lists, and say with which."""
        if self._turns == 0:
            connect: Callable[..., None] = self._crawler.signals.connect
            connect(self._reached, signals.request_reached_downloader)
        self._turns += 1
        self._count("stall/rotations")
        agent, proxy = self._agent(), self._proxy()
        told = [f"User-Agent {agent}"] if agent else []
        # A proxy's address may hold a password.
        return " and ".join([*told, f"proxy {proxy.rpartition('@')[2]}"] if proxy else told)

    def _agent(self) -> str | None:
        return self._agents[(self._turns - 1) % len(self._agents)] if self._agents else None

    def _proxy(self) -> str | None:
        return self._proxies[(self._turns - 1) % len(self._proxies)] if self._proxies else None

    def _reached(self, request: Request) -> None:
        if PROBE in request.meta:
            return
        agent, proxy = self._agent(), self._proxy()
        if agent is not None and self._is_ours(request.headers.get("User-Agent")):
            request.headers["User-Agent"] = agent
        if proxy is not None and self._may_set_proxy(request):
            request.meta["proxy"] = proxy
            request.meta[_OURS] = proxy
            self._credentials.process_request(request)
            # Without the password, as the middleware leaves it; by it the next turn knows its own.
            request.meta[_OURS] = request.meta["proxy"]

    def _is_ours(self, given: bytes | None) -> bool:
        """Say whether a User-Agent is the crawl's, or one of the list."""
        if given is None:
            return True
        usual = getattr(self._crawler.spider, "user_agent", None) or self._crawler.settings["USER_AGENT"]
        return given.decode("latin-1") in (usual, *self._agents)

    def _may_set_proxy(self, request: Request) -> bool:
        given = request.meta.get("proxy")
        of_environment = request.meta.get("_scheme_proxy")
        # A request that was told to use none says None.
        asks_for_none = "proxy" in request.meta and given is None
        return not asks_for_none and (given is None or bool(of_environment) or given == request.meta.get(_OURS))


_OURS = "dedup_stall_proxy"
