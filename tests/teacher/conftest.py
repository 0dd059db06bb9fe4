from collections.abc import Iterator

import pytest

from scrapy_dedup.teacher.browser import Browser
from tests.teacher.showing import teacher


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The teacher's browser, whatever pages it was shown before; tests that end one have their own."""
    with teacher() as browser:
        yield browser
