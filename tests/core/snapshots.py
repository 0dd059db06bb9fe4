"""Pages whose looks were recorded: `tests/data/snapshots/NAME.html`, and what look.js said of each in Chromium."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy_dedup.core.pages.blocks import Page
from scrapy_dedup.core.teacher import NumberedPage, Snapshot, numbered
from tests.core.builders import parsed

FOLDER = Path(__file__).parents[1] / "data" / "snapshots"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A page, and how it looked in a window of 1366 by 900 pixels."""

    html: str
    page: Page
    numbered: NumberedPage
    answer: dict[str, Any]
    snapshot: Snapshot


def recorded(name: str) -> Recorded:
    html = (FOLDER / f"{name}.html").read_text()
    answer = json.loads((FOLDER / f"{name}.json").read_text())
    page = parsed(html)
    shown = numbered(html, page)
    assert shown is not None
    return Recorded(html, page, shown, answer, Snapshot.from_json(answer))
