"""Settings of the teacher: a browser that looks at some pages of a layout, so that its other pages need none."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from scrapy_dedup.settings.keeping import KeepingSettings
from scrapy_dedup.settings.parsers import SWITCH, boolean, choice, integer, seconds, setting, text, words


@dataclass(frozen=True, slots=True)
class TeachingSettings(KeepingSettings):
    """Of the teacher, extra `[teacher]`."""

    teacher: Literal["off", "unsure", "new"] = setting(
        "off",
        choice("off", "unsure", "new"),
        "When a browser looks at pages: `unsure`: of layouts that have DEDUP_LEARN_AFTER pages and whose template is"
        " missing, unsure or drifting; `new`: of all layouts that no browser has seen. Needs"
        " `pip install 'scrapy_dedup[teacher]'` and a Chromium: `scrapy dedup doctor`.",
        allowed="off, unsure or new",
    )
    teacher_browser: str = setting(
        "", text, "Path of the Chromium to use; empty: Playwright's own, or the first on PATH."
    )
    teacher_pages: int = setting(
        200, integer(1, 100_000), "Pages that a browser looks at in one crawl.", allowed="1 to 100000 pages"
    )
    teacher_domain_pages: int = setting(9, integer(1, 10_000), "The same, of one domain.", allowed="1 to 10000 pages")
    teacher_layout_pages: int = setting(2, integer(1, 3), "The same, of one layout.", allowed="1 to 3 pages")
    teacher_timeout: timedelta = setting(
        timedelta(seconds=30),
        seconds(1, 600),
        "Seconds that a page may take in the browser, with all that it needs.",
        allowed="1 to 600 seconds",
    )
    teacher_hosts: frozenset[str] = setting(
        frozenset(),
        words,
        "Hosts (`host` or `host:port`) with private addresses from which pages may get style sheets; the host of the"
        " page itself always may.",
        allowed="a list of hosts",
    )
    render_enabled: bool = setting(
        True,
        boolean,
        "Pages of layouts whose text is made by scripts, and only these, are rendered by the teacher's browser before"
        " the spider gets them.",
        allowed=SWITCH,
    )
