"""`scrapy dedup serve`: the dashboard and the REST interface of the store, on this machine, behind a token.

Prints the address to open, with a token that is new at each start, or without it where DEDUP_SERVE["token"] names one.
The REST interface is below /api/v1/ at the same address; see docs/rest.md. SIGINT (Ctrl+C) and SIGTERM end it.

JSON, one object before it serves: `project`; `url`, to be opened in a browser; `api`, where REST begins; `token` (null
where DEDUP_SERVE["token"] names it).
"""

import argparse
import logging
import secrets
import socket
import sys
import webbrowser
from collections.abc import Mapping
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from scrapy_dedup.commands.call import DONE, Call, CommandError, WrongCallError, print_json
from scrapy_dedup.commands.terminal import output, shown
from scrapy_dedup.core.addresses import hosts_of, is_loopback
from scrapy_dedup.service.jobs import listen
from scrapy_dedup.settings import public_name

if TYPE_CHECKING:
    from scrapy_dedup.web.security import Access

_OWN_SETTINGS: Final = "DEDUP_SERVE"
_TOKEN_SETTING: Final = public_name("serve_token")
_COMMAND_LINE: Final = 40
_TOKEN_BYTES: Final = 24
# Who guesses is not kept out, so that who has the token is not: some thousand guesses a second find no 16 letters.
_LEAST_TOKEN_CHARS: Final = 16
_NEEDS: Final = ("fastapi", "uvicorn")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add where it listens."""
    parser.add_argument("--host", metavar="ADDRESS", help='listen on this address, in place of DEDUP_SERVE["host"]')
    parser.add_argument("--port", metavar="PORT", help='listen on this port, in place of DEDUP_SERVE["port"] (0: any)')
    parser.add_argument("--open", action="store_true", help="open the address in the browser")


def run(call: Call) -> int:
    """Serve until somebody ends it; a store that does not exist yet is created."""
    if missing := [name for name in _NEEDS if find_spec(name) is None]:
        raise CommandError(f"serve needs {', '.join(missing)}: pip install 'scrapy_dedup[server]'")
    from scrapy_dedup.web import app as web  # noqa: PLC0415
    from scrapy_dedup.web.server import Server  # noqa: PLC0415

    options = call.options
    given = {"host": options.host, "port": options.port}
    named = {name: value for name, value in given.items() if value is not None}
    settings = call.settings.override({"serve": named}, "")
    check_token(settings.serve_host, settings.serve_token)
    _log(call.source)
    with call.served() as store, closing(listen(settings.serve_host, settings.serve_port)) as at:
        server = Server(store, settings, call.project, arguments=arguments_of(call), folder=Path.cwd())
        token = settings.serve_token or secrets.token_urlsafe(_TOKEN_BYTES)
        access = _access(call, token, at)
        with closing(server.jobs):
            app = web.make_app(server, access)
            _tell(call, at, token)
            web.run(app, at)
    return DONE


def check_token(host: str, token: str) -> None:
    """Refuse a token that can be guessed, and to be reached by others without one that somebody chose.

    Raises:
        WrongCallError: it is too short, or missing.
    """
    if 0 < len(token) < _LEAST_TOKEN_CHARS:
        raise WrongCallError(f"{_TOKEN_SETTING} has {len(token)} characters: it needs at least {_LEAST_TOKEN_CHARS}")
    if not token and not is_loopback(host):
        raise WrongCallError(
            f"serve listens on {host!r}, which other machines can reach, only with a token of your own: "
            f"set {_TOKEN_SETTING}, or listen on 127.0.0.1"
        )


def _access(call: Call, token: str, at: socket.socket) -> "Access":
    from scrapy_dedup.web.security import Access  # noqa: PLC0415

    settings = call.settings
    host, port = at.getsockname()[:2]
    return Access(
        token,
        hosts_of(host, port, settings.serve_allowed_hosts),
        cookie=f"dedup_session_{port}",
        requests_a_minute=settings.serve_rate,
        max_body_bytes=settings.serve_max_body_bytes,
    )


def _tell(call: Call, at: socket.socket, token: str) -> None:
    """Print the address, once: nothing else ever says the token."""
    from scrapy_dedup.web.security import login_path  # noqa: PLC0415

    host, port = at.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    address, is_own = f"http://{host}:{port}", not call.settings.serve_token
    url = address + (login_path(token) if is_own else "/")
    if call.options.json:
        found = {"project": call.project, "url": url, "api": f"{address}/api/v1/", "token": token if is_own else None}
        print_json(found)
    else:
        output().print(shown(f"Project {call.project}; Ctrl+C ends it. Open", 300), Text(url), soft_wrap=True)
    sys.stdout.flush()
    if call.options.open:
        webbrowser.open(address + login_path(token))


def arguments_of(call: Call) -> tuple[str, ...]:
    """Return the options by which a command of its own reaches the same store with the same settings."""
    priority = getattr(call.source, "getpriority", lambda _name: None)
    found = [
        f"{name}={call.source[name]}"
        for name in call.source
        if isinstance(name, str)
        and priority(name) == _COMMAND_LINE
        and name != _OWN_SETTINGS  # among them the token
        and isinstance(call.source[name], str | int | float)
    ]
    return tuple(part for one in sorted(found) for part in ("-s", one))


def _log(source: Mapping[str, Any]) -> None:
    """Log warnings to standard error; with Scrapy's own options as much as they say, where they say."""
    level = source["LOG_LEVEL"] if source["LOG_ENABLED"] else logging.WARNING
    logging.basicConfig(level=level, format=source["LOG_FORMAT"], filename=source.get("LOG_FILE"))
