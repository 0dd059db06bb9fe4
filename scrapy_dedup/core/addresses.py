"""Which addresses anyone can reach, from where a page that we show may get something, and a server's names."""

import ipaddress
import re
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from unicodedata import normalize
from urllib.parse import urlsplit

from msgspec import Struct


class AddressRefusal(StrEnum):
    """Why something may not be fetched."""

    SCHEME = "scheme"
    """Neither http nor https."""
    MALFORMED = "malformed"
    """Read in one way here it may be read in another where it is fetched: spaces, backslashes, escapes in the host."""
    USERINFO = "userinfo"
    """A name or a password stands before the host."""
    ODD_ADDRESS = "odd_address"
    """An address in octal, hexadecimal, or fewer than four parts."""
    UNRESOLVED = "unresolved"
    """The name has no address."""
    PRIVATE = "private"
    """One of its addresses is not public."""


# The module's own answers differ between versions of Python; these are IANA's registries of special purposes, with
# those of them that anyone can reach left out. 192.88.99.0/24 leads to 6to4 relays.
_NOT_PUBLIC_4: Final = tuple(
    map(
        IPv4Network,
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24"
        " 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4".split(),
    )
)
# All else is loopback, link-local, unique local, site-local, multicast, IPv4-compatible or not given to anyone.
_GLOBAL_6: Final = IPv6Network("2000::/3")
# Protocols with Teredo, ORCHID and benchmarks; documentation; 6to4, whose packets go to the IPv4 address in it.
_NOT_PUBLIC_6: Final = tuple(map(IPv6Network, "2001::/23 2001:db8::/32 2002::/16 3fff::/20".split()))
# Both stand for the IPv4 address at their end. In networks without IPv4 every site has the second; the one for
# local use (64:ff9b:1::/48) leads wherever its owner likes.
_IPV4_AT_END: Final = tuple(map(IPv6Network, "::ffff:0:0/96 64:ff9b::/96".split()))

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_SCHEME: Final = re.compile(r"https?:", re.IGNORECASE)
# What two readers of a URL could take for different hosts has no match. Letters of all scripts: international names.
_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<user>[^/?#\\@]*@)?(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[\w.\-\u3002\uff0e\uff61]+))"
    r"(?::(?P<port>[0-9]{1,5}))?(?:[/?#].*)?",
    re.IGNORECASE | re.DOTALL,
)
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\]")
# What makes a URL's host an IPv4 address (URL living standard): its last part is a number.
_NUMBER_AT_END: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", re.DOTALL)


def is_public(address: str) -> bool:
    """Return whether anyone can reach an address, as a resolver writes it; what is no address is not public."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv4Address):
        return _is_public_4(parsed)
    if parsed.scope_id is not None:
        return False
    if any(parsed in network for network in _IPV4_AT_END):
        return _is_public_4(IPv4Address(int(parsed) & 0xFFFFFFFF))
    return parsed in _GLOBAL_6 and not any(parsed in network for network in _NOT_PUBLIC_6)


def host_is_address(host: str) -> bool:
    """Return whether browsers and resolvers take a URL's host for an address: also 0x7f.1, 017700000001 or [::1]."""
    plain = _plain_host(host)
    return ":" in plain or _NUMBER_AT_END.fullmatch(plain) is not None


def may_fetch(
    url: str, page_url: str, addresses: Sequence[str], allowed_hosts: Collection[str] = ()
) -> AddressRefusal | None:
    """Return why a page may not get something from a URL; None where it may.

    Ask at each redirect anew, and connect to no other address than those that were asked about.

    Args:
        url: what is wanted.
        page_url: of the page that the spider itself asked for: its own host and port always may.
        addresses: all that the host of *url* resolves to.
        allowed_hosts: `host` or `host:port` of those that may, whatever their addresses.
    """
    place = _place(url)
    if isinstance(place, AddressRefusal):
        return place
    if place == _place(page_url) or _is_allowed(place, allowed_hosts):
        return None
    host = place[0]
    if host_is_address(host):
        if not _is_usual(host):
            return AddressRefusal.ODD_ADDRESS
        addresses = (host, *addresses)
    if not addresses:
        return AddressRefusal.UNRESOLVED
    return None if all(map(is_public, addresses)) else AddressRefusal.PRIVATE


def _is_public_4(address: IPv4Address) -> bool:
    return not any(address in network for network in _NOT_PUBLIC_4)


def _place(url: str) -> tuple[str, int] | AddressRefusal:
    """Return host and port of a URL."""
    if _SCHEME.match(url) is None:
        return AddressRefusal.SCHEME
    match = _URL.fullmatch(url) if _UNSAFE.search(url) is None else None
    if match is None:
        return AddressRefusal.MALFORMED
    if match["user"] is not None:
        return AddressRefusal.USERINFO
    return _plain_host(match["address"] or match["name"]), int(match["port"] or _DEFAULT_PORTS[match["scheme"].lower()])


def _is_allowed(place: tuple[str, int], allowed_hosts: Collection[str]) -> bool:
    host, port = place
    named = {_plain_host(allowed) for allowed in allowed_hosts}
    written = f"[{host}]" if ":" in host else host
    return host in named or f"{written}:{port}" in named


def _plain_host(host: str) -> str:
    """Return a host without brackets and its last dot, in letters that resolvers get to see."""
    plain = normalize("NFKC", host).replace("\u3002", ".").lower().removesuffix(".")
    if plain.startswith("[") and plain.endswith("]"):
        plain = plain[1:-1]
    return _canonical_6(plain) if plain.count(":") > 1 else plain


def _canonical_6(host: str) -> str:
    try:
        return str(IPv6Address(host))
    except ValueError:
        return host


def _is_usual(host: str) -> bool:
    try:
        return str(ip_address(host)) == host
    except ValueError:
        return False


LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_USUAL_PORTS: Final = {"http": "80", "https": "443"}


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
        if parts.scheme not in _USUAL_PORTS or origin.lower() != f"{parts.scheme}://{parts.netloc}".lower():
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
