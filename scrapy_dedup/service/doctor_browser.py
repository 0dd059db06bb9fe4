"""Whether the teacher's browser is there, and starts."""

import time
from typing import Final

from scrapy_dedup.service.doctor import Check, State
from scrapy_dedup.settings import Settings
from scrapy_dedup.teacher.finding import Missing, find_browser
from scrapy_dedup.teacher.values import NotShown

_PAGE: Final = "<!doctype html><title>Here</title><p>Here I am."
_SIZE: Final = (320, 200)
# To start, on a machine that is busy.
_PATIENCE_SECONDS: Final = 60


def check_browser(settings: Settings) -> Check:
    """Say where the browser is, and start it once as the teacher does."""
    asked = settings.teacher != "off"
    found = find_browser(settings.teacher_browser)
    if isinstance(found, Missing):
        # A path that was named is asked for, whether or not anybody uses it yet.
        is_wrong = bool(settings.teacher_browser)
        state = State.WRONG if is_wrong else State.MISSING if asked else State.OPTIONAL
        return Check("browser", state, found.reason, found.command)
    return _started(settings, f"{found.path} ({found.origin})", asked=asked)


def _started(settings: Settings, where: str, *, asked: bool) -> Check:
    from scrapy_dedup.teacher.browser import Browser  # noqa: PLC0415 (needs the extra)

    began = time.monotonic()
    browser = Browser(settings.teacher_browser)
    try:
        drawn = browser.draw(_PAGE, *_SIZE).result(timeout=_PATIENCE_SECONDS)
        version = browser.version
    finally:
        browser.close()
    seconds = time.monotonic() - began
    if isinstance(drawn, NotShown):
        state = State.WRONG if asked else State.OPTIONAL
        return Check("browser", state, f"{where} does not start: {drawn.detail}", _REINSTALL)
    return Check("browser", State.OK, f"{version}, {where}, started and drew a page in {seconds:.1f} s")


_REINSTALL: Final = "playwright install --with-deps chromium"
