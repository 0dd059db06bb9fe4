from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser import shared_chromium
from tests.servers_here import made_once
from tests.web.dashboard.filled import Filled, fill
from tests.web.dashboard.serving import Dashboard, served


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A Chromium; while it is there this thread has an event loop that runs, which tests elsewhere cannot bear."""
    with shared_chromium() as running:
        yield running


@pytest.fixture(scope="session")
def filled() -> Filled:
    """The folder of a project that crawled two sites; tests that write take a copy."""
    return Filled(Path(made_once("dashboard", lambda folder: str(fill(folder).folder))))


@pytest.fixture(scope="session")
def dashboard(filled, tmp_path_factory) -> Iterator[Dashboard]:
    """A served store, for tests that only look."""
    with served(filled.copied(tmp_path_factory.mktemp("looked-at"))) as running:
        yield running


@pytest.fixture
def own_dashboard(filled, tmp_path) -> Iterator[Dashboard]:
    """A served store that a test may write to."""
    with served(filled.copied(tmp_path / "own")) as running:
        yield running
