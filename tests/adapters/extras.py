"""Libraries that are extras of the package: their tests are skipped where one is missing, and fail in CI."""

import importlib
import os

import pytest


def needs(library: str, extra: str) -> None:
    """Skip the module that calls it where the library is not installed."""
    try:
        importlib.import_module(library)
    except ModuleNotFoundError:
        message = f"{library} is not installed: pip install 'scrapy-dedup[{extra}]'"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message, allow_module_level=True)
