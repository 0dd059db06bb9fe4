"""The gate in front of everything that the server answers: who asks, by which name, from where, how often, how much."""

import asyncio
import logging
import math
import secrets
import time
from collections.abc import Callable
from enum import Enum
from typing import Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from msgspec import Struct
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrapy_dedup.core.addresses import Hosts
from scrapy_dedup.core.urls.seen import Latest
from scrapy_dedup.report.drawing import draw
from scrapy_dedup.web.problems import Problem, refused

LOGIN_PATH: Final = "/login"
LOGOUT_PATH: Final = "/logout"
_LONGEST_PATH: Final = 2_000
_LOGIN_FIELDS: Final = 20
SESSION_SECONDS: Final = 12 * 60 * 60
_MOST_SESSIONS: Final = 100
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
        self._sessions: Latest[str, Session] = Latest(_MOST_SESSIONS)

    def begin(self) -> Session:
        """Return a new session."""
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._clock() + SESSION_SECONDS)
        self._sessions[session.id] = session
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


def login_page(path: str, query: str, *, wrong: bool = False, status: int = 401) -> Response:
    """Return the page that asks for the token and leads on to a path of this server."""
    wanted = own_path(f"{quote(path, _IN_A_PATH, errors='replace')}{'?' if query else ''}{query}")
    html = draw("login.html", path=LOGIN_PATH, wanted=wanted, wrong=wrong)
    return HTMLResponse(html, status, {"Cache-Control": "no-store"})


def fields_of(body: bytes, most: int) -> dict[str, list[str]]:
    """Return the fields of a form, each with all of its values; none where it is no form, or has more than so many."""
    try:
        return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=most)
    except ValueError:
        return {}


def login_form(body: bytes) -> tuple[str, str]:
    """Return the token and the path that were sent by the page."""
    fields = fields_of(body, _LOGIN_FIELDS)
    return fields.get("token", [""])[0].strip(), fields.get("next", ["/"])[0]


def logged_in(session: Session, cookie: str, wanted: str) -> Response:
    """Return the way to the wanted page, with the session's cookie."""
    response = _onward(own_path(wanted))
    response.set_cookie(cookie, session.id, max_age=SESSION_SECONDS, path="/", httponly=True, samesite="strict")
    return response


def logged_out(cookie: str) -> Response:
    """Return the way to the page that asks for the token; the browser forgets the cookie."""
    response = _onward(LOGIN_PATH)
    response.delete_cookie(cookie, path="/", httponly=True, samesite="strict")
    return response


def _onward(path: str) -> Response:
    # The address that leads here may hold the token: no page gets to know it.
    return RedirectResponse(path, 303, {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"})


def own_path(wanted: str) -> str:
    """Return a path of this server; `/` where the text could lead anywhere else, or back to the login."""
    if not wanted.startswith("/") or wanted.startswith(("//", "/\\")) or len(wanted) > _LONGEST_PATH:
        return "/"
    if not (wanted.isascii() and wanted.isprintable()) or "\\" in wanted:
        return "/"
    return "/" if urlsplit(wanted).path in (LOGIN_PATH, LOGOUT_PATH) else wanted


def login_path(token: str) -> str:
    """Return the path and query of the address that is printed."""
    return f"{LOGIN_PATH}?{urlencode({'token': token})}"


_CLIENTS_REMEMBERED: Final = 4_096
# uvicorn has no limit of its own for a body that never ends.
BODY_SECONDS: Final = 30.0

logger = logging.getLogger(__name__)

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
PUBLIC: Final = frozenset({"/static/dashboard.css"})
"""What is given without a token, besides the page that asks for it: its style."""
CSRF_HEADER: Final = "X-CSRF-Token"
CSRF_FIELD: Final = "csrf_token"
_LOGIN_BYTES: Final = 10_000
_FORM_FIELDS: Final = 2_000
# Twenty wrong tokens use up a minute's requests.
_WRONG_TOKEN: Final = 0.05

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: with it browsers send `Origin: null` with the forms of our own pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class _Bucket(Struct):
    tokens: float
    filled_at: float


class Rate:
    """Buckets of tokens, one a client, each filled evenly and holding a minute's worth."""

    def __init__(self, requests_a_minute: int, clock: Callable[[], float]) -> None:
        self._most, self._a_second, self._clock = float(requests_a_minute), requests_a_minute / 60, clock
        # Whoever came longest ago has a full bucket by now, or there is an attack from thousands of addresses.
        self._buckets: Latest[str, _Bucket] = Latest(_CLIENTS_REMEMBERED)

    def take(self, client: str, cost: float = 1.0) -> int:
        """Take tokens from a client's bucket; return 0, or the seconds to wait where it is empty."""
        bucket = self._filled(client)
        if bucket.tokens < 1:
            return max(1, math.ceil((1 - bucket.tokens) / self._a_second))
        bucket.tokens -= cost
        return 0

    def punish(self, client: str, share: float) -> None:
        """Take a share of a full bucket for a wrong token; the bucket may owe some afterwards."""
        bucket = self._filled(client)
        bucket.tokens = max(bucket.tokens - share * self._most, -self._most)

    def _filled(self, client: str) -> _Bucket:
        now = self._clock()
        if not self._buckets.meet(client):
            self._buckets[client] = _Bucket(self._most, now)
        bucket = self._buckets[client]
        bucket.tokens = min(self._most, bucket.tokens + (now - bucket.filled_at) * self._a_second)
        bucket.filled_at = now
        return bucket


class UnreadBody(Enum):
    """Why a body was not read."""

    TOO_LARGE = 413
    TOO_SLOW = 408
    GONE = 400


async def read_body(receive: Receive, declared: str | None, most: int) -> bytes | UnreadBody:
    """Return a request's body; what is longer than it may be is not read on.

    *declared* is its Content-Length.
    """
    if declared is not None and (not declared.isdecimal() or len(declared) > 18 or int(declared) > most):
        return UnreadBody.TOO_LARGE
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return UnreadBody.GONE
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > most:
                    return UnreadBody.TOO_LARGE
                parts.append(part)
                if not message.get("more_body"):
                    return b"".join(parts)
    except TimeoutError:
        return UnreadBody.TOO_SLOW


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, and then what else comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class Access(Struct, frozen=True):
    """Who may ask for what.

    Attributes:
        token: that clients show.
        hosts: by which names the server is called.
        cookie: name of the cookie; those of two servers on one machine differ, since cookies know no ports.
    """

    token: str
    hosts: Hosts
    cookie: str = "dedup_session"
    requests_a_minute: int = 1_200
    max_body_bytes: int = 1_000_000

    def is_token(self, given: str) -> bool:
        """Say whether somebody shows the token."""
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


class AccessGate:
    """ASGI middleware: lets through what is allowed, with what it found in `request.state`, and refuses the rest."""

    def __init__(self, app: ASGIApp, access: Access, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._access = app, access
        self._rate = Rate(access.requests_a_minute, clock)
        self._sessions = Sessions(clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = _Answer(scope, send)
        try:
            await self._answer(Request(scope, receive), answer)
        except ClientDisconnect:
            pass
        except Exception:
            logger.exception("%s", answer.line())
            if not answer.status:
                problem = Problem(500, "an internal error; the server's log tells")
                await refused(scope["path"], problem)(scope, receive, answer.send)
        logger.info("%s %s", answer.line(), answer.status)

    async def _answer(self, request: Request, answer: "_Answer") -> None:
        scope = request.scope
        session = self._session(request)
        response, form = _refused_at_sight(request, self._access.hosts), None
        if response is None and request.url.path == LOGIN_PATH and request.method == "POST":
            form = await read_body(request.receive, request.headers.get("content-length"), _LOGIN_BYTES)
        response = response or self._refused_too_often(request, session, form)
        receive = request.receive
        if response is None and request.url.path == LOGIN_PATH:
            response = self._login(request, form)
        elif response is None:
            if session is None and not self._has_token(request) and scope["path"] not in PUBLIC:
                response = self._unknown(request)
            else:
                body = await read_body(receive, request.headers.get("content-length"), self._access.max_body_bytes)
                if isinstance(body, UnreadBody):
                    response = _refuse_body(request, body)
                else:
                    receive = replayed(body, receive)
                    response = self._judge_session(request, session, body)
        # RFC 9110, section 9.3.2: HEAD is answered as GET is; the HTTP server leaves the body out.
        asked = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        await (response or self._app)(asked, receive, answer.send)

    def _refused_too_often(
        self, request: Request, session: Session | None, form: bytes | UnreadBody | None
    ) -> Response | None:
        wait_seconds = self._rate.take(session.id if session else self._asker(request, form))
        if not wait_seconds:
            return None
        told = f'too many requests: wait {wait_seconds} seconds (DEDUP_SERVE["rate"])'
        return refused(request.url.path, Problem(429, told, {"Retry-After": str(wait_seconds)}))

    def _session(self, request: Request) -> Session | None:
        cookie = request.cookies.get(self._access.cookie)
        return self._sessions.get(cookie) if cookie else None

    def _asker(self, request: Request, form: bytes | UnreadBody | None) -> str:
        """Return whose bucket it is: who guesses tokens must not keep out who has it, at the same address."""
        given = _bearer(request)
        if given is None and isinstance(form, bytes):
            given = login_form(form)[0]
        elif given is None and request.url.path == LOGIN_PATH:
            given = request.query_params.get("token")
        address = _client(request)
        return f"token {address}" if given is not None and self._access.is_token(given) else address

    def _has_token(self, request: Request) -> bool:
        given = _bearer(request)
        return given is not None and self._judge_token(request, given)

    def _judge_token(self, request: Request, given: str) -> bool:
        if self._access.is_token(given):
            return True
        self._rate.punish(_client(request), _WRONG_TOKEN)
        return False

    def _unknown(self, request: Request) -> Response:
        if request.url.path.startswith("/api/"):
            told = "this needs the token that `scrapy dedup serve` printed: Authorization: Bearer TOKEN"
            return refused(request.url.path, Problem(401, told, {"WWW-Authenticate": 'Bearer realm="scrapy-dedup"'}))
        wanted = request.url.path if request.method in SAFE else "/"
        return login_page(wanted, request.url.query if request.method in SAFE else "")

    def _judge_session(self, request: Request, session: Session | None, body: bytes) -> Response | None:
        """Refuse what a session's browser may have been made to send; note the session for the handlers."""
        request.scope.setdefault("state", {})["csrf_token"] = session.csrf_token if session else ""
        if session is None or request.method in SAFE or self._has_bearer(request):
            return None
        given = request.headers.get(CSRF_HEADER) or fields_of(body, _FORM_FIELDS).get(CSRF_FIELD, [""])[0]
        if not secrets.compare_digest(given.encode("utf-8", "replace"), session.csrf_token.encode()):
            told = f"the form has expired: load its page again (programs send the token, or {CSRF_HEADER})"
            return refused(request.url.path, Problem(403, told))
        if request.url.path == LOGOUT_PATH:
            self._sessions.end(session.id)
            return logged_out(self._access.cookie)
        return None

    def _has_bearer(self, request: Request) -> bool:
        return "authorization" in request.headers and self._has_token(request)

    def _login(self, request: Request, form: bytes | UnreadBody | None) -> Response:
        """Begin a session for whoever shows the token, in the URL that was printed or in the form."""
        if isinstance(form, UnreadBody):
            return _refuse_body(request, form)
        if form is not None:
            given, wanted = login_form(form)
        elif request.method in SAFE:
            given, wanted = request.query_params.get("token", ""), request.query_params.get("next", "/")
        else:
            return refused(request.url.path, Problem(405, "the token is shown by GET or POST", {"Allow": "GET, POST"}))
        if not given:
            return login_page(wanted, "", status=200 if request.method in SAFE else 401)
        if not self._judge_token(request, given):
            return login_page(wanted, "", wrong=True)
        return logged_in(self._sessions.begin(), self._access.cookie, wanted)


class _Answer:
    """Sends a response with the headers that all of them have, and remembers its status."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            # A page may be stricter with itself, and say who may frame it.
            if "content-security-policy" not in headers:
                headers["Content-Security-Policy"] = POLICY
                headers["X-Frame-Options"] = "DENY"
            headers.setdefault("Cache-Control", "no-store")
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    def line(self) -> str:
        """Return method and path for the log; never what follows the path: it may be a token."""
        return f"{self._scope['method']} {quote(self._scope['path'], errors='replace')[:500]}"


def _bearer(request: Request) -> str | None:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else None


def _client(request: Request) -> str:
    return request.client.host if request.client else ""


def _refused_at_sight(request: Request, hosts: Hosts) -> Response | None:
    """Refuse what a foreign page sends, or sends by a foreign name."""
    path, headers = request.url.path, request.headers
    named = headers.getlist("host")
    if len(named) != 1 or not hosts.knows(named[0]):
        told = 'the server is not called by this name; DEDUP_SERVE["allowed_hosts"] allows more'
        return refused(path, Problem(421, told))
    # Before the rate: a page that a browser shows has the address of the one who may ask.
    if any(not hosts.sends(origin) for origin in headers.getlist("origin")) or _is_sent_by_another_site(request):
        return refused(path, Problem(403, "this comes from a page of another origin"))
    return None


def _is_sent_by_another_site(request: Request) -> bool:
    """Whether a page of another site has a browser send this; a link to follow it may have."""
    headers = request.headers
    if headers.get("sec-fetch-site") in (None, "same-origin", "none"):
        return False
    is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return request.method not in SAFE or not is_link


def _refuse_body(request: Request, why: UnreadBody) -> Response:
    told = {
        UnreadBody.TOO_LARGE: 'the body of the request is too large (DEDUP_SERVE["max_body_bytes"])',
        UnreadBody.TOO_SLOW: "the request's body came too slowly",
        UnreadBody.GONE: "the request's body ended early",
    }
    # Bytes that were not read would be taken for the next request.
    return refused(request.url.path, Problem(why.value, told[why], {"Connection": "close"}))
