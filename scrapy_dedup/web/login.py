"""The page that asks for the token, where it leads, and which browsers have shown it: gone when the server ends."""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from msgspec import Struct
from starlette.responses import HTMLResponse, RedirectResponse, Response

from scrapy_dedup.report.drawing import draw

PATH: Final = "/login"
LOGOUT_PATH: Final = "/logout"
_LONGEST: Final = 2_000
_FIELDS: Final = 20
SECONDS: Final = 12 * 60 * 60
_MOST: Final = 100
_IN_A_PATH: Final = "/~!$&'()*+,;=:@-._%"


class Session(Struct, frozen=True):
    """One browser that has shown the token.

    Attributes:
        csrf_token: what its forms have to hold.
        until: of the server's clock.
    """

    id: str
    csrf_token: str
    until: float


class Sessions:
    """The sessions there are; the oldest goes where there are too many. For one event loop."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def begin(self) -> Session:
        """Return a new session."""
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._clock() + SECONDS)
        self._sessions[session.id] = session
        if len(self._sessions) > _MOST:
            self._sessions.popitem(last=False)
        return session

    def get(self, session_id: str) -> Session | None:
        """Return a session that has not ended; None for any other text."""
        # A dict compares hashes first: how long that takes tells nothing of an id of 256 random bits.
        found = self._sessions.get(session_id)
        if found is not None and found.until <= self._clock():
            self.end(session_id)
            return None
        return found

    def end(self, session_id: str) -> None:
        """Forget a session."""
        self._sessions.pop(session_id, None)


def page(path: str, query: str, *, wrong: bool = False, status: int = 401) -> Response:
    """Return the page that asks for the token and leads on to a path of this server."""
    wanted = own_path(f"{quote(path, _IN_A_PATH, errors='replace')}{'?' if query else ''}{query}")
    html = draw("login.html", path=PATH, wanted=wanted, wrong=wrong)
    return HTMLResponse(html, status, {"Cache-Control": "no-store"})


def form_of(body: bytes) -> tuple[str, str]:
    """Return the token and the path that were sent by the page."""
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=_FIELDS)
    except ValueError:
        return "", "/"
    return fields.get("token", [""])[0].strip(), fields.get("next", ["/"])[0]


def logged_in(session: Session, cookie: str, wanted: str) -> Response:
    """Return the way to the wanted page, with the session's cookie."""
    response = _onward(own_path(wanted))
    response.set_cookie(cookie, session.id, max_age=SECONDS, path="/", httponly=True, samesite="strict")
    return response


def logged_out(cookie: str) -> Response:
    """Return the way to the page that asks for the token; the browser forgets the cookie."""
    response = _onward(PATH)
    response.delete_cookie(cookie, path="/", httponly=True, samesite="strict")
    return response


def _onward(path: str) -> Response:
    # The address that leads here may hold the token: no page gets to know it.
    return RedirectResponse(path, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})


def own_path(wanted: str) -> str:
    """Return a path of this server; `/` where the text could lead anywhere else, or back to the login."""
    if not wanted.startswith("/") or wanted.startswith(("//", "/\\")) or len(wanted) > _LONGEST:
        return "/"
    if not (wanted.isascii() and wanted.isprintable()) or "\\" in wanted:
        return "/"
    return "/" if urlsplit(wanted).path in (PATH, LOGOUT_PATH) else wanted


def login_path(token: str) -> str:
    """Return the path and query of the address that is printed."""
    return f"{PATH}?{urlencode({'token': token})}"
