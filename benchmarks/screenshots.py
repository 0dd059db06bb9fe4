"""Pictures of the dashboard's pages: light, dark, and on a phone.

python -m benchmarks.screenshots [FOLDER]: crawls the two example sites into a store of its own, serves it, and writes
one PNG a page, theme and width. They are to be looked at; nothing is measured. Needs Chromium and the extra [server].
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, Page

from scrapy_dedup.service.templates.layout_figures import name_of
from scrapy_dedup.store.records.stored import ChangeChoice
from tests.browser import Scheme, chromium
from tests.web.dashboard.filled import HARBOUR, fill
from tests.web.dashboard.serving import Dashboard, seen, served

FOLDER: Final = Path("screenshots")
# Two editions in turn make a trend of new, changed and unchanged pages.
EDITIONS: Final = (1, 2, 1, 2, 2, 1)
Look = tuple[str, int, Scheme]
LOOKS: Final[tuple[Look, ...]] = (
    ("light", 1280, "light"),
    ("dark", 1280, "dark"),
    ("phone", 390, "light"),
    ("phone-dark", 390, "dark"),
)
UNDER_WAY: Final = {"scheduler/enqueued": 412, "scheduler/dequeued": 187, "item_scraped_count": 164}


def pages_of(dashboard: Dashboard) -> Mapping[str, str]:
    """Return the path of each page by the name of its picture."""
    project = dashboard.project
    runs = project.runs(len(EDITIONS) + 1)
    changed = next((each.run.id for each in runs if each.verdicts.get("changed")), runs[0].run.id)
    page = next(_changed_pages(dashboard), "")
    paths = {
        "overview": dashboard.path(),
        "domains": dashboard.path("domains"),
        "domain": dashboard.path("domains", HARBOUR),
        "config": dashboard.path("domains", HARBOUR, "config"),
        "page": f"{dashboard.path('page')}?key={page}",
        "runs": dashboard.path("runs"),
        "run": dashboard.path("runs", str(changed)) + "?verdict=changed",
        "templates": dashboard.path("templates"),
        "hostile": dashboard.path(project=dashboard.hostile),
        "hostile-domains": dashboard.path("domains", project=dashboard.hostile),
        "empty": dashboard.path(project=dashboard.store.project("empty")),
    }
    template = next((each for each in project.templates(HARBOUR) if each.layout), None)
    if template is not None:
        paths["template"] = dashboard.path("templates", HARBOUR, name_of(template.layout))
    return paths


def _changed_pages(dashboard: Dashboard) -> Iterator[str]:
    for run in dashboard.project.runs(20):
        if run.verdicts.get("changed"):
            changes = dashboard.project.changes(ChangeChoice(run.run.started_at, "changed"))
            yield from (each.page_key.hex() for each in changes)


def shoot(browser: Browser, dashboard: Dashboard, folder: Path, looks: Sequence[Look] = LOOKS) -> list[str]:
    """Write the pictures; return what browsers complained of and what does not fit."""
    wrong = []
    running = dashboard.project.begin_run(spider="walker", jobdir=None, started_at=datetime.now(UTC))
    for look, width, scheme in looks:
        dashboard.project.report_run(running.id, UNDER_WAY, datetime.now(UTC))
        with seen(browser, dashboard, width=width, scheme=scheme) as shown:
            for name, path in pages_of(dashboard).items():
                shown.go(path)
                shown.page.screenshot(path=folder / f"{name}-{look}.png", full_page=True)
                if name == "domains":
                    _choose_some(shown.page, folder, look)
                if shown.overhang > 0:
                    wrong.append(f"{name}-{look}: {shown.overhang} pixels too wide")
            wrong += [f"{look}: {told}" for told in (*shown.complaints, *shown.failed)]
    return wrong


def _choose_some(page: Page, folder: Path, look: str) -> None:
    for name in ("anchor1.example", "buoy.example", "ferry2.example"):
        page.check(f'input[value="{name}"]')
    page.screenshot(path=folder / f"domains-chosen-{look}.png")
    page.get_by_role("button", name="Blacklist…", exact=True).click()
    page.screenshot(path=folder / f"domains-confirm-{look}.png", full_page=True)


def main() -> int:
    """Write the pictures, and say what is wrong with a page."""
    parser = argparse.ArgumentParser(description="Pictures of the dashboard's pages.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        filled = fill(Path(place, "store"), EDITIONS)
        with served(filled) as dashboard, chromium() as browser:
            wrong = shoot(browser, dashboard, folder)
    sys.stdout.write(f"{len(list(folder.glob('*.png')))} pictures in {folder}\n")
    sys.stdout.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
