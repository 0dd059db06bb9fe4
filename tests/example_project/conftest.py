"""example_project is no package of ours: its modules are found by their folder, as Scrapy and `make demo` find them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "example_project"
MODULES = ("demo", "demo_site", "demo_tables", "offline_site", "example")


@pytest.fixture(autouse=True)
def example_project(monkeypatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield FOLDER
    for name in [name for name in sys.modules if name.split(".")[0] in MODULES]:
        del sys.modules[name]
