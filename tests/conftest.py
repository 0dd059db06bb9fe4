"""Settings of the tests' tools."""

import pytest
from hypothesis import settings

from tests import servers_here

# Others than its own folder's tests crawl by it, too: pytest has to know of its asserts before any of them is imported.
pytest.register_assert_rewrite("tests.end_to_end.crawling")

# A busy machine is no defect; tests that are about time measure it themselves.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        servers_here.begin_run()


def pytest_unconfigure(config: pytest.Config) -> None:
    # By then its workers have ended.
    if not hasattr(config, "workerinput"):
        servers_here.end_run()
