import gc
from pathlib import Path
from weakref import ref

from scrapy_dedup.plugin.runtime import Runtime
from tests.plugin.builders import a_crawler


def test_a_crawler_that_is_gone_takes_along_what_was_kept_for_it(tmp_path: Path) -> None:
    """A process may crawl many times."""
    crawler = a_crawler(DEDUP_DATABASE_URL=f"sqlite:///{tmp_path / 'dedup.db'}")
    runtime = Runtime.of(crawler)
    assert Runtime.of_open(crawler) is runtime
    runtime.store.close()
    gone = ref(runtime)

    del crawler, runtime
    gc.collect()

    assert gone() is None
