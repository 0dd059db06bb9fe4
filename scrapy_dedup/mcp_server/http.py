"""The server over HTTP: streamable HTTP with a token, on the loopback unless it is told otherwise."""

import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from scrapy_dedup.core.errors import DedupError
from scrapy_dedup.mcp_server.guard import Guard, allowed_hosts, is_loopback
from scrapy_dedup.settings import Settings

PATH: Final = "/mcp"
_HEADER_BYTES: Final = 16_384
_CONNECTIONS: Final = 100
_IDLE_SECONDS: Final = 15


class ListeningError(DedupError):
    """The server cannot, or must not, listen there."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 is one that is free."""

    host: str
    port: int


def guarded(server: MCPServer[None], settings: Settings, address: Address, token: str) -> Guard:
    """Return the application: the server behind its guard."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=settings.serve_max_body_bytes,
        # The guard in front does this, for every path.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Guard(app, token, allowed_hosts(address.host, address.port, settings.serve_allowed_hosts))


async def serve_http(server: MCPServer[None], settings: Settings, address: Address) -> None:
    """Listen until a signal ends it; say on standard error where, and the token if it was made for this start.

    Raises:
        ListeningError: the address is taken, or beyond this machine without a token that somebody set.
    """
    if not is_loopback(address.host) and not settings.serve_token:
        raise ListeningError(
            f"{address.host}: other machines could reach it; set DEDUP_SERVE_TOKEN first, or listen on 127.0.0.1"
        )
    token = settings.serve_token or secrets.token_urlsafe(32)
    with _listening(address) as listening:
        bound = Address(address.host, listening.getsockname()[1])
        shown = f"[{bound.host}]" if ":" in bound.host else bound.host
        made = "" if settings.serve_token else f"\nToken of this start: {token}"
        sys.stderr.write(f"MCP server: http://{shown}:{bound.port}{PATH}{made}\n")
        sys.stderr.flush()
        config = uvicorn.Config(
            guarded(server, settings, bound, token),
            http="h11",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=2,
        )
        with _signals_end_it():
            await uvicorn.Server(config).serve(sockets=[listening])


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """Let a signal end the server and nothing else: uvicorn raises it again at its end."""

    def nothing(_number: int, _frame: Any) -> None:
        pass

    former = {number: signal.signal(number, nothing) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _listening(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise ListeningError(
            f"{address.host}:{address.port}: cannot listen there ({error.strerror or error}); choose another --port"
        ) from error
