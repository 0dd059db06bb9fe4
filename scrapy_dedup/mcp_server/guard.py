"""Who may speak to the server over HTTP: whoever knows the token, and no web page that a browser shows."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from scrapy_dedup.core.hosts import Hosts

_BEARER = b"bearer "


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses requests before anything else reads them: a foreign Host 421, a foreign Origin 403, no token 401."""

    app: ASGIApp
    token: str
    hosts: Hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refused = self.refusal(scope["headers"])
        await (refused or self.app)(scope, receive, send)

    def refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> PlainTextResponse | None:
        """Return the answer to a request that is refused, None for one that is not."""
        given: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            given.setdefault(name.lower(), []).append(value)
        host = [value.decode("latin-1") for value in given.get(b"host", [])]
        if len(host) != 1 or not self.hosts.knows(host[0]):
            return PlainTextResponse("this server has another name; DEDUP_SERVE_ALLOWED_HOSTS adds one\n", 421)
        if any(not self.hosts.sends(value.decode("latin-1")) for value in given.get(b"origin", [])):
            return PlainTextResponse("web pages of other origins may not speak to this server\n", 403)
        if not self._has_token(given.get(b"authorization", [])):
            headers_of_it = {"WWW-Authenticate": "Bearer"}
            return PlainTextResponse("give the token: Authorization: Bearer ...\n", 401, headers=headers_of_it)
        return None

    def _has_token(self, values: list[bytes]) -> bool:
        if len(values) != 1 or not values[0].lower().startswith(_BEARER):
            return False
        return secrets.compare_digest(values[0][len(_BEARER) :].strip(), self.token.encode())
