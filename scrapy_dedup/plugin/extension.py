"""Opens the runtime, and tells how it stands."""

from typing import Any, Self

from scrapy.crawler import Crawler

from scrapy_dedup.plugin.runtime import Runtime


class DedupExtension:
    """`crawler.get_extension(DedupExtension).status()` is for consoles and other extensions."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the store before the first request; raises NotConfigured where the plugin is off."""
        return cls(Runtime.of(crawler))

    def status(self) -> dict[str, Any]:
        """Return figures of the running crawl."""
        runtime = self._runtime
        return {
            "project": runtime.crawl.store.name,
            "run": str(runtime.crawl.run.id),
            "pages": len(runtime.crawl.given),
            "parked_pages": len(runtime.lot),
            "parked_bytes": runtime.lot.size_bytes,
            "known_domains": sorted({learner.domain for learner in runtime.crawl.learners.values() if learner.known}),
            "rows_waiting": len(runtime.crawl.rows),
        }
