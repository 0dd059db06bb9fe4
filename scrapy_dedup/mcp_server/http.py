"""The server over HTTP: streamable HTTP with a token, on the loopback unless it is told otherwise."""

import secrets
import sys
from dataclasses import dataclass
from typing import Final

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from scrapy_dedup.core.hosts import hosts_of, is_loopback
from scrapy_dedup.mcp_server.guard import Guard
from scrapy_dedup.service.listening import ListenError, listen, signals_end_it
from scrapy_dedup.settings import Settings

PATH: Final = "/mcp"
_HEADER_BYTES: Final = 16_384
_CONNECTIONS: Final = 100
_IDLE_SECONDS: Final = 15


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
    return Guard(app, token, hosts_of(address.host, address.port, settings.serve_allowed_hosts))


async def serve_http(server: MCPServer[None], settings: Settings, address: Address) -> None:
    """Listen until a signal ends it; say on standard error where, and the token if it was made for this start.

    Raises:
        ListenError: the address is taken, or beyond this machine without a token that somebody set.
    """
    if not is_loopback(address.host) and not settings.serve_token:
        raise ListenError(
            f"{address.host}: other machines could reach it; set DEDUP_SERVE_TOKEN first, or listen on 127.0.0.1"
        )
    token = settings.serve_token or secrets.token_urlsafe(32)
    with listen(address.host, address.port) as listening:
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
        with signals_end_it():
            await uvicorn.Server(config).serve(sockets=[listening])
