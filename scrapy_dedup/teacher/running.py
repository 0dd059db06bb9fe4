"""One process of the browser: how it is started without a network, and ended."""

import asyncio
import os
import signal
from contextlib import suppress
from typing import Final

from playwright.async_api import Browser, CDPSession, Error, Playwright, async_playwright

_MOST_LAUNCH_SECONDS: Final = 30
_CLOSE_SECONDS: Final = 5
_ANSWER_SECONDS: Final = 10

# Each alone keeps a page from the network in all cases that tests know; together they do so where one is changed.
ARGUMENTS: Final = (
    # Names and addresses alike: nothing is asked of a name server, nothing connects.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-proxy-server",
    # STUN goes by UDP and past the rules for hosts.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-gpu",
    # A page that takes more of its heap ends; what it holds elsewhere is watched, see `memory`.
    "--js-flags=--max-old-space-size=512",
)

# Playwright's, for tests of one's own pages: with them a page may open windows and navigate as often as it likes.
_NOT_ARGUMENTS: Final = ("--disable-popup-blocking", "--disable-ipc-flooding-protection")


class Running:
    """A browser that was started."""

    def __init__(self, playwright: Playwright, browser: Browser, session: CDPSession, process: int) -> None:
        self.browser = browser
        self.session = session
        """With the browser, not with a page."""
        self.process = process
        """Its process id; 0 where it is not known."""
        self.version = f"Chromium {browser.version}"
        self.is_doubted = False
        """A page did not end when it was told to."""
        self._playwright = playwright

    async def answers(self) -> bool:
        """Return whether it can show one more page; asked, for that it has ended is told late."""
        if self.is_doubted or not self.browser.is_connected():
            return False
        try:
            await asyncio.wait_for(self.session.send("Browser.getVersion"), _ANSWER_SECONDS)
        except (TimeoutError, Error):
            return False
        return True

    async def close(self) -> None:
        """End it, by force where it does not end by itself."""
        with suppress(Exception):
            await asyncio.wait_for(self.browser.close(), _CLOSE_SECONDS)
        if self.browser.is_connected():
            self._kill()
        with suppress(Exception):
            await asyncio.wait_for(self._playwright.stop(), _CLOSE_SECONDS)

    def _kill(self) -> None:
        # Playwright gives the browser a process group of its own.
        if self.process and hasattr(os, "killpg"):
            with suppress(OSError):
                os.killpg(self.process, signal.SIGKILL)


async def start(path: str, seconds: float) -> Running:
    """Return a browser that was started within the time, but never more than half a minute.

    Raises:
        Exception: of whatever kind Playwright has for it.
    """
    playwright = await asyncio.wait_for(async_playwright().start(), _MOST_LAUNCH_SECONDS)
    try:
        browser = await playwright.chromium.launch(
            executable_path=path,
            args=list(ARGUMENTS),
            ignore_default_args=list(_NOT_ARGUMENTS),
            # Chromium has none for root. What it shows is hostile: everyone else has it.
            chromium_sandbox=not (hasattr(os, "geteuid") and os.geteuid() == 0),
            # Ctrl-C is for the crawl, which ends the browser when it has ended.
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=min(seconds, _MOST_LAUNCH_SECONDS) * 1000,
        )
        session = await browser.new_browser_cdp_session()
        return Running(playwright, browser, session, await _process(session))
    except BaseException:
        with suppress(Exception):
            await asyncio.wait_for(playwright.stop(), _CLOSE_SECONDS)
        raise


async def _process(session: CDPSession) -> int:
    answer = await session.send("SystemInfo.getProcessInfo")
    return next((int(entry["id"]) for entry in answer["processInfo"] if entry["type"] == "browser"), 0)
