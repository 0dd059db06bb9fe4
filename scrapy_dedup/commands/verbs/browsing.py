"""What verbs share that show pages in the browser."""

from collections.abc import Iterator
from contextlib import contextmanager

from scrapy_dedup.commands.call import CommandError
from scrapy_dedup.commands.terminal import errors, one_line
from scrapy_dedup.settings import Settings
from scrapy_dedup.teacher.browser import Browser
from scrapy_dedup.teacher.finding import Missing, find_browser


@contextmanager
def browser_of(settings: Settings) -> Iterator[Browser]:
    """Give the teacher's browser, and end it.

    Raises:
        CommandError: there is none; the message says what to install.
    """
    found = find_browser(settings.teacher_browser)
    if isinstance(found, Missing):
        raise CommandError(f"{found.reason}: {found.command} (`scrapy dedup doctor` checks all parts)")
    with Browser(settings.teacher_browser, timeout=settings.teacher_timeout) as browser:
        yield browser


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something goes on."""
    console = errors()
    if not console.is_terminal:
        yield
        return
    with console.status(one_line(what, 100)):
        yield
