"""The sites are kept between runs; where they cannot be had, their tests are skipped, and fail where CI runs them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real_sites.fetching import SITES, NotFetchedError, RealSite
from tests.servers_here import is_missing

Pages = list[tuple[str, str]]


@pytest.fixture(scope="session")
def pages_of(request: pytest.FixtureRequest) -> Callable[[str], tuple[RealSite, Pages]]:
    """Gives a site by name, with its pages."""
    kept: dict[str, Pages] = {}
    by_name = {site.name: site for site in SITES}

    def read(name: str) -> tuple[RealSite, Pages]:
        site = by_name[name]
        if name not in kept:
            kept[name] = read_or_skip(site, request.config)
        return site, kept[name]

    return read


def read_or_skip(site: RealSite, config: pytest.Config) -> Pages:
    assert config.cache is not None
    folder = Path(config.cache.mkdir("real-sites"))
    try:
        return site.read(folder)
    except NotFetchedError as error:
        told = f"{site.name} is a site that is fetched, and cannot be had here: {error}"
        is_missing(told)
