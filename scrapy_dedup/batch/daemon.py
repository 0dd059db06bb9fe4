"""The process that Spark forks its Python workers from: what all of them need is loaded here, and in memory once.

Spark starts it by its name, see `spark.python.daemon.module` in `scrapy_dedup.batch.session`.
"""

import gc
from importlib import import_module
from typing import Final

from pyspark.daemon import manager

from scrapy_dedup.core.blocks import Page, parse_page
from scrapy_dedup.core.fallback import fall_back

_NEEDED: Final = (
    # Arrow's Python looks for it at its first array.
    "pandas",
    "pyspark.worker",
    "scrapy_dedup.batch.steps_pages",
    "scrapy_dedup.batch.steps_sites",
)
# Too short for an article, so that the extractor loads all that it has.
_PAGE: Final = "<html><body><h1>One</h1><p>Two words.</p></body></html>"


def load() -> None:
    """Load what workers run."""
    for name in _NEEDED:
        import_module(name)
    page = parse_page(_PAGE)
    if isinstance(page, Page):
        fall_back(_PAGE, page)


def main() -> None:
    """Load all, then fork a worker whenever Spark asks for one."""
    load()
    gc.collect()
    # A worker that looks for garbage among them would write into what it shares.
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
