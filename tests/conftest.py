"""Settings of the tests' tools."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
import scrapy.core.downloader.contextfactory  # noqa: F401 (looks through all modules for each call on the stack)
from hypothesis import settings

from tests import servers_here

# Others than its own folder's tests crawl by it, too: pytest has to know of its asserts before any of them is imported.
pytest.register_assert_rewrite("tests.end_to_end.crawling")

FOLDER = Path(__file__).parent

# A busy machine is no defect; tests that are about time measure it themselves. `--hypothesis-profile thorough` tries
# what a usual run does not come to.
settings.register_profile("usual", deadline=None, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=2_000)
settings.load_profile("usual")


# Where decisions and pictures are made, and Scrapy is spoken to: for `make test-core`, but for what needs more.
CORE = ("core", "plugin", "report", "test_architecture.py", "test_settings.py")
SERVERS = {"postgresql", "redis_server"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent.name == "end_to_end":
            item.add_marker("crawl")
        elif _is_core(item):
            item.add_marker("core")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while tests are imported: a quarter of that time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Let no collection of garbage look through all tests and what they import again."""
    gc.freeze()


def _is_core(item: pytest.Item) -> bool:
    place = item.path.relative_to(FOLDER).parts[0]
    needs = {*getattr(item, "fixturenames", ()), *_parameters(item)} & SERVERS
    marked = any(item.get_closest_marker(name) for name in ("browser", "crawl"))
    return place in CORE and not needs and not marked


def _parameters(item: pytest.Item) -> list[object]:
    """Return with what a test and its fixtures are called; of a fixture that takes a server only now and then, too."""
    called = getattr(item, "callspec", None)
    return [value for value in called.params.values() if isinstance(value, str)] if called else []


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        servers_here.begin_run(config.rootpath / ".pytest_cache")


def pytest_unconfigure(config: pytest.Config) -> None:
    # By then its workers have ended.
    if not hasattr(config, "workerinput"):
        servers_here.end_run()
