from pathlib import Path

import pytest
from playwright.sync_api import Browser

from benchmarks.screenshots import LOOKS, pages_of, shoot
from tests.web.dashboard.serving import Dashboard

pytestmark = pytest.mark.browser


def test_there_is_a_picture_of_each_page_and_nothing_is_wrong(
    browser: Browser, own_dashboard: Dashboard, tmp_path: Path
) -> None:
    wrong = shoot(browser, own_dashboard, tmp_path, [look for look in LOOKS if look[0] == "phone"])

    assert wrong == []
    names = {file.name for file in tmp_path.glob("*.png")}
    assert names >= {f"{name}-phone.png" for name in pages_of(own_dashboard)}
    assert all((tmp_path / name).stat().st_size > 10_000 for name in names)
