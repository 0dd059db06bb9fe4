from collections.abc import Iterator

import pytest

from tests.browser import required_chromium
from tests.server import WebServer, serving
from tests.shown_site import publish

ARTICLES = 14
NO_BROWSER = {"PATH": "/nowhere", "PLAYWRIGHT_BROWSERS_PATH": "/nowhere"}


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    required_chromium()
    with serving(1, lambda _: {}) as running:
        publish(running, ARTICLES)
        yield running
