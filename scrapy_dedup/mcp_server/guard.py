"""Who may speak to the server over HTTP: whoever knows the token, and no web page that a browser shows."""

import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_BEARER = b"bearer "


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str, port: int, names: Iterable[str]) -> frozenset[str]:
    """Return what a Host header may say: names of the loopback and the bound address, and those that were configured.

    A configured name with a port counts with that port alone; one without counts with ours and without any, as it
    comes through a proxy.
    """
    bound = f"[{host}]" if ":" in host else host
    ours = {f"{name}:{port}" for name in (*LOOPBACK, bound)}
    for name in names:
        ours |= {name.lower()} if _has_port(name) else {name.lower(), f"{name.lower()}:{port}"}
    return frozenset(ours)


def _has_port(name: str) -> bool:
    return name.rpartition("]")[2].count(":") == 1


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses requests before anything else reads them: a foreign Host 421, a foreign Origin 403, no token 401."""

    app: ASGIApp
    token: str
    hosts: Collection[str]

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
        host = [value.decode("latin-1").lower() for value in given.get(b"host", [])]
        if len(host) != 1 or host[0] not in self.hosts:
            return PlainTextResponse("this server has another name; DEDUP_SERVE_ALLOWED_HOSTS adds one\n", 421)
        if any(not self._is_ours(value.decode("latin-1")) for value in given.get(b"origin", [])):
            return PlainTextResponse("web pages of other origins may not speak to this server\n", 403)
        if not self._has_token(given.get(b"authorization", [])):
            headers_of_it = {"WWW-Authenticate": "Bearer"}
            return PlainTextResponse("give the token: Authorization: Bearer ...\n", 401, headers=headers_of_it)
        return None

    def _is_ours(self, origin: str) -> bool:
        try:
            parts = urlsplit(origin.lower())
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc in self.hosts

    def _has_token(self, values: list[bytes]) -> bool:
        if len(values) != 1 or not values[0].lower().startswith(_BEARER):
            return False
        return secrets.compare_digest(values[0][len(_BEARER) :].strip(), self.token.encode())
