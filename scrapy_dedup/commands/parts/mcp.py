"""`scrapy dedup serve --mcp`: answer the questions of language models about the store, by the Model Context Protocol.

Over standard input and output, for a client that starts this command; with --http over streamable HTTP, with a token.
There is no JSON but the protocol's own: --json changes nothing.
"""

import argparse
from typing import TYPE_CHECKING

from scrapy_dedup.commands.call import DONE, Call, CommandError
from scrapy_dedup.commands.verbs.serve import check_token

if TYPE_CHECKING:
    from scrapy_dedup.mcp_server import Desk


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add how it speaks, and where."""
    add = parser.add_argument
    add("--http", action="store_true", help="listen for HTTP in place of standard input")
    add("--host", metavar="HOST", help='with --http: address to listen on, as DEDUP_SERVE["host"]')
    add("--port", metavar="PORT", type=int, help='with --http: its port, as DEDUP_SERVE["mcp_port"]; 0: a free one')


def run(call: Call) -> int:
    """Serve until standard input ends, or a signal comes. A store that does not exist yet is made, and is empty."""
    try:
        import mcp  # noqa: F401, PLC0415 (an extra: only this verb needs it)
    except ImportError as error:
        raise CommandError("serve --mcp needs the MCP SDK: run pip install 'scrapy_dedup[mcp]'") from error
    from scrapy_dedup.mcp_server import Desk  # noqa: PLC0415 (as above)

    host = call.options.host or call.settings.serve_host
    if call.options.http:
        check_token(host, call.settings.serve_token)
    with call.served() as store:
        _serve(call, Desk(store, call.settings, call.project), host)
    return DONE


def _serve(call: Call, desk: "Desk", host: str) -> None:
    import anyio  # noqa: PLC0415 (as above)

    from scrapy_dedup.mcp_server import make_server, serve_http  # noqa: PLC0415 (as above)

    settings, options = call.settings, call.options
    server = make_server(desk, with_blacklist=settings.mcp_blacklist)
    if not options.http:
        # On standard output until standard input ends; what else is printed meanwhile goes to standard error.
        anyio.run(server.run_stdio_async)
        return
    port = settings.mcp_port if options.port is None else options.port
    anyio.run(serve_http, server, settings, host, port)
