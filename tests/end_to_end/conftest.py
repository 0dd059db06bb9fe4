from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.end_to_end.crawling import ADDON, Project
from tests.end_to_end.recrawl_site import ChangingSite
from tests.server import WebServer, serving


@pytest.fixture
def project(tmp_path) -> Project:
    """A project with the one ADDONS line."""
    return Project(tmp_path / "project", dict(ADDON))


@pytest.fixture
def make_project(tmp_path) -> Callable[..., Project]:
    """Makes further projects; settings are given by name."""

    def make(name: str, **settings: Any) -> Project:
        return Project(tmp_path / name, settings)

    return make


@pytest.fixture(scope="module")
def server(request) -> Iterator[WebServer]:
    """As many origins and the site that the module's SERVED says; else one, whose site each test publishes."""
    with serving(*getattr(request.module, "SERVED", (1, lambda _: {}))) as running:
        yield running


@pytest.fixture
def site(request, server) -> ChangingSite:
    """A site of as many pages as the module's PAGES says."""
    return ChangingSite(server, request.module.PAGES - 1)
