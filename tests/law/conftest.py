from collections.abc import Iterator

import pytest

from tests.law.crawls import Crawls


@pytest.fixture(scope="session")
def crawls() -> Iterator[Crawls]:
    """Crawl in one process, the same for all these tests: it starts in seconds, and a crawl takes a tenth of one."""
    process = Crawls()
    yield process
    process.close()
