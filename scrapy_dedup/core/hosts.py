"""By which names the server may be called: what keeps a site's script that points its own name here from reading it."""

import ipaddress
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


class Hosts(Struct, frozen=True):
    """The values of the Host header that are served.

    Attributes:
        names: in lower case, with a port where one is needed.
    """

    names: frozenset[str]

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server."""
        return host.lower() in self.names

    def sends(self, origin: str) -> bool:
        """Whether an Origin header is one of this server's own pages."""
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        if parts.scheme not in _DEFAULT_PORTS or origin.lower() != f"{parts.scheme}://{parts.netloc}".lower():
            return False
        return self.knows(parts.netloc)


def hosts_of(host: str, port: int, allowed: Iterable[str]) -> Hosts:
    """Return the names of a server that listens on an address, and those that the user allows beside them."""
    own = host if not host or host.startswith("[") or ":" not in host else f"[{host}]"
    names = {f"{name}:{port}" for name in (*LOOPBACK, own) if name}
    if port == 80:
        names |= {*LOOPBACK, own}
    for one in allowed:
        # Behind a proxy the port is the proxy's, which browsers leave out where it is the usual one.
        names |= {one, f"{one}:{port}"} if ":" not in one.rsplit("]", 1)[-1] else {one}
    return Hosts(frozenset(name.lower() for name in names if name))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens on an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
