"""What spidermon looks at when the spider has ended."""

from typing import ClassVar

from spidermon import Monitor, MonitorSuite


class ItemMonitor(Monitor):  # type: ignore[misc]
    """Each page gives an item."""

    def test_items(self) -> None:
        """Compare what Scrapy counted."""
        assert self.data.stats["item_scraped_count"] == self.data.stats["response_received_count"]


class Suite(MonitorSuite):  # type: ignore[misc]
    """At the end of the spider."""

    monitors: ClassVar = [ItemMonitor]
