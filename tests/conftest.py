"""Settings of the tests' tools."""

import pytest
from hypothesis import settings

# Others than its own folder's tests crawl by it, too: pytest has to know of its asserts before any of them is imported.
pytest.register_assert_rewrite("tests.end_to_end.crawling")

# A busy machine is no defect; tests that are about time measure it themselves.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
