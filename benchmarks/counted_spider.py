"""The site spider of example_project, which counts how often its callback ran."""

from collections.abc import Iterator
from typing import Any

from example.spiders.site import SiteSpider  # type: ignore[import-not-found] # found in the folder that is crawled from
from scrapy.http import Response


class CountedSpider(SiteSpider):  # type: ignore[misc] # see above
    """Leaves the count in the stats."""

    name = "counted"

    def parse(self, response: Response) -> Iterator[Any]:
        """Count, and do what the site spider does."""
        self.crawler.stats.inc_value("callbacks")
        return super().parse(response)  # type: ignore[no-any-return] # see above
