from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with the one ADDONS line."""
    return Project(tmp_path / "project", dict(ADDON))


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Project]:
    """Makes further projects; settings are given by name."""

    def make(name: str, **settings: Any) -> Project:
        return Project(tmp_path / name, settings)

    return make
