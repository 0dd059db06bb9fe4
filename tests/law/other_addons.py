"""Add-ons by which the comparison itself is tried: one that keeps the law of the delta feed, and some that break it."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK


class Delta:
    """Spider middleware that leaves out of a page's items those of its last visit by this spider."""

    def __init__(self, crawler: Crawler) -> None:
        url = crawler.settings["DEDUP_DATABASE_URL"]
        self.path = Path(f"{url.removeprefix('sqlite:///')}.{crawler.spidercls.name}.json")
        self.last: dict[str, list[str]] = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.here: dict[str, list[str]] = {}
        self.crawler = crawler
        crawler.signals.connect(self.close, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_spider_output(self, response: Response, result: Any) -> AsyncIterator[Any]:
        outputs, raised = [], None
        try:
            async for one in result:
                outputs.append(one)  # noqa: PERF401 - a callback that raises has yielded something before
        except Exception as error:  # noqa: BLE001 - raised again below
            raised = error
        items = [one for one in outputs if not isinstance(one, Request)]
        self.here[response.url] = [self.text(item) for item in items]
        for one in self.chosen(response.url, outputs):
            yield one
        if raised is not None:
            raise raised

    def chosen(self, url: str, outputs: list[Any]) -> list[Any]:
        known, kept = Counter(self.last.get(url, [])), []
        for one in outputs:
            if not isinstance(one, Request) and known[self.text(one)]:
                known[self.text(one)] -= 1
            else:
                kept.append(one)
        return kept

    def text(self, item: Any) -> str:
        ignored = self.crawler.settings.getlist("DEDUP_IGNORE_FIELDS")
        kept = {name: value for name, value in ItemAdapter(item).asdict().items() if name not in ignored}
        return json.dumps(kept, sort_keys=True)

    def close(self) -> None:
        self.path.write_text(json.dumps(self.kept()))

    def kept(self) -> dict[str, list[str]]:
        return {**self.last, **self.here}


class ForEver(Delta):
    """It leaves out what it has ever seen: a price that comes back is lost."""

    def kept(self) -> dict[str, list[str]]:
        return {url: self.last.get(url, []) + self.here.get(url, []) for url in {*self.last, *self.here}}


class Old(Delta):
    """It gives the items of the first visit again."""

    def chosen(self, url: str, outputs: list[Any]) -> list[Any]:
        requests = [one for one in outputs if isinstance(one, Request)]
        items = [json.loads(one) for one in self.last.get(url, self.here[url])]
        return [*requests, *items]


class Fewer(Delta):
    """It loses an item."""

    def chosen(self, url: str, outputs: list[Any]) -> list[Any]:
        return [] if url.endswith("/p/1") else outputs


class Backwards(Delta):
    """It turns a page's items round."""

    def chosen(self, _url: str, outputs: list[Any]) -> list[Any]:
        return outputs[::-1]


class Curious(Delta):
    """It asks for something that nobody asked for."""

    def chosen(self, _url: str, outputs: list[Any]) -> list[Any]:
        return [*outputs, Request("http://shop.example/probe", NO_CALLBACK)]


class Loud(Delta):
    """It logs an error."""

    def close(self) -> None:
        self.crawler.spider.logger.error("something is wrong")


def _addon(middleware: type[Delta]) -> type:
    """Return the add-on that switches one of these on."""
    update = lambda _self, settings: settings["SPIDER_MIDDLEWARES"].set(middleware, 950)  # noqa: E731 - a method
    return type(f"{middleware.__name__}Addon", (), {"update_settings": update})


DeltaAddon, ForEverAddon, OldAddon, FewerAddon = map(_addon, (Delta, ForEver, Old, Fewer))
BackwardsAddon, CuriousAddon, LoudAddon = map(_addon, (Backwards, Curious, Loud))
